#include "local/cluster/garbage/pod_garbage.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cluster {
namespace {

constexpr Duration kRound = std::chrono::seconds(20);
constexpr Duration kQuarantine = std::chrono::seconds(40);  // how long a node must be missing
constexpr std::size_t kMostAtOnce = 200;
constexpr std::size_t kMostMissing = 1000;              // nodes that are known to be missing …
constexpr Duration kRecord = std::chrono::minutes(10);  // … beyond this time
constexpr char kOutOfService[] = "node.kubernetes.io/out-of-service";

const ObjectKey& EndedPods() {
  static const ObjectKey kKey{"", ""};  // stands for all ended pods
  return kKey;
}

bool IsOutOfService(const Json& node) {
  if (ConditionIs(node, "Ready", "True")) return false;
  const Json& taints = ArrayAt(node, {"spec", "taints"});
  return std::any_of(taints.begin(), taints.end(),
                     [](const Json& taint) { return StringAt(taint, {"key"}) == kOutOfService; });
}

std::string NodeOf(const Json& pod) { return StringAt(pod, {"spec", "nodeName"}); }

bool IsEvicted(const Json& pod) {
  return StringAt(pod, {"status", "phase"}) == "Failed" &&
         StringAt(pod, {"status", "reason"}) == "Evicted";
}

// Evicted pods go first, then older ones.
auto EndedOrder(const Json& pod) {
  return std::tuple(!IsEvicted(pod), StringAt(pod, {"metadata", "creationTimestamp"}), NameOf(pod));
}

// What a pod was is written and its deletion asked for: only finalizers hold it.
bool WaitsForFinalizers(const Json& pod) {
  return HasEnded(pod) && IsDeleting(pod) &&
         IntAt(pod, {"metadata", "deletionGracePeriodSeconds"}) == 0;
}

}  // namespace

PodGarbageCollector::PodGarbageCollector(Api& api, ObjectCache& cache, Executor& executor,
                                         const Clock& clock, std::size_t most_ended_pods)
    : cache_(cache),
      clock_(clock),
      writer_(api, cache, "kube-controller-manager"),
      most_ended_(most_ended_pods),
      pods_(
          executor, "pod-garbage", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(clock)) {
  cache_.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
  cache_.Listen(kNodes, [this](const ObjectChange& change) { OnNode(change); });
}

void PodGarbageCollector::Start() {
  ended_ = 0;
  for (const Object& pod : cache_.All(kPods)) {
    ended_ += HasEnded(*pod) ? 1 : 0;
    if (MayBeGarbage(*pod)) pods_.Add(KeyOf(*pod));
  }
  is_started_ = true;
  if (ended_ > most_ended_) pods_.Add(EndedPods());
  pods_.Start();
}

bool PodGarbageCollector::MayBeGarbage(const Json& pod) const {
  const std::string name = NodeOf(pod);
  if (name.empty()) return IsDeleting(pod);
  const Object node = cache_.Get(kNodes, {"", name});
  return node == nullptr || (IsDeleting(pod) && IsOutOfService(*node));
}

void PodGarbageCollector::OnPod(const ObjectChange& change) {
  if (!is_started_) return;
  const bool had_ended = change.previous != nullptr && HasEnded(*change.previous);
  const bool has_ended = change.current != nullptr && HasEnded(*change.current);
  if (had_ended && !has_ended) --ended_;
  if (has_ended && !had_ended && ++ended_ > most_ended_) pods_.Add(EndedPods());
  if (change.current != nullptr && MayBeGarbage(*change.current)) {
    pods_.Add(KeyOf(*change.current));
  }
}

void PodGarbageCollector::OnNode(const ObjectChange& change) {
  const std::string name = NameOf(change.any());
  if (change.current != nullptr) missing_since_.erase(name);
  if (!is_started_ || (change.current != nullptr && !IsOutOfService(*change.current))) return;
  for (const Object& pod : cache_.All(kPods)) {
    if (NodeOf(*pod) == name && MayBeGarbage(*pod)) pods_.Add(KeyOf(*pod));
  }
}

Result<NextLook> PodGarbageCollector::Look(const ObjectKey& key) {
  if (key == EndedPods()) return RemoveOldest();
  const Object pod = cache_.Get(kPods, key);
  if (pod == nullptr || !MayBeGarbage(*pod) || WaitsForFinalizers(*pod)) return NextLook{};
  const std::string name = NodeOf(*pod);
  if (!name.empty() && cache_.Get(kNodes, {"", name}) == nullptr) return LookAtOrphan(*pod, name);
  if (name.empty()) {
    const WallTime now = clock_.Now();
    const auto deleted = TimeAt(*pod, {"metadata", "deletionTimestamp"});
    if (deleted && now < *deleted + kRound) return LookAt(*deleted + kRound, now);
  }
  BERTH_CHECK_OK(Remove(*pod, false));
  return NextLook{};
}

Result<NextLook> PodGarbageCollector::LookAtOrphan(const Json& pod, const std::string& node) {
  const WallTime now = clock_.Now();
  if (missing_since_.size() > kMostMissing) {
    std::erase_if(missing_since_, [&](const auto& one) { return one.second + kRecord < now; });
  }
  const WallTime since = missing_since_.try_emplace(node, now).first->second;
  if (now < since + kQuarantine) return LookAt(since + kQuarantine, now);
  const auto found = writer_.api().Get(kNodes, "", node);
  if (found) return NextLook{kRound};  // the cache learns of the node soon
  if (found.error().reason != "NotFound") return ToError(found.error());
  BERTH_CHECK_OK(Remove(pod, true));
  return NextLook{};
}

Status PodGarbageCollector::Remove(const Json& pod, bool is_orphan) {
  const auto written = writer_.EditStatus(kPods, KeyOf(pod), UidOf(pod), [&](Json& one) {
    if (HasEnded(one)) return false;
    Json& status = one["status"];
    status["phase"] = "Failed";
    if (is_orphan) {
      SetCondition(status,
                   {"DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists"},
                   clock_.Now());
    }
    return true;
  });
  if (!written) {
    return written.error().reason == "NotFound" ? OkStatus() : Status(ToError(written.error()));
  }
  DeleteOptions options;
  options.grace_period_seconds = 0;
  return writer_.Delete(kPods, pod, options);
}

Result<NextLook> PodGarbageCollector::RemoveOldest() {
  if (ended_ <= most_ended_) return NextLook{};
  std::vector<Object> ended;
  for (const Object& pod : cache_.All(kPods)) {
    if (HasEnded(*pod)) ended.push_back(pod);
  }
  std::sort(ended.begin(), ended.end(), [](const Object& one, const Object& other) {
    return EndedOrder(*one) < EndedOrder(*other);
  });
  const std::size_t before = ended_;
  const std::size_t count = std::min(ended_ - most_ended_, kMostAtOnce);
  for (std::size_t at = 0; at < std::min(count, ended.size()); ++at) {
    BERTH_CHECK_OK(Remove(*ended[at], false));
  }
  if (ended_ <= most_ended_) return NextLook{};
  // Pods that finalizers hold count until they are gone.
  return NextLook{ended_ < before ? Duration::zero() : kRound};
}

}  // namespace berth::local::cluster
