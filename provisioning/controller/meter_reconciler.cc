#include "provisioning/controller/meter_reconciler.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "api/codec/provisioning_policy.h"
#include "api/gpu_shares.h"
#include "api/labels.h"
#include "api/pod_phase.h"
#include "api/pool_of_node.h"
#include "api/provisioning_labels.h"
#include "api/reasons.h"
#include "checks/controller_names.h"
#include "provisioning/check_settings.h"
#include "provisioning/lease.h"
#include "provisioning/policy_steps.h"
#include "provisioning/reactive.h"
#include "provisioning/reuse.h"

namespace berth::provisioning {
namespace {

constexpr char kNodeSeconds[] = "berth_capacity_node_seconds_total";
constexpr char kCost[] = "berth_capacity_cost_usd_total";
constexpr char kSetIndex[] = "meter/set";         // nodes: the request that brought them
constexpr char kNamesIndex[] = "meter/names";     // requests: the name that their nodes carry
constexpr char kOnNodeIndex[] = "meter/on-node";  // pods of Workloads, placeholders: their node
constexpr char kNameDetail[] = "ResizeRequestName";
constexpr Duration kLookEvery = std::chrono::minutes(1);
constexpr Duration kWriteEvery = std::chrono::minutes(5);
constexpr double kNanoPerDollar = 1e9;

// The Workload that the pod works for, or whose place it holds; nullopt: neither.
std::optional<api::ObjectKey> ServedBy(const api::Pod& pod) {
  for (const char* annotation : {api::kWorkloadAnnotation, api::kPlaceholderAnnotation}) {
    const std::string* name = api::FindValue(pod.meta.annotations, annotation);
    if (name != nullptr) return api::ObjectKey{pod.meta.namespace_name, *name};
  }
  return std::nullopt;
}

bool IsAtWork(const api::Pod& pod) {
  return !pod.spec.node_name.empty() && !api::HasEnded(pod) && ServedBy(pod).has_value();
}

std::vector<std::string> NamesOf(const api::ProvisioningRequest& request) {
  const std::string* name = api::FindValue(request.provisioning_class_details, kNameDetail);
  if (name == nullptr || name->empty()) return {};
  return {*name};
}

}  // namespace

MeterReconciler::MeterReconciler(kube::Manager& manager, const Clock& clock, SpendKeeper& spend,
                                 kube::Metrics* metrics,
                                 std::function<void(const std::string&)> settled,
                                 std::function<void(const MeterNote&)> noted)
    : manager_(manager),
      clock_(clock),
      spend_(spend),
      metrics_(metrics),
      settled_(std::move(settled)),
      noted_(std::move(noted)),
      workloads_(manager.InformerFor<api::Workload>()),
      checks_(manager.InformerFor<api::AdmissionCheck>()),
      configs_(manager.InformerFor<api::ProvisioningRequestConfig>()),
      policies_(manager.OptionalInformerFor<api::ProvisioningPolicy>()),
      requests_(manager.OptionalInformerFor<api::ProvisioningRequest>()),
      flavors_(manager.InformerFor<api::ResourceFlavor>()) {
  requests_.AddIndex(kNamesIndex, NamesOf);
}

void MeterReconciler::Watch(kube::Controller& controller) {
  controller_ = &controller;
  const auto open = [this](const auto& policy) {
    if (policy->metering) Open();
  };
  policies_.AddHandler(
      {.on_add = open, .on_update = [open](const auto&, const auto& now) { open(now); }});
  const auto check_came = [this](const auto& /*check*/) { OpenPods(); };
  checks_.AddHandler(
      {.on_add = check_came,
       .on_update = [check_came](const auto&, const auto& now) { check_came(now); }});
  const auto add = [this](const auto& request) { AddNodesOf(*request); };
  requests_.AddHandler(
      {.on_add = add, .on_update = [add](const auto&, const auto& now) { add(now); }});
}

// A node may be seen before its request names it.
void MeterReconciler::AddNodesOf(const api::ProvisioningRequest& request) {
  if (nodes_ == nullptr) return;
  for (const std::string& name : NamesOf(request)) {
    for (const auto& node : nodes_->ByIndex(kSetIndex, name)) controller_->Add(node->meta.key());
  }
}

void MeterReconciler::Open() {
  if (nodes_ != nullptr) {  // a policy begins to measure: the nodes that stand may concern it
    for (const auto& node : nodes_->objects()) controller_->Add(node->meta.key());
    return;
  }
  nodes_ = &manager_.InformerFor<api::Node>();
  nodes_->AddIndex(kSetIndex, [](const api::Node& node) {
    std::string set = SetOf(node);
    return set.empty() ? std::vector<std::string>{} : std::vector{std::move(set)};
  });
  const auto add = [this](const auto& node) { controller_->Add(node->meta.key()); };
  nodes_->AddHandler({.on_add = add,
                      .on_update =
                          [add](const auto& before, const auto& now) {
                            if (SetOf(*before) != SetOf(*now) ||
                                LeasedTo(*before) != LeasedTo(*now)) {
                              add(now);
                            }
                          },
                      .on_delete = add});
  OpenPods();
}

void MeterReconciler::OpenPods() {
  if (nodes_ == nullptr || pods_ != nullptr) return;
  const auto& checks = checks_.objects();
  const bool some_reactive = std::any_of(checks.begin(), checks.end(), [](const auto& check) {
    return check->controller_name == checks::kReactiveCheckController;
  });
  if (!some_reactive) return;
  pods_ = &manager_.InformerFor<api::Pod>();
  pods_->AddIndex(kOnNodeIndex, [](const api::Pod& pod) {
    return IsAtWork(pod) ? std::vector{pod.spec.node_name} : std::vector<std::string>{};
  });
  const auto add = [this](const auto& pod) {
    const std::string& node = pod->spec.node_name;
    if (!node.empty() && ServedBy(*pod)) controller_->Add({"", node});
  };
  pods_->AddHandler({.on_add = add,
                     .on_update =
                         [add](const auto& before, const auto& now) {
                           if (IsAtWork(*before) != IsAtWork(*now)) add(now);
                         },
                     .on_delete = add});
}

const api::ProvisioningPolicy* MeterReconciler::MeteringPolicyOf(
    const api::Workload& workload) const {
  for (const api::AdmissionCheckState& state : workload.status.admission_checks) {
    const auto check = checks_.Get({"", state.name});
    if (check == nullptr) continue;
    const Result<std::string> name = ConfigNameOf(*check);
    const auto config = name ? configs_.Get({"", *name}) : nullptr;
    const std::string policy = PolicyNameOf(*check, config.get());
    const auto found = policy.empty() ? nullptr : policies_.Get({"", policy});
    // Valid while the informer's store does not change: during the call of the caller.
    if (found != nullptr && found->metering) return found.get();
  }
  return nullptr;
}

// The price of the step, else of the dearest flavor of the Workload.
std::optional<std::int64_t> MeterReconciler::PriceFor(const api::Workload& workload,
                                                      const std::string& step) const {
  const api::ProvisioningPolicy* policy = MeteringPolicyOf(workload);
  if (policy == nullptr) return std::nullopt;
  const auto price_of = [this](const api::ProvisioningStep& asked) {
    FlavorsByName flavors;
    if (const auto flavor = flavors_.Get({"", asked.flavor})) flavors[asked.flavor] = *flavor;
    const auto price = PriceOf(asked, &flavors);
    return price ? std::optional(price->NanoValue()) : std::nullopt;
  };
  for (const api::ProvisioningStep& each : StepsOf(*policy)) {
    if (each.name != step || (each.flavor.empty() && !each.price_per_hour)) continue;
    return price_of(each);
  }
  std::optional<std::int64_t> dearest;
  for (const std::string& flavor : FlavorsOf(workload)) {
    const auto price = price_of({.flavor = flavor});
    if (price) dearest = std::max(dearest.value_or(0), *price);
  }
  return dearest;
}

NodeUse MeterReconciler::UseBy(const api::Node& node, const api::Workload& workload) const {
  NodeUse use{.queue = QueueOf(workload),
              .node_uid = node.meta.uid,
              .workload_uid = workload.meta.uid,
              .created = node.meta.creation_timestamp};
  use.meter.node = node.meta.name;
  use.meter.workload = workload.meta.name;
  return use;
}

std::optional<NodeUse> MeterReconciler::LeaseUse(const api::Node& node) const {
  const auto lease = LeaseOf(node);
  const auto key = LeasedTo(node);
  if (!lease || !key || !Lives(*lease, clock_.Now())) return std::nullopt;
  const auto workload = workloads_.Get(*key);
  if (workload == nullptr || MeteringPolicyOf(*workload) == nullptr) return std::nullopt;
  NodeUse use = UseBy(node, *workload);
  use.meter.hourly_nano = PriceFor(*workload, "");
  // The price at which the node was asked for.
  const auto open = spend_.meters().OpenOf(node.meta.uid);
  if (!open) return use;
  const api::NodeMeter& before = spend_.meters().Of(open->queue).meters.at(open->id);
  use.meter.hourly_nano = before.hourly_nano;
  use.meter.provisioning_class = before.provisioning_class;
  return use;
}

std::optional<NodeUse> MeterReconciler::RequestUse(const api::Node& node) const {
  const std::string set = SetOf(node);
  if (set.empty()) return std::nullopt;
  for (const auto& request : requests_.ByIndex(kNamesIndex, set)) {
    const api::OwnerReference* owner = api::ControllerOf(request->meta);
    if (owner == nullptr) continue;
    const auto workload = workloads_.Get({request->meta.namespace_name, owner->name});
    if (workload == nullptr || workload->meta.uid != owner->uid) continue;
    if (MeteringPolicyOf(*workload) == nullptr) continue;
    const std::string* step =
        api::FindValue(request->meta.annotations, api::kProvisioningStepAnnotation);
    NodeUse use = UseBy(node, *workload);
    use.meter.charge = KeptChargeId(request->meta.uid);
    use.meter.provisioning_class = request->provisioning_class_name;
    use.meter.hourly_nano = PriceFor(*workload, step == nullptr ? "" : *step);
    return use;
  }
  return std::nullopt;
}

bool MeterReconciler::IsReactive(const api::Workload& workload) const {
  const auto& states = workload.status.admission_checks;
  return std::any_of(states.begin(), states.end(), [this](const auto& state) {
    const auto check = checks_.Get({"", state.name});
    return check != nullptr && check->controller_name == checks::kReactiveCheckController;
  });
}

// The first step for a flavor of the Workload; empty: there is none.
std::string MeterReconciler::StepByFlavor(const api::Workload& workload) const {
  const api::ProvisioningPolicy* policy = MeteringPolicyOf(workload);
  if (policy == nullptr) return "";
  const std::vector<std::string> flavors = FlavorsOf(workload);
  for (const api::ProvisioningStep& step : StepsOf(*policy)) {
    if (std::find(flavors.begin(), flavors.end(), step.flavor) != flavors.end()) return step.name;
  }
  return "";
}

std::optional<NodeUse> MeterReconciler::PodUse(const api::Node& node) const {
  if (pods_ == nullptr) return std::nullopt;
  const auto open = spend_.meters().OpenOf(node.meta.uid);
  std::optional<NodeUse> first;
  for (const auto& pod : pods_->ByIndex(kOnNodeIndex, node.meta.name)) {
    const auto workload = workloads_.Get(*ServedBy(*pod));
    if (workload == nullptr || !IsReactive(*workload)) continue;
    if (MeteringPolicyOf(*workload) == nullptr) continue;
    const api::Condition* reserved =
        api::FindCondition(workload->status.conditions, api::kQuotaReserved);
    const bool is_brought = reserved != nullptr &&
                            reserved->status == api::ConditionStatus::kTrue &&
                            node.meta.creation_timestamp >= reserved->last_transition_time;
    if (!is_brought && !open) continue;
    NodeUse use = UseBy(node, *workload);
    use.meter.provisioning_class = kReactiveClass;
    use.meter.hourly_nano = PriceFor(*workload, StepByFlavor(*workload));
    if (open && *open == MeterMemory::PlaceOf(use)) return use;
    if (!first) first = std::move(use);
  }
  return first;
}

std::optional<NodeUse> MeterReconciler::UseOf(const api::Node& node) const {
  auto use = LeaseUse(node);
  if (use) return use;
  if (SetOf(node).empty()) return PodUse(node);
  use = RequestUse(node);
  // A node whose lease has ended stays with the Workload that had the lease.
  const auto open = spend_.meters().OpenOf(node.meta.uid);
  if (!use || !open || *open == MeterMemory::PlaceOf(*use)) return use;
  return std::nullopt;
}

void MeterReconciler::Extend(const MeterPlace& place) {
  const Metered added = spend_.meters().Extend(place, clock_.Now());
  spend_.NoteMeters(place.queue);
  Note(place);
  if (metrics_ == nullptr || added.seconds == 0) return;
  const api::NodeMeter& meter = spend_.meters().Of(place.queue).meters.at(place.id);
  const std::size_t slash = place.queue.find('/');
  const auto workload = workloads_.Get({place.queue.substr(0, slash), meter.workload});
  const bool has_quota = workload != nullptr && workload->status.admission.has_value();
  const kube::MetricLabels labels{
      {"provisioning_class", meter.provisioning_class},
      {"cluster_queue", has_quota ? workload->status.admission->cluster_queue : ""}};
  metrics_->Increment(kNodeSeconds, labels, static_cast<double>(added.seconds));
  if (!meter.hourly_nano) return;
  metrics_->Increment(kCost, labels, static_cast<double>(added.nano_dollars) / kNanoPerDollar);
}

// How many of a resource are one GPU of the node, as a flavor of the Workload says, else another
// flavor whose labels the node has.
std::map<std::string, api::Amount> MeterReconciler::SharesOf(const api::Node& node,
                                                             const api::Workload* workload) const {
  const std::vector<std::string> own =
      workload == nullptr ? std::vector<std::string>{} : FlavorsOf(*workload);
  std::map<std::string, api::Amount> shares;
  for (const auto& flavor : flavors_.objects()) {
    const std::string* text =
        api::FindValue(flavor->meta.annotations, api::kSharesPerGpuAnnotation);
    const auto& labels = flavor->node_labels;
    const bool is_own = std::find(own.begin(), own.end(), flavor->meta.name) != own.end();
    const bool has_labels = std::all_of(labels.begin(), labels.end(), [&node](const auto& label) {
      const std::string* value = api::FindValue(node.meta.labels, label.first);
      return value != nullptr && *value == label.second;
    });
    if (text == nullptr || !has_labels || (labels.empty() && !is_own)) continue;
    auto parsed = api::ParseShareNumbers(*text);
    if (!parsed) continue;  // the flavor's webhook refuses such a text
    if (is_own) return *std::move(parsed);
    if (shares.empty()) shares = *std::move(parsed);
  }
  return shares;
}

void MeterReconciler::Note(const MeterPlace& place) const {
  if (!noted_) return;
  const auto& meters = spend_.meters().Of(place.queue).meters;
  const auto found = meters.find(place.id);
  if (found == meters.end()) return;
  MeterNote note{.place = place, .meter = found->second};
  const std::string space = place.queue.substr(0, place.queue.find('/'));
  const auto workload = workloads_.Get({space, note.meter.workload});
  if (workload != nullptr && IsOf(place.id, workload->meta.uid)) {
    note.workload_uid = workload->meta.uid;
    const auto& admission = workload->status.admission;
    if (admission) note.cluster_queue = admission->cluster_queue;
  }
  const auto node = nodes_->Get({"", note.meter.node});
  if (node != nullptr && IsOnNode(place.id, node->meta.uid)) {
    note.pool = api::NodePoolOf(*node);
    note.gpus = WholeGpusOf(*node, SharesOf(*node, workload.get()));
  }
  noted_(note);
}

// Ends the open meters of nodes that went while no controller ran; the others go on.
void MeterReconciler::TakeUp(const std::string& queue) {
  if (!taken_up_.insert(queue).second) return;
  std::vector<std::string> gone;
  for (const auto& [id, meter] : spend_.meters().Of(queue).meters) {
    if (!meter.open) continue;
    const auto node = nodes_->Get({"", meter.node});
    if (node != nullptr && IsOnNode(id, node->meta.uid)) {
      controller_->Add(node->meta.key());
    } else {
      gone.push_back(id);
    }
  }
  for (const std::string& id : gone) {
    spend_.meters().End({queue, id});
    Note({queue, id});
  }
  if (!gone.empty()) spend_.NoteMeters(queue);
}

// Returns the queues with a meter that has ended.
std::set<std::string> MeterReconciler::Count(const std::string& name, const api::Node* node,
                                             const std::optional<NodeUse>& use) {
  MeterMemory& meters = spend_.meters();
  std::set<std::string> ended;
  const auto end = [&](const MeterPlace& place) {
    meters.End(place);
    Note(place);
    spend_.NoteMeters(place.queue);
    ended.insert(place.queue);
  };
  for (const MeterPlace& place : meters.OpenNamed(name)) {
    const bool is_this = node != nullptr && IsOnNode(place.id, node->meta.uid);
    // A node that was replaced under its name went at an unknown time.
    if (node == nullptr || is_this) Extend(place);
    if (!is_this) end(place);
  }
  if (!use) return ended;
  const MeterPlace place = MeterMemory::PlaceOf(*use);
  const auto open = meters.OpenOf(use->node_uid);
  if (open && *open != place) end(*open);
  if (!open || *open != place) {
    meters.Begin(*use, clock_.Now());
    Extend(place);
  }
  return ended;
}

void MeterReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  if (nodes_ == nullptr) return done(kube::NextLook{});
  if (!nodes_->has_synced() || (pods_ != nullptr && !pods_->has_synced()))
    return done(kube::NextLook{kLookEvery});
  const auto node = nodes_->Get(key);
  const std::optional<NodeUse> use = node == nullptr ? std::nullopt : UseOf(*node);
  if (use && !spend_.IsLoaded(use->queue)) {
    return spend_.Settle(use->queue, [this, key, done = std::move(done)](const Status& status) {
      if (!status) return done(status.error());
      Reconcile(key, done);
    });
  }
  if (use) TakeUp(use->queue);
  std::set<std::string> due = Count(key.name, node.get(), use);
  for (const std::string& queue : due) settled_(queue);
  const auto open = node == nullptr ? std::nullopt : spend_.meters().OpenOf(node->meta.uid);
  if (open && clock_.Now() - written_[open->queue] >= kWriteEvery) due.insert(open->queue);
  const kube::NextLook next{open ? std::optional<Duration>(kLookEvery) : std::nullopt};
  Write({due.begin(), due.end()}, next, std::move(done));
}

void MeterReconciler::Write(std::vector<std::string> queues, kube::NextLook next, Done done) {
  if (queues.empty()) return done(next);
  const std::string queue = std::move(queues.back());
  queues.pop_back();
  written_[queue] = clock_.Now();
  spend_.Settle(queue, [this, queues = std::move(queues), next,
                        done = std::move(done)](const Status& status) mutable {
    if (!status) return done(status.error());
    Write(std::move(queues), next, std::move(done));
  });
}

}  // namespace berth::provisioning
