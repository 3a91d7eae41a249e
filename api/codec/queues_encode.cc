#include "api/codec/codec.h"
#include "api/codec/parts.h"
#include "base/rfc3339.h"

namespace berth::api {
namespace {

enum class Borrowed { kShown, kHidden };

Json EncodeUsages(const std::vector<FlavorUsage>& usages, Borrowed borrowed) {
  Json json = Json::array();
  for (const FlavorUsage& usage : usages) {
    Json resources = Json::array();
    for (const FlavorUsage::Resource& resource : usage.resources) {
      Json item = {{"name", resource.resource},
                   {"total", FormatAmount(resource.resource, resource.total)}};
      if (borrowed == Borrowed::kShown) {
        item["borrowed"] = FormatAmount(resource.resource, resource.borrowed);
      }
      resources.push_back(std::move(item));
    }
    json.push_back({{"name", usage.flavor}, {"resources", std::move(resources)}});
  }
  return json;
}

Json EncodeQueueStatus(const QueueStatus& status, Borrowed borrowed) {
  Json json = {{"conditions", Encode(status.conditions)},
               {"flavorsReservation", EncodeUsages(status.flavors_reservation, borrowed)},
               {"flavorsUsage", EncodeUsages(status.flavors_usage, borrowed)},
               {"pendingWorkloads", status.pending_workloads},
               {"reservingWorkloads", status.reserving_workloads},
               {"admittedWorkloads", status.admitted_workloads}};
  if (status.weighted_share) json["fairSharing"] = {{"weightedShare", *status.weighted_share}};
  if (status.usage_history) {
    Json consumed = Json::object();
    for (const auto& [resource, amount] : status.usage_history->consumed) {
      consumed[resource] = amount.ToString();
    }
    Json& fair_sharing = json["fairSharing"];
    fair_sharing["weightedShare"] = status.weighted_share.value_or(0);  // required
    fair_sharing["admissionFairSharingStatus"] = {
        {"consumedResources", std::move(consumed)},
        {"lastUpdate", FormatTime(status.usage_history->last_update)}};
  }
  return json;
}

}  // namespace

Json EncodeClusterQueueStatus(const QueueStatus& status) {
  return EncodeQueueStatus(status, Borrowed::kShown);
}

Json EncodeLocalQueueStatus(const QueueStatus& status) {
  return EncodeQueueStatus(status, Borrowed::kHidden);
}

}  // namespace berth::api
