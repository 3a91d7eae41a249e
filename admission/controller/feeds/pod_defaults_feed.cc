#include "admission/controller/feeds/pod_defaults_feed.h"

#include <algorithm>
#include <utility>

#include "api/codec/device_claims.h"
#include "api/codec/limits.h"
#include "queue/workload_info.h"

namespace berth::admission {
namespace {

bool HaveSameDevices(const api::ResourceSlice& a, const api::ResourceSlice& b) {
  return a.driver == b.driver && a.pool == b.pool && a.pool_generation == b.pool_generation &&
         a.pool_slices == b.pool_slices && a.devices == b.devices;
}

}  // namespace

PodDefaultsFeed::PodDefaultsFeed(kube::Manager& manager, Scheduler& scheduler, const Clock& clock,
                                 Told told)
    : manager_(manager), scheduler_(scheduler), clock_(clock), told_(std::move(told)) {}

void PodDefaultsFeed::Connect() {
  ConnectClaims();
  const auto set_range = [this](const auto& range) {
    scheduler_.pod_defaults().Set(*range);
    LookAgain(namespaces_, range->meta.namespace_name);
  };
  manager_.InformerFor<api::LimitRange>().AddHandler(
      {.on_add = set_range,
       .on_update =
           [set_range](const auto& before, const auto& range) {
             if (before->items != range->items) set_range(range);
           },
       .on_delete =
           [this](const auto& range) {
             scheduler_.pod_defaults().RemoveLimitRange(range->meta.key());
             LookAgain(namespaces_, range->meta.namespace_name);
           }});
  const auto set_class = [this](const auto& runtime_class) {
    scheduler_.pod_defaults().Set(*runtime_class);
    LookAgain(runtime_classes_, runtime_class->meta.name);
  };
  manager_.InformerFor<api::RuntimeClass>().AddHandler(
      {.on_add = set_class,
       .on_update =
           [set_class](const auto& before, const auto& now) {
             if (before->overhead != now->overhead) set_class(now);
           },
       .on_delete =
           [this](const auto& runtime_class) {
             scheduler_.pod_defaults().RemoveRuntimeClass(runtime_class->meta.name);
             LookAgain(runtime_classes_, runtime_class->meta.name);
           }});
}

// Read only where device classes are counted: most clusters have no such kinds.
void PodDefaultsFeed::ConnectClaims() {
  if (scheduler_.config().device_classes.empty()) return;
  const auto set_claim = [this](const auto& claim) {
    scheduler_.device_claims().Set(*claim);
    LookAgain(claiming_namespaces_, claim->meta.namespace_name);
  };
  manager_.OptionalInformerFor<api::ResourceClaimTemplate>().AddHandler(
      {.on_add = set_claim,
       .on_update =
           [set_claim](const auto& before, const auto& claim) {
             if (before->requests != claim->requests) set_claim(claim);
           },
       .on_delete =
           [this](const auto& claim) {
             scheduler_.device_claims().Remove(claim->meta.key());
             LookAgain(claiming_namespaces_, claim->meta.namespace_name);
           }});
  ConnectDevices();
}

void PodDefaultsFeed::ConnectDevices() {
  const auto set_class = [this](const auto& device_class) {
    scheduler_.device_claims().pool().Set(*device_class);
    OnDevices(!device_class->extended_resource.empty());
  };
  manager_.OptionalInformerFor<api::DeviceClass>().AddHandler(
      {.on_add = set_class,
       .on_update =
           [this](const auto& before, const auto& now) {
             const bool serves_others = before->extended_resource != now->extended_resource;
             if (!serves_others && before->selectors == now->selectors) return;
             scheduler_.device_claims().pool().Set(*now);
             OnDevices(serves_others);
           },
       .on_delete =
           [this](const auto& device_class) {
             scheduler_.device_claims().pool().RemoveClass(device_class->meta.name);
             OnDevices(!device_class->extended_resource.empty());
           }});
  const auto set_slice = [this](const auto& slice) {
    scheduler_.device_claims().pool().Set(*slice);
    OnDevices(false);
  };
  manager_.OptionalInformerFor<api::ResourceSlice>().AddHandler(
      {.on_add = set_slice,
       .on_update =
           [set_slice](const auto& before, const auto& slice) {
             if (!HaveSameDevices(*before, *slice)) set_slice(slice);
           },
       .on_delete =
           [this](const auto& slice) {
             scheduler_.device_claims().pool().RemoveSlice(slice->meta.name);
             OnDevices(false);
           }});
}

// `resources`: other extended resources are served by devices.
void PodDefaultsFeed::OnDevices(bool resources) {
  devices_changed_ = true;
  served_resources_changed_ = served_resources_changed_ || resources;
  LookAgain();
}

void PodDefaultsFeed::LookAgain(std::set<std::string>& changed, const std::string& name) {
  changed.insert(name);
  LookAgain();
}

void PodDefaultsFeed::LookAgain() {
  if (std::exchange(posted_, true)) return;
  manager_.executor().PostAfter(Duration::zero(), [weak = std::weak_ptr(self_)] {
    if (const auto self = weak.lock()) (*self)->Walk();
  });
}

void PodDefaultsFeed::Walk() {
  posted_ = false;
  for (const auto& workload : manager_.InformerFor<api::Workload>().objects()) {
    if (!queue::BelongsInQueue(*workload) || !IsConcerned(*workload)) continue;
    scheduler_.Reconsider(workload, clock_.Now());
    told_.workload(workload->meta.key());
  }
  namespaces_.clear();
  runtime_classes_.clear();
  claiming_namespaces_.clear();
  devices_changed_ = false;
  served_resources_changed_ = false;
  told_.scheduler();
}

bool PodDefaultsFeed::IsConcerned(const api::Workload& workload) const {
  if (namespaces_.contains(workload.meta.namespace_name)) return true;
  if (claiming_namespaces_.contains(workload.meta.namespace_name) && api::ClaimsDevices(workload)) {
    return true;
  }
  if (served_resources_changed_ ||
      (devices_changed_ && scheduler_.device_claims().AsksForDevices(workload))) {
    return true;
  }
  const auto& pod_sets = workload.spec.pod_sets;
  return !runtime_classes_.empty() &&
         std::any_of(pod_sets.begin(), pod_sets.end(), [this](const api::PodSet& pods) {
           return runtime_classes_.contains(pods.pod_template.spec.runtime_class_name);
         });
}

}  // namespace berth::admission
