#include "admission/controller/feeds/scheduler_feed.h"

#include <memory>
#include <string>
#include <utility>

namespace berth::admission {
namespace {

template <typename T>
void Feed(kube::Manager& manager, Scheduler& scheduler, const std::function<void()>& changed) {
  const auto set = [&scheduler, changed](const std::shared_ptr<const T>& object) {
    scheduler.Apply(*object);
    changed();
  };
  manager.InformerFor<T>().AddHandler(
      {.on_add = set,
       .on_update = [set](const auto&, const auto& object) { set(object); },
       .on_delete =
           [&scheduler, changed](const auto& object) {
             scheduler.Forget<T>(object->meta.name);
             changed();
           }});
}

void FeedLocalQueues(kube::Manager& manager, Scheduler& scheduler,
                     const std::function<void()>& changed) {
  const auto apply = [&scheduler, changed](const auto& object) {
    scheduler.Apply(*object);
    changed();
  };
  // Usage decays continuously: it changes the order of heads, but makes no head admissible.
  const auto update = [&scheduler, changed](const auto& before, const auto& object) {
    scheduler.Apply(*object);
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
         scheduler.Forget<api::LocalQueue>(object->meta.key());
         changed();
       }});
}

}  // namespace

void FeedQueues(kube::Manager& manager, Scheduler& scheduler, std::function<void()> changed) {
  Feed<api::Namespace>(manager, scheduler, changed);
  Feed<api::ResourceFlavor>(manager, scheduler, changed);
  Feed<api::AdmissionCheck>(manager, scheduler, changed);
  Feed<api::Cohort>(manager, scheduler, changed);
  Feed<api::ClusterQueue>(manager, scheduler, changed);
  FeedLocalQueues(manager, scheduler, changed);
}

}  // namespace berth::admission
