#include "tests/admission/topology/placement_case.h"

#include <sstream>

#include "admission/topology/topology_request.h"
#include "api/gpu_shares.h"
#include "api/labels.h"
#include "api/topology_annotations.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::pair<std::string, std::string> SplitAt(const std::string& text, char separator) {
  const auto at = text.find(separator);
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string LabelOf(const std::string& level) {
  return level == "host" ? api::kHostnameLabel : level;
}

// cpu in whole cores, so that rows stay readable; everything else as it stands.
bool AddAmount(const std::string& key, const std::string& value, api::ResourceAmounts& amounts) {
  if (key == "cpu") {
    amounts["cpu"] = std::stol(value) * 1000;
  } else if (key == "mcpu") {
    amounts["cpu"] = std::stol(value);
  } else if (key == "gpu") {
    amounts["nvidia.com/gpu"] = std::stol(value);
  } else if (key == "pods") {
    amounts["pods"] = std::stol(value);
  } else {
    return false;
  }
  return true;
}

std::string NameOf(const api::TopologyAssignment::Domain& domain) {
  return Join(domain.values, "/");
}

}  // namespace

api::Node NodeFrom(const std::string& levels, const std::string& text) {
  api::Node node;
  const std::vector<std::string> words = Words(text);
  std::string path = words.front();
  for (const std::string& level : Words(levels)) {
    const auto [value, rest] = SplitAt(path, '/');
    node.meta.labels[LabelOf(level)] = value;
    node.meta.name = value;
    path = rest;
  }
  if (!path.empty()) node.meta.name = path;  // below the lowest level
  node.meta.labels["pool"] = "tas";
  node.allocatable["pods"] = 110;
  std::string ready = "True";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [key, value] = SplitAt(words[i], '=');
    if (AddAmount(key, value, node.allocatable)) continue;
    const auto [name, of] = SplitAt(value, ':');
    if (key == "taint") node.taints.push_back({name, of, "NoSchedule"});
    if (key == "label") node.meta.labels[name] = of;
    if (key == "notready") ready = "False";
    if (key == "cordoned") node.unschedulable = true;
  }
  api::Condition condition;
  condition.type = "Ready";
  condition.status = ready == "True" ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse;
  node.conditions.push_back(condition);
  return node;
}

api::PodSet PodSetFrom(const std::string& text) {
  const std::vector<std::string> words = Words(text);
  api::PodSet pod_set;
  pod_set.name = words.at(0);
  pod_set.count = std::stoi(words.at(1));
  api::Container container;
  api::TopologyRequest request;
  bool asked = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto [key, value] = SplitAt(words[i], '=');
    if (AddAmount(key, value, container.requests)) continue;
    const auto [name, of] = SplitAt(value, ':');
    asked = asked || (key != "tolerate" && key != "select" && key != "prefer");
    if (key == "required") request.required = LabelOf(value);
    if (key == "preferred") request.preferred = LabelOf(value);
    if (key == "unconstrained") request.unconstrained = true;
    if (key == "slice") request.slice_constraints.push_back({LabelOf(name), std::stoi(of)});
    if (key == "group") request.pod_set_group_name = value;
    if (key == "tolerate")
      pod_set.pod_template.spec.tolerations.push_back({name, "Exists", "", "", {}});
    if (key == "prefer") {
      const auto [wanted, weight] = SplitAt(of, ':');
      pod_set.pod_template.spec.preferred_node_affinity.push_back(
          {std::stoi(weight), {.match_expressions = {{name, "In", {wanted}}}}});
    }
    if (key == "select") pod_set.pod_template.spec.node_selector[name] = of;
  }
  pod_set.pod_template.spec.containers.push_back(container);
  if (asked) pod_set.topology_request = request;
  return pod_set;
}

PlacementCase::PlacementCase(const std::string& levels, TopologyPlacer::Profile profile)
    : levels_(levels), placer_(vocabulary_) {
  placer_.SetProfile(profile);
  api::Topology topology;
  topology.meta.name = "dc";
  for (const std::string& level : Words(levels)) topology.levels.push_back(LabelOf(level));
  placer_.SetTopology(topology);
  flavor_ = vocabulary_.flavors.Intern("tas");
  SetFlavor("");
}

