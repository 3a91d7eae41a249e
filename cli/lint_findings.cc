#include "cli/lint_findings.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "forecast/forecast_cluster.h"
#include "forecast/simulated_cluster.h"
#include "forecast/simulated_pools.h"
#include "provisioning/check_settings.h"
#include "simulation/lint.h"
#include "view/manifest_places.h"
#include "view/planned_jobs.h"
#include "view/screens/find_named.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;
using simulation::LintFinding;
using simulation::LintSeverity;

std::string WordAt(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string NameAt(const Json& object) {
  const auto metadata = object.find("metadata");
  return metadata != object.end() && metadata->is_object() ? WordAt(*metadata, "name") : "";
}

// "team-a/main", or "t4".
std::string FullNameOf(const Json& object) {
  const Json::json_pointer path("/metadata/namespace");
  const bool has_space = object.contains(path) && object.at(path).is_string();
  return (has_space ? object.at(path).get<std::string>() + "/" : "") + NameAt(object);
}

// Kinds that a ClusterView has and simulation::Cluster has not.
bool IsReadAsView(const std::string& kind) {
  return kind == "AdmissionCheck" || kind == "ProvisioningPolicy" ||
         kind == "ProvisioningRequestConfig";
}

std::string GroupOf(const Json& object) {
  const std::string version = WordAt(object, "apiVersion");
  return version.substr(0, version.find('/') + 1);  // empty: the core group
}

// The objects that can be read, and findings on the others.
class ObjectReader {
 public:
  ObjectReader(const std::vector<Json>& documents, const view::ManifestPlaces& places)
      : places_(places) {
    for (const Json& document : documents) Read(document);
  }

  const std::vector<Json>& readable() const { return readable_; }
  const std::set<std::string>& unreadable() const { return unreadable_; }
  std::vector<view::PlacedFinding> TakeFindings() { return std::move(findings_); }

 private:
  void Read(const Json& object) {
    const std::string kind = WordAt(object, "kind");
    const std::string name = FullNameOf(object);
    const std::string full = name.find('/') == std::string::npos ? "default/" + name : name;
    const std::size_t which = counts_[{kind, full}]++;
    const auto report = [&](const char* rule, std::vector<std::string> field, std::string message) {
      findings_.push_back({places_.Find(kind, full, field, which),
                           {LintSeverity::kError, rule, kind, name, field, std::move(message)}});
    };
    if (const Status read = Decode(object); !read) {
      const std::string start = kind + " " + NameAt(object) + ": ";
      std::string message = read.error().message;
      if (message.starts_with(start)) message.erase(0, start.size());
      unreadable_.insert(kind + "/" + NameAt(object));
      return report("not-readable", view::FieldInMessage(start + message), message);
    }
    if (NameAt(object).empty() || seen_.insert({GroupOf(object) + kind, full}).second) {
      readable_.push_back(object);
      return;
    }
    report("object-twice", {"metadata", "name"},
           "the object is defined twice: here the first one counts");
  }

  // Whether each reader of queues and machines takes the object.
  static Status Decode(const Json& object) {
    const std::string kind = WordAt(object, "kind");
    if (const auto read = forecast::ReadSimulatedCluster({object}); !read) return read.error();
    if (IsReadAsView(kind)) {
      view::ClusterView view;
      if (Status read = forecast::AddDocuments({object}, view); !read) return read;
    }
    if (!forecast::IsMachine(object)) return OkStatus();
    const auto pools =
        forecast::ReadSimulatedPools({object}, forecast::PoolKinds::kNodePoolsAndNodes);
    return pools ? OkStatus() : Status(pools.error());
  }

  const view::ManifestPlaces& places_;
  std::vector<Json> readable_;
  std::set<std::string> unreadable_;
  std::set<std::pair<std::string, std::string>> seen_;  // groups with kinds, and names
  std::map<std::pair<std::string, std::string>, std::size_t> counts_;  // by kind and name
  std::vector<view::PlacedFinding> findings_;
};

Result<simulation::LintInput> InputOf(const std::vector<Json>& documents) {
  simulation::LintInput input;
  BERTH_TRY(input.cluster, forecast::ReadSimulatedCluster(documents));
  view::ClusterView view;
  bool has_nodes = false;
  bool has_others = false;  // NodePools of other clouds, whose nodes are not known
  for (const Json& document : documents) {
    const std::string kind = WordAt(document, "kind");
    if (IsReadAsView(kind)) {
      BERTH_CHECK_OK(forecast::AddDocuments({document}, view));
    }
    if (kind == "Topology") input.topologies.insert(NameAt(document));
    has_nodes = has_nodes || forecast::IsMachine(document);
    has_others = has_others || (kind == "NodePool" && !forecast::IsMachine(document));
    input.parameters.insert(kind + "/" + NameAt(document));
  }
  if (has_nodes && !has_others) {
    BERTH_TRY(const auto pools,
              forecast::ReadSimulatedPools(documents, forecast::PoolKinds::kNodePoolsAndNodes));
    for (const auto& pool : pools) input.node_labels.push_back(pool.node.meta.labels);
  }
  for (const api::AdmissionCheck& check : view.admission_checks) {
    const Result<std::string> config = provisioning::ConfigNameOf(check);
    const std::string name = provisioning::PolicyNameOf(
        check, config ? view::FindNamed(view.provisioning_configs, *config) : nullptr);
    const api::ProvisioningPolicy* policy = view::FindNamed(view.provisioning_policies, name);
    if (policy != nullptr) input.policies[check.meta.name] = *policy;
  }
  input.checks = std::move(view.admission_checks);
  return input;
}

// A finding about an object whose name cannot be read is none about a name that no object has.
bool IsAboutUnreadable(const LintFinding& finding, const std::set<std::string>& unreadable) {
  if (!finding.rule.starts_with("unknown-")) return false;
  return std::any_of(unreadable.begin(), unreadable.end(), [&finding](const std::string& each) {
    const std::size_t slash = each.find('/');
    return finding.message.starts_with(each.substr(0, slash) + " " + each.substr(slash + 1) + " ");
  });
}

std::vector<simulation::LintJob> JobsOf(const std::vector<view::PlannedJob>& planned) {
  std::vector<simulation::LintJob> jobs;
  for (const view::PlannedJob& each : planned) {
    auto workload = std::make_shared<api::Workload>(each.workload);
    workload->meta.name = each.name;
    workload->meta.uid = each.name;
    // The queues have no topologies here, and no devices.
    for (api::PodSet& pods : workload->spec.pod_sets) {
      pods.topology_request.reset();
      pods.pod_template.spec.resource_claims = false;
    }
    jobs.push_back({each.kind, std::move(workload)});
  }
  return jobs;
}

}  // namespace

