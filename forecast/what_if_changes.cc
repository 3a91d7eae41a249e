#include "forecast/what_if_changes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/reasons.h"
#include "base/strings.h"
#include "forecast/forecast_cluster.h"
#include "simulation/present_workloads.h"
#include "view/manifest_files.h"
#include "view/planned_jobs.h"
#include "view/screens/why.h"

namespace berth::forecast {
namespace {

using Json = nlohmann::json;

constexpr char kUsualGpu[] = "nvidia.com/gpu";  // "gpu" of --add-quota, as in CSV

Error Invalid(const std::string& message) { return {ErrorCode::kInvalid, message}; }

template <typename T>
void Merge(const std::vector<T>& changed, const char* kind, std::vector<T>& objects,
           std::vector<std::string>& changes) {
  for (const T& each : changed) {
    const auto known = std::find_if(objects.begin(), objects.end(), [&each](const T& object) {
      return object.meta.key() == each.meta.key();
    });
    const bool is_new = known == objects.end();
    const std::string name =
        each.meta.namespace_name.empty() ? each.meta.name : each.meta.key().ToString();
    changes.push_back(std::string(is_new ? "new " : "") + kind + " " + name +
                      (is_new ? "" : ": as in the file"));
    if (is_new) {
      objects.push_back(each);
    } else {
      *known = each;
    }
  }
}

std::string WordOfObject(const Json& object, const char* pointer) {
  const Json::json_pointer path(pointer);
  const bool found = object.contains(path) && object.at(path).is_string();
  return found ? object.at(path).get<std::string>() : "";
}

// Whether ReplaceObjects takes the kind. `has_nodes`: the forecast places pods on nodes.
bool IsMerged(const Json& object, bool has_nodes) {
  constexpr std::array<std::string_view, 7> kOfKueue{"ClusterQueue",
                                                     "Cohort",
                                                     "LocalQueue",
                                                     "ResourceFlavor",
                                                     "AdmissionCheck",
                                                     "WorkloadPriorityClass",
                                                     "ProvisioningRequestConfig"};
  const std::string kind = WordOfObject(object, "/kind");
  const std::string version = WordOfObject(object, "/apiVersion");
  if (kind == "Namespace") return version == "v1";
  if (kind == "Node") return has_nodes && version == "v1";
  if (kind == "Topology") return has_nodes && version.starts_with("kueue.x-k8s.io/");
  if (kind == "ProvisioningPolicy") return version == "provisioning.berth.dev/v1alpha1";
  return version.starts_with("kueue.x-k8s.io/") &&
         std::find(kOfKueue.begin(), kOfKueue.end(), kind) != kOfKueue.end();
}

// Which Workload the pods of a node work for, by what the pods and their owners say.
class PodParents {
 public:
  PodParents(const view::ClusterView& view, const std::string& node) : view_(view) {
    for (const view::PodView& pod : view.pods) {
      const bool ended = pod.phase == "Succeeded" || pod.phase == "Failed";
      if (pod.node_name == node && !ended) Note(pod);
    }
  }

  bool WorksFor(const api::Workload& workload) const {
    const std::string& space = workload.meta.namespace_name;
    if (workloads_.contains({space, workload.meta.name})) return true;
    const api::OwnerReference* owner = api::ControllerOf(workload.meta);
    return owner != nullptr && owners_.contains({space, owner->kind, owner->name});
  }

 private:
  void Note(const view::PodView& pod) {
    const std::string& space = pod.namespace_name;
    owners_.insert({space, "Pod", pod.name});
    for (const std::string* name : {&pod.workload, &pod.group}) {
      if (!name->empty()) workloads_.insert({space, *name});
    }
    if (!pod.owner_name.empty()) owners_.insert({space, pod.owner_kind, pod.owner_name});
    const bool of_job = pod.owner_kind == "Job" || pod.owner_kind.empty();
    const std::string& name = pod.job_name.empty() && of_job ? pod.owner_name : pod.job_name;
    if (name.empty()) return;
    owners_.insert({space, "Job", name});
    // The Job of a JobSet has the JobSet as its owner.
    const api::Job* job = view::FindJob(view_, {space, name});
    const api::OwnerReference* above = job == nullptr ? nullptr : api::ControllerOf(job->meta);
    if (above != nullptr) owners_.insert({space, above->kind, above->name});
  }

