// provisioning/prewarm.h — nodes that stand before the first job of a window asks for them.
//
//     window opens, less the lead ─▶ Workload berth-prewarm-POLICY ─ admitted ─▶
//         its request's nodes are kept: autoscalers do not remove them, jobs lease them
//     window closes ─▶ the Workload is deleted, its nodes are given back to the autoscaler
//
// The Workload has no job and no pods. It takes quota of its queue, has the lowest priority, and
// passes the provisioning check of its queue like any other: steps, budgets, stock and metering
// hold for it. Jobs take its nodes over by reuse (reuse.h).
//
// With maxIdleSeconds, nodes that no Workload uses for so long are given up. A node is used while a
// Workload has a lease on it; while one node is used, all are kept. To give the nodes up, the
// Workload is deactivated. It releases its quota and its request, and stays as the sign that its
// nodes are not asked for again in this window.
//
// No controller queues a Workload without a job again after an eviction: the Workload is deleted
// five minutes later and made anew while the window is open.
//
// The state is in the objects: the Workload carries the label berth.dev/prewarm and the annotation
// berth.dev/idle-since, its nodes the annotation berth.dev/prewarm. A crash at any point leaves
// what the next decision completes or removes.
//
// Threads: pure functions. Errors: none; a schedule that cannot be read opens no window.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/provisioning_policy.h"
#include "api/workload.h"
#include "base/clock.h"
#include "base/time_zone.h"
#include "provisioning/pod_sets.h"

namespace berth::provisioning {

// The window that is open, or the next one.
struct PrewarmWindow {
  bool open = false;
  std::optional<WallTime> change;  // when it closes, or opens; nullopt: never
  std::optional<WallTime> begin;   // when it opened, with the lead; nullopt: not open, or always
};
PrewarmWindow WindowAt(const api::ProvisioningPrewarm& rule, const TimeZone& zone, WallTime now);

// The key of the Workload that holds the nodes of the policy.
api::ObjectKey PrewarmKey(const api::ProvisioningPolicy& policy);

// The Workload; nullopt: no step of the policy names a flavor that exists and its pool.
std::optional<api::Workload> PrewarmWorkload(const api::ProvisioningPolicy& policy,
                                             const FlavorsByName& flavors);

struct PrewarmSituation {
  const api::ProvisioningPolicy* policy = nullptr;  // null: deleted
  TimeZone zone;
  const FlavorsByName* flavors = nullptr;
  std::vector<const api::Workload*> workloads;  // Workloads that have the policy's label
  std::vector<const api::Node*> brought;        // nodes that requests of these Workloads brought
  std::vector<const api::Node*> kept;           // nodes that have the policy's annotation
};

// The write of the annotation berth.dev/idle-since, or the deactivation, of the Workload.
struct PrewarmIdle {
  api::ObjectKey workload;
  std::string resource_version;   // the write fails if the Workload has another
  std::optional<WallTime> since;  // nullopt: a node is used, or none is there
  bool ends = false;              // the nodes go: the Workload is deactivated
};

struct PrewarmDecision {
  std::optional<api::Workload> create;
  std::optional<PrewarmIdle> idle;
  std::vector<api::ObjectKey> remove;
  std::vector<std::string> keep;     // nodes
  std::vector<std::string> release;  // nodes
  std::optional<Duration> next_wake;
};

PrewarmDecision DecidePrewarm(const PrewarmSituation& situation, WallTime now);

}  // namespace berth::provisioning