Result<std::vector<view::PlacedFinding>> FindingsOf(view::ManifestObjects& manifests,
                                                    const admission::SchedulerConfig& scheduler,
                                                    const std::vector<std::string>* frameworks) {
  std::vector<view::PlacedFinding> findings = std::move(manifests.problems);
  ObjectReader reader(manifests.objects, manifests.places);
  for (view::PlacedFinding& each : reader.TakeFindings()) findings.push_back(std::move(each));
  BERTH_TRY(simulation::LintInput input, InputOf(reader.readable()));
  input.unreadable = reader.unreadable();
  const auto add = [&](LintFinding each) {
    view::ManifestPlace place = manifests.places.Find(each.kind, each.name, each.field);
    findings.push_back({std::move(place), std::move(each)});
  };
  const view::PlannedJobs planned =
      view::PlanJobsOf(reader.readable(), {.namespace_name = "default",
                                           .priority_classes = &input.cluster.priority_classes,
                                           .local_queues = &input.cluster.local_queues,
                                           .frameworks = frameworks,
                                           .absent = "is not among the files"});
  for (const LintFinding& each : planned.problems) {
    if (!IsAboutUnreadable(each, reader.unreadable())) add(each);
  }
  for (LintFinding& each : simulation::LintQueues(input)) add(std::move(each));
  simulation::Cluster cluster = input.cluster;
  simulation::Prepare(cluster);
  for (LintFinding& each : simulation::LintJobs(cluster, JobsOf(planned.jobs), scheduler)) {
    add(std::move(each));
  }
  return findings;
}

}  // namespace berth::cli