  const view::ClusterView& view_;
  std::set<std::pair<std::string, std::string>> workloads_;             // namespace, name
  std::set<std::tuple<std::string, std::string, std::string>> owners_;  // namespace, kind, name
};

api::StopPolicy PolicyOf(const api::ClusterQueue* queue) {
  return queue == nullptr ? api::StopPolicy::kNone : queue->spec.stop_policy;
}
api::StopPolicy PolicyOf(const api::LocalQueue* queue) {
  return queue == nullptr ? api::StopPolicy::kNone : queue->stop_policy;
}

// Whether the new policy of a queue ends what holds its quota (admission/lifecycle). `has_run`: it
// has been admitted; else it is a reservation alone.
bool Ends(api::StopPolicy before, api::StopPolicy now, bool has_run) {
  if (now == before) return false;
  return now == api::StopPolicy::kHoldAndDrain || (now == api::StopPolicy::kHold && !has_run);
}

class Changer {
 public:
  Changer(const view::ClusterView& view, const WhatIfInput& input)
      : before_(view),
        input_(input),
        files_(view::FlatObjectsOf(input.changed)),
        submitted_(view::FlatObjectsOf(input.submitted)),
        made_{view, {}, {}} {}

  Result<ChangedView> Change() {
    BERTH_CHECK_OK(ReplaceObjects());
    for (const std::string& text : input_.options.quota) BERTH_CHECK_OK(AddQuota(text));
    for (const std::string& name : input_.options.stop) BERTH_CHECK_OK(StopQueue(name));
    FollowStops();
    for (const std::string& text : input_.options.priority) BERTH_CHECK_OK(SetPriority(text));
    for (const std::string& name : input_.options.nodes) BERTH_CHECK_OK(RemoveNode(name));
    BERTH_CHECK_OK(Submit(files_, 1, true));
    BERTH_CHECK_OK(NoteOtherKinds());
    const std::size_t before = made_.view.workloads.size();
    BERTH_CHECK_OK(Submit(submitted_, input_.options.times, false));
    if (!submitted_.empty() && made_.view.workloads.size() == before) {
      return Invalid("--submit: no job among the files, a batch/v1 Job or a kind of `berth kinds`");
    }
    return std::move(made_);
  }

 private:
  // Adds notes on objects that are neither merged nor submitted.
  Status NoteOtherKinds() {
    for (const Json& object : files_) {
      if (IsMerged(object, !made_.view.topology_nodes.empty())) continue;
      if (IsSubmitted(object)) continue;
      made_.notes.push_back(WordOfObject(object, "/kind") + " " +
                            WordOfObject(object, "/metadata/name") +
                            " of -f: the forecast does not use it");
    }
    if (!made_.changes.empty() || files_.empty()) return OkStatus();
    return Invalid("-f: the forecast uses no object of the files" +
                   (made_.notes.empty() ? "" : "; left out: " + made_.notes.front()));
  }

