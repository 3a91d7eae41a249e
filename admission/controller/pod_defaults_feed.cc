#include "admission/controller/pod_defaults_feed.h"

#include <algorithm>
#include <utility>

#include "api/codec/device_claims.h"
#include "api/codec/limits.h"
#include "queue/workload_info.h"

namespace berth::admission {

PodDefaultsFeed::PodDefaultsFeed(kube::Manager& manager, Scheduler& scheduler, const Clock& clock,
                                 Told told)
    : manager_(manager), scheduler_(scheduler), clock_(clock), told_(std::move(told)) {}

void PodDefaultsFeed::Connect() {
  ConnectClaims();
  const auto set_range = [this](const auto& range) {
    scheduler_.ApplyLimitRange(*range);
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
             scheduler_.ForgetLimitRange(range->meta.key());
             LookAgain(namespaces_, range->meta.namespace_name);
           }});
  const auto set_class = [this](const auto& runtime_class) {
    scheduler_.ApplyRuntimeClass(*runtime_class);
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
             scheduler_.ForgetRuntimeClass(runtime_class->meta.name);
             LookAgain(runtime_classes_, runtime_class->meta.name);
           }});
}

// Read only where device classes are counted: most clusters have no such kind.
void PodDefaultsFeed::ConnectClaims() {
  if (scheduler_.config().device_classes.empty()) return;
  const auto set_claim = [this](const auto& claim) {
    scheduler_.ApplyClaimTemplate(*claim);
    LookAgain(namespaces_, claim->meta.namespace_name);
  };
  manager_.OptionalInformerFor<api::ResourceClaimTemplate>().AddHandler(
      {.on_add = set_claim,
       .on_update = [set_claim](const auto&, const auto& claim) { set_claim(claim); },
       .on_delete =
           [this](const auto& claim) {
             scheduler_.ForgetClaimTemplate(claim->meta.key());
             LookAgain(namespaces_, claim->meta.namespace_name);
           }});
}

void PodDefaultsFeed::LookAgain(std::set<std::string>& changed, const std::string& name) {
  changed.insert(name);
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
  told_.scheduler();
}

bool PodDefaultsFeed::IsConcerned(const api::Workload& workload) const {
  if (namespaces_.contains(workload.meta.namespace_name)) return true;
  const auto& pod_sets = workload.spec.pod_sets;
  return !runtime_classes_.empty() &&
         std::any_of(pod_sets.begin(), pod_sets.end(), [this](const api::PodSet& pods) {
           return runtime_classes_.contains(pods.pod_template.spec.runtime_class_name);
         });
}

}  // namespace berth::admission
