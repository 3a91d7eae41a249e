#include "tests/faults/jobset_play.h"

#include <algorithm>
#include <utility>

#include "base/rfc3339.h"
#include "local/cluster/objects/fields.h"
#include "tests/faults/play_times.h"

namespace berth::sim {
namespace {

using local::Json;
using local::cluster::ArrayAt;
using local::cluster::BoolAt;
using local::cluster::ConditionIs;
using local::cluster::IntAt;
using local::cluster::IsDeleting;
using local::cluster::LabelOf;
using local::cluster::NameOf;
using local::cluster::StringAt;
using local::cluster::UidOf;
using std::chrono::milliseconds;

constexpr char kSetNameLabel[] = "jobset.sigs.k8s.io/jobset-name";
constexpr char kPartLabel[] = "jobset.sigs.k8s.io/replicatedjob-name";
constexpr char kSuspended[] = "Suspended";

const local::ResourceId& Sets() {
  static const local::ResourceId id{kJobSetGroup, kJobSetVersion, "jobsets"};
  return id;
}
const local::ResourceId& Jobs() {
  static const local::ResourceId id{"batch", "v1", "jobs"};
  return id;
}

bool IsSuspended(const Json& object) { return BoolAt(object, {"spec", "suspend"}); }
bool HasSucceeded(const Json& job) { return ConditionIs(job, "Complete", "True"); }
bool HasFailed(const Json& job) { return ConditionIs(job, "Failed", "True"); }
bool HasEnded(const Json& set) {
  return ConditionIs(set, "Completed", "True") || ConditionIs(set, "Failed", "True");
}
const Json* SuspendedOf(const Json& set) {
  for (const Json& condition : ArrayAt(set, {"status", "conditions"})) {
    if (StringAt(condition, {"type"}) == kSuspended) return &condition;
  }
  return nullptr;
}
// The JobSet's templates; an empty field equals an absent one.
Json TemplatesOf(const Json& set) {
  Json parts = ArrayAt(set, {"spec", "replicatedJobs"});
  for (Json& part : parts) {
    Json& pods = part["template"]["spec"]["template"];
    for (const char* field : {"nodeSelector", "tolerations", "schedulingGates"}) {
      if (pods["spec"].contains(field) && pods["spec"][field].empty()) pods["spec"].erase(field);
    }
    if (!pods.contains("metadata")) continue;
    for (const char* field : {"labels", "annotations"}) {
      if (pods["metadata"].contains(field) && pods["metadata"][field].empty()) {
        pods["metadata"].erase(field);
      }
    }
    if (pods["metadata"].empty()) pods.erase("metadata");
  }
  return parts;
}

}  // namespace

void JobSetPlay::Begin() {
  const Status done = DefineKind(world_, kJobSetGroup, kJobSetVersion, "JobSet");
  if (!done) invariants_.Report("bad-story", done.error().message);
}

// What is seen -----------------------------------------------------------------------------------

const WorkloadFacts* JobSetPlay::WorkloadOf(const Json& set) const {
  return invariants_.truth().WorkloadOfJob(UidOf(set));
}

bool JobSetPlay::Owns(const WorkloadFacts& workload) const {
  return std::any_of(sets_.begin(), sets_.end(), [&workload](const auto& each) {
    return UidOf(each.second) == workload.job_uid;
  });
}

void JobSetPlay::See(const local::StoreEvent& event, bool by_story) {
  const local::ObjectKey& where = event.object->key();
  const Key key{where.namespace_name, where.name};
  if (where.resource == "workloads.kueue.x-k8s.io") return SeeWorkload(key, by_story);
  const bool is_set = where.resource == "jobsets.jobset.x-k8s.io";
  const bool is_job = where.resource == "jobs.batch";
  if (!is_set && !is_job && where.resource != "pods") return;
  const bool gone = event.type == local::WatchEvent::Type::kDeleted;
  const local::Object object = gone ? nullptr : event.object->json();
  if (is_set) return SeeSet(key, object.get(), by_story);
  if (is_job) return SeeChild(key, object.get());
  SeePod(key, object.get());
}

void JobSetPlay::SeeSet(const Key& key, const Json* object, bool by_story) {
  if (object == nullptr) {
    sets_.erase(key);
    return;
  }
  const auto before = sets_.find(key);
  const bool same = before != sets_.end() && UidOf(before->second) == UidOf(*object);
  const bool starts = same && IsSuspended(before->second) && !IsSuspended(*object) && !by_story;
  if (!same) originals_[UidOf(*object)] = TemplatesOf(*object);
  sets_[key] = *object;
  if (starts) CheckStart(*object);
  LookLater(key);
}

void JobSetPlay::SeeChild(const Key& key, const Json* object) {
  const auto before = children_.find(key);
  if (object == nullptr) {
    if (before == children_.end()) return;
    const Key set{key.first, LabelOf(before->second, kSetNameLabel)};
    children_.erase(before);
    return LookLater(set);
  }
  const std::string set = LabelOf(*object, kSetNameLabel);
  if (set.empty()) return;
  children_[key] = *object;
  LookLater({key.first, set});
}

void JobSetPlay::SeePod(const Key& key, const Json* object) {
  if (object == nullptr) {
    pods_.erase(key);
    return;
  }
  Pod pod{.set = LabelOf(*object, kSetNameLabel)};
  if (pod.set.empty()) return;
  pod.at_work = !IsDeleting(*object) && !local::cluster::HasEnded(*object);
  pod.running = pod.at_work && StringAt(*object, {"status", "phase"}) == "Running";
  pods_[key] = pod;
  const auto set = sets_.find({key.first, pod.set});
  if (!pod.at_work || set == sets_.end()) return;
  const WorkloadFacts* workload = WorkloadOf(set->second);
  if (workload == nullptr || !workload->reserved) return;
  const std::int64_t count = PodsAtWork(set->first);
  if (count <= workload->granted_pods) return;
  invariants_.Report("too-many-jobset-pods", Show(set->first) + " has " + std::to_string(count) +
                                                 ", quota is given for " +
                                                 std::to_string(workload->granted_pods));
}

std::int64_t JobSetPlay::PodsAtWork(const Key& set) const {
  return std::count_if(pods_.begin(), pods_.end(), [&set](const auto& each) {
    return each.first.first == set.first && each.second.set == set.second && each.second.at_work;
  });
}

void JobSetPlay::CheckStart(const Json& set) {
  const Key key{StringAt(set, {"metadata", "namespace"}), NameOf(set)};
  const WorkloadFacts* workload = WorkloadOf(set);
  if (workload == nullptr) {
    // Another client deleted the Workload; the event is under way.
    const auto gone = deleted_.find(UidOf(set));
    const bool lately =
        gone != deleted_.end() && gone->second + kNewsTakes >= world_.clock().SteadyNow();
    if (lately) return;
  }
  if (workload == nullptr || !workload->admitted || workload->finished) {
    return invariants_.Report("jobset-without-admission",
                              Show(key) + " is started, its Workload is " +
                                  (workload == nullptr ? "missing" : "not admitted"));
  }
  const auto& flavors = invariants_.truth().flavors();
  for (const Json& part : ArrayAt(set, {"spec", "replicatedJobs"})) {
    const Json* selector =
        local::cluster::Find(part, {"template", "spec", "template", "spec", "nodeSelector"});
    const Json selected = selector == nullptr ? Json::object() : *selector;
    const bool fits = std::any_of(
        workload->flavors.begin(), workload->flavors.end(), [&](const std::string& flavor) {
          const auto labels = flavors.find(flavor);
          if (labels == flavors.end()) return true;
          return std::all_of(labels->second.begin(), labels->second.end(), [&](const auto& each) {
            return selected.value(each.first, "") == each.second;
          });
        });
    if (fits) continue;
    return invariants_.Report("jobset-in-wrong-place",
                              Show(key) + " is started without the labels of a flavor");
  }
}

void JobSetPlay::SeeWorkload(const Key& key, bool by_story) {
  const auto& workloads = invariants_.truth().workloads();
  const auto now = workloads.find(key);
  const auto before = held_.find(key);
  const bool held = before != held_.end() && before->second.reserved;
  const std::string job_uid = before == held_.end() ? "" : before->second.job_uid;
  if (now == workloads.end()) {
    held_.erase(key);
  } else {
    held_[key] = {now->second.job_uid, now->second.reserved && !now->second.finished};
  }
  if (now == workloads.end() || now->second.deleting) {
    deleted_[now == workloads.end() ? job_uid : now->second.job_uid] = world_.clock().SteadyNow();
    return;
  }
  if (!held || by_story || now->second.reserved || now->second.finished) return;
  for (const auto& [name, set] : sets_) {
    if (UidOf(set) != job_uid || HasEnded(set) || IsDeleting(set)) continue;
    for (const auto& [pod, facts] : pods_) {
      if (pod.first != name.first || facts.set != name.second || !facts.running) continue;
      return invariants_.Report(
          "jobset-released",
          "quota of " + Show(key) + " is given back, pod " + Show(pod) + " runs");
    }
  }
}

void JobSetPlay::Find(Findings& findings) const {
  for (const auto& [key, set] : sets_) {
    if (IsDeleting(set)) continue;
    const WorkloadFacts* workload = WorkloadOf(set);
    if (HasEnded(set)) {
      if (workload != nullptr && !workload->finished) {
        findings[{"jobset-not-finished", Show(key)}] = "it has ended, its Workload has not";
      }
      continue;
    }
    const std::int64_t pods = PodsAtWork(key);
    const bool admitted = workload != nullptr && workload->admitted;
    if (!admitted && (!IsSuspended(set) || pods > 0)) {
      findings[{"jobset-runs-unadmitted", Show(key)}] =
          std::to_string(pods) + " pods, no admission";
    }
    if (IsSuspended(set) && TemplatesOf(set) != originals_.at(UidOf(set))) {
      findings[{"jobset-template-changed", Show(key)}] = TemplatesOf(set).dump();
    }
  }
}

bool JobSetPlay::IsSettled(const Json& set, const CouldRun& could_run) const {
  if (IsDeleting(set)) return false;
  if (HasEnded(set)) return true;
  const WorkloadFacts* workload = WorkloadOf(set);
  return IsSuspended(set) && workload != nullptr && !workload->reserved &&
         (!workload->active || !could_run(*workload));
}

bool JobSetPlay::IsOver(const CouldRun& could_run) const {
  return std::all_of(sets_.begin(), sets_.end(),
                     [&](const auto& each) { return IsSettled(each.second, could_run); });
}

void JobSetPlay::CheckRest(const CouldRun& could_run) {
  for (const auto& [key, set] : sets_) {
    if (!IsSettled(set, could_run)) invariants_.Report("never-finishes", "JobSet " + Show(key));
  }
}

void JobSetPlay::Drop(const WorkloadFacts& workload, std::vector<std::string>& lines) {
  lines.push_back("delete jobset " + Show(Key{workload.key.first, workload.job}));
}

std::vector<std::string> JobSetPlay::End() {
  ended_ = true;
  std::vector<std::string> lines;
  for (const auto& [key, set] : sets_) lines.push_back("delete jobset " + Show(key));
  return lines;
}

void JobSetPlay::ExpectNothingLeft() {
  for (const auto& [key, set] : sets_) invariants_.Report("left-over", "JobSet " + Show(key));
  for (const auto& [key, pod] : pods_) invariants_.Report("left-over", "pod " + Show(key));
}

// The controller ---------------------------------------------------------------------------------

void JobSetPlay::LookLater(const Key& key) {
  if (ended_ || !awaited_.insert(key).second) return;
  world_.executor().PostAfter(milliseconds(20 + random_.Below(900)), [this, key] {
    awaited_.erase(key);
    Act(key);
  });
}

void JobSetPlay::LookAgain(const Key& key) {
  world_.executor().PostAfter(kRetry, [this, key] { LookLater(key); });
}

std::map<std::string, Json> JobSetPlay::ChildrenOf(const Key& set) const {
  std::map<std::string, Json> found;
  for (const auto& [key, child] : children_) {
    const bool its = key.first == set.first && LabelOf(child, kSetNameLabel) == set.second;
    if (its && !IsDeleting(child)) found.emplace(key.second, child);
  }
  return found;
}

void JobSetPlay::Act(const Key& key) {
  const auto found = sets_.find(key);
  if (ended_ || found == sets_.end() || IsDeleting(found->second)) return;
  const Json set = found->second;  // writes change what is seen
  const bool stops = IsSuspended(set) || HasEnded(set);
  bool done = true;
  const auto children = ChildrenOf(key);
  for (const auto& [name, child] : children) {
    // One that a set of the same name left is collected.
    const Json* owner = local::cluster::ControllerRef(child);
    if (owner == nullptr || StringAt(*owner, {"uid"}) != UidOf(set)) continue;
    if (HasSucceeded(child) || HasFailed(child)) continue;
    if (stops || IsSuspended(child)) done = Suspend(child) && done;
  }
  for (const Json& part : ArrayAt(set, {"spec", "replicatedJobs"})) {
    for (std::int64_t i = 0; !stops && i < IntAt(part, {"replicas"}, 1); ++i) {
      const std::string name =
          key.second + "-" + StringAt(part, {"name"}) + "-" + std::to_string(i);
      if (!children.contains(name)) done = Create(set, part, name) && done;
    }
  }
  if (!done) return LookAgain(key);
  ReportStatus(key, set);
}

// Stops the Job, and deletes it when its pods are told to end. False: the write failed.
bool JobSetPlay::Suspend(const Json& child) {
  const std::string space = StringAt(child, {"metadata", "namespace"});
  if (!IsSuspended(child)) {
    return static_cast<bool>(
        world_.api().Patch(Jobs(), space, NameOf(child), local::PatchType::kMerge,
                           {{"spec", {{"suspend", true}}}}, {.field_manager = "jobset"}));
  }
  if (IntAt(child, {"status", "active"}) > 0) return true;  // its status tells
  return static_cast<bool>(
      world_.api().Delete(Jobs(), space, NameOf(child), {.propagation_policy = "Background"}));
}

bool JobSetPlay::Create(const Json& set, const Json& part, const std::string& name) {
  const std::string space = StringAt(set, {"metadata", "namespace"});
  Json spec = part["template"]["spec"];
  Json& labels = spec["template"]["metadata"]["labels"];
  labels[kSetNameLabel] = NameOf(set);
  const Json child = {
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata",
       {{"name", name},
        {"namespace", space},
        {"labels", {{kSetNameLabel, NameOf(set)}, {kPartLabel, StringAt(part, {"name"})}}},
        {"ownerReferences",
         Json::array({{{"apiVersion", std::string(kJobSetGroup) + "/" + kJobSetVersion},
                       {"kind", "JobSet"},
                       {"name", NameOf(set)},
                       {"uid", UidOf(set)},
                       {"controller", true},
                       {"blockOwnerDeletion", true}}})}}},
      {"spec", spec}};
  return static_cast<bool>(world_.api().Create(Jobs(), space, child, {.field_manager = "jobset"}));
}

