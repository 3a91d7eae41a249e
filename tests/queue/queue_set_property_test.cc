// Goal: the heaps, groups and marks of a ClusterQueue's waiting workloads agree with a plain
// list, also in the returned workloads of bulk parking and in the counters of LocalQueues and
// labels. Method: random operations on a QueueSet with one queue and on a list that is sorted after
// each; after each operation both agree.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "queue/queue_set.h"
#include "tests/support/property.h"

namespace berth::queue {
namespace {

using support::Below;

struct Op {
  int kind = 0;
  int workload = 0;
  int value = 0;
  int shape = 0;
};
std::ostream& operator<<(std::ostream& out, const Op& op) {
  constexpr const char* kNames[] = {"add", "pop", "requeue", "wake", "change", "remove"};
  return out << kNames[op.kind] << " " << op.workload << " value " << op.value << " shape "
             << op.shape;
}

rc::Gen<Op> AnyOp() {
  return rc::gen::build<Op>(rc::gen::set(&Op::kind, Below(6)),
                            rc::gen::set(&Op::workload, Below(8)),
                            rc::gen::set(&Op::value, Below(8)), rc::gen::set(&Op::shape, Below(3)));
}

// LocalQueue and label of a workload → how many are active, and wait otherwise.
using Counts = std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, std::int64_t>>;

std::string TeamOf(const api::Workload& workload) {
  const std::string* team = api::FindValue(workload.meta.labels, "team");
  return team == nullptr ? "" : *team;
}

enum class At { kActive, kParked, kHeld, kInFlight };

struct Item {
  WorkloadInfo info;
  At at = At::kActive;
  bool named = false;  // listed since its arrival or change of shape
};

class Plain {
 public:
  Plain(bool best_effort, Listing listing) : best_effort_(best_effort), listing_(listing) {}

  void Add(WorkloadId id, const WorkloadInfo& info) {
    items_[id] = {info, At::kActive};
    PushOrPark(items_[id]);
  }
  // Changes a workload to another priority or shape.
  void Change(WorkloadId id, const WorkloadInfo& info) {
    Item& item = items_.at(id);
    if (item.info.shape != info.shape) item.named = false;
    item.info = info;
    if (item.at == At::kParked || item.at == At::kHeld) PushOrPark(item);
  }
  void Relabel(WorkloadId id, const WorkloadInfo& info) { items_.at(id).info = info; }
  void Remove(WorkloadId id) {
    items_.erase(id);
    if (preemptor_ == id) preemptor_.reset();
  }
  WorkloadId Pop() {
    woken_ = false;
    const std::vector<WorkloadId> active = Sorted(At::kActive);
    if (active.empty()) return kNoNode;
    items_.at(active.front()).at = At::kInFlight;
    return active.front();
  }
  // Returns the workloads that are parked in bulk and listed.
  std::vector<WorkloadId> Requeue(WorkloadId id, RequeueReason reason) {
    Item& item = items_.at(id);
    if (reason == RequeueReason::kPendingPreemption) preemptor_ = id;
    const bool at_once = best_effort_ ? reason == RequeueReason::kFailedAfterNomination ||
                                            reason == RequeueReason::kPendingPreemption ||
                                            reason == RequeueReason::kPreemptionFailed
                                      : reason != RequeueReason::kNamespaceMismatch;
    if (!MayRun(item)) {
      item.at = At::kHeld;
    } else if (at_once || woken_) {
      item.at = At::kActive;
      return {};
    } else {
      item.at = At::kParked;
    }
    if (!best_effort_ ||
        (reason != RequeueReason::kNoFit && reason != RequeueReason::kPreemptionNoCandidates)) {
      return {};
    }
    marked_.insert(item.info.shape);
    if (item.at == At::kParked) item.named = true;  // parked by a decision on itself
    return ParkAll(item.info.shape);
  }
  // A group of equal parked workloads is woken by its highest priority.
  std::int64_t Wake(WallTime now, std::int64_t from) {
    now_ = now;
    woken_ = true;
    std::map<std::uint64_t, std::int64_t> highest;         // the shape's workloads, but those held
    std::map<std::uint64_t, std::int64_t> highest_parked;  // in the namespace that passes
    for (const auto& [id, item] : items_) {
      if (item.at == At::kHeld) continue;
      const auto raise = [&item = item.info](std::map<std::uint64_t, std::int64_t>& of) {
        std::int64_t& known = of.try_emplace(item.shape, item.priority).first->second;
        known = std::max(known, item.priority);
      };
      raise(highest);
      if (item.at == At::kParked && Passes(item)) raise(highest_parked);
    }
    std::erase_if(marked_, [&](std::uint64_t shape) {
      return !highest.contains(shape) || highest.at(shape) >= from;
    });
    std::int64_t count = 0;
    for (auto& [id, item] : items_) {
      if (!Passes(item)) continue;
      const bool parked = item.at == At::kParked && highest_parked.at(item.info.shape) >= from;
      const bool held = item.at == At::kHeld && MayRun(item) && item.info.priority >= from;
      if (!parked && !held) continue;
      item.at = At::kActive;
      ++count;
    }
    return count;
  }
  Counts CountAll() const {
    Counts counts;
    for (const auto& [id, item] : items_) {
      const api::Workload& object = *item.info.object;
      const api::ObjectKey key{object.meta.namespace_name, object.spec.queue_name};
      auto& [active, others] = counts[{key.ToString(), TeamOf(object)}];
      ++(item.at == At::kActive || item.at == At::kInFlight ? active : others);
    }
    return counts;
  }
  std::vector<WorkloadId> Active() const { return Sorted(At::kActive); }
  std::vector<WorkloadId> Inadmissible() const { return Sorted(At::kParked, At::kHeld); }

