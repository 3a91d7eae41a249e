// Reads the view of `berth why` in rounds: the object, its dependents, the objects it waits for.
#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "view/screens/reason.h"
#include "view/screens/why.h"
#include "view/view_reader.h"

namespace berth::view {
namespace {

std::string Labelled(const std::string& label, const std::string& value) {
  return "labelSelector=" + label + "%3D" + value;
}

constexpr std::size_t kMostTracedPods = 10'000;

// Whether `name` is valid in a path; an invalid name names no object.
bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  }) && name[0] != '.';
}

std::vector<ViewKind> KindsOf(const std::string& kind) {
  if (kind.empty()) return {ViewKind::kJobs, ViewKind::kWorkloads};
  if (kind == "job") return {ViewKind::kJobs};
  if (kind == "workload") return {ViewKind::kWorkloads};
  if (kind == "pod") return {ViewKind::kPods};
  return {};
}

std::string WantedPoolName(const api::Workload& workload) {
  for (const api::PodSet& pod_set : workload.spec.pod_sets) {
    const std::string* pool =
        api::FindValue(pod_set.pod_template.spec.node_selector, api::kGkeNodePoolLabel);
    if (pool != nullptr) return *pool;
  }
  return "";
}

std::vector<Want> WaitedFor(const api::Workload& workload) {
  std::vector<Want> wants;
  if (IsRunning(workload)) return wants;
  const bool has_quota = api::IsTrue(workload.status.conditions, api::kQuotaReserved);
  const bool has_checks = !workload.status.admission_checks.empty();
  if (has_checks || !has_quota) wants.push_back({.kind = ViewKind::kNodePools});
  if (!has_quota) {
    wants.push_back({.kind = ViewKind::kFlavors});
    wants.push_back({.kind = ViewKind::kAdmissionChecks});
  }
  const std::string pool = WantedPoolName(workload);
  if (IsName(pool)) {
    wants.push_back({.kind = ViewKind::kNodes, .query = Labelled(api::kGkeNodePoolLabel, pool)});
  }
  return wants;
}

class StoryReader {
 public:
  StoryReader(Session& session, StoryScope scope, ClusterView& view)
      : session_(session), scope_(std::move(scope)), view_(view) {}

  Status Read() {
    BERTH_CHECK_OK(ReadPresent());
    return scope_.with_past ? ReadPast() : OkStatus();
  }
  const std::string& namespace_name() const { return scope_.namespace_name; }

 private:
  Status ReadPresent() {
    const ObjectReference reference = ParseReference(scope_.reference);
    if (IsOtherKind(reference.kind)) return ReadByOwner(reference);
    const std::vector<ViewKind> kinds = KindsOf(reference.kind);
    if (kinds.empty() || !IsName(reference.name)) return OkStatus();
    BERTH_CHECK_OK(scope_.all_namespaces ? FindAnywhere(kinds, reference.name)
                                         : FindHere(kinds, reference.name));
    if (view_.jobs.empty() && view_.workloads.empty() && view_.pods.empty()) {
      return ReadNames(kinds);
    }
    BERTH_CHECK_OK(ReadJobOfPod());
    BERTH_CHECK_OK(ReadBelongings());
    // The slice of an elastic job that the story tells of.
    if (const api::Workload* told =
            view_.jobs.empty() ? nullptr : FindWorkloadOf(view_, view_.jobs.front());
        told != nullptr && !IsFinished(*told)) {
      return ReadSurroundings(*told);
    }
    for (const api::Workload& workload : view_.workloads) {
      if (!IsFinished(workload)) return ReadSurroundings(workload);
    }
    return OkStatus();
  }

  Status FindHere(const std::vector<ViewKind>& kinds, const std::string& name) {
    std::vector<Want> wants;
    for (const ViewKind kind : kinds) {
      wants.push_back({.kind = kind, .namespace_name = scope_.namespace_name, .name = name});
    }
    BERTH_TRY(const std::vector<Got> got, ReadInto(session_, wants, view_));
    for (std::size_t i = 0; i < wants.size(); ++i) {
      if (got[i] != Got::kForbidden) continue;
      return Error{ErrorCode::kForbidden, std::string("no right to read ") + PluralOf(kinds[i]) +
                                              " of namespace " + scope_.namespace_name +
                                              " (another: -n)"};
    }
    return OkStatus();
  }

