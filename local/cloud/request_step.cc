// The life of ProvisioningRequests; the numbers are those of the figure in cloud_step.h.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "base/seconds.h"
#include "base/strings.h"
#include "local/cloud/gang_fit.h"
#include "local/cloud/step_context.h"

namespace berth::local::cloud {
namespace {

using cluster::ArrayAt;
using cluster::ConditionIs;
using cluster::Find;
using cluster::FindCondition;
using cluster::IntAt;
using cluster::KeyOf;
using cluster::StringAt;
using cluster::TimeAt;

constexpr char kExhausted[] =
    "Waiting for resources. Currently there are not enough resources available to fulfill the "
    "request.";
constexpr char kWaitedTooLong[] =
    "Resize request could not provision queued instances in the allocated time.";
constexpr char kNodeCountDetail[] = "NodeCount";

constexpr std::int64_t kMostNodes = 100'000;  // bound for values from a status

enum class Phase { kNew, kPending, kQueued, kProvisioned, kBookingExpired, kOver };

Phase PhaseOf(const Json& request) {
  if (ConditionIs(request, "Failed", "True")) return Phase::kOver;
  if (ConditionIs(request, "CapacityRevoked", "True")) return Phase::kOver;
  if (ConditionIs(request, "BookingExpired", "True")) return Phase::kBookingExpired;
  if (ConditionIs(request, "Provisioned", "True")) return Phase::kProvisioned;
  if (ConditionIs(request, "Accepted", "True")) return Phase::kQueued;
  return FindCondition(request, "Accepted") == nullptr ? Phase::kNew : Phase::kPending;
}

WallTime TransitionOf(const Json& request, std::string_view type, WallTime fallback) {
  const Json* condition = FindCondition(request, type);
  if (condition == nullptr) return fallback;
  return TimeAt(*condition, {"lastTransitionTime"}).value_or(fallback);
}

std::string DetailOf(const Json& request, std::string_view key) {
  return StringAt(request, {"status", "provisioningClassDetails", key});
}

std::int64_t NodeCountOf(const Json& request) {
  const auto count = ParseInt64(DetailOf(request, kNodeCountDetail)).value_or(1);
  return std::clamp<std::int64_t>(count, 0, kMostNodes);
}

struct Refused {
  std::string reason;
  std::string message;
};
struct Chosen {
  PoolLedger* ledger = nullptr;
  FitsOn fit;
};

class RequestStep {
 public:
  RequestStep(StepContext& context, const Json& request, std::set<std::string>& blocked_pools)
      : context_(context),
        request_(request),
        key_(KeyOf(request)),
        created_(TimeAt(request, {"metadata", "creationTimestamp"}).value_or(context.now)),
        blocked_pools_(blocked_pools),
        status_(request.value("status", Json::object())) {}

  void Run() {
    switch (PhaseOf(request_)) {
      case Phase::kNew: Begin(); break;
      case Phase::kPending: Accept(); break;
      case Phase::kQueued: Grant(); break;
      case Phase::kProvisioned: ExpireBooking(); break;
      case Phase::kBookingExpired: Revoke(); break;
      case Phase::kOver: Forget(); break;
    }
    if (status_ == request_.value("status", Json::object())) return;
    context_.Do(SetRequestStatus{key_, cluster::UidOf(request_), std::move(status_)});
  }

 private:
  void Begin() {  // 1
    Set("Accepted", "False", "NotAccepted", "Provisioning Request wasn't accepted.");
    context_.LookAgain(created_ + context_.times.accept_delay);
  }

  void Accept() {  // 2, 6
    if (IsTooLate()) return;
    if (MaxRunSeconds() < 0) {
      return Fail("InvalidArgumentMaxRunDurationParseError",
                  fmt::format("Failed to parse maxRunDurationSeconds: \"{}\" is not a number of "
                              "seconds.",
                              Parameter("maxRunDurationSeconds")));
    }
    if (context_.now < created_ + context_.times.accept_delay) {
      return context_.LookAgain(created_ + context_.times.accept_delay);
    }
    const auto members = ReadMembers();
    if (const auto* refused = std::get_if<Refused>(&members)) return FailSoon(*refused);
    if (SearchesAllZones() && SelectsZone(std::get<std::vector<GangMember>>(members))) {
      return Fail("ObtainabilityStrategyAndZoneIncompatible",
                  "capacitySearchStrategy OBTAINABILITY cannot be used with a node selector for "
                  "topology.kubernetes.io/zone.");
    }
    const auto choice = ChoosePool(std::get<std::vector<GangMember>>(members));
    if (const auto* refused = std::get_if<Refused>(&choice)) return FailSoon(*refused);
    const Chosen& chosen = std::get<Chosen>(choice);
    WriteDetails(*chosen.ledger, chosen.fit);
    Set("Accepted", "True", "SuccessfullyQueued", "Provisioning Request was successfully queued.");
    chosen.ledger->promised += chosen.fit.node_count;
    ++chosen.ledger->waiting_requests;
    context_.LookAgain(context_.now + context_.times.exhausted_after);
  }

