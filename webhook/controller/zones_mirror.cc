#include "webhook/controller/zones_mirror.h"

#include <utility>
#include <vector>

#include "api/codec/codec.h"
#include "api/codec/reader.h"
#include "api/queues.h"

namespace berth::webhook {
namespace {

constexpr api::ResourceKind kCloudPools{"cloud.berth.dev", "v1alpha1", "NodePool", "nodepools",
                                        false};

struct PoolPlace {
  api::ObjectMeta meta;
  std::vector<std::string> zones;
};

Result<PoolPlace> ReadPlace(const api::JsonSource& object) {
  BERTH_TRY(api::ObjectMeta meta, api::Decode<api::ObjectMeta>(object));
  PoolPlace place{.meta = std::move(meta), .zones = {}};
  place.meta.annotations.clear();
  api::Reader::Failure failure;
  const api::Reader root(object, failure);
  const api::Reader spec = root.Field("spec");
  spec.Field("zones").Get(place.zones);
  if (failure) return *failure;
  return place;
}

}  // namespace

ZonesMirror::ZonesMirror(kube::Manager& manager, NodePools pools) {
  const auto take = [this](const auto& flavor) {
    const std::lock_guard lock(mutex_);
    known_.flavors[flavor->meta.name] = flavor->node_labels;
  };
  manager.InformerFor<api::ResourceFlavor>().AddHandler(
      {.on_add = take,
       .on_update = [take](const auto&, const auto& now) { take(now); },
       .on_delete =
           [this](const auto& flavor) {
             const std::lock_guard lock(mutex_);
             known_.flavors.erase(flavor->meta.name);
           }});
  if (pools == NodePools::kWatched) WatchPools(manager);
}

void ZonesMirror::WatchPools(kube::Manager& manager) {
  const auto take = [this](const auto& pool) {
    const std::lock_guard lock(mutex_);
    known_.pools.erase(pool->meta.name);
    if (pool->zones.empty()) return;
    known_.pools[pool->meta.name] = {pool->zones.begin(), pool->zones.end()};
  };
  manager.OptionalInformerFor<PoolPlace>(kCloudPools, ReadPlace)
      .AddHandler({.on_add = take,
                   .on_update = [take](const auto&, const auto& now) { take(now); },
                   .on_delete =
                       [this](const auto& pool) {
                         const std::lock_guard lock(mutex_);
                         known_.pools.erase(pool->meta.name);
                       }});
}

KnownZones ZonesMirror::Known() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

}  // namespace berth::webhook