  Status FindAnywhere(const std::vector<ViewKind>& kinds, const std::string& name) {
    std::vector<Want> wants;
    for (const ViewKind kind : kinds) {
      wants.push_back({.kind = kind, .query = "fieldSelector=metadata.name%3D" + name});
    }
    BERTH_TRY(const std::vector<Got> got, ReadInto(session_, wants, view_));
    for (std::size_t i = 0; i < wants.size(); ++i) {
      if (got[i] != Got::kForbidden) continue;
      return Error{ErrorCode::kForbidden, std::string("no right to list ") + PluralOf(kinds[i]) +
                                              " in all namespaces: name one with -n"};
    }
    std::set<std::string> found;
    for (const api::Job& job : view_.jobs) found.insert(job.meta.namespace_name);
    if (found.empty()) {
      for (const auto& workload : view_.workloads) found.insert(workload.meta.namespace_name);
      for (const PodView& pod : view_.pods) found.insert(pod.namespace_name);
    }
    if (found.size() > 1) {
      return Error{ErrorCode::kInvalid, "several namespaces have a " + name + ": " +
                                            Join({found.begin(), found.end()}, ", ") +
                                            "; name one with -n"};
    }
    if (found.empty()) {
      return Error{ErrorCode::kNotFound,
                   "no " + std::string(PluralOf(kinds.front())) + " \"" + name +
                       "\" in any namespace (berth list -A shows what there is)"};
    }
    scope_.namespace_name = *found.begin();
    return OkStatus();
  }

  // Reads the names for "did you mean …?".
  Status ReadNames(const std::vector<ViewKind>& kinds) {
    std::vector<Want> wants;
    for (const ViewKind kind : kinds) {
      wants.push_back({.kind = kind, .namespace_name = scope_.namespace_name});
    }
    return ReadLists(session_, wants, "", view_);
  }

  Status ReadJobOfPod() {
    if (view_.pods.empty() || view_.pods.front().job_name.empty()) return OkStatus();
    const std::string name = view_.pods.front().job_name;
    if (!IsName(name)) return OkStatus();
    return FindHere({ViewKind::kJobs}, name);
  }

  // The Workload of a job of another kind, by its owner.
  Status ReadByOwner(const ObjectReference& reference) {
    BERTH_CHECK_OK(
        ReadLists(session_, {Here(ViewKind::kWorkloads), Here(ViewKind::kLocalQueues)}, "", view_));
    const api::Workload* told = FindWorkloadWhere(
        view_, scope_.namespace_name,
        [&reference](const api::Workload& each) { return BelongsTo(reference, each); });
    if (told == nullptr || IsFinished(*told)) return OkStatus();
    const api::Workload found = *told;  // the lists are read anew
    return ReadSurroundings(found);
  }

  Want Here(ViewKind kind, std::string query = "") const {
    return {.kind = kind, .namespace_name = scope_.namespace_name, .query = std::move(query)};
  }

  // Reads a Job's Workload and Pods, and the LocalQueues of its namespace.
  Status ReadBelongings() {
    std::vector<Want> wants{Here(ViewKind::kLocalQueues)};
    std::string job_name;
    if (!view_.jobs.empty()) {
      const api::Job& job = view_.jobs.front();
      job_name = job.meta.name;
      view_.workloads.clear();
      wants.push_back(Here(ViewKind::kWorkloads, Labelled(api::kJobUidLabel, job.meta.uid)));
    } else if (!view_.workloads.empty()) {
      const api::OwnerReference* owner = api::ControllerOf(view_.workloads.front().meta);
      if (owner != nullptr && owner->kind == "Job") job_name = owner->name;
    }
    if (IsName(job_name)) {
      view_.pods.clear();
      wants.push_back(Here(ViewKind::kPods, Labelled(api::kJobNameLabel, job_name)));
    }
    BERTH_CHECK_OK(ReadLists(session_, wants, "", view_));
    if (view_.jobs.empty() || FindWorkloadOf(view_, view_.jobs.front()) != nullptr) {
      return OkStatus();
    }
    // Other controllers may set no label: reads all Workloads of the namespace.
    return ReadLists(session_, {Here(ViewKind::kWorkloads)}, "", view_);
  }

  // What a trace needs beside the present: the owner of a Workload that was named itself, its pods,
  // and the requests of one that has ended.
  Status ReadPast() {
    const auto told = FindToldWorkload(view_, scope_.namespace_name, scope_.reference);
    if (!told) return OkStatus();  // the screen tells of the error
    const api::Workload own = **told;
    const api::OwnerReference* owner = api::ControllerOf(own.meta);
    if (view_.jobs.empty() && owner != nullptr && owner->kind == "Job" && IsName(owner->name)) {
      BERTH_TRY(const auto got, ReadInto(session_,
                                         {{.kind = ViewKind::kJobs,
                                           .namespace_name = scope_.namespace_name,
                                           .name = owner->name}},
                                         view_));
      if (got.front() == Got::kForbidden) view_.hidden.emplace_back("jobs");
    }
    if (IsFinished(own)) {
      BERTH_CHECK_OK(ReadLists(session_, {Here(ViewKind::kProvisioningRequests)}, "", view_));
    }
    view_.pods.clear();
    return ReadPodsOf(session_, own, kMostTracedPods, view_);
  }