 private:
  std::vector<WorkloadId> ParkAll(std::uint64_t shape) {
    std::vector<WorkloadId> named;
    for (auto& [id, item] : items_) {
      if (item.at != At::kActive || item.info.shape != shape) continue;
      item.at = At::kParked;
      const bool is_new = !std::exchange(item.named, true);
      if (listing_ == Listing::kAll || (listing_ == Listing::kNew && is_new)) named.push_back(id);
    }
    return named;
  }
  static bool Passes(const Item& item) { return item.info.object->meta.namespace_name == "open"; }
  bool MayRun(const Item& item) const {
    const auto& state = item.info.object->status.requeue_state;
    return !state || !state->requeue_at || *state->requeue_at <= now_;
  }
  void PushOrPark(Item& item) {
    item.at = At::kActive;
    if (best_effort_ && marked_.contains(item.info.shape)) item.at = At::kParked;
    if (!MayRun(item)) item.at = At::kHeld;
  }
  std::vector<WorkloadId> Sorted(At at, std::optional<At> or_at = {}) const {
    std::vector<WorkloadId> ids;
    for (const auto& [id, item] : items_) {
      if (item.at == at || item.at == or_at) ids.push_back(id);
    }
    std::sort(ids.begin(), ids.end(), [this](WorkloadId a, WorkloadId b) {
      const bool sticky_a = best_effort_ && preemptor_ == a;
      const bool sticky_b = best_effort_ && preemptor_ == b;
      if (sticky_a != sticky_b) return sticky_a;
      const WorkloadInfo& left = items_.at(a).info;
      const WorkloadInfo& right = items_.at(b).info;
      if (left.priority != right.priority) return left.priority > right.priority;
      return left.object->meta.uid < right.object->meta.uid;
    });
    return ids;
  }

  bool best_effort_;
  Listing listing_;
  WallTime now_{};
  bool woken_ = false;  // since the last pop
  std::set<std::uint64_t> marked_;
  std::optional<WorkloadId> preemptor_;
  std::map<WorkloadId, Item> items_;
};

class Both {
 public:
  Both(bool best_effort, Listing listing) : set_(true, listing), plain_(best_effort, listing) {
    set_.counts().SwitchOn(
        [](const api::Workload& workload) { return std::vector{TeamOf(workload)}; });
    queue_ = set_.ClusterQueueNumber("cq");
    ClusterQueueSettings settings;
    settings.strategy =
        best_effort ? api::QueueingStrategy::kBestEffortFifo : api::QueueingStrategy::kStrictFifo;
    settings.namespace_selector.emplace().match_labels["open"] = "yes";
    settings.active = true;
    set_.SetClusterQueue(queue_, settings);
    for (const char* name : {"open", "closed"}) {
      set_.namespaces().Set(name, {{"open", std::string(name) == "open" ? "yes" : "no"}});
      set_.SetLocalQueue({name, "lq"}, "cq", api::StopPolicy::kNone);
      set_.SetLocalQueue({name, "other"}, "cq", api::StopPolicy::kNone);
    }
  }

  void Do(const Op& op) {
    const WorkloadId id = op.workload;
    const bool known = infos_.contains(id);
    switch (op.kind) {
      case 0:
        if (known) return;
        infos_[id] = Make(op);
        set_.Upsert(id, nullptr, infos_[id], now_);
        plain_.Add(id, infos_[id]);
        return;
      case 1:
        if (in_flight_ == kNoNode) Pop();
        return;
      case 2:
        if (in_flight_ != kNoNode) Requeue(static_cast<RequeueReason>(op.value));
        return;
      case 3:
        now_ += std::chrono::seconds(op.value);
        RC_ASSERT(set_.Wake(queue_, now_, nullptr, FromOf(op)) == plain_.Wake(now_, FromOf(op)));
        return;
      case 4:
        if (known) Change(id, op);
        return;
      default:
        if (!known) return;
        set_.Remove(id);
        plain_.Remove(id);
        infos_.erase(id);
        if (in_flight_ == id) in_flight_ = kNoNode;
    }
  }
  void Compare() {
    CompareCounts();
    CompareVersion();
    const WaitingWorkloads::Lists view = set_.waiting(queue_).Split();
    RC_ASSERT(view.active == plain_.Active());
    RC_ASSERT(view.inadmissible == plain_.Inadmissible());
    const std::int64_t pending = set_.waiting(queue_).count();
    RC_ASSERT(pending == static_cast<std::int64_t>(view.active.size() + view.inadmissible.size()));
  }

