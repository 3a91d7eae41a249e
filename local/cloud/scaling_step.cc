// Nodes over time: boot, idleness, end of their machine; plain autoscaling.
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "local/cloud/step_context.h"
#include "local/cluster/scheduler/node_choice.h"
#include "local/cluster/scheduler/pod_resources.h"

namespace berth::local::cloud {
namespace {

using cluster::AnnotationOf;
using cluster::FindCondition;
using cluster::HasAnnotation;
using cluster::LabelOf;
using cluster::NameOf;
using cluster::StringAt;

constexpr char kConsumeAnnotation[] = "autoscaling.x-k8s.io/consume-provisioning-request";
constexpr char kScaleDownDisabled[] = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
constexpr char kLegacyConsumeAnnotation[] =
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request";

std::optional<WallTime> TimeFrom(const Json& node, const char* annotation) {
  return ParseTime(AnnotationOf(node, annotation));
}

class NodeStep {
 public:
  NodeStep(StepContext& context, const BookedRequests& booked)
      : context_(context), booked_(booked) {
    for (const Object& pod : context.view.pods) {
      const std::string node = StringAt(*pod, {"spec", "nodeName"});
      if (!node.empty()) busy_.insert(node);
    }
  }

  // Returns the nodes that this step deletes.
  std::set<std::string> Run() {
    for (const Object& node : context_.view.nodes) {
      if (IsOurs(*node) && !cluster::IsDeleting(*node)) Advance(*node);
    }
    return std::move(gone_);
  }

 private:
  void Advance(const Json& node) {
    const auto ledger = context_.ledgers.find(PoolOf(node));
    if (ledger == context_.ledgers.end()) return Delete(node, nullptr);
    if (const auto ends = TimeFrom(node, kEndsAtAnnotation)) {
      if (*ends <= context_.now) return Delete(node, &ledger->second);
      context_.LookAgain(*ends);
    }
    if (IsBooting(node)) {
      const WallTime ready = TimeFrom(node, kReadyAtAnnotation).value_or(context_.now);
      if (context_.now < ready) return context_.LookAgain(ready);
      context_.Do(FinishNode{NameOf(node)});
      --ledger->second.booting;
      return;
    }
    if (!Evict(node, ledger->second)) AdvanceIdleness(node, ledger->second);
  }

  // Returns whether the cloud takes the machine back now; a notice comes before.
  bool Evict(const Json& node, PoolLedger& ledger) {
    const auto end = EvictionOf(*ledger.pool, node);
    if (!end) return false;
    if (*end <= context_.now) {
      Delete(node, &ledger);
      return true;
    }
    const WallTime notice = *end - ledger.pool->eviction->notice;
    if (context_.now < notice) {
      context_.LookAgain(notice);
      return false;
    }
    if (!HasNotice(node)) {
      context_.Do(WarnNode{NameOf(node)});
      context_.Do(Announce{std::make_shared<const Json>(node), kube::EventType::kWarning,
                           "PreemptScheduled",
                           "the cloud takes the machine back at " + FormatTime(*end)});
    }
    context_.LookAgain(*end);
    return false;
  }

  void AdvanceIdleness(const Json& node, PoolLedger& ledger) {
    const auto since = TimeFrom(node, kIdleSinceAnnotation);
    const bool kept = AnnotationOf(node, kScaleDownDisabled) == "true";
    if (busy_.count(NameOf(node)) != 0 || kept) {
      if (since) context_.Do(MarkIdle{NameOf(node), std::nullopt});
      return;
    }
    if (!since) {
      context_.Do(MarkIdle{NameOf(node), context_.now});
      return context_.LookAgain(context_.now + ledger.pool->idle);
    }
    WallTime last = *since + ledger.pool->idle;
    const auto booking = booked_.find(LabelOf(node, kRequestLabel));
    if (booking != booked_.end()) last = std::max(last, booking->second);
    if (last == WallTime::max()) return;
    if (context_.now < last) return context_.LookAgain(last);
    if (ledger.nodes > ledger.pool->min_nodes) Delete(node, &ledger);
  }

  void Delete(const Json& node, PoolLedger* ledger) {
    context_.Do(DeleteNode{NameOf(node)});
    gone_.insert(NameOf(node));
    if (ledger == nullptr) return;
    --ledger->nodes;
    --ledger->nodes_by_zone[LabelOf(node, kZoneLabel)];
    if (IsBooting(node)) --ledger->booting;
  }

  StepContext& context_;
  const BookedRequests& booked_;
  std::set<std::string> busy_;
  std::set<std::string> gone_;
};

// Emulates cluster-autoscaler for pools that are not queued.
class ScaleUp {
 public:
  ScaleUp(StepContext& context, const std::set<std::string>& gone) : context_(context) {
    for (const Object& node : context.view.nodes) {
      names_.insert(NameOf(*node));
      if (gone.count(NameOf(*node)) != 0) continue;
      Json ready = *node;
      if (IsOurs(ready)) FinishBoot(ready, context.now);  // its room counts already
      rooms_[NameOf(*node)] = cluster::MakeRoom(std::make_shared<const Json>(std::move(ready)));
    }
  }

  void Run() {
    std::vector<Object> pending = Pending();
    if (!pending.empty()) FillRooms();
    for (const Object& pod : pending) Place(pod);
    for (auto& [name, ledger] : context_.ledgers) {
      while (!ledger.pool->is_queued && ledger.nodes < ledger.pool->min_nodes && CanGrow(ledger)) {
        Grow(ledger);
      }
    }
  }

