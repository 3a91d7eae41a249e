#include "local/cluster/scheduler/node_taints.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/rfc3339.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/claiming.h"
#include "local/cluster/scheduler/pod_node_match.h"

namespace berth::local::cluster {
namespace {

constexpr char kNoSchedule[] = "NoSchedule";
constexpr char kNoExecute[] = "NoExecute";
constexpr char kUnschedulable[] = "node.kubernetes.io/unschedulable";

struct ConditionTaint {
  const char* condition;
  const char* status;
  const char* key;
  bool evicts;
};
constexpr ConditionTaint kConditionTaints[] = {
    {"Ready", "False", "node.kubernetes.io/not-ready", true},
    {"Ready", "Unknown", "node.kubernetes.io/unreachable", true},
    {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure", false},
    {"DiskPressure", "True", "node.kubernetes.io/disk-pressure", false},
    {"PIDPressure", "True", "node.kubernetes.io/pid-pressure", false},
    {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable", false}};

// Adds or takes away a taint; returns whether it changed.
bool SetTaint(Json& taints, const char* key, const char* effect, bool wanted, WallTime now) {
  const auto is_it = [&](const Json& taint) {
    return StringAt(taint, {"key"}) == key && StringAt(taint, {"effect"}) == effect;
  };
  const auto found = std::find_if(taints.begin(), taints.end(), is_it);
  if ((found != taints.end()) == wanted) return false;
  if (wanted) {
    taints.push_back({{"key", key}, {"effect", effect}, {"timeAdded", FormatTime(now)}});
  } else {
    taints.erase(found);
  }
  return true;
}

Json EvictingTaints(const Json& node) {
  Json evicting = Json::array();
  for (const Json& taint : ArrayAt(node, {"spec", "taints"})) {
    if (StringAt(taint, {"effect"}) == kNoExecute) evicting.push_back(taint);
  }
  return evicting;
}

std::string NodeNameOf(const Json& pod) { return StringAt(pod, {"spec", "nodeName"}); }

}  // namespace

bool SetTaints(Json& node, WallTime now) {
  if (FindCondition(node, "Ready") == nullptr) return false;
  Json taints = ArrayAt(node, {"spec", "taints"});
  bool changed =
      SetTaint(taints, kUnschedulable, kNoSchedule, BoolAt(node, {"spec", "unschedulable"}), now);
  for (const ConditionTaint& rule : kConditionTaints) {
    const bool wanted = ConditionIs(node, rule.condition, rule.status);
    changed = SetTaint(taints, rule.key, kNoSchedule, wanted, now) || changed;
    if (rule.evicts) changed = SetTaint(taints, rule.key, kNoExecute, wanted, now) || changed;
  }
  if (!changed) return false;
  if (taints.empty()) {
    node["spec"].erase("taints");
  } else {
    node["spec"]["taints"] = std::move(taints);
  }
  return true;
}

NodeTaints::NodeTaints(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
                       const Clock& clock)
    : cache_(cache),
      clock_(clock),
      writer_(api, cache, "kube-controller-manager"),
      events_(api, clock, executor, event_writes, "taint-eviction-controller"),
      nodes_(
          executor, "node-taints", [this](const ObjectKey& key) { return LookAtNode(key); },
          LookOptions(clock)),
      pods_(
          executor, "taint-eviction", [this](const ObjectKey& key) { return LookAtPod(key); },
          LookOptions(clock)) {
  cache_.Listen(kNodes, [this](const ObjectChange& change) { OnNode(change); });
  cache_.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
}

void NodeTaints::Start() {
  for (const Object& node : cache_.All(kNodes)) OnNode({kNodes, nullptr, node});
  nodes_.Start();
  pods_.Start();
}

void NodeTaints::OnNode(const ObjectChange& change) {
  if (change.current == nullptr) return;
  Json next = *change.current;
  if (SetTaints(next, clock_.Now())) nodes_.Add(KeyOf(next));
  const Json before = change.previous == nullptr ? Json::array() : EvictingTaints(*change.previous);
  if (EvictingTaints(*change.current) == before) return;
  for (const Object& pod : cache_.All(kPods)) {
    if (NodeNameOf(*pod) == NameOf(*change.current)) pods_.Add(KeyOf(*pod));
  }
}

void NodeTaints::OnPod(const ObjectChange& change) {
  if (change.current == nullptr) {
    tolerates_since_.erase(UidOf(*change.previous));
    return;
  }
  const Json& pod = *change.current;
  if (NodeNameOf(pod).empty() || HasEnded(pod) || IsDeleting(pod)) return;
  const Object node = cache_.Get(kNodes, {"", NodeNameOf(pod)});
  if (node != nullptr && !EvictingTaints(*node).empty()) pods_.Add(KeyOf(pod));
}

Result<NextLook> NodeTaints::LookAtNode(const ObjectKey& key) {
  const Object node = cache_.Get(kNodes, key);
  if (node == nullptr || IsDeleting(*node)) return NextLook{};
  const auto written = writer_.Edit(kNodes, key, UidOf(*node), "",
                                    [this](Json& one) { return SetTaints(one, clock_.Now()); });
  BERTH_CHECK_OK(Settled(written));
  return NextLook{};
}

Result<NextLook> NodeTaints::LookAtPod(const ObjectKey& key) {
  const Object pod = cache_.Get(kPods, key);
  if (pod == nullptr || HasEnded(*pod) || IsDeleting(*pod)) return NextLook{};
  const Object node = cache_.Get(kNodes, {"", NodeNameOf(*pod)});
  const Json taints = node == nullptr ? Json::array() : EvictingTaints(*node);
  const auto stay = ToleranceOf((*pod)["spec"], taints);
  if (!stay) {
    tolerates_since_.erase(UidOf(*pod));
    return NextLook{};
  }
  const WallTime now = clock_.Now();
  const WallTime end = tolerates_since_.try_emplace(UidOf(*pod), now).first->second + *stay;
  if (now < end) return LookAt(end, now);
  BERTH_CHECK_OK(Evict(*pod));
  return NextLook{};
}

Status NodeTaints::Evict(const Json& pod) {
  events_.Record(pod, EventType::kNormal, "TaintManagerEviction",
                 "Marking for deletion Pod " + NamespaceOf(pod) + "/" + NameOf(pod));
  const auto written = writer_.EditStatus(kPods, KeyOf(pod), UidOf(pod), [&](Json& one) {
    return SetCondition(one["status"],
                        {"DisruptionTarget", "True", "DeletionByTaintManager",
                         "Taint manager: deleting due to NoExecute taint"},
                        clock_.Now());
  });
  BERTH_CHECK_OK(Settled(written));
  return writer_.Delete(kPods, pod);
}

}  // namespace berth::local::cluster