 private:
  void CompareCounts() {
    for (const PendingCounts::Count& count : set_.counts().TakeChanged()) {
      const auto key = std::pair(count.local_queue.ToString(), count.values.front());
      counts_[key] = {count.active, count.inadmissible};
      if (counts_[key] == std::pair<std::int64_t, std::int64_t>{}) counts_.erase(key);
    }
    RC_ASSERT(counts_ == plain_.CountAll());
    RC_ASSERT(set_.counts().TakeChanged().empty());
  }
  // Equal versions promise an equal list; the list follows from the ranks.
  void CompareVersion() {
    std::vector<WorkloadId> list = set_.waiting(queue_).All();
    std::vector<WaitingWorkloads::Ranked> ranked = set_.waiting(queue_).AllRanked();
    std::sort(ranked.begin(), ranked.end(),
              [](const auto& a, const auto& b) { return Before(a.rank, b.rank); });
    RC_ASSERT(ranked.size() == list.size());
    for (std::size_t i = 0; i < list.size(); ++i) RC_ASSERT(ranked[i].workload == list[i]);
    const std::uint64_t version = set_.waiting(queue_).version();
    RC_ASSERT(version != version_ || list == list_);
    version_ = version;
    list_ = std::move(list);
  }
  WorkloadInfo Make(const Op& op) const {
    api::Workload object;
    object.meta.namespace_name = op.shape == 2 ? "closed" : "open";
    object.meta.uid = "u" + std::to_string(op.workload);
    object.meta.generation = 1;
    object.meta.labels["team"] = op.value % 2 == 0 ? "a" : "b";
    object.spec.queue_name = op.value % 3 == 0 ? "other" : "lq";
    // Some have an instant before which they may not be requeued.
    if (op.value == 7) object.status.requeue_state = {1, now_ + std::chrono::seconds(5)};
    WorkloadInfo info;
    info.priority = op.value % 4;
    info.shape = ShapeOf(op);
    info.object = std::make_shared<const api::Workload>(object);
    return info;
  }
  static std::int64_t FromOf(const Op& op) { return op.shape == 0 ? kEveryPriority : op.workload; }
  static std::uint64_t ShapeOf(const Op& op) {
    return 1 + static_cast<std::uint64_t>(op.shape % 2);
  }
  void Change(WorkloadId id, const Op& op) {
    const WorkloadInfo before = infos_.at(id);
    api::Workload object = *before.object;
    ++object.meta.generation;
    WorkloadInfo next = before;
    next.priority = op.value;
    next.shape = ShapeOf(op);
    const bool same = next.priority == before.priority && next.shape == before.shape;
    if (same) {  // only its labels change: it keeps its place
      object.meta.generation = before.object->meta.generation;
      object.meta.labels["team"] = TeamOf(object) == "a" ? "c" : "a";
    }
    next.object = std::make_shared<const api::Workload>(object);
    set_.Upsert(id, &before, next, now_);
    if (same) {
      plain_.Relabel(id, next);
    } else {
      plain_.Change(id, next);
    }
    infos_[id] = next;
  }
  void Pop() {
    std::vector<Head> heads;
    set_.TakeHeads(heads);
    in_flight_ = plain_.Pop();
    RC_ASSERT((heads.empty() ? kNoNode : heads[0].workload) == in_flight_);
  }
  void Requeue(RequeueReason reason) {
    std::vector<WorkloadId> named =
        set_.Requeue({in_flight_, queue_}, reason, QueueSet::Scan::kDone, now_).bulk_parked;
    std::sort(named.begin(), named.end());
    RC_ASSERT(named == plain_.Requeue(in_flight_, reason));
    in_flight_ = kNoNode;
  }

  QueueSet set_;
  Plain plain_;
  ClusterQueueId queue_ = -1;
  WallTime now_{};
  Counts counts_;
  std::vector<WorkloadId> list_;
  std::uint64_t version_ = 0;
  std::map<WorkloadId, WorkloadInfo> infos_;
  WorkloadId in_flight_ = kNoNode;
};

TEST(QueueSetProperty, AgreesWithAPlainList) {
  support::CheckProperty(10000, [] {
    const auto listing = *rc::gen::element(Listing::kNo, Listing::kNew, Listing::kAll);
    Both both(*rc::gen::arbitrary<bool>(), listing);
    const auto ops = *rc::gen::container<std::vector<Op>>(AnyOp());
    for (const Op& op : ops) {
      both.Do(op);
      both.Compare();
    }
  });
}

}  // namespace
}  // namespace berth::queue