  Status ReplaceObjects() {
    view::ClusterView changed;
    BERTH_CHECK_OK(AddDocuments(files_, changed));
    if (!changed.workloads.empty()) {
      return Invalid("Workload " + changed.workloads.front().meta.name +
                     ": controllers write Workloads; change the job with --priority or --submit");
    }
    for (api::LocalQueue& queue : changed.local_queues) {
      std::string& name = queue.meta.namespace_name;
      if (name.empty()) name = input_.default_namespace;
    }
    view::ClusterView& view = made_.view;
    std::vector<std::string>& changes = made_.changes;
    Merge(changed.cluster_queues, "ClusterQueue", view.cluster_queues, changes);
    Merge(changed.cohorts, "Cohort", view.cohorts, changes);
    Merge(changed.local_queues, "LocalQueue", view.local_queues, changes);
    Merge(changed.flavors, "ResourceFlavor", view.flavors, changes);
    Merge(changed.namespaces, "Namespace", view.namespaces, changes);
    Merge(changed.priority_classes, "WorkloadPriorityClass", view.priority_classes, changes);
    Merge(changed.admission_checks, "AdmissionCheck", view.admission_checks, changes);
    Merge(changed.provisioning_configs, "ProvisioningRequestConfig", view.provisioning_configs,
          changes);
    Merge(changed.provisioning_policies, "ProvisioningPolicy", view.provisioning_policies, changes);
    if (view.topology_nodes.empty()) return OkStatus();
    for (api::Node& node : changed.topology_nodes) {
      if (!node.conditions.empty()) continue;
      node.conditions.push_back({.type = "Ready", .status = api::ConditionStatus::kTrue});
    }
    Merge(changed.topologies, "Topology", view.topologies, changes);
    Merge(changed.topology_nodes, "Node", view.topology_nodes, changes);
    return OkStatus();
  }

  api::ClusterQueue* FindQueue(const std::string& name) {
    for (api::ClusterQueue& queue : made_.view.cluster_queues) {
      if (queue.meta.name == name) return &queue;
    }
    return nullptr;
  }

  Status AddQuota(const std::string& text) {
    BERTH_TRY(const QuotaChange change, ParseQuotaChange(text));
    const std::string& name = change.queue;
    const std::string& flavor = change.flavor;
    const std::string& resource = change.resource;
    api::ResourceQuota* quota = nullptr;
    api::ClusterQueue* queue = FindQueue(name);
    if (queue == nullptr) {
      return Error{ErrorCode::kNotFound, "--add-quota: no ClusterQueue \"" + name + "\""};
    }
    for (api::ResourceGroup& group : queue->spec.resource_groups) {
      for (api::FlavorQuotas& each : group.flavors) {
        for (api::ResourceQuota& one : each.resources) {
          if (each.flavor == flavor && one.resource == resource) quota = &one;
        }
      }
    }
    if (quota == nullptr) {
      return Error{ErrorCode::kNotFound, "--add-quota: ClusterQueue " + name + " has no quota of " +
                                             resource + " in flavor \"" + flavor + "\""};
    }
    const api::Amount before = quota->nominal_quota;
    const api::Amount after = change.After(before);
    quota->nominal_quota = after;
    made_.changes.push_back("ClusterQueue " + name + ": " + resource + " in " + flavor + " " +
                            api::FormatAmount(resource, before) + " → " +
                            api::FormatAmount(resource, after));
    return OkStatus();
  }

  Status StopQueue(const std::string& name) {
    if (api::ClusterQueue* queue = FindQueue(name)) {
      queue->spec.stop_policy = api::StopPolicy::kHold;
      made_.changes.push_back("ClusterQueue " + name + ": stopped; running workloads continue");
      return OkStatus();
    }
    const bool full = name.find('/') != std::string::npos;
    const std::string key = full ? name : input_.default_namespace + "/" + name;
    for (api::LocalQueue& queue : made_.view.local_queues) {
      if (queue.meta.key().ToString() != key) continue;
      queue.stop_policy = api::StopPolicy::kHold;
      made_.changes.push_back("LocalQueue " + key + ": stopped; running workloads continue");
      return OkStatus();
    }
    return Error{ErrorCode::kNotFound, "--stop-queue: no ClusterQueue \"" + name +
                                           "\" and no LocalQueue \"" + key + "\""};
  }

  // "job/train=100"
  Status SetPriority(const std::string& text) {
    const std::size_t equals = text.rfind('=');
    const std::optional<std::int64_t> number =
        equals == std::string::npos ? std::nullopt : ParseInt64(text.substr(equals + 1));
    if (!number || *number < INT32_MIN || *number > INT32_MAX) {
      return Invalid("--priority \"" + text + "\": write job/NAME=NUMBER");
    }
    const std::string name = text.substr(0, equals);
    bool found = false;
    for (api::Workload& workload : made_.view.workloads) {
      if (view::IsFinished(workload) || !IsNamed(workload, name)) continue;
      found = true;
      made_.changes.push_back(view::DisplayName(workload) + ": priority " +
                              std::to_string(workload.spec.priority.value_or(0)) + " → " +
                              std::to_string(*number));
      workload.spec.priority = static_cast<std::int32_t>(*number);
    }
    if (found) return OkStatus();
    return Error{ErrorCode::kNotFound, "--priority: no job \"" + name + "\" waits or runs in " +
                                           "namespace " + input_.default_namespace};
  }

