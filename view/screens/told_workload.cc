#include "view/screens/told_workload.h"

#include <vector>

#include "api/labels.h"
#include "base/strings.h"

namespace berth::view {
namespace {

// "did you mean train?" with the nearest of `names`; empty if none is near enough.
std::string Suggestion(const std::string& name, const std::vector<std::string>& names) {
  const std::string* nearest = nullptr;
  std::size_t best = name.size() / 3 + 2;
  for (const std::string& candidate : names) {
    const std::size_t distance = EditDistance(name, candidate);
    if (distance < best) {
      best = distance;
      nearest = &candidate;
    }
  }
  return nearest == nullptr ? " (berth list shows what there is)"
                            : "; did you mean " + *nearest + "? (berth list)";
}

Error NotQueued(const ClusterView& view, const api::Job& job) {
  std::vector<std::string> queues;
  for (const api::LocalQueue& queue : view.local_queues) {
    if (queue.meta.namespace_name == job.meta.namespace_name) queues.push_back(queue.meta.name);
  }
  return {ErrorCode::kInvalid,
          "job " + job.meta.key().ToString() + " is not queued: it has no label " +
              api::kQueueLabel +
              " (queues here: " + (queues.empty() ? "none" : Join(queues, ", ")) + ")"};
}

Result<const api::Workload*> ToldOfJob(const ClusterView& view, const api::Job& job) {
  const api::Workload* workload = FindWorkloadOf(view, job);
  if (workload != nullptr) return workload;
  if (api::FindValue(job.meta.labels, api::kQueueLabel) == nullptr) return NotQueued(view, job);
  return Error{ErrorCode::kNotFound,
               "job " + job.meta.key().ToString() +
                   " has no Workload yet: the controller has not seen it (is one running?)"};
}

}  // namespace

bool IsOtherKind(const std::string& kind) {
  return !kind.empty() && kind != "job" && kind != "pod" && kind != "workload";
}

bool NamesOwner(const ObjectReference& reference, const api::OwnerReference& owner) {
  const std::string& word = reference.kind;
  const std::size_t dot = word.find('.');
  const std::string kind = ToLower(owner.kind);
  const std::string given = word.substr(0, dot);
  if (owner.name != reference.name || (given != kind && given != kind + "s")) return false;
  return dot == std::string::npos ||
         owner.api_version.substr(0, owner.api_version.find('/')) == word.substr(dot + 1);
}

bool BelongsTo(const ObjectReference& reference, const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  return owner != nullptr && NamesOwner(reference, *owner);
}

ObjectReference ParseReference(const std::string& reference) {
  const std::size_t slash = reference.find('/');
  if (slash == std::string::npos) return {"", reference};
  std::string kind = ToLower(reference.substr(0, slash));
  if (kind == "jobs" || kind == "job.batch" || kind == "jobs.batch") kind = "job";
  if (kind == "wl" || kind == "workloads" || kind == "kwl" || kind == "kueueworkload" ||
      kind == "kueueworkloads") {
    kind = "workload";
  }
  if (kind == "pods" || kind == "po") kind = "pod";
  return {std::move(kind), reference.substr(slash + 1)};
}

Result<const api::Workload*> FindToldWorkload(const ClusterView& view,
                                              const std::string& namespace_name,
                                              const std::string& reference) {
  const auto [kind, name] = ParseReference(reference);
  std::vector<std::string> names;
  if (kind.empty() || kind == "job") {
    for (const api::Job& job : view.jobs) {
      if (job.meta.namespace_name != namespace_name) continue;
      if (job.meta.name == name) return ToldOfJob(view, job);
      names.push_back(job.meta.name);
    }
  }
  if (kind == "pod") {
    for (const PodView& pod : view.pods) {
      if (pod.namespace_name != namespace_name) continue;
      if (pod.name == name && !pod.job_name.empty()) {
        return FindToldWorkload(view, namespace_name, "job/" + pod.job_name);
      }
      names.push_back(pod.name);
    }
  }
  if (kind.empty() || kind == "workload") {
    for (const api::Workload& workload : view.workloads) {
      if (workload.meta.namespace_name != namespace_name) continue;
      if (workload.meta.name == name) return &workload;
      if (!kind.empty()) names.push_back(workload.meta.name);
    }
  }
  if (IsOtherKind(kind)) {
    if (const api::Workload* told =
            FindWorkloadWhere(view, namespace_name,
                              [&, named = ParseReference(reference)](const api::Workload& each) {
                                return BelongsTo(named, each);
                              })) {
      return told;
    }
    for (const api::Workload& workload : view.workloads) {
      const api::OwnerReference* owner = api::ControllerOf(workload.meta);
      if (owner == nullptr || workload.meta.namespace_name != namespace_name) continue;
      if (NamesOwner({kind, owner->name}, *owner)) names.push_back(owner->name);
    }
    return Error{ErrorCode::kNotFound,
                 "no Workload of a " + kind + " \"" + name + "\" in namespace " + namespace_name +
                     Suggestion(name, names) + "; berth kinds shows the kinds that are queued"};
  }
  return Error{ErrorCode::kNotFound, "no " + (kind.empty() ? "job" : kind) + " \"" + name +
                                         "\" in namespace " + namespace_name +
                                         Suggestion(name, names)};
}

}  // namespace berth::view
