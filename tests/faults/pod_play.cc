#include "tests/faults/pod_play.h"

#include <algorithm>

#include "local/cluster/objects/fields.h"

namespace berth::sim {
namespace {

using local::Json;
using local::cluster::ArrayAt;
using local::cluster::StringAt;
using std::chrono::seconds;

constexpr char kQueueGate[] = "kueue.x-k8s.io/admission";
constexpr char kQueueFinalizer[] = "kueue.x-k8s.io/managed";
constexpr char kGroupLabel[] = "kueue.x-k8s.io/pod-group-name";
constexpr Duration kReplacement = seconds(2);
constexpr Duration kGivesUp = seconds(90);
constexpr Duration kCompletes = seconds(180);  // a set of which pods were refused
constexpr int kMostPodsOfASet = 60;

std::string TextAt(const Json& object, const char* part, const std::string& key) {
  const Json* found = local::cluster::Find(object, {"metadata", part, key.c_str()});
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

void PodPlay::Begin() {
  const Status done = ReviewPods(world_, "story-pods", kSetLabel);
  if (!done) invariants_.Report("bad-story", done.error().message);
}

PodPlay::Pod PodPlay::Read(const Key& key, const Json& object) {
  Pod pod;
  pod.key = key;
  pod.uid = local::cluster::UidOf(object);
  pod.set = TextAt(object, "labels", kSetLabel);
  pod.group = TextAt(object, "labels", kGroupLabel);
  pod.role = TextAt(object, "annotations", "kueue.x-k8s.io/role-hash");
  const std::string total = TextAt(object, "annotations", "kueue.x-k8s.io/pod-group-total-count");
  if (!total.empty()) pod.total = std::stoll(total);
  const std::string size = TextAt(object, "annotations", kSetSizeAnnotation);
  if (!size.empty()) pod.set_size = std::stoll(size);
  pod.unretriable = TextAt(object, "annotations", "kueue.x-k8s.io/retriable-in-group") == "false";
  for (const Json& gate : ArrayAt(object, {"spec", "schedulingGates"})) {
    pod.gated = pod.gated || StringAt(gate, {"name"}) == kQueueGate;
  }
  pod.placed = !StringAt(object, {"spec", "nodeName"}).empty();
  const std::string phase = StringAt(object, {"status", "phase"});
  pod.failed = phase == "Failed";
  pod.succeeded = phase == "Succeeded";
  pod.running = phase == "Running";
  pod.deleting = local::cluster::IsDeleting(object);
  for (const Json& each : ArrayAt(object, {"metadata", "finalizers"})) {
    pod.held = pod.held || each == kQueueFinalizer;
  }
  if (const Json* selector = local::cluster::Find(object, {"spec", "nodeSelector"})) {
    for (const auto& [label, value] : selector->items()) pod.node_selector[label] = value;
  }
  return pod;
}

const WorkloadFacts* PodPlay::WorkloadOf(const Pod& pod) const {
  if (pod.group.empty()) return invariants_.truth().WorkloadOfJob(pod.uid);
  const auto& workloads = invariants_.truth().workloads();
  const auto found = workloads.find({pod.key.first, pod.group});
  return found == workloads.end() ? nullptr : &found->second;
}

bool PodPlay::Owns(const WorkloadFacts& workload) const {
  return std::any_of(pods_.begin(), pods_.end(), [&](const auto& each) {
    const Pod& pod = each.second;
    return pod.group.empty() ? pod.uid == workload.job_uid
                             : Key{pod.key.first, pod.group} == workload.key;
  });
}

bool PodPlay::TellsAgain(const local::StoreEvent& event) {
  if (event.type == local::WatchEvent::Type::kDeleted) return false;
  if (event.object->key().resource.compare(0, 6, "events") != 0) return false;
  const local::Object object = event.object->json();
  return StringAt(*object, {"reason"}) == "ErrWorkloadCompose";
}

void PodPlay::See(const local::StoreEvent& event, bool by_story) {
  const local::ObjectKey& where = event.object->key();
  const Key key{where.namespace_name, where.name};
  if (where.resource == "workloads.kueue.x-k8s.io") {
    if (!by_story) SeeWorkload(key);
    const auto& workloads = invariants_.truth().workloads();
    const auto now = workloads.find(key);
    reserved_[key] = now != workloads.end() && now->second.reserved && !now->second.finished;
    if (now == workloads.end() || now->second.deleting) {
      gone_[Show(key)] = world_.clock().SteadyNow();
    }
    return;
  }
  if (where.resource != "pods") return;
  const auto found = pods_.find(key);
  if (event.type == local::WatchEvent::Type::kDeleted) {
    if (found == pods_.end()) return;
    const Key set{key.first, found->second.set};
    pods_.erase(found);
    return RepairLater(set);
  }
  const local::Object object = event.object->json();
  Pod now = Read(key, *object);
  if (now.set.empty()) return;
  const std::optional<Pod> before =
      found == pods_.end() ? std::nullopt : std::optional(found->second);
  Remember(now, *object);
  pods_[key] = now;
  if (!by_story) SeePod(before && before->uid == now.uid ? &*before : nullptr, now);
  if (now.failed || now.deleting) RepairLater({key.first, now.set});
}

// The first pod of a set is the template of its replacements.
void PodPlay::Remember(const Pod& pod, const Json& object) {
  const auto [at, added] = sets_.try_emplace(Key{pod.key.first, pod.set});
  if (!added) return;
  Set& set = at->second;
  set.key = at->first;
  set.total = pod.set_size;
  set.unretriable = pod.unretriable;
  Json metadata = {{"namespace", pod.key.first},
                   {"labels", object["metadata"]["labels"]},
                   {"annotations", object["metadata"].value("annotations", Json::object())}};
  metadata["labels"].erase("kueue.x-k8s.io/managed");
  metadata["annotations"].erase("kueue.x-k8s.io/role-hash");
  Json spec = object["spec"];
  for (const char* field : {"schedulingGates", "nodeName"}) spec.erase(field);
  set.original = {{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata", std::move(metadata)},
                  {"spec", std::move(spec)}};
  world_.executor().PostAfter(kCompletes, [this, key = set.key] { Repair(key); });
}

void PodPlay::RepairLater(const Key& key) {
  const auto found = sets_.find(key);
  if (ended_ || found == sets_.end() || found->second.repairing) return;
  found->second.repairing = true;
  world_.executor().PostAfter(kReplacement, [this, key] { Repair(key); });
}

void PodPlay::Repair(const Key& key) {
  Set& set = sets_.at(key);
  set.repairing = false;
  if (ended_ || set.made >= kMostPodsOfASet) return;
  if (set.unretriable) return GiveUpLater(key);
  std::int64_t living = 0;
  const WorkloadFacts* workload = nullptr;
  for (const auto& [name, pod] : pods_) {
    if (Key{name.first, pod.set} != key) continue;
    if (pod.succeeded || (!pod.failed && !pod.deleting)) ++living;
    if (workload == nullptr && !pod.group.empty()) workload = WorkloadOf(pod);
  }
  if (workload != nullptr && workload->finished) return;
  for (; living < set.total && set.made < kMostPodsOfASet; ++living) {
    Json pod = set.original;
    pod["metadata"]["name"] = set.key.second + "-r" + std::to_string(++set.made);
    // The webhooks do not answer while no controller runs.
    if (!world_.ApplyOne(pod)) return RepairLater(key);
  }
}

// A pod of an unretriable group that is deleted before it has a node never ends: it is told neither
// to run nor to fail. The group's Workload keeps its quota, as in Kueue, until the owner replaces
// the pod or deletes the Workload. This owner deletes the Workload.
void PodPlay::GiveUpLater(const Key& key) {
  world_.executor().PostAfter(kGivesUp, [this, key] {
    for (const auto& [name, pod] : pods_) {
      if (ended_ || Key{name.first, pod.set} != key || !IsLostForGood(pod)) continue;
      static_cast<void>(world_.api().Delete({"kueue.x-k8s.io", "v1beta2", "workloads"}, name.first,
                                            pod.group, {.propagation_policy = "Background"}));
      return GiveUpLater(key);  // the webhooks may not answer
    }
  });
}

bool PodPlay::IsLostForGood(const Pod& pod) const {
  const WorkloadFacts* workload =
      pod.unretriable && pod.deleting && !pod.placed && !pod.over() ? WorkloadOf(pod) : nullptr;
  return workload != nullptr && workload->reserved && !workload->finished && !workload->deleting;
}

void PodPlay::SeePod(const Pod* before, const Pod& now) {
  const bool started = before != nullptr && before->gated && !now.gated;
  if (!started || now.deleting) return;
  const WorkloadFacts* workload = WorkloadOf(now);
  if (workload == nullptr || workload->deleting) {
    // Another client deleted the Workload; the event is under way.
    const bool lately = std::any_of(gone_.begin(), gone_.end(), [&](const auto& each) {
      return each.second + seconds(75) >= world_.clock().SteadyNow();
    });
    if (lately) return;
  }
  if (workload == nullptr || !workload->admitted || workload->finished) {
    return invariants_.Report("pod-without-admission",
                              Show(now.key) + " is ungated, its Workload is " +
                                  (workload == nullptr ? "missing" : "not admitted"));
  }
  const auto fits = [&](const std::string& flavor) {
    const auto labels = invariants_.truth().flavors().find(flavor);
    if (labels == invariants_.truth().flavors().end()) return true;
    return std::all_of(labels->second.begin(), labels->second.end(), [&](const auto& label) {
      const auto selected = now.node_selector.find(label.first);
      return selected != now.node_selector.end() && selected->second == label.second;
    });
  };
  // The pod sets of a group may have different flavors.
  if (std::none_of(workload->flavors.begin(), workload->flavors.end(), fits)) {
    return invariants_.Report("pod-in-wrong-place",
                              Show(now.key) + " is ungated without the labels of a flavor");
  }
  if (now.group.empty()) return;
  std::int64_t ungated = 0;
  for (const auto& [key, pod] : pods_) {
    const bool counts = pod.group == now.group && key.first == now.key.first &&
                        pod.role == now.role && !pod.gated && !pod.over() && !pod.deleting;
    if (counts) ++ungated;
  }
  for (const PodSetFacts& set : workload->pod_sets) {
    if (set.name != now.role || ungated <= set.count) continue;
    invariants_.Report("too-many-group-pods", Show(now.key) + " is the " + std::to_string(ungated) +
                                                  "th of its role, its pod set counts " +
                                                  std::to_string(set.count));
  }
}

// A pod in its deletion grace uses quota.
void PodPlay::SeeWorkload(const Key& key) {
  const auto& workloads = invariants_.truth().workloads();
  const auto now = workloads.find(key);
  const auto held = reserved_.find(key);
  if (held == reserved_.end() || !held->second || now == workloads.end() || now->second.reserved ||
      now->second.finished) {
    return;
  }
  for (const auto& [name, pod] : pods_) {
    const bool runs = pod.group == key.second && name.first == key.first && pod.running &&
                      !pod.deleting && !pod.gated;
    if (runs) {
      return invariants_.Report("group-released", "quota of " + Show(key) + " is given back, pod " +
                                                      Show(name) + " runs");
    }
  }
}

void PodPlay::Find(Findings& findings) const {
  std::map<Key, std::pair<std::int64_t, const Pod*>> succeeded;
  for (const auto& [key, pod] : pods_) {
    const WorkloadFacts* workload = WorkloadOf(pod);
    const bool admitted = workload != nullptr && workload->admitted;
    if (!pod.gated && !pod.over() && !pod.deleting && !admitted) {
      findings[{"pod-runs-unadmitted", Show(key)}] = "no admission";
    }
    const bool over = workload == nullptr || workload->finished;
    if (pod.over() && pod.held && over) findings[{"pod-held", Show(key)}] = "it has ended";
    if (!pod.group.empty() && pod.succeeded) {
      auto& [count, any] = succeeded[{key.first, pod.group}];
      ++count;
      any = &pod;
    }
  }
  for (const auto& [group, found] : succeeded) {
    const WorkloadFacts* workload = WorkloadOf(*found.second);
    if (found.first >= found.second->total && workload != nullptr && !workload->finished &&
        !workload->deleting) {
      findings[{"group-not-finished", Show(group)}] = "all its pods have succeeded";
    }
  }
}

bool PodPlay::IsSettled(const Set& set, const CouldRun& could_run) const {
  bool waits = false;
  std::int64_t succeeded = 0;
  for (const auto& [key, pod] : pods_) {
    if (Key{key.first, pod.set} != set.key) continue;
    if (pod.succeeded) ++succeeded;
    if (pod.deleting && !set.unretriable) return false;
    if (pod.over()) continue;
    const WorkloadFacts* workload = WorkloadOf(pod);
    const bool lacks_pods = workload != nullptr && workload->held_back && set.unretriable;
    const bool never = workload != nullptr && !workload->reserved &&
                       (lacks_pods || !workload->active || !could_run(*workload));
    // A pod that is deleted before it has a node never ends here.
    const bool rests = pod.gated || (pod.deleting && !pod.running);
    if (rests && (workload == nullptr || workload->finished || never)) {
      waits = true;
    } else {
      return false;
    }
  }
  return waits || succeeded >= set.total || set.unretriable || set.made >= kMostPodsOfASet ||
         !set.repairing;
}

bool PodPlay::IsOver(const CouldRun& could_run) const {
  return std::all_of(sets_.begin(), sets_.end(),
                     [&](const auto& set) { return IsSettled(set.second, could_run); });
}

void PodPlay::CheckRest(const CouldRun& could_run) {
  for (const auto& [key, set] : sets_) {
    if (!IsSettled(set, could_run)) invariants_.Report("never-finishes", "pods of " + Show(key));
  }
}

void PodPlay::Drop(const WorkloadFacts& workload, std::vector<std::string>& lines) {
  for (const auto& [key, pod] : pods_) {
    if (WorkloadOf(pod) != &workload) continue;
    sets_.at({key.first, pod.set}).unretriable = true;
    lines.push_back("delete pod " + Show(key));
    if (!pod.group.empty()) lines.push_back("delete workload " + Show(workload.key));
  }
}

std::vector<std::string> PodPlay::End() {
  ended_ = true;
  std::vector<std::string> lines;
  // The pods of a group stay until they are replaced, or their Workload goes.
  for (const auto& [key, pod] : pods_) {
    lines.push_back("delete pod " + Show(key));
    if (!pod.group.empty()) lines.push_back("delete workload " + Show({key.first, pod.group}));
  }
  return lines;
}

void PodPlay::ExpectNothingLeft() {
  for (const auto& [key, pod] : pods_) {
    invariants_.Report("left-over", "queued pod " + Show(key));
  }
}

}  // namespace berth::sim