  std::variant<std::vector<GangMember>, Refused> ReadMembers() const {
    std::vector<GangMember> members;
    std::vector<std::string> missing;
    const Json& pod_sets = ArrayAt(request_, {"spec", "podSets"});
    for (const Json& pod_set : pod_sets) {
      const std::string name = StringAt(pod_set, {"podTemplateRef", "name"});
      const auto found = context_.view.templates.find({key_.namespace_name, name});
      if (found == context_.view.templates.end()) {
        missing.push_back(name);
        continue;
      }
      const Json* spec = Find(*found->second, {"template", "spec"});
      members.push_back({spec == nullptr ? Json::object() : *spec, IntAt(pod_set, {"count"}, 1)});
    }
    if (missing.empty()) return members;
    return Refused{"MissingPodTemplates",
                   fmt::format("Provisioning Request will fail soon as it is missing pod "
                               "templates, {} pod templates were referenced, {} templates were "
                               "missing: {}",
                               pod_sets.size(), missing.size(), Join(missing, ","))};
  }

  // The reason against every pool, in GKE's order of priority, if no pool fits.
  std::variant<Chosen, Refused> ChoosePool(const std::vector<GangMember>& members) {
    std::vector<Chosen> possible;
    std::string too_large;
    bool is_full = false;
    bool is_full_for_search = false;
    for (auto& [name, ledger] : context_.ledgers) {
      if (!ledger.pool->is_queued) continue;
      const GangFit fit = FitGang(*ledger.pool, members);
      if (const auto* large = std::get_if<TooLargeForNode>(&fit)) {
        too_large = fmt::format("{}: Insufficient {}", name, large->short_of);
      } else if (const auto* fits = std::get_if<FitsOn>(&fit)) {
        const auto zones = static_cast<std::int64_t>(SearchesAllZones() ? fits->zones.size() : 1);
        if (fits->node_count <= ledger.room() / zones) {
          possible.push_back({&ledger, *fits});
        } else {
          is_full_for_search = is_full_for_search || fits->node_count <= ledger.room();
          is_full = true;
        }
      }
    }
    if (!possible.empty()) return BestOf(possible);
    if (!too_large.empty()) {
      return Refused{
          "ProvisioningRequestNotSchedulableInNodepool",
          "Provisioning Request's pods cannot be scheduled in the nodepool. " + too_large};
    }
    if (is_full_for_search) {
      return Refused{"CannotExecuteObtainabilityStrategy",
                     "Could not execute OBTAINABILITY capacitySearchStrategy: the nodepool has no "
                     "room for the nodes of all its zones."};
    }
    if (is_full) return Refused{"NodepoolSizeReached", "Max nodepool size reached"};
    return Refused{"NoQueuedNodepoolAvailable",
                   "No nodepool with QueuedProvisioning enabled is available for scale up"};
  }

  static Chosen BestOf(const std::vector<Chosen>& possible) {
    const auto rank = [](const Chosen& one) {
      const std::string& zone = one.ledger->ZoneWith(one.fit.node_count, one.fit.zones);
      const bool must_wait = one.ledger->in_stock(zone) < one.fit.node_count;
      const double price = one.ledger->pool->machine->price_on_demand;
      return std::tuple(must_wait, price * static_cast<double>(one.fit.node_count),
                        one.ledger->pool->name);
    };
    return *std::min_element(possible.begin(), possible.end(),
                             [&](const Chosen& a, const Chosen& b) { return rank(a) < rank(b); });
  }

