#include "admission/controller/workloads/priority_classes.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "api/reasons.h"

namespace berth::admission {
namespace {

constexpr char kGroup[] = "kueue.x-k8s.io";
constexpr std::size_t kAtOnce = 64;  // patches of one reconcile: admissions share the writer

}  // namespace

PriorityClasses::PriorityClasses(kube::Manager& manager, WorkloadWriter& writer)
    : classes_(manager.InformerFor<api::WorkloadPriorityClass>()),
      workloads_(manager.InformerFor<api::Workload>()),
      writer_(writer) {}

void PriorityClasses::Watch(kube::Controller& controller) {
  const auto look = [&controller] { controller.Add({"", "all"}); };
  // A class that is created again may have another value than its Workloads.
  classes_.AddHandler({.on_add = [look](const auto&) { look(); },
                       .on_update =
                           [look](const auto& old, const auto& now) {
                             if (old->value != now->value) look();
                           }});
  // The Workload's creation may have been under way when the class changed.
  workloads_.AddHandler({.on_add = [this, look](const auto& workload) {
    if (NewPriorityOf(*workload)) look();
  }});
}

std::optional<std::int32_t> PriorityClasses::NewPriorityOf(const api::Workload& workload) const {
  const auto& ref = workload.spec.priority_class_ref;
  if (!ref || ref->group != kGroup || workload.meta.deletion_timestamp) return std::nullopt;
  const auto found = classes_.Get({"", ref->name});
  if (found == nullptr || workload.spec.priority == found->value ||
      api::IsTrue(workload.status.conditions, api::kFinished)) {
    return std::nullopt;
  }
  return found->value;
}

void PriorityClasses::Reconcile(const api::ObjectKey& /*key*/, Done done) {
  struct Open {
    std::size_t writes = 1;  // this reconcile
    bool more = false;       // Workloads are left for the next reconcile
    Status failed = OkStatus();
  };
  const auto open = std::make_shared<Open>();
  const auto written = [open, done = std::move(done)](const Status& status) {
    if (!status && status.error().code != ErrorCode::kNotFound) open->failed = status;
    if (--open->writes > 0) return;
    if (!open->failed) return done(open->failed.error());
    done(open->more ? kube::NextLook{Duration::zero()} : kube::NextLook{});
  };
  for (const auto& workload : workloads_.objects()) {
    const std::optional<std::int32_t> priority = NewPriorityOf(*workload);
    if (!priority) continue;
    if (open->writes > kAtOnce) {
      open->more = true;
      break;
    }
    ++open->writes;
    writer_.SetPriority(*workload, *priority, written);
  }
  written(OkStatus());
}

}  // namespace berth::admission
