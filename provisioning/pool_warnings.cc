#include "provisioning/pool_warnings.h"

#include <chrono>
#include <optional>
#include <utility>

#include "api/labels.h"
#include "provisioning/disruption.h"
#include "provisioning/node_supply.h"
#include "provisioning/pod_sets.h"
#include "provisioning/run_duration.h"

namespace berth::provisioning {
namespace {

using api::KarpenterNodePool;

std::optional<PoolWarning> ExpiryOfPool(const api::PodSpec& spec, std::int64_t run,
                                        const NodeSupply& supply, bool is_protected) {
  const KarpenterNodePool* pool = ExpiresBefore(spec, run, supply);
  if (pool == nullptr) return std::nullopt;
  const auto life = std::chrono::duration_cast<std::chrono::seconds>(*pool->expire_after).count();
  const std::string message = "NodePool " + pool->meta.name + " replaces its nodes after " +
                              std::to_string(life) + " s, the job may run for " +
                              std::to_string(run) + " s";
  return PoolWarning{CheckEvent{"NodesExpireEarly", message, !is_protected}, message};
}

// The budgets in force change with the time.
std::optional<PoolWarning> MoveOfPods(const api::PodTemplate& pods, const NodeSupply& supply,
                                      WallTime now) {
  const std::string* asks = api::FindValue(pods.annotations, api::kDoNotDisruptAnnotation);
  if (asks != nullptr && *asks == "true") return std::nullopt;
  const KarpenterNodePool* pool = MovesPods(pods.spec, supply, now);
  if (pool == nullptr) return std::nullopt;
  const std::string budget = BudgetText(*pool, kUnderusedNodes, now);
  const std::string key =
      "NodePool " + pool->meta.name + " may end pods to empty nodes that are little used";
  const std::string message =
      key + " (disruption budget: " + (budget.empty() ? "none" : budget) + ")";
  return PoolWarning{CheckEvent{"NodesMayBeDisrupted", message, /*warning=*/true}, key};
}

}  // namespace

std::vector<PoolWarning> PoolWarningsFor(const ReactiveSituation& situation, bool is_protected,
                                         WallTime now) {
  std::vector<PoolWarning> warnings;
  if (situation.flavors == nullptr || situation.supply.pools.empty()) return warnings;
  const auto run = ExpectedRun(*situation.workload, situation.job_deadline);
  std::optional<PoolWarning> expiry;
  std::optional<PoolWarning> move;
  for (const PodSetGroup& group :
       RequiredPodSets(*situation.workload, api::ProvisioningRequestConfig{}, *situation.flavors)) {
    const api::PodTemplate& pods = group.pod_template;
    if (run && !expiry) expiry = ExpiryOfPool(pods.spec, *run, situation.supply, is_protected);
    if (!is_protected && !move) move = MoveOfPods(pods, situation.supply, now);
  }
  if (expiry) warnings.push_back(*std::move(expiry));
  if (move) warnings.push_back(*std::move(move));
  return warnings;
}

}  // namespace berth::provisioning
