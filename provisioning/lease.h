// provisioning/lease.h — the ledger of nodes that are promised to Workloads: a label and two
// annotations on each Node.
//
//     label      berth.dev/lease        16 hex digits for Workload and check
//     annotation berth.dev/lease-until  RFC 3339
//     annotation berth.dev/lease-of     namespace/name of the Workload
//
// A lease is taken and released by writes that name the node's resourceVersion: one of two deciders
// gets the node. The holder renews the lease while the Workload runs. A lease whose holder has gone
// ends by itself, after half an hour at the latest; a time further away is no lease, so that
// nothing but renewals keeps a node promised.
//
// Threads: pure functions. Errors: none; what cannot be read is no lease.
#pragma once

#include <optional>
#include <string>

#include "api/object_meta.h"
#include "api/pod.h"
#include "base/clock.h"

namespace berth::provisioning {

inline constexpr Duration kLeaseLength = std::chrono::minutes(30);
inline constexpr Duration kRenewBefore = std::chrono::minutes(15);

struct Lease {
  std::string holder;
  WallTime until{};
};

// The holder's name: the value of the label, and of the pods' node selector.
std::string LeaseHolder(const std::string& workload_uid, const std::string& check);

// The lease on the node, over or not; nullopt: none.
std::optional<Lease> LeaseOf(const api::Node& node);
bool Lives(const Lease& lease, WallTime now);

// The Workload that the node's annotation names; nullopt: none.
std::optional<api::ObjectKey> LeasedTo(const api::Node& node);

}  // namespace berth::provisioning