  Status ReadSurroundings(const api::Workload& workload) {
    if (IsRunning(workload)) {
      BERTH_CHECK_OK(ReadRefusals(workload));
      if (OwnerKind(workload) != "Job") {
        BERTH_CHECK_OK(ReadPodsOf(session_, workload, kMostTracedPods, view_));
      }
    }
    const bool has_quota = api::IsTrue(workload.status.conditions, api::kQuotaReserved);
    std::vector<Want> wants = WaitedFor(workload);
    if (!workload.status.admission_checks.empty()) {
      wants.push_back(Here(ViewKind::kProvisioningRequests));
    }
    const std::string queue = ClusterQueueOf(view_, workload);
    const bool may_wait = !IsRunning(workload);
    BERTH_CHECK_OK(ReadLists(session_, wants, "", view_));
    if (may_wait && IsName(queue)) BERTH_CHECK_OK(ReadClusterQueue(queue));
    CountNodes(view_);
    if (!may_wait || has_quota) return OkStatus();
    const api::ObjectKey key = workload.meta.key();  // the lists are read anew
    const std::string local_queue = workload.spec.queue_name;
    BERTH_CHECK_OK(ReadNeighbours());
    BERTH_CHECK_OK(ReadTurns(session_, view_));
    ReadPosition(key, local_queue);
    return OkStatus();
  }

  // The events of refused pods and, of a job whose pods have no label of a Job, the pods.
  Status ReadRefusals(const api::Workload& workload) {
    const std::string space = workload.meta.namespace_name;
    BERTH_CHECK_OK(ReadRefusedPods(session_, space, "", view_));
    if (view_.refused_pods.empty() || OwnerKind(workload) == "Job") return OkStatus();
    view_.pods.clear();
    return ReadLists(session_, {Here(ViewKind::kPods)}, "", view_);
  }

  Status ReadClusterQueue(const std::string& name) {
    BERTH_TRY(const std::vector<Got> got,
              ReadInto(session_, {{.kind = ViewKind::kClusterQueues, .name = name}}, view_));
    if (got.front() == Got::kForbidden) view_.hidden.emplace_back("clusterqueues");
    return OkStatus();
  }

  // Reads the other Workloads of its queue, which may be in any namespace.
  Status ReadNeighbours() {
    view_.workloads.clear();
    view_.local_queues.clear();
    std::erase(view_.hidden, "localqueues");
    return ReadLists(session_, {{.kind = ViewKind::kWorkloads}, {.kind = ViewKind::kLocalQueues}},
                     scope_.namespace_name, view_);
  }

  // The position that the visibility API gives to readers of the LocalQueue. Without an answer the
  // story has no position.
  void ReadPosition(const api::ObjectKey& key, const std::string& local_queue) {
    const bool sees_all = std::find(view_.narrowed.begin(), view_.narrowed.end(), "workloads") ==
                              view_.narrowed.end() &&
                          IsKnown(view_, "workloads");
    if (sees_all || !IsName(local_queue)) return;
    const auto answer =
        session_
            .GetAll({"/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/" + key.namespace_name +
                     "/localqueues/" + local_queue + "/pendingworkloads"})
            .front();
    if (!answer || !answer->is_object()) return;
    const auto items = answer->find("items");
    if (items == answer->end() || !items->is_array()) return;
    for (const nlohmann::json& item : *items) {
      const nlohmann::json::json_pointer name("/metadata/name");
      const auto position = item.find("positionInClusterQueue");
      if (!item.contains(name) || item.at(name) != key.name || position == item.end()) continue;
      if (position->is_number_integer()) view_.waiting_before = position->get<int>();
      return;
    }
  }

  Session& session_;
  StoryScope scope_;
  ClusterView& view_;
};

}  // namespace

Status ReadWaitedFor(Session& session, const api::Workload& workload, ClusterView& view) {
  BERTH_CHECK_OK(ReadLists(session, WaitedFor(workload), "", view));
  CountNodes(view);
  return OkStatus();
}

Result<StoryView> ReadStory(Session& session, const StoryScope& scope, WallTime now) {
  StoryView story;
  story.view.now = now;
  story.view.cluster_name = session.cluster_name();
  StoryReader reader(session, scope, story.view);
  BERTH_CHECK_OK(reader.Read());
  BERTH_CHECK_OK(CheckIsQueueing(session, story.view));
  story.namespace_name = reader.namespace_name();
  return story;
}

}  // namespace berth::view
