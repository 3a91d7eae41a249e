#include "local/cloud/node_pool.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/architecture.h"
#include "base/rfc3339.h"
#include "base/seconds.h"
#include "base/strings.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/scheduler/pod_resources.h"

namespace berth::local::cloud {
namespace {

using cluster::AnnotationOf;
using cluster::ArrayAt;
using cluster::BoolAt;
using cluster::IntAt;
using cluster::LabelOf;
using cluster::NameOf;
using cluster::OptionalIntAt;
using cluster::StringAt;

constexpr char kProviderPrefix[] = "berth://";
constexpr std::int64_t kDefaultBootSeconds = 20;
constexpr std::int64_t kDefaultIdleSeconds = 600;
constexpr std::int64_t kDefaultNoticeSeconds = 30;
constexpr std::int64_t kPodsPerNode = 110;
constexpr std::int64_t kDiskGi = 100;
constexpr char kGpuResource[] = "nvidia.com/gpu";
constexpr char kSharedGpuResource[] = "nvidia.com/gpu.shared";

std::string RegionOf(const std::string& zone) { return zone.substr(0, zone.rfind('-')); }

Json Taints(const NodePool& pool) {
  Json taints = Json::array();
  if (pool.accelerator_count > 0) {
    taints.push_back({{"key", "nvidia.com/gpu"}, {"value", "present"}, {"effect", "NoSchedule"}});
  }
  if (pool.is_spot && pool.provider == Provider::kAzure) {
    taints.push_back({{"key", kAzureSpot}, {"value", "spot"}, {"effect", "NoSchedule"}});
  }
  if (pool.is_queued) {
    taints.push_back(
        {{"key", "cloud.google.com/gke-queued"}, {"value", "true"}, {"effect", "NoSchedule"}});
  }
  return taints;
}

void AddSharingLabels(const NodePool& pool, Json& labels) {
  const GpuSharing& sharing = *pool.sharing;
  labels["nvidia.com/gpu.count"] = std::to_string(pool.accelerator_count);
  labels["nvidia.com/gpu.replicas"] = std::to_string(sharing.replicas);
  labels["nvidia.com/gpu.sharing-strategy"] =
      sharing.strategy == "timeSlicing" ? "time-slicing" : sharing.strategy;
  if (sharing.one_share_a_pod) labels[cluster::kOneShareLabel] = "true";
}

Json Labels(const NodePool& pool, const std::string& name, const std::string& zone,
            const NodeOrigin& origin) {
  Json labels = {{"kubernetes.io/hostname", name},
                 {"kubernetes.io/os", "linux"},
                 {"kubernetes.io/arch", kArchitecture},
                 {"node.kubernetes.io/instance-type", pool.machine_type},
                 {kZoneLabel, zone},
                 {"topology.kubernetes.io/region", RegionOf(zone)},
                 {kPoolLabel, pool.name}};
  if (pool.accelerator_count > 0) {
    labels["cloud.google.com/gke-accelerator"] = pool.accelerator_type;
    labels["cloud.google.com/gke-accelerator-count"] = std::to_string(pool.accelerator_count);
  }
  if (pool.sharing) AddSharingLabels(pool, labels);
  if (pool.provider == Provider::kAzure) {
    labels["kubernetes.azure.com/agentpool"] = pool.name;
    if (pool.is_spot) labels[kAzureSpot] = "spot";
  } else if (pool.is_spot) {
    labels["cloud.google.com/gke-spot"] = "true";
  }
  if (pool.is_queued) labels["cloud.google.com/gke-queued"] = "true";
  if (!origin.resize_request.empty()) labels[kRequestLabel] = origin.resize_request;
  if (origin.max_run_seconds) {
    labels["cloud.google.com/gke-max-run-duration-seconds"] =
        std::to_string(*origin.max_run_seconds);
  }
  return labels;
}

Json Amounts(const NodePool& pool, std::int64_t cpu_milli, std::int64_t memory_bytes) {
  const std::string cpu =
      cpu_milli % 1000 == 0 ? std::to_string(cpu_milli / 1000) : std::to_string(cpu_milli) + "m";
  Json amounts = {{"cpu", cpu},
                  {"memory", std::to_string(memory_bytes / 1024) + "Ki"},
                  {"ephemeral-storage", std::to_string(kDiskGi) + "Gi"},
                  {"pods", std::to_string(kPodsPerNode)}};
  if (pool.accelerator_count > 0) {
    const bool renamed = pool.sharing && pool.sharing->is_renamed;
    const std::int64_t shares = pool.sharing ? pool.sharing->replicas : 1;
    amounts[renamed ? kSharedGpuResource : kGpuResource] =
        std::to_string(pool.accelerator_count * shares);
  }
  return amounts;
}

Json Condition(const char* type, const char* status, const char* reason, const char* message,
               WallTime now) {
  return {{"type", type},
          {"status", status},
          {"reason", reason},
          {"message", message},
          {"lastHeartbeatTime", FormatTime(now)},
          {"lastTransitionTime", FormatTime(now)}};
}

}  // namespace

namespace {

std::optional<GpuSharing> SharingOf(const Json& pool) {
  GpuSharing sharing;
  sharing.strategy = StringAt(pool, {"spec", "accelerator", "sharing", "strategy"});
  if (sharing.strategy.empty()) return std::nullopt;
  sharing.replicas = IntAt(pool, {"spec", "accelerator", "sharing", "replicas"}, 1);
  sharing.is_renamed = BoolAt(pool, {"spec", "accelerator", "sharing", "renameByDefault"});
  sharing.one_share_a_pod =
      BoolAt(pool, {"spec", "accelerator", "sharing", "failRequestsGreaterThanOne"});
  return sharing;
}

std::optional<Eviction> EvictionIn(const Json& pool) {
  if (cluster::Find(pool, {"spec", "eviction"}) == nullptr) return std::nullopt;
  Eviction eviction;
  eviction.per_100_hours = IntAt(pool, {"spec", "eviction", "per100Hours"}, 0);
  if (const auto after = OptionalIntAt(pool, {"spec", "eviction", "afterSeconds"})) {
    eviction.after = BoundedSeconds(*after);
  }
  eviction.notice =
      BoundedSeconds(IntAt(pool, {"spec", "eviction", "noticeSeconds"}, kDefaultNoticeSeconds));
  return eviction;
}

// From a machine's start to its eviction, exponentially distributed: a constant hazard.
Duration LifeOf(const NodePool& pool, const Json& node) {
  // An avalanche: names that differ in their last characters have far apart times.
  std::uint64_t bits =
      std::stoull(HashText(cluster::UidOf(*pool.object) + "/" + NameOf(node)), nullptr, 16);
  bits = (bits ^ (bits >> 33U)) * 0xFF51AFD7ED558CCDU;
  bits = (bits ^ (bits >> 33U)) * 0xC4CEB9FE1A85EC53U;
  constexpr double kRange = 4294967296.0;
  const double draw = (static_cast<double>(bits >> 32U) + 1) / kRange;
  constexpr double kSecondsPer100Hours = 360000;
  const double seconds =
      -std::log(draw) * kSecondsPer100Hours / static_cast<double>(pool.eviction->per_100_hours);
  return BoundedSeconds(static_cast<std::int64_t>(seconds));
}

}  // namespace

std::optional<WallTime> EvictionOf(const NodePool& pool, const Json& node) {
  const auto started = ParseTime(AnnotationOf(node, kReadyAtAnnotation));
  if (!pool.eviction || !started) return std::nullopt;
  std::optional<Duration> life = pool.eviction->after;
  if (pool.eviction->per_100_hours > 0) {
    const Duration drawn = LifeOf(pool, node);
    life = std::min(life.value_or(drawn), drawn);
  }
  if (!life) return std::nullopt;
  return *started + *life;
}

bool HasNotice(const Json& node) {
  const Json& taints = ArrayAt(node, {"spec", "taints"});
  return std::any_of(taints.begin(), taints.end(),
                     [](const Json& taint) { return StringAt(taint, {"key"}) == kNoticeTaint; });
}

bool GiveNotice(Json& node) {
  if (HasNotice(node)) return false;
  node["spec"]["taints"].push_back({{"key", kNoticeTaint}, {"effect", "NoSchedule"}});
  return true;
}

NodePool ReadNodePool(Object object) {
  const Json& json = *object;
  NodePool pool;
  pool.name = NameOf(json);
  pool.machine_type = StringAt(json, {"spec", "machineType"});
  pool.machine = FindMachineType(pool.machine_type);
  pool.accelerator_type = StringAt(json, {"spec", "accelerator", "type"});
  pool.accelerator_count = IntAt(json, {"spec", "accelerator", "count"});
  pool.sharing = SharingOf(json);
  for (const Json& zone : ArrayAt(json, {"spec", "zones"})) {
    pool.zones.push_back(StringAt(zone, {}));
  }
  if (pool.zones.empty()) pool.zones.emplace_back("us-central1-a");
  pool.min_nodes = IntAt(json, {"spec", "minNodes"}, 0);
  pool.max_nodes = IntAt(json, {"spec", "maxNodes"}, 1);
  pool.is_queued = BoolAt(json, {"spec", "queuedProvisioning"});
  pool.is_spot = BoolAt(json, {"spec", "spot"});
  if (StringAt(json, {"spec", "provider"}) == "azure") pool.provider = Provider::kAzure;
  pool.eviction = EvictionIn(json);
  pool.stock = OptionalIntAt(json, {"spec", "stock"});
  for (const std::string& zone : pool.zones) {
    const auto stock = OptionalIntAt(json, {"spec", "stockByZone", zone});
    if (stock) pool.stock_by_zone[zone] = *stock;
  }
  pool.boot = BoundedSeconds(IntAt(json, {"spec", "bootSeconds"}, kDefaultBootSeconds));
  pool.idle = BoundedSeconds(IntAt(json, {"spec", "idleSeconds"}, kDefaultIdleSeconds));
  if (const auto seconds = ParseInt64(AnnotationOf(json, kGrantSecondsAnnotation))) {
    pool.grant_delay = BoundedSeconds(*seconds);
  }
  pool.overprovisions = AnnotationOf(json, kOverprovisionAnnotation) == "true";
  pool.object = std::move(object);
  return pool;
}

Json MakeNode(const NodePool& pool, const std::string& name, const std::string& zone,
              const NodeOrigin& origin, WallTime now) {
  Json node = {{"apiVersion", "v1"}, {"kind", "Node"}};
  node["metadata"] = {{"name", name}, {"labels", Labels(pool, name, zone, origin)}};
  node["metadata"]["annotations"][kReadyAtAnnotation] = FormatTime(now + pool.boot);
  if (origin.ends_at) {
    node["metadata"]["annotations"][kEndsAtAnnotation] = FormatTime(*origin.ends_at);
  }
  Json taints = Taints(pool);
  taints.push_back({{"key", kNotReadyTaint}, {"effect", "NoSchedule"}});
  node["spec"] = {{"providerID", fmt::format("{}{}/{}/{}", kProviderPrefix, zone, pool.name, name)},
                  {"taints", std::move(taints)}};
  node["status"] = {
      {"capacity", Amounts(pool, pool.machine->cpu_milli, pool.machine->memory_bytes)},
      {"allocatable",
       Amounts(pool, AllocatableCpuMilli(*pool.machine), AllocatableMemoryBytes(*pool.machine))},
      {"conditions", Json::array({Condition("Ready", "False", "KubeletNotReady",
                                            "the machine is booting", now)})},
      {"addresses", Json::array({{{"type", "InternalIP"}, {"address", "127.0.0.1"}},
                                 {{"type", "Hostname"}, {"address", name}}})},
      {"nodeInfo",
       {{"architecture", kArchitecture},
        {"operatingSystem", "linux"},
        {"osImage", "emulated " + pool.machine_type},
        {"containerRuntimeVersion", "berth://processes"},
        {"kubeletVersion", "berth"},
        {"kubeProxyVersion", ""},
        {"kernelVersion", ""},
        {"machineID", ""},
        {"systemUUID", ""},
        {"bootID", ""}}}};
  return node;
}

Json MakeExampleNode(const NodePool& pool, const std::string& zone) {
  Json node = MakeNode(pool, pool.name + "-example", zone, {}, WallTime());
  FinishBoot(node, WallTime());
  return node;
}

bool FinishBoot(Json& node, WallTime now) {
  if (!IsBooting(node)) return false;
  Json taints = Json::array();
  for (const Json& taint : ArrayAt(node, {"spec", "taints"})) {
    if (StringAt(taint, {"key"}) != kNotReadyTaint) taints.push_back(taint);
  }
  node["spec"]["taints"] = std::move(taints);
  cluster::SetCondition(node["status"], {"Ready", "True", "KubeletReady", "the machine is ready"},
                        now);
  return true;
}

bool IsOurs(const Json& node) {
  return StringAt(node, {"spec", "providerID"}).rfind(kProviderPrefix, 0) == 0;
}

std::string PoolOf(const Json& node) { return LabelOf(node, kPoolLabel); }

bool IsBooting(const Json& node) {
  if (!cluster::ConditionIs(node, "Ready", "True")) return true;
  for (const Json& taint : ArrayAt(node, {"spec", "taints"})) {
    if (StringAt(taint, {"key"}) == kNotReadyTaint) return true;
  }
  return false;
}

std::string HashText(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return fmt::format("{:016x}", hash);
}

}  // namespace berth::local::cloud