  void WriteDetails(const PoolLedger& ledger, const FitsOn& fit) {
    const NodePool& pool = *ledger.pool;
    std::vector<std::string> templates;
    for (const Json& pod_set : ArrayAt(request_, {"spec", "podSets"})) {
      templates.push_back(StringAt(pod_set, {"podTemplateRef", "name"}));
    }
    status_["provisioningClassDetails"] = {
        {"ResizeRequestName", ResizeRequestName(key_)},    {"NodePoolName", pool.name},
        {"AcceleratorType", pool.accelerator_type},        {"NodePoolAutoProvisioned", "false"},
        {"PodTemplateName", Join(templates, ",")},         {"ProvisioningMode", "resize_request"},
        {kNodeCountDetail, std::to_string(fit.node_count)}};
    if (!SearchesAllZones()) return SelectZone(pool, ledger.ZoneWith(fit.node_count, fit.zones));
    std::vector<std::string> groups;
    for (const std::string& zone : fit.zones) groups.push_back(NodeGroup(pool, zone));
    Json& details = status_["provisioningClassDetails"];
    details["CommittedZones"] = Join(fit.zones, ",");
    details["CommittedNodeGroups"] = Join(groups, ",");
  }

  static std::string NodeGroup(const NodePool& pool, const std::string& zone) {
    return fmt::format("gke-{}-{}-grp", pool.name, zone);
  }

  void SelectZone(const NodePool& pool, const std::string& zone) {
    Json& details = status_["provisioningClassDetails"];
    details["SelectedZone"] = zone;
    details["NodeGroupName"] = NodeGroup(pool, zone);
    details.erase("CommittedZones");
    details.erase("CommittedNodeGroups");
  }

  bool SearchesAllZones() const { return Parameter("capacitySearchStrategy") == "OBTAINABILITY"; }

  static bool SelectsZone(const std::vector<GangMember>& members) {
    return std::any_of(members.begin(), members.end(), [](const GangMember& member) {
      return Find(member.pod_spec, {"nodeSelector", kZoneLabel}) != nullptr;
    });
  }

  // The zones in which the request waits: one, or those of a search.
  std::vector<std::string> WaitsIn() const {
    const std::string committed = DetailOf(request_, "CommittedZones");
    if (committed.empty()) return {DetailOf(request_, "SelectedZone")};
    std::vector<std::string> zones;
    for (const std::string_view zone : Split(committed, ',')) zones.emplace_back(zone);
    return zones;
  }

  void Grant() {  // 3, 7
    if (IsTooLate()) return;
    const WallTime queued = TransitionOf(request_, "Accepted", context_.now);
    const auto found = context_.ledgers.find(DetailOf(request_, "NodePoolName"));
    if (found == context_.ledgers.end()) {
      const WallTime last = queued + context_.times.missing_pool_grace;
      if (context_.now < last) return context_.LookAgain(last);
      return Fail("MissingResizeRequest", "Resize request is missing: its nodepool is gone.");
    }
    PoolLedger& ledger = found->second;
    ++ledger.waiting_requests;
    const std::int64_t missing = NodeCount() - ExistingNodes();
    const WallTime due = queued + ledger.pool->grant_delay.value_or(context_.times.grant_delay);
    const std::vector<std::string> waits_in = WaitsIn();
    const std::vector<std::string> first_in = FirstIn(ledger, waits_in);
    const std::string zone = first_in.empty() ? "" : ledger.ZoneWith(missing, first_in);
    if (!first_in.empty() && context_.now >= due && missing <= ledger.in_stock(zone)) {
      for (const std::string& each : first_in) blocked_pools_.erase(QueueOf(ledger, each));
      if (SearchesAllZones()) SelectZone(*ledger.pool, zone);
      CreateNodes(ledger, zone, missing);
      if (ledger.pool->overprovisions) Overprovision(ledger, zone, waits_in);
      return;
    }
    if (!first_in.empty() && context_.now < due) context_.LookAgain(due);
    const WallTime exhausted = queued + context_.times.exhausted_after;
    if (context_.now < exhausted) return context_.LookAgain(exhausted);
    Set("Provisioned", "False", "ResourcePoolExhausted", kExhausted);
  }

  // The zones in whose queue the request is the first; it takes that place.
  std::vector<std::string> FirstIn(const PoolLedger& ledger,
                                   const std::vector<std::string>& zones) {
    std::map<std::string, bool> is_first;  // by queue: zones may share one
    std::vector<std::string> first_in;
    for (const std::string& zone : zones) {
      const std::string queue = QueueOf(ledger, zone);
      if (!is_first.contains(queue)) is_first[queue] = blocked_pools_.insert(queue).second;
      if (is_first[queue]) first_in.push_back(zone);
    }
    return first_in;
  }

