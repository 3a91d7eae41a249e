#include "local/cluster/scheduler/pod_binder.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "api/codec/json_write.h"
#include "base/log/log.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/scheduler/pod_resources.h"
#include "local/cluster/volumes/volume_controller.h"

namespace berth::local::cluster {
namespace {

constexpr char kWaiting[] = "waiting";
constexpr Duration kErrorDelay = std::chrono::seconds(1);

bool IsWaiting(const Json& pod) {
  return StringAt(pod, {"spec", "nodeName"}).empty() && !HasEnded(pod) && !IsDeleting(pod) &&
         ArrayAt(pod, {"spec", "schedulingGates"}).empty() &&
         StringAt(pod, {"spec", "schedulerName"}, "default-scheduler") == "default-scheduler";
}

// The node whose room the pod uses: that of a bound pod that has not ended.
std::string Occupied(const Object& pod) {
  if (pod == nullptr || HasEnded(*pod)) return "";
  return StringAt(*pod, {"spec", "nodeName"});
}

// The pod itself keeps it from every node.
std::string NoNodeFor(const std::string& why, std::size_t nodes) {
  return fmt::format(
      "0/{0} nodes are available: {1}. preemption: 0/{0} nodes are available: {0} "
      "Preemption is not helpful for scheduling.",
      nodes, why);
}

}  // namespace

PodBinder::PodBinder(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
                     const Clock& clock)
    : api_(api),
      cache_(cache),
      executor_(executor),
      clock_(clock),
      writer_(api, cache, "kube-scheduler"),
      events_(api, clock, executor, event_writes, "default-scheduler") {
  cache_.AddIndex(kPods, kWaiting, [](const Json& pod) -> std::vector<std::string> {
    if (!IsWaiting(pod)) return {};
    return {"yes"};
  });
  cache_.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
  cache_.Listen(kNodes, [this](const ObjectChange& change) { OnNode(change); });
  cache_.Listen(kPersistentVolumeClaims, [this](const ObjectChange&) { LookSoon(); });
}

void PodBinder::OnPod(const ObjectChange& change) {
  const std::string before = Occupied(change.previous);
  const std::string after = Occupied(change.current);
  if (before != after) {
    if (!before.empty()) TakeFrom(used_by_node_[before], PodFootprint(*change.previous));
    if (!after.empty()) AddTo(used_by_node_[after], PodFootprint(*change.current));
    for (const std::string& name : {before, after}) {
      const auto room = rooms_.find(name);
      if (room != rooms_.end()) room->second.used = used_by_node_[name];
    }
  }
  const bool freed_room = !before.empty() && after != before;
  const bool is_new_to_us = change.current != nullptr && IsWaiting(*change.current) &&
                            (change.previous == nullptr || !IsWaiting(*change.previous) ||
                             (*change.previous).at("spec") != (*change.current).at("spec"));
  if (freed_room || is_new_to_us) LookSoon();
}

void PodBinder::OnNode(const ObjectChange& change) {
  const std::string name = NameOf(change.any());
  if (change.current == nullptr) {
    rooms_.erase(name);
  } else {
    NodeRoom room = MakeRoom(change.current);
    room.used = used_by_node_[name];
    rooms_.insert_or_assign(name, std::move(room));
  }
  LookSoon();
}

void PodBinder::LookAfter(Duration delay) {
  if (look_is_posted_) return;
  look_is_posted_ = true;
  executor_.PostAfter(delay, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    look_is_posted_ = false;
    LookAtAll();
  });
}

void PodBinder::LookAtAll() {
  const SteadyTime begin = clock_.SteadyNow();
  refusal_by_shape_.clear();
  std::vector<Object> waiting = cache_.ByIndex(kPods, kWaiting, "yes");
  const auto rank = [](const Object& pod) {
    return std::tuple(-IntAt(*pod, {"spec", "priority"}),
                      StringAt(*pod, {"metadata", "creationTimestamp"}), KeyOf(*pod));
  };
  std::sort(waiting.begin(), waiting.end(),
            [&](const Object& a, const Object& b) { return rank(a) < rank(b); });
  bool all_answered = true;
  for (const Object& pod : waiting) all_answered = Place(pod) && all_answered;
  last_look_ = clock_.SteadyNow() - begin;
  if (!all_answered) LookAfter(kErrorDelay);
}

bool PodBinder::Place(const Object& pod) {
  if (const std::string why = ClaimsRefusal(cache_, *pod); !why.empty()) {
    return Refuse(*pod, NoNodeFor(why, rooms_.size()));
  }
  const std::string shape = ShapeOf(*pod);
  const auto known = refusal_by_shape_.find(shape);
  if (known != refusal_by_shape_.end()) return Refuse(*pod, known->second);
  const auto choice = ChooseNode(*pod, rooms_);
  if (const auto* node = std::get_if<ChosenNode>(&choice)) {
    refusal_by_shape_.clear();
    return Bind(*pod, node->name);
  }
  const std::string& message = std::get<NoNode>(choice).message;
  if (!shape.empty()) refusal_by_shape_[shape] = message;
  return Refuse(*pod, message);
}

// Pods of one controller have one template, but may have different node selectors.
std::string PodBinder::ShapeOf(const Json& pod) const {
  const Json* owner = ControllerRef(pod);
  if (owner == nullptr) return "";
  std::string shape = StringAt(*owner, {"uid"});
  for (const char* field : {"nodeSelector", "affinity"}) {
    if (const Json* value = Find(pod, {"spec", field}); value != nullptr)
      shape += api::FormatJson(*value);
  }
  return shape;
}

bool PodBinder::Bind(const Json& pod, const std::string& node) {
  const ObjectKey key = KeyOf(pod);
  Json binding = {{"apiVersion", "v1"},
                  {"kind", "Binding"},
                  {"metadata", {{"name", key.name}, {"namespace", key.namespace_name}}},
                  {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  binding["metadata"]["uid"] = UidOf(pod);
  WriteOptions options;
  options.subresource = "binding";
  options.field_manager = "kube-scheduler";
  const auto bound = api_.Create(kPods, key.namespace_name, std::move(binding), options);
  const auto now = api_.Get(kPods, key.namespace_name, key.name);
  if (now) cache_.Put(kPods, *now);
  if (!bound) {
    LogWarning("pod not bound", {{"pod", key.ToString()}, {"error", bound.error().message}});
    return bound.error().reason == "NotFound" || bound.error().reason == "Conflict";
  }
  events_.Record(pod, EventType::kNormal, "Scheduled",
                 fmt::format("Successfully assigned {} to {}", key.ToString(), node));
  return true;
}

bool PodBinder::Refuse(const Json& pod, const std::string& message) {
  const Json* known = FindCondition(pod, "PodScheduled");
  if (known != nullptr && StringAt(*known, {"message"}) == message) return true;
  const auto written = writer_.EditStatus(kPods, KeyOf(pod), UidOf(pod), [&](Json& one) {
    return SetCondition(one["status"], {"PodScheduled", "False", "Unschedulable", message},
                        clock_.Now());
  });
  if (!written) return written.error().reason == "NotFound";
  events_.Record(pod, EventType::kWarning, "FailedScheduling", message);
  return true;
}

}  // namespace berth::local::cluster
