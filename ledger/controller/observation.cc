#include "ledger/controller/observation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "admission/messages.h"
#include "api/checkpoint.h"
#include "api/gpu_shares.h"
#include "api/job_user.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "provisioning/request_state.h"
#include "provisioning/run_duration.h"
#include "provisioning/vetoes.h"

namespace berth::ledger {
namespace {

using Conditions = std::vector<api::Condition>;

constexpr std::string_view kKueueKeys = "kueue.x-k8s.io/";

const api::Condition* FindTrue(const Conditions& conditions, const char* type) {
  const api::Condition* condition = api::FindCondition(conditions, type);
  return condition != nullptr && condition->status == api::ConditionStatus::kTrue ? condition
                                                                                  : nullptr;
}

// When the condition turned True, unless that was before `earliest`, in an earlier attempt.
std::optional<Seconds> SinceTrue(const Conditions& conditions, const char* type, Seconds earliest) {
  const api::Condition* condition = FindTrue(conditions, type);
  if (condition == nullptr) return std::nullopt;
  const Seconds since = ToSeconds(condition->last_transition_time);
  return since < earliest ? std::nullopt : std::optional(since);
}

std::string ShortMessage(const std::string& message) {
  return std::string(TruncateUtf8(message, kMaxMessageBytes));
}

// Labels of jobs, without those that Kueue sets.
std::string LabelsOf(const api::StringMap& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    if (key.find(kKueueKeys) != std::string::npos) continue;
    if (text.size() + key.size() + value.size() + 2 > kMaxLabelBytes) break;
    text += (text.empty() ? "" : ",") + key + "=" + value;
  }
  return text;
}

std::vector<ResourceUse> ResourcesOf(const api::WorkloadStatus& status) {
  std::map<std::pair<std::string, std::string>, api::Amount> sums;
  if (status.admission) {
    for (const api::PodSetAssignment& pods : status.admission->pod_set_assignments) {
      for (const auto& [resource, amount] : pods.resource_usage) {
        const auto flavor = pods.flavors.find(resource);
        api::Amount& sum = sums[{flavor == pods.flavors.end() ? "" : flavor->second, resource}];
        sum = api::AddAmounts(sum, amount);
      }
    }
  } else {
    for (const auto& [pods, amounts] : status.resource_requests) {
      for (const auto& [resource, amount] : amounts) {
        api::Amount& sum = sums[{"", resource}];
        sum = api::AddAmounts(sum, amount);
      }
    }
  }
  std::vector<ResourceUse> out;
  out.reserve(sums.size());
  for (const auto& [key, amount] : sums) out.push_back({key.first, key.second, amount});
  return out;
}

AttemptRecord Identity(const api::Workload& workload, std::int64_t number) {
  AttemptRecord out;
  out.uid = workload.meta.uid;
  out.attempt = number;
  out.namespace_name = workload.meta.namespace_name;
  out.name = workload.meta.name;
  if (!workload.meta.owner_references.empty()) {
    const api::OwnerReference* owner = api::ControllerOf(workload.meta);
    if (owner == nullptr) owner = &workload.meta.owner_references.front();
    out.owner_kind = owner->kind;
    out.owner_name = owner->name;
  }
  out.local_queue = workload.spec.queue_name;
  out.priority = workload.spec.priority.value_or(0);
  out.labels = LabelsOf(workload.meta.labels);
  if (const std::string* user = api::FindValue(workload.meta.annotations, api::kUserAnnotation)) {
    out.user = TruncateUtf8(*user, kMaxUserBytes);
  }
  out.created = ToSeconds(workload.meta.creation_timestamp);
  out.image = TruncateUtf8(provisioning::ImagesOf(workload), kMaxImageBytes);
  out.declared = provisioning::ExpectedRun(workload, std::nullopt);
  if (!out.declared) out.declared = provisioning::RunParameter(workload, {});
  if (const auto every = api::CheckpointEvery(workload.meta.annotations); every && *every) {
    out.checkpoint = std::chrono::ceil<std::chrono::seconds>(**every).count();
  }
  return out;
}

void EndByEviction(const api::Workload& workload, const api::Condition& evicted,
                   AttemptRecord& out) {
  out.ended = ToSeconds(evicted.last_transition_time);
  out.outcome = kEvicted;
  out.reason = evicted.reason;
  out.message = ShortMessage(evicted.message);
  const api::Condition* preempted = FindTrue(workload.status.conditions, api::kPreempted);
  if (evicted.reason != api::kPreempted || preempted == nullptr) return;
  out.outcome = kPreempted;
  out.reason = preempted->reason;
  out.preemptor = admission::PreemptorUidOf(workload);
}

void EndByFinish(const api::Condition& finished, AttemptRecord& out) {
  out.ended = ToSeconds(finished.last_transition_time);
  out.outcome = kFinished;
  if (finished.reason == api::kSucceeded) out.outcome = kSucceeded;
  if (finished.reason == api::kFailed || finished.reason == api::kFailedToStart) {
    out.outcome = kFailed;
  }
  if (finished.reason == api::kOwnerNotFound) out.outcome = kDeleted;  // its job was deleted, too
  out.reason = finished.reason;
  out.message = ShortMessage(finished.message);
}

// The reservation, and what follows. Nothing where no quota is reserved.
void TakeReservation(const api::Workload& workload, AttemptRecord& out) {
  const Conditions& conditions = workload.status.conditions;
  out.reserved = SinceTrue(conditions, api::kQuotaReserved, out.created);
  if (!out.reserved) return;
  if (workload.status.admission) out.cluster_queue = workload.status.admission->cluster_queue;
  out.admitted = SinceTrue(conditions, api::kAdmitted, *out.reserved);
  if (out.admitted) out.started = SinceTrue(conditions, api::kPodsReady, *out.admitted);
}

// When the attempt came into the queue, as far as the conditions say.
Seconds QueuedAt(const api::Workload& workload, const AttemptRecord& attempt) {
  if (attempt.attempt == 1) return attempt.created;
  const Conditions& conditions = workload.status.conditions;
  if (const api::Condition* requeued = FindTrue(conditions, api::kRequeued)) {
    return ToSeconds(requeued->last_transition_time);
  }
  if (attempt.reserved) return *attempt.reserved;
  const api::Condition* evicted = api::FindCondition(conditions, api::kEvicted);
  return evicted == nullptr ? attempt.created : ToSeconds(evicted->last_transition_time);
}

void TakeWait(const api::Workload& workload, WallTime now, AttemptRecord& out) {
  const api::Condition* reserved =
      api::FindCondition(workload.status.conditions, api::kQuotaReserved);
  if (reserved == nullptr || reserved->status == api::ConditionStatus::kTrue) return;
  out.waits.push_back({ToSeconds(now), reserved->reason});
}

// The attempt that ended with the release of its quota: the object has its end alone.
AttemptRecord Released(const api::Workload& workload, const api::Condition& evicted,
                       std::int64_t number) {
  AttemptRecord out = Identity(workload, number);
  EndByEviction(workload, evicted, out);
  out.queued = *out.ended;  // for a row that is new; a known row keeps its time
  return out;
}

}  // namespace