  bool IsNamed(const api::Workload& workload, const std::string& name) const {
    return workload.meta.namespace_name == input_.default_namespace && IsMeantBy(name, workload);
  }

  // The jobs of a queue that the change drains stop, and wait again; a queue that is only held
  // takes the reservations back that are not admitted.
  void FollowStops() {
    std::int64_t stopped = 0;
    for (api::Workload& workload : made_.view.workloads) {
      if (!simulation::HoldsQuota(workload) || view::IsFinished(workload)) continue;
      if (api::IsTrue(workload.status.conditions, api::kEvicted)) continue;
      const api::ObjectKey local{workload.meta.namespace_name, workload.spec.queue_name};
      const std::string& queue = workload.status.admission->cluster_queue;
      const bool has_run = simulation::HasRun(workload);
      if (Ends(PolicyOf(view::FindLocalQueue(before_, local)),
               PolicyOf(view::FindLocalQueue(made_.view, local)), has_run)) {
        Evict(workload, api::kLocalQueueStopped, "The LocalQueue is stopped");
      } else if (Ends(PolicyOf(view::FindClusterQueue(before_, queue)),
                      PolicyOf(view::FindClusterQueue(made_.view, queue)), has_run)) {
        Evict(workload, api::kClusterQueueStopped, "The ClusterQueue is stopped");
      } else {
        continue;
      }
      if (has_run) ++stopped;
    }
    if (stopped == 0) return;
    made_.changes.push_back(std::to_string(stopped) + (stopped == 1 ? " job stops" : " jobs stop") +
                            " with its queue");
  }

  // The jobs with pods on the node stop, and wait again. Quota stays: it is not made of nodes.
  // Topologies lose the node.
  Status RemoveNode(const std::string& name) {
    const PodParents parents(made_.view, name);
    std::int64_t stopped = 0;
    for (api::Workload& workload : made_.view.workloads) {
      if (!view::IsRunning(workload) || !parents.WorksFor(workload)) continue;
      Evict(workload, api::kNodeFailures, "the node " + name + " is removed");
      ++stopped;
    }
    bool known = false;
    for (api::Node& node : made_.view.topology_nodes) {
      if (node.meta.name != name) continue;
      known = true;
      node.unschedulable = true;
    }
    if (stopped == 0 && !known) {
      return Error{ErrorCode::kNotFound,
                   "--remove-node: no pod of a running job is on node \"" + name + "\""};
    }
    made_.changes.push_back("Node " + name + ": removed, " + std::to_string(stopped) +
                            (stopped == 1 ? " job stops" : " jobs stop"));
    return OkStatus();
  }

  // Whether the object of -f is a job that a queue gets.
  bool IsSubmitted(const Json& object) const {
    const std::string name = WordOfObject(object, "/metadata/name");
    return std::any_of(planned_.begin(), planned_.end(), [&](const view::PlannedJob& each) {
      return each.name == name && each.kind == WordOfObject(object, "/kind");
    });
  }

