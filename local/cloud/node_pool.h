// local/cloud/node_pool.h — a NodePool (nodepools.cloud.berth.dev), and the nodes of the pool.
//
// Pure. Source: GKE's labels, taints and reservations; NVIDIA's device plugin and GPU feature
// discovery for shared GPUs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/cloud/machine_catalogue.h"

namespace berth::local::cloud {

inline constexpr char kPoolLabel[] = "cloud.google.com/gke-nodepool";
inline constexpr char kZoneLabel[] = "topology.kubernetes.io/zone";
inline constexpr char kRequestLabel[] = "autoscaling.gke.io/provisioning-request";
inline constexpr char kReadyAtAnnotation[] = "cloud.berth.dev/ready-at";
inline constexpr char kIdleSinceAnnotation[] = "cloud.berth.dev/idle-since";
inline constexpr char kEndsAtAnnotation[] = "node.gke.io/machine-termination-datetime";
inline constexpr char kGrantSecondsAnnotation[] = "cloud.berth.dev/grant-seconds";
inline constexpr char kOverprovisionAnnotation[] = "cloud.berth.dev/overprovision";
inline constexpr char kNotReadyTaint[] = "node.kubernetes.io/not-ready";
inline constexpr char kNoticeTaint[] = "cloud.google.com/impending-node-termination";
inline constexpr char kAzureSpot[] = "kubernetes.azure.com/scalesetpriority";

// How pods share the GPUs of a machine; without it each pod has GPUs of its own.
struct GpuSharing {
  std::string strategy;       // timeSlicing, mps
  std::int64_t replicas = 1;  // pods that share a GPU
  bool is_renamed = false;    // the resource is nvidia.com/gpu.shared
  bool one_share_a_pod = false;
};

// How the cloud takes machines of low priority back.
struct Eviction {
  std::int64_t per_100_hours = 0;  // expected evictions of one machine in 100 hours; 0: none
  std::optional<Duration> after;   // each machine is taken back at this age at the latest
  Duration notice{};               // the node is tainted this long before the eviction
};

// The provider whose labels and taints the nodes have.
enum class Provider : std::uint8_t { kGke, kAzure };

struct NodePool {
  Object object;
  std::string name;
  std::string machine_type;              // name as written
  const MachineType* machine = nullptr;  // null: not in the catalogue
  std::string accelerator_type;
  std::int64_t accelerator_count = 0;
  std::optional<GpuSharing> sharing;
  std::vector<std::string> zones;  // at least one
  std::int64_t min_nodes = 0;
  std::int64_t max_nodes = 1;
  bool is_queued = false;  // nodes come for ProvisioningRequests only
  bool is_spot = false;
  Provider provider = Provider::kGke;
  std::optional<Eviction> eviction;
  std::optional<std::int64_t> stock;  // machines, used ones included; absent: unlimited
  std::map<std::string, std::int64_t>
      stock_by_zone;  // machines of a zone, used ones included; absent: unlimited
  Duration boot{};
  Duration idle{};
  bool overprovisions = false;          // a search in all zones gets machines in each with stock
  std::optional<Duration> grant_delay;  // from the annotation; absent: CloudTimes::grant_delay
};
NodePool ReadNodePool(Object object);

// The marks that a ProvisioningRequest leaves on its nodes.
struct NodeOrigin {
  std::string resize_request;       // "": plain autoscaling has made the node
  std::optional<WallTime> ends_at;  // maxRunDuration
  std::optional<std::int64_t> max_run_seconds;
};

// A newly created node that boots: not ready, with the not-ready taint. Precondition: pool.machine
// is not null.
Json MakeNode(const NodePool& pool, const std::string& name, const std::string& zone,
              const NodeOrigin& origin, WallTime now);

// An empty, ready node, for fitting pods.
Json MakeExampleNode(const NodePool& pool, const std::string& zone);

// Makes the node ready and removes the boot taint; returns whether it changed.
bool FinishBoot(Json& node, WallTime now);

// When the cloud takes the node's machine back; nullopt: never. The result depends on the pool and
// the node alone, so that a restart changes nothing.
std::optional<WallTime> EvictionOf(const NodePool& pool, const Json& node);

// Adds the taint that announces the eviction; returns whether it changed the node.
bool GiveNotice(Json& node);
bool HasNotice(const Json& node);

bool IsOurs(const Json& node);         // made by this cloud
std::string PoolOf(const Json& node);  // the name of its pool
bool IsBooting(const Json& node);

// 16 hex digits; the same text gives the same digits on every machine.
std::string HashText(const std::string& text);

}  // namespace berth::local::cloud
