#include "local/cluster/jobs/job_pods.h"

#include <algorithm>
#include <tuple>

#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

// Every container gets the variable of its index, which upstream takes from the label.
void AddIndexVariable(Json& containers) {
  for (Json& container : containers) {
    Json& env = container["env"];
    if (!env.is_array()) env = Json::array();
    const bool known = std::any_of(env.begin(), env.end(), [](const Json& one) {
      return StringAt(one, {"name"}) == "JOB_COMPLETION_INDEX";
    });
    if (known) continue;
    const std::string path = "metadata.labels['" + std::string(kCompletionIndexKey) + "']";
    const Json field = {{"apiVersion", "v1"}, {"fieldPath", path}};
    env.push_back({{"name", "JOB_COMPLETION_INDEX"}, {"valueFrom", {{"fieldRef", field}}}});
  }
}

void AddIndex(Json& pod, const Json& job, std::int64_t index, std::int64_t index_failures) {
  const std::string text = std::to_string(index);
  Json& metadata = pod["metadata"];
  metadata["generateName"] = NameOf(job) + "-" + text + "-";
  metadata["labels"][std::string(kCompletionIndexKey)] = text;
  metadata["annotations"][std::string(kCompletionIndexKey)] = text;
  if (Find(job, {"spec", "backoffLimitPerIndex"}) != nullptr) {
    metadata["annotations"][std::string(kIndexFailureCountKey)] = std::to_string(index_failures);
  }
  Json& spec = pod["spec"];
  if (StringAt(spec, {"hostname"}).empty()) spec["hostname"] = NameOf(job) + "-" + text;
  AddIndexVariable(spec["containers"]);
  if (!ArrayAt(spec, {"initContainers"}).empty()) AddIndexVariable(spec["initContainers"]);
}

// Active pods whose index is a duplicate or out of range.
std::set<std::size_t> WrongByIndex(const std::vector<PodView>& pods, const JobSpec& spec) {
  std::set<std::size_t> wrong;
  if (!spec.is_indexed) return wrong;
  IndexSet held;
  for (std::size_t at = 0; at < pods.size(); ++at) {
    if (!pods[at].is_active()) continue;
    const auto& index = pods[at].index;
    const bool valid = index && *index >= 0 && *index < spec.completions.value_or(0);
    if (!valid || !held.insert(*index).second) wrong.insert(at);
  }
  return wrong;
}

}  // namespace

Json MakeJobPod(const Json& job, std::optional<std::int64_t> index, std::int64_t index_failures) {
  const Json* found = Find(job, {"spec", "template"});
  const Json pod_template = found == nullptr ? Json::object() : *found;
  Json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", Json::object()}};
  for (const char* copied : {"labels", "annotations"}) {
    const Json* values = Find(pod_template, {"metadata", copied});
    if (values != nullptr) pod["metadata"][copied] = *values;
  }
  pod["metadata"]["generateName"] = NameOf(job) + "-";
  pod["metadata"]["finalizers"] = Json::array({std::string(kJobTrackingFinalizer)});
  pod["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "batch/v1"},
                                                     {"kind", "Job"},
                                                     {"name", NameOf(job)},
                                                     {"uid", UidOf(job)},
                                                     {"controller", true},
                                                     {"blockOwnerDeletion", true}}});
  const Json* spec = Find(pod_template, {"spec"});
  pod["spec"] = spec == nullptr ? Json::object() : *spec;
  if (index) AddIndex(pod, job, *index, index_failures);
  return pod;
}

std::vector<std::size_t> RankForDeletion(const std::vector<PodView>& pods, const JobSpec& spec) {
  const std::set<std::size_t> wrong = WrongByIndex(pods, spec);
  std::vector<std::size_t> ranked;
  for (std::size_t at = 0; at < pods.size(); ++at) {
    if (pods[at].is_active()) ranked.push_back(at);
  }
  const auto rank = [&](std::size_t at) {
    const PodView& pod = pods[at];
    return std::tuple(wrong.count(at) == 0, pod.is_scheduled, pod.phase == "Running", pod.is_ready,
                      -pod.restarts, -pod.created_at.time_since_epoch().count(), pod.name);
  };
  std::sort(ranked.begin(), ranked.end(),
            [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return ranked;
}

std::size_t SuperfluousByIndex(const std::vector<PodView>& pods, const JobSpec& spec) {
  return WrongByIndex(pods, spec).size();
}

}  // namespace berth::local::cluster
