#include "admission/controller/scheduler_feed.h"

#include <memory>
#include <string>
#include <utility>

namespace berth::admission {
namespace {

template <typename T>
void Feed(kube::Manager& manager, Scheduler& scheduler, const std::function<void()>& changed,
          void (Scheduler::*apply)(const T&), void (Scheduler::*forget)(const std::string&)) {
  const auto set = [&scheduler, apply, changed](const std::shared_ptr<const T>& object) {
    (scheduler.*apply)(*object);
    changed();
  };
  manager.InformerFor<T>().AddHandler(
      {.on_add = set,
       .on_update = [set](const auto&, const auto& object) { set(object); },
       .on_delete =
           [&scheduler, forget, changed](const auto& object) {
             (scheduler.*forget)(object->meta.name);
             changed();
           }});
}

void FeedLocalQueues(kube::Manager& manager, Scheduler& scheduler,
                     const std::function<void()>& changed) {
  const auto apply = [&scheduler, changed](const auto& object) {
    scheduler.ApplyLocalQueue(*object);
    changed();
  };
  // Usage decays continuously: it changes the order of heads, but makes no head admissible.
  const auto update = [&scheduler, changed](const auto& before, const auto& object) {
    scheduler.ApplyLocalQueue(*object);
    if (before->cluster_queue != object->cluster_queue ||
        before->stop_policy != object->stop_policy ||
        before->fair_weight_nano != object->fair_weight_nano) {
      changed();
    }
  };
  manager.InformerFor<api::LocalQueue>().AddHandler(
      {.on_add = apply,
       .on_update = update,
       .on_delete = [&scheduler, changed](const auto& object) {
         scheduler.ForgetLocalQueue(object->meta.key());
         changed();
       }});
}

}  // namespace

void FeedQueues(kube::Manager& manager, Scheduler& scheduler, std::function<void()> changed) {
  Feed<api::Namespace>(manager, scheduler, changed, &Scheduler::ApplyNamespace,
                       &Scheduler::ForgetNamespace);
  Feed<api::ResourceFlavor>(manager, scheduler, changed, &Scheduler::ApplyResourceFlavor,
                            &Scheduler::ForgetResourceFlavor);
  Feed<api::AdmissionCheck>(manager, scheduler, changed, &Scheduler::ApplyAdmissionCheck,
                            &Scheduler::ForgetAdmissionCheck);
  Feed<api::Cohort>(manager, scheduler, changed, &Scheduler::ApplyCohort, &Scheduler::ForgetCohort);
  Feed<api::ClusterQueue>(manager, scheduler, changed, &Scheduler::ApplyClusterQueue,
                          &Scheduler::ForgetClusterQueue);
  FeedLocalQueues(manager, scheduler, changed);
}

}  // namespace berth::admission