 private:
  std::vector<Object> Pending() const {
    std::vector<Object> pending;
    for (const Object& pod : context_.view.pods) {
      const Json* scheduled = FindCondition(*pod, "PodScheduled");
      const bool is_waiting = StringAt(*pod, {"spec", "nodeName"}).empty() &&
                              !cluster::IsDeleting(*pod) && scheduled != nullptr &&
                              StringAt(*scheduled, {"reason"}) == "Unschedulable";
      // Pods of a ProvisioningRequest get no nodes from the autoscaler.
      const bool consumes =
          HasAnnotation(*pod, kConsumeAnnotation) || HasAnnotation(*pod, kLegacyConsumeAnnotation);
      if (is_waiting && !consumes) pending.push_back(pod);
    }
    const auto rank = [](const Object& pod) {
      return std::tuple(-cluster::IntAt(*pod, {"spec", "priority"}),
                        StringAt(*pod, {"metadata", "creationTimestamp"}), cluster::KeyOf(*pod));
    };
    std::sort(pending.begin(), pending.end(),
              [&](const Object& a, const Object& b) { return rank(a) < rank(b); });
    return pending;
  }

  void FillRooms() {
    for (const Object& pod : context_.view.pods) {
      const auto room = rooms_.find(StringAt(*pod, {"spec", "nodeName"}));
      if (room != rooms_.end()) cluster::AddTo(room->second.used, cluster::PodFootprint(*pod));
    }
  }

  void Place(const Object& pod) {
    if (TakeRoom(*pod)) return;
    PoolLedger* cheapest = nullptr;
    for (auto& [name, ledger] : context_.ledgers) {
      if (ledger.pool->is_queued || !CanGrow(ledger) || !WouldFit(*pod, *ledger.pool)) continue;
      if (cheapest == nullptr || Price(ledger) < Price(*cheapest)) cheapest = &ledger;
    }
    if (cheapest == nullptr) return;
    const std::int64_t before = cheapest->nodes;
    Grow(*cheapest);
    TakeRoom(*pod);
    context_.Do(
        Announce{pod, kube::EventType::kNormal, "TriggeredScaleUp",
                 fmt::format("pod triggered scale-up: [{{{} {}->{} (max: {})}}]",
                             cheapest->pool->name, before, before + 1, cheapest->pool->max_nodes)});
  }

  bool TakeRoom(const Json& pod) {
    if (rooms_.empty()) return false;
    const auto choice = cluster::ChooseNode(pod, rooms_);
    const auto* node = std::get_if<cluster::ChosenNode>(&choice);
    if (node == nullptr) return false;
    cluster::AddTo(rooms_.at(node->name).used, cluster::PodFootprint(pod));
    return true;
  }

  static bool WouldFit(const Json& pod, const NodePool& pool) {
    cluster::NodeRooms one;
    one["example"] =
        cluster::MakeRoom(std::make_shared<const Json>(MakeExampleNode(pool, pool.zones.front())));
    return std::holds_alternative<cluster::ChosenNode>(cluster::ChooseNode(pod, one));
  }

  static double Price(const PoolLedger& ledger) {
    const MachineType& machine = *ledger.pool->machine;
    return ledger.pool->is_spot ? machine.price_spot : machine.price_on_demand;
  }

  static bool CanGrow(const PoolLedger& ledger) {
    return ledger.pool->machine != nullptr && ledger.room() > 0 && ledger.in_stock() > 0;
  }

  void Grow(PoolLedger& ledger) {
    const NodePool& pool = *ledger.pool;
    std::vector<std::string> zones = pool.zones;
    const auto turn =
        static_cast<std::ptrdiff_t>(static_cast<std::size_t>(ledger.nodes) % zones.size());
    std::rotate(zones.begin(), zones.begin() + turn, zones.end());
    const std::string& zone = ledger.ZoneWith(1, zones);
    const Json node = MakeNode(pool, NewName(pool), zone, {}, context_.now);
    Json ready = node;
    FinishBoot(ready, context_.now);
    rooms_[NameOf(node)] = cluster::MakeRoom(std::make_shared<const Json>(std::move(ready)));
    context_.Do(CreateNode{node});
    context_.LookAgain(context_.now + pool.boot);
    ++ledger.nodes_by_zone[zone];
    ++ledger.nodes;
    ++ledger.booting;
  }

  // Never the name of an earlier node, whose pods may not have ended yet.
  std::string NewName(const NodePool& pool) {
    const std::string stem = fmt::format("gke-{}-{}", pool.name.substr(0, 40),
                                         HashText(cluster::UidOf(*pool.object)).substr(0, 8));
    for (int attempt = 0;; ++attempt) {
      const std::string seed =
          fmt::format("{}/{}/{}", stem, context_.now.time_since_epoch().count(), attempt);
      std::string name = stem + "-" + HashText(seed).substr(0, 4);
      if (names_.insert(name).second) return name;
    }
  }

  StepContext& context_;
  cluster::NodeRooms rooms_;
  std::set<std::string> names_;
};

}  // namespace

void ScalePools(StepContext& context, const BookedRequests& booked) {
  const std::set<std::string> gone = NodeStep(context, booked).Run();
  ScaleUp(context, gone).Run();
}

}  // namespace berth::local::cloud