  // The queue in which the request waits: each zone with a stock of its own has one.
  static std::string QueueOf(const PoolLedger& ledger, const std::string& zone) {
    return ledger.pool->name + (ledger.pool->stock_by_zone.empty() ? "" : "/" + zone);
  }

  void CreateNodes(PoolLedger& ledger, const std::string& zone, std::int64_t missing) {
    NodeOrigin origin;
    origin.resize_request = DetailOf(request_, "ResizeRequestName");
    origin.max_run_seconds = MaxRunSeconds();
    origin.ends_at = context_.now + BoundedSeconds(*origin.max_run_seconds);
    const std::string hash =
        HashText(origin.resize_request + cluster::UidOf(request_)).substr(0, 8);
    const std::int64_t count = NodeCount();
    for (std::int64_t at = 0; at < count; ++at) {
      const std::string name =
          fmt::format("gke-{}-{}-{}", ledger.pool->name.substr(0, 40), hash, at);
      if (NodeExists(name)) continue;
      context_.Do(CreateNode{MakeNode(*ledger.pool, name, zone, origin, context_.now)});
    }
    ledger.nodes += missing;
    ledger.nodes_by_zone[zone] += missing;
    ledger.booting += missing;
    ledger.promised -= missing;
    --ledger.waiting_requests;
    Set("Provisioned", "True", "Provisioned", "Provisioning Request was successfully provisioned.");
    context_.LookAgain(context_.now + context_.times.booking);
  }

  // A search that got machines in one zone gets them in each other one that has them, too: nodes
  // that no request books.
  void Overprovision(PoolLedger& ledger, const std::string& chosen,
                     const std::vector<std::string>& zones) {
    std::vector<std::string> others;
    const std::int64_t count = NodeCount();
    for (const std::string& zone : zones) {
      if (zone == chosen || ledger.in_stock(zone) < count) continue;
      others.push_back(zone);
      const std::string hash = HashText(zone + cluster::UidOf(request_)).substr(0, 8);
      for (std::int64_t at = 0; at < count; ++at) {
        const std::string name =
            fmt::format("gke-{}-{}-{}", ledger.pool->name.substr(0, 40), hash, at);
        if (NodeExists(name)) continue;
        context_.Do(CreateNode{MakeNode(*ledger.pool, name, zone, {}, context_.now)});
      }
      ledger.nodes += count;
      ledger.nodes_by_zone[zone] += count;
      ledger.booting += count;
    }
    if (!others.empty()) {
      status_["provisioningClassDetails"]["OverprovisionedZones"] = Join(others, ",");
    }
  }

  void ExpireBooking() {  // 4
    const WallTime expires =
        TransitionOf(request_, "Provisioned", context_.now) + context_.times.booking;
    if (context_.now < expires) return context_.LookAgain(expires);
    Set("BookingExpired", "True", "BookingExpired",
        "Capacity booking for the Provisioning Request has expired and the nodes are now "
        "candidates for scale down when underutilized.");
    context_.LookAgain(RevokedAt());
  }

  void Revoke() {  // 5
    if (context_.now < RevokedAt()) return context_.LookAgain(RevokedAt());
    Set("CapacityRevoked", "True", "CapacityRevoked",
        "Capacity provisioned for the Provisioning Request was reclaimed and is no longer "
        "available in the cluster.");
  }

  void Forget() {
    const WallTime over = std::max(TransitionOf(request_, "Failed", created_),
                                   TransitionOf(request_, "CapacityRevoked", created_));
    const WallTime last = over + context_.times.keep_finished;
    if (context_.now < last) return context_.LookAgain(last);
    context_.Do(DeleteRequest{key_});
  }

  bool IsTooLate() {
    const auto seconds = ParseInt64(Parameter("ValidUntilSeconds"));
    if (!seconds || *seconds <= 0) return false;
    const WallTime last = created_ + BoundedSeconds(*seconds);
    if (context_.now < last) {
      context_.LookAgain(last);
      return false;
    }
    Fail("WaitTimeExceeded", kWaitedTooLong);
    return true;
  }

