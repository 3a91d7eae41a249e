// webhook/controller/zones_mirror.h — the zones that reviews of ProvisioningPolicies know, kept
// current by informers of ResourceFlavors and of the emulated cloud's NodePools.
//
// Threads: built and fed on the manager's Executor; Known may be called from any thread.
#pragma once

#include <mutex>
#include <string>

#include "api/object_meta.h"
#include "kube/runtime/manager.h"
#include "webhook/policy_rules.h"

namespace berth::webhook {

class ZonesMirror {
 public:
  // kWatched: the API has the NodePools of the emulated cloud (cloud.berth.dev).
  enum class NodePools { kNone, kWatched };

  // Construct before the informers start. Must outlive the manager.
  ZonesMirror(kube::Manager& manager, NodePools pools);

  KnownZones Known() const;

 private:
  void WatchPools(kube::Manager& manager);

  mutable std::mutex mutex_;  // guards known_
  KnownZones known_;
};

}  // namespace berth::webhook
