// provisioning/request_reasons.h — explains the reasons in a ProvisioningRequest's conditions:
// class, the role that can act, and the remedy.
//
// Data for messages, events and `berth why`. Source: cluster-autoscaler's provisioning request
// conditions; GKE's queued provisioning (its open-source autoscaler and documentation).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace berth::provisioning {

enum class ReasonClass : std::uint8_t {
  kProgress,   // not a failure
  kStockout,   // the cloud has no such machine at present
  kTransient,  // temporary: pool full, pool backing off
  kQuota,      // the cloud's quota for this account
  kConfig,     // wrong configuration
  kShape,      // the request can never fit as written
  kLimit,      // a limit of cluster or cloud
  kTimeout,    // no answer, or none in time
  kInternal,   // internal error of cloud or autoscaler
};
enum class WhoActs : std::uint8_t { kNobody, kUser, kAdmin, kCloud };

struct ReasonInfo {
  std::string_view reason;
  ReasonClass reason_class = ReasonClass::kInternal;
  WhoActs who = WhoActs::kNobody;
  std::string_view remedy;  // one sentence, no final period
};

// The entry of `reason`; an unknown reason gives the entry with an empty reason (kInternal).
const ReasonInfo& Explain(std::string_view reason);
std::span<const ReasonInfo> AllReasons();

std::string_view ReasonClassName(ReasonClass reason_class);  // "stockout"
std::string_view WhoActsName(WhoActs who);                   // "admin"

}  // namespace berth::provisioning
