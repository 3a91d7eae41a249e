// provisioning/reasons.h — what a reason in a ProvisioningRequest's condition means, who can do
// something about it, and what.
//
// Data for messages, events and `berth why`. Source: cluster-autoscaler's provisioning request
// conditions; GKE's queued provisioning (its open-source autoscaler and documentation).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace berth::provisioning {

enum class ReasonClass : std::uint8_t {
  kProgress,   // nothing is wrong
  kStockout,   // the cloud has no such machine now
  kTransient,  // passes by itself: pool full, pool backing off
  kQuota,      // the cloud's quota for this account
  kConfig,     // set up wrongly
  kShape,      // the request cannot fit as it is written
  kLimit,      // a limit of cluster or cloud
  kTimeout,    // nobody answered, or not in time
  kInternal,   // the cloud's or autoscaler's own trouble
};
enum class WhoActs : std::uint8_t { kNobody, kUser, kAdmin, kCloud };

struct ReasonInfo {
  std::string_view reason;
  ReasonClass reason_class = ReasonClass::kInternal;
  WhoActs who = WhoActs::kNobody;
  std::string_view remedy;  // one sentence, no final period
};

// The entry of `reason`; of an unknown one the entry with an empty reason (kInternal).
const ReasonInfo& Explain(std::string_view reason);
std::span<const ReasonInfo> AllReasons();

std::string_view ReasonClassName(ReasonClass reason_class);  // "stockout"
std::string_view WhoActsName(WhoActs who);                   // "admin"

}  // namespace berth::provisioning