std::vector<AttemptRecord> AttemptsOf(const api::Workload& workload, WallTime now) {
  const Conditions& conditions = workload.status.conditions;
  std::int64_t evictions = 0;
  for (const api::EvictionCount& eviction : workload.status.evictions) {
    evictions += eviction.count;
  }
  const api::Condition* evicted = FindTrue(conditions, api::kEvicted);
  const api::Condition* finished = FindTrue(conditions, api::kFinished);
  if (evicted != nullptr && evictions == 0) evictions = 1;  // an older Kueue does not count
  const bool stopping = evicted != nullptr && FindTrue(conditions, api::kQuotaReserved) != nullptr;

  std::vector<AttemptRecord> out;
  if (evicted != nullptr && !stopping) out.push_back(Released(workload, *evicted, evictions));
  const bool waits_no_more = !out.empty() && (!workload.spec.active || finished != nullptr);
  if (waits_no_more) return out;
  AttemptRecord present = Identity(workload, stopping ? evictions : evictions + 1);
  TakeReservation(workload, present);
  present.queued = QueuedAt(workload, present);
  present.resources = ResourcesOf(workload.status);
  if (finished != nullptr) {
    EndByFinish(*finished, present);
  } else if (stopping) {
    EndByEviction(workload, *evicted, present);
  } else {
    TakeWait(workload, now, present);
  }
  out.push_back(std::move(present));
  return out;
}