  void FailSoon(const Refused& refused) {
    const WallTime last = created_ + context_.times.early_failure_grace;
    if (context_.now >= last) return Fail(refused.reason, refused.message);
    Set("Accepted", "False", refused.reason, refused.message);
    context_.LookAgain(last);
  }

  void Fail(const std::string& reason, const std::string& message) {
    Set("Failed", "True", reason, message);
    ReleasePromise();
  }

  void ReleasePromise() {
    if (PhaseOf(request_) != Phase::kQueued) return;
    const auto found = context_.ledgers.find(DetailOf(request_, "NodePoolName"));
    if (found != context_.ledgers.end()) found->second.promised -= NodeCount() - ExistingNodes();
  }

  void Set(const std::string& type, const std::string& value, const std::string& reason,
           const std::string& message) {
    cluster::SetCondition(status_, {type, value, reason, message}, context_.now,
                          cluster::TransitionRule::kOnAnyChange);
  }

  std::string Parameter(std::string_view name) const {
    return StringAt(request_, {"spec", "parameters", name});
  }

  // -1: the parameter is invalid.
  std::int64_t MaxRunSeconds() const {
    const std::string text = Parameter("maxRunDurationSeconds");
    if (text.empty()) {
      return std::chrono::duration_cast<std::chrono::seconds>(context_.times.default_max_run)
          .count();
    }
    const auto seconds = ParseInt64(text);
    return seconds && *seconds > 0 ? *seconds : -1;
  }

  WallTime RevokedAt() const {
    return TransitionOf(request_, "Provisioned", context_.now) +
           BoundedSeconds(std::max<std::int64_t>(MaxRunSeconds(), 0));
  }

  std::int64_t NodeCount() const { return NodeCountOf(request_); }

  std::int64_t ExistingNodes() const {
    const std::string name = DetailOf(request_, "ResizeRequestName");
    return std::count_if(context_.view.nodes.begin(), context_.view.nodes.end(),
                         [&](const Object& node) {
                           return IsOurs(*node) && cluster::LabelOf(*node, kRequestLabel) == name;
                         });
  }

  bool NodeExists(const std::string& name) const {
    return std::any_of(context_.view.nodes.begin(), context_.view.nodes.end(),
                       [&](const Object& node) { return cluster::NameOf(*node) == name; });
  }

  StepContext& context_;
  const Json& request_;
  const cluster::ObjectKey key_;
  const WallTime created_;
  std::set<std::string>& blocked_pools_;
  Json status_;
};

}  // namespace

std::string ResizeRequestName(const cluster::ObjectKey& key) {
  return fmt::format("gke-{}-{}-{}", key.namespace_name.substr(0, 20), key.name.substr(0, 20),
                     HashText(key.namespace_name + "/" + key.name));
}

BookedRequests AdvanceRequests(StepContext& context) {
  std::vector<Object> requests;
  for (const Object& request : context.view.requests) {
    if (!cluster::IsDeleting(*request)) requests.push_back(request);
  }
  const auto rank = [](const Object& one) {
    return std::tuple(StringAt(*one, {"metadata", "creationTimestamp"}), KeyOf(*one));
  };
  std::sort(requests.begin(), requests.end(),
            [&](const Object& a, const Object& b) { return rank(a) < rank(b); });
  BookedRequests booked;
  for (const Object& request : requests) {
    const Phase phase = PhaseOf(*request);
    const std::string name = DetailOf(*request, "ResizeRequestName");
    if (phase == Phase::kQueued) {
      booked[name] = WallTime::max();  // the booking starts with the gang's last node
      const auto ledger = context.ledgers.find(DetailOf(*request, "NodePoolName"));
      if (ledger == context.ledgers.end()) continue;
      const auto existing = std::count_if(
          context.view.nodes.begin(), context.view.nodes.end(), [&](const Object& node) {
            return IsOurs(*node) && cluster::LabelOf(*node, kRequestLabel) == name;
          });
      ledger->second.promised += NodeCountOf(*request) - existing;
    } else if (phase == Phase::kProvisioned) {
      booked[name] = TransitionOf(*request, "Provisioned", context.now) + context.times.booking;
    }
  }
  std::set<std::string> blocked_pools;
  for (const Object& request : requests) RequestStep(context, *request, blocked_pools).Run();
  return booked;
}

}  // namespace berth::local::cloud