void PlacementCase::SetFlavor(const std::string& shares_per_gpu) {
  api::ResourceFlavor flavor;
  flavor.meta.name = "tas";
  flavor.node_labels = {{"pool", "tas"}};
  flavor.topology_name = "dc";
  if (!shares_per_gpu.empty())
    flavor.meta.annotations[api::kSharesPerGpuAnnotation] = shares_per_gpu;
  placer_.SetFlavor(flavor_, flavor);
}

void PlacementCase::AddNode(const std::string& text) { placer_.SetNode(NodeFrom(levels_, text)); }

void PlacementCase::AddUsed(const std::string& text) {
  const auto [domain, rest] = SplitAt(text, ' ');
  const api::PodSet pods = PodSetFrom("used " + rest);
  api::TopologyAssignment assignment;
  assignment.levels = tree().levels();
  api::TopologyAssignment::Domain at;
  at.count = pods.count;
  for (std::string path = domain; !path.empty();) {
    const auto [value, below] = SplitAt(path, '/');
    at.values.push_back(value);
    path = below;
  }
  assignment.domains.push_back(at);
  used_.push_back({placer_.Booking(pods, flavor_, assignment)});
  placer_.Use(used_.back());
}

std::vector<PlacementRequest> PlacementCase::RequestsFor(const api::Workload& workload) const {
  std::vector<PlacementRequest> requests;
  for (std::size_t i = 0; i < workload.spec.pod_sets.size(); ++i) {
    const api::PodSet& pod_set = workload.spec.pod_sets[i];
    requests.push_back({i, flavor_, pod_set.count, !AsksForTopology(pod_set)});
  }
  return requests;
}

std::string PlacementCase::Told(const api::Workload& workload,
                                const PlacementResult& result) const {
  if (result.failure) {
    return workload.spec.pod_sets[result.failure->pod_set].name +
           " fails: " + result.failure->reason;
  }
  std::string text;
  for (const Placement& placement : result.placements) {
    text += (text.empty() ? "" : "; ") + workload.spec.pod_sets[placement.pod_set].name + ":";
    for (const auto& domain : placement.assignment.domains) {
      text += " " + NameOf(domain) + "=" + std::to_string(domain.count);
    }
  }
  return text;
}

std::string PlacementCase::Place(const std::vector<std::string>& pod_sets, CountKey::Usage usage) {
  api::Workload workload;
  for (const std::string& text : pod_sets) workload.spec.pod_sets.push_back(PodSetFrom(text));
  return Told(workload, placer_.Place(workload, RequestsFor(workload), usage));
}

std::string PlacementCase::Replace(const std::vector<std::string>& pod_sets,
                                   const std::string& before, const std::string& failed_node) {
  api::Workload workload;
  for (const std::string& text : pod_sets) workload.spec.pod_sets.push_back(PodSetFrom(text));
  api::Admission admission;
  api::PodSetAssignment* assigned = nullptr;
  for (const std::string& word : Words(before)) {
    if (word.back() == ':') {
      assigned = &admission.pod_set_assignments.emplace_back();
      assigned->name = word.substr(0, word.size() - 1);
      assigned->topology_assignment = api::TopologyAssignment{{api::kHostnameLabel}, {}};
      continue;
    }
    const auto [node, count] = SplitAt(word, '=');
    assigned->topology_assignment->domains.push_back({{node}, std::stoi(count)});
  }
  for (const api::PodSetAssignment& set : admission.pod_set_assignments) {
    used_.push_back(
        {placer_.Booking(workload.spec.pod_sets.front(), flavor_, *set.topology_assignment)});
    placer_.Use(used_.back());
  }
  workload.status.admission = admission;
  workload.status.unhealthy_nodes = {failed_node};
  return Told(workload, placer_.Place(workload, RequestsFor(workload), CountKey::Usage::kAsUsed));
}

}  // namespace berth::admission