Json JobSetPlay::ConditionOf(const char* type, bool is_true, const char* reason) const {
  return {{"type", type},
          {"status", is_true ? "True" : "False"},
          {"reason", reason},
          {"message", reason},
          {"lastTransitionTime", FormatTime(CutToSeconds(world_.clock().Now()))}};
}

// The condition Suspended of a set whose Jobs have been told what the set says; null: none. It
// turns False only where it was True.
Json JobSetPlay::ToldSuspended(const Json& set) const {
  const Json* before = SuspendedOf(set);
  const bool suspends = IsSuspended(set);
  if (before == nullptr && !suspends) return nullptr;
  if (before != nullptr && ConditionIs(set, kSuspended, "True") == suspends) return *before;
  return ConditionOf(kSuspended, suspends, suspends ? "SuspendedJobs" : "ResumeJobs");
}

void JobSetPlay::ReportStatus(const Key& key, const Json& set) {
  if (HasEnded(set)) return;
  const auto children = ChildrenOf(key);
  Json rows = Json::array();
  std::int64_t missing = 0;
  bool failed = false;
  for (const Json& part : ArrayAt(set, {"spec", "replicatedJobs"})) {
    Json row = {{"name", part["name"]}, {"active", 0}, {"ready", 0},
                {"succeeded", 0},       {"failed", 0}, {"suspended", 0}};
    const auto count = [&row](const char* field, bool more) {
      row[field] = row[field].get<int>() + (more ? 1 : 0);
    };
    std::int64_t succeeded = 0;
    for (const auto& [name, child] : children) {
      const Json* owner = local::cluster::ControllerRef(child);
      if (LabelOf(child, kPartLabel) != part["name"] || owner == nullptr ||
          StringAt(*owner, {"uid"}) != UidOf(set)) {
        continue;
      }
      const std::int64_t ready =
          IntAt(child, {"status", "ready"}) + IntAt(child, {"status", "succeeded"});
      succeeded += HasSucceeded(child) ? 1 : 0;
      failed = failed || HasFailed(child);
      count("succeeded", HasSucceeded(child));
      count("failed", HasFailed(child));
      count("active", IntAt(child, {"status", "active"}) > 0);
      count("ready", !HasSucceeded(child) && ready >= IntAt(child, {"spec", "parallelism"}, 1));
      count("suspended", IsSuspended(child));
    }
    missing += IntAt(part, {"replicas"}, 1) - succeeded;
    rows.push_back(row);
  }
  Json conditions = Json::array();
  if (Json told = ToldSuspended(set); !told.is_null()) conditions.push_back(std::move(told));
  if (failed || missing <= 0) {
    conditions.push_back(ConditionOf(failed ? "Failed" : "Completed", true,
                                     failed ? "FailedJobs" : "AllJobsCompleted"));
  }
  const Json before = set.value("status", Json::object());
  if (before.value("replicatedJobsStatus", Json()) == rows &&
      before.value("conditions", Json::array()) == conditions) {
    return;
  }
  const Json status = {{"replicatedJobsStatus", rows}, {"conditions", conditions}};
  const auto written = world_.api().Patch(Sets(), key.first, key.second, local::PatchType::kMerge,
                                          {{"status", status}},
                                          {.field_manager = "jobset", .subresource = "status"});
  if (!written) LookAgain(key);
}

}  // namespace berth::sim
