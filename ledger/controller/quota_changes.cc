#include "ledger/controller/quota_changes.h"

#include <utility>

namespace berth::ledger {
namespace {

// The records that lead from one quota to the other.
std::vector<QuotaRecord> Differences(const std::string& queue,
                                     const std::map<std::string, api::Amount>& from,
                                     const std::map<std::string, api::Amount>& to, Seconds now) {
  std::vector<QuotaRecord> records;
  for (const auto& [resource, nominal] : to) {
    const auto known = from.find(resource);
    if (known != from.end() && known->second == nominal) continue;
    records.push_back({queue, resource, now, nominal});
  }
  for (const auto& [resource, nominal] : from) {
    if (!to.contains(resource)) records.push_back({queue, resource, now, 0});
  }
  return records;
}

}  // namespace

std::map<std::string, api::Amount> QuotaOf(const SharesByFlavor& shares,
                                           const api::ClusterQueueSpec& spec) {
  std::vector<ResourceUse> quotas;
  for (const api::ResourceGroup& group : spec.resource_groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        quotas.push_back({flavor.flavor, quota.resource, quota.nominal_quota});
      }
    }
  }
  AddGpus(shares, quotas);
  std::map<std::string, api::Amount> sums;
  for (const ResourceUse& quota : quotas) {
    api::Amount& sum = sums[quota.resource];
    sum = api::AddAmounts(sum, quota.amount);
  }
  return sums;
}

std::vector<QuotaRecord> QuotaChanges::Take(const SharesByFlavor& shares,
                                            const api::ClusterQueue& queue, Seconds now) {
  std::map<std::string, api::Amount> quota = QuotaOf(shares, queue.spec);
  std::map<std::string, api::Amount>& known = known_[queue.meta.name];
  std::vector<QuotaRecord> records = Differences(queue.meta.name, known, quota, now);
  known = std::move(quota);
  return records;
}

std::vector<QuotaRecord> QuotaChanges::TakeDeleted(const std::string& queue, Seconds now) {
  const auto known = known_.extract(queue);
  if (known.empty()) return {};
  return Differences(queue, known.mapped(), {}, now);
}

}  // namespace berth::ledger