  // A job of -f that names no queue is no part of the forecast.
  Status Submit(const std::vector<Json>& documents, int times, bool queued_alone) {
    const view::PlannedJobsInput input{.namespace_name = input_.default_namespace,
                                       .priority_classes = &made_.view.priority_classes,
                                       .local_queues = &made_.view.local_queues,
                                       .find = input_.find};
    view::PlannedJobs planned = view::PlanJobsOf(documents, input);
    std::vector<std::string> problems;
    for (const simulation::LintFinding& each : planned.problems) {
      if (each.severity == simulation::LintSeverity::kError)
        problems.push_back(view::ProblemText(each));
    }
    if (!problems.empty()) return Invalid(Join(problems, "\n"));
    for (const view::PlannedJob& job : planned.jobs) {
      const std::string name = job.workload.meta.namespace_name + "/" + job.name;
      if (job.workload.spec.queue_name.empty()) {
        if (queued_alone) continue;
        return Invalid(job.kind + " " + name + " names no queue: set its label " +
                       "kueue.x-k8s.io/queue-name");
      }
      const std::int64_t copies = job.copies * times;
      for (std::int64_t i = 1; i <= copies; ++i) {
        AddJob(job, copies == 1 ? "" : "-" + std::to_string(i));
      }
      made_.changes.push_back(
          "new " + job.kind + " " + name +
          (job.copies == 1 ? "" : ", " + std::to_string(job.copies) + " Workloads") +
          (times == 1 ? "" : ", " + std::to_string(times) + " times"));
      if (queued_alone) planned_.push_back(job);
    }
    return OkStatus();
  }

  void AddJob(const view::PlannedJob& job, const std::string& suffix) {
    api::Workload workload = job.workload;
    workload.meta.name += "-what-if" + suffix;
    workload.meta.uid = "what-if/" + workload.meta.key().ToString();
    workload.meta.generation = 1;
    workload.meta.creation_timestamp = CutToSeconds(made_.view.now);
    for (api::OwnerReference& owner : workload.meta.owner_references) owner.name += suffix;
    api::Job declared;
    declared.meta.namespace_name = workload.meta.namespace_name;
    declared.meta.name = job.name + suffix;
    declared.active_deadline_seconds = job.deadline;
    std::erase_if(made_.view.jobs, [&declared](const api::Job& known) {
      return known.meta.key() == declared.meta.key();
    });
    made_.view.jobs.push_back(std::move(declared));
    made_.view.workloads.push_back(std::move(workload));
  }

  void Evict(api::Workload& workload, const char* reason, const std::string& message) const {
    api::SetCondition(workload.status.conditions,
                      {.type = api::kEvicted,
                       .status = api::ConditionStatus::kTrue,
                       .reason = reason,
                       .message = message,
                       .last_transition_time = CutToSeconds(made_.view.now),
                       .observed_generation = workload.meta.generation});
  }

  const view::ClusterView& before_;
  const WhatIfInput& input_;
  std::vector<Json> files_;                // the objects of -f
  std::vector<Json> submitted_;            // the objects of --submit
  std::vector<view::PlannedJob> planned_;  // those of -f that a queue gets
  ChangedView made_;
};

}  // namespace

Result<QuotaChange> ParseQuotaChange(const std::string& text) {
  const std::size_t first = text.find('/');
  const std::size_t second = first == std::string::npos ? first : text.find('/', first + 1);
  const std::size_t equals = second == std::string::npos ? second : text.find('=', second);
  if (equals == std::string::npos || equals + 1 == text.size()) {
    return Invalid("--add-quota \"" + text + "\": write QUEUE/FLAVOR/RESOURCE=+AMOUNT");
  }
  QuotaChange change{.queue = text.substr(0, first),
                     .flavor = text.substr(first + 1, second - first - 1),
                     .resource = text.substr(second + 1, equals - second - 1)};
  if (change.resource == "gpu") change.resource = kUsualGpu;
  std::string amount = text.substr(equals + 1);
  if (amount.front() == '+' || amount.front() == '-') {
    change.sign = amount.front();
    amount.erase(0, 1);
  }
  const Result<api::Amount> parsed = api::ParseAmount(change.resource, amount);
  if (!parsed) return Annotate(parsed.error(), "--add-quota \"" + text + "\"");
  change.amount = *parsed;
  return change;
}

api::Amount QuotaChange::After(api::Amount before) const {
  if (sign == '+') return api::AddAmounts(before, amount);
  if (sign == '-') return std::max<api::Amount>(api::SubtractAmounts(before, amount), 0);
  return amount;
}

Result<ChangedView> ChangeView(const view::ClusterView& view, const WhatIfInput& input) {
  return Changer(view, input).Change();
}

}  // namespace berth::forecast