std::vector<AttemptRecord> NewsOf(const api::Workload* before, const api::Workload& after,
                                  WallTime now) {
  std::vector<AttemptRecord> news = AttemptsOf(after, now);
  if (before == nullptr) return news;
  const std::vector<AttemptRecord> known = AttemptsOf(*before, now);
  std::erase_if(news, [&](const AttemptRecord& record) {
    return std::find(known.begin(), known.end(), record) != known.end();
  });
  return news;
}

void AddGpus(const SharesByFlavor& shares, std::vector<ResourceUse>& uses) {
  std::map<std::string, api::Amount> gpus;
  std::set<std::string> counted;
  for (const ResourceUse& use : uses) {
    if (use.resource == api::kGpusResource) counted.insert(use.flavor);
    if (use.flavor.empty()) continue;
    api::Amount per_gpu = 0;
    if (const auto flavor = shares.find(use.flavor); flavor != shares.end()) {
      const auto found = flavor->second.find(use.resource);
      if (found != flavor->second.end()) per_gpu = found->second;
    }
    if (per_gpu == 0 && !api::IsGpuResource(use.resource)) continue;
    api::Amount& sum = gpus[use.flavor];
    sum = api::AddAmounts(sum, api::GpusOf(use.amount, std::max<api::Amount>(per_gpu, 1)));
  }
  for (const auto& [flavor, amount] : gpus) {
    if (!counted.contains(flavor)) {
      uses.push_back({flavor, api::kGpusResource, amount});
    }
  }
  std::sort(uses.begin(), uses.end());
}

std::optional<std::int64_t> PriceOf(const api::ResourceFlavor& flavor) {
  const provisioning::FlavorsByName flavors{{flavor.meta.name, flavor}};
  const auto price = provisioning::PriceOf({.flavor = flavor.meta.name}, &flavors);
  return price ? std::optional(price->NanoValue()) : std::nullopt;
}

std::optional<std::int64_t> RateOf(const api::Admission& admission, const PriceByFlavor& prices) {
  std::int64_t rate = 0;
  for (const api::PodSetAssignment& pods : admission.pod_set_assignments) {
    std::optional<std::int64_t> dearest;
    for (const auto& [resource, flavor] : pods.flavors) {
      const auto price = prices.find(flavor);
      if (price != prices.end()) dearest = std::max(dearest.value_or(0), price->second);
    }
    if (!dearest) return std::nullopt;
    rate = api::AddAmounts(rate, api::MultiplyAmounts(*dearest, pods.count));
  }
  return rate;
}

NodeTimeRecord NodeTimeOf(const provisioning::MeterNote& note) {
  NodeTimeRecord out;
  const std::size_t slash = note.place.queue.find('/');
  out.id = note.place.id;
  out.node = note.meter.node;
  out.pool = note.pool;
  out.class_name = note.meter.provisioning_class;
  out.namespace_name = note.place.queue.substr(0, slash);
  if (slash != std::string::npos) out.local_queue = note.place.queue.substr(slash + 1);
  out.cluster_queue = note.cluster_queue;
  out.workload = note.meter.workload;
  out.workload_uid = note.workload_uid;
  out.from = ToSeconds(note.meter.from);
  out.until = ToSeconds(note.meter.until);
  out.gpus = note.gpus;
  out.hourly_nano = note.meter.hourly_nano;
  out.stands = note.meter.open;
  return out;
}

CapacityRecord RequestOf(const api::ProvisioningRequest& request) {
  CapacityRecord out;
  out.uid = request.meta.uid;
  out.namespace_name = request.meta.namespace_name;
  out.name = request.meta.name;
  out.class_name = request.provisioning_class_name;
  const api::OwnerReference* owner = api::ControllerOf(request.meta);
  if (owner != nullptr && owner->kind == "Workload") out.workload = owner->name;
  out.created = ToSeconds(request.meta.creation_timestamp);
  out.provisioned = SinceTrue(request.conditions, provisioning::kProvisionedCondition, 0);
  for (const char* type : {provisioning::kFailedCondition, provisioning::kCapacityRevokedCondition,
                           provisioning::kBookingExpiredCondition}) {
    const api::Condition* condition = FindTrue(request.conditions, type);
    if (condition == nullptr) continue;
    out.ended = ToSeconds(condition->last_transition_time);
    out.outcome = type;
    out.reason = condition->reason;
    out.message = ShortMessage(condition->message);
    break;
  }
  return out;
}

}  // namespace berth::ledger
