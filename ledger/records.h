// ledger/records.h — the rows of the ledger.
//
// A record states everything that is known of its subject at one moment. A record that arrives a
// second time, or late, changes nothing: the ledger merges it with the row of the same key.
//
// Units: times are whole seconds since 1970, as conditions have them; amounts are those of
// api/quantity.h. Threads: data.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "api/quantity.h"
#include "base/clock.h"

namespace berth::ledger {

using Seconds = std::int64_t;

inline constexpr Seconds kHour = 3600;

inline Seconds ToSeconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}
inline WallTime FromSeconds(Seconds seconds) { return WallTime(std::chrono::seconds(seconds)); }

// Values of AttemptRecord::outcome. An attempt that has not ended has none of them.
inline constexpr char kSucceeded[] = "Succeeded";
inline constexpr char kFailed[] = "Failed";
inline constexpr char kEvicted[] = "Evicted";
inline constexpr char kPreempted[] = "Preempted";
inline constexpr char kDeleted[] = "Deleted";
inline constexpr char kFinished[] = "Finished";  // for another reason, such as a replaced slice

struct ResourceUse {
  std::string flavor;  // empty: no quota reserved; the amount is the request
  std::string resource;
  api::Amount amount = 0;
  friend auto operator<=>(const ResourceUse&, const ResourceUse&) = default;
};

// The reason of QuotaReserved=False from `since` to the next Wait of the attempt, or to its
// reservation.
struct Wait {
  Seconds since = 0;
  std::string cause;
  friend bool operator==(const Wait&, const Wait&) = default;
};

// One turn of a Workload from the queue to its end or its next eviction. Key: `uid`, `attempt`.
struct AttemptRecord {
  std::string uid;           // the Workload's uid
  std::int64_t attempt = 1;  // counts from 1
  std::string namespace_name;
  std::string name;
  std::string owner_kind;  // kind of the controlling owner, such as Job; may be empty
  std::string owner_name;
  std::string local_queue;
  std::string cluster_queue;  // the queue of the reservation
  std::int64_t priority = 0;
  std::string labels;  // the Workload's: "key=value,key=value", in the order of keys
  Seconds created = 0;
  Seconds queued = 0;               // creation, or requeueing after an eviction
  std::optional<Seconds> reserved;  // QuotaReserved=True
  std::optional<Seconds> admitted;  // Admitted=True
  std::optional<Seconds> started;   // PodsReady=True
  std::optional<Seconds> ended;
  std::string outcome;    // one of the constants above; empty: not ended
  std::string reason;     // the reason of Finished, Evicted or Preempted
  std::string message;    // at most kMaxMessageBytes
  std::string preemptor;  // uid of the Workload for which this one was preempted
  std::string user;       // the user who made the job, as the webhook recorded it; may be empty
  // What one hour of the reservation costs, in billionths of USD: a node for each pod, at the price
  // of the dearest flavor of the pod; nullopt: some flavor has no price.
  std::optional<std::int64_t> hourly_nano;
  std::string image;  // image of the first container of each pod set, with commas; empty: unknown
  std::optional<Seconds> declared;  // the declared longest run time; nullopt: none is declared
  // The time between two checkpoints that its job claims; nullopt: none is claimed.
  std::optional<Seconds> checkpoint;
  std::vector<ResourceUse> resources;
  // In a record for the ledger: at most one, the present cause. In a row that was read: all.
  std::vector<Wait> waits;
  friend bool operator==(const AttemptRecord&, const AttemptRecord&) = default;
};

inline constexpr std::size_t kMaxMessageBytes = 512;
inline constexpr std::size_t kMaxLabelBytes = 2048;
inline constexpr std::size_t kMaxUserBytes = 256;
inline constexpr std::size_t kMaxImageBytes = 512;
inline constexpr std::int64_t kMaxWaits = 64;  // the most waits of one attempt

// A Workload is gone: an open attempt ends as Deleted.
struct DeletedRecord {
  std::string uid;
  Seconds at = 0;
  friend bool operator==(const DeletedRecord&, const DeletedRecord&) = default;
};

// The Workloads that exist. Open attempts of others end as Deleted, at the last time at which the
// ledger was written: nothing later is known of them.
struct PresentWorkloads {
  std::set<std::string> uids;
  friend bool operator==(const PresentWorkloads&, const PresentWorkloads&) = default;
};

// A ProvisioningRequest. Key: `uid`.
struct CapacityRecord {
  std::string uid;
  std::string namespace_name;
  std::string name;
  std::string class_name;
  std::string workload;  // name of the Workload in the same namespace; may be empty
  Seconds created = 0;
  std::optional<Seconds> provisioned;  // Provisioned=True
  std::optional<Seconds> ended;        // when the outcome came
  std::string outcome;                 // Failed, BookingExpired, CapacityRevoked, Deleted, or empty
  std::string reason;
  std::string message;
  friend bool operator==(const CapacityRecord&, const CapacityRecord&) = default;
};

// The ProvisioningRequests that exist. Records of others without an outcome end as Deleted, at the
// last time at which the ledger was written.
struct PresentRequests {
  std::set<std::string> uids;
  friend bool operator==(const PresentRequests&, const PresentRequests&) = default;
};

// The time for which a node stood for one Workload (provisioning/meter.h). Key: `id`. The record
// with the latest `until` holds.
struct NodeTimeRecord {
  std::string id;    // identifies the meter
  std::string node;  // its name
  std::string pool;  // the node's pool, by the labels of clouds; may be empty
  std::string class_name;
  std::string namespace_name;
  std::string local_queue;
  std::string cluster_queue;
  std::string workload;      // the Workload's name
  std::string workload_uid;  // empty: the Workload is gone
  Seconds from = 0;
  Seconds until = 0;                        // counted up to this time
  std::int64_t gpus = 0;                    // GPUs of the whole node
  std::optional<std::int64_t> hourly_nano;  // billionths of USD; nullopt: no price was known
  bool stands = false;
  friend bool operator==(const NodeTimeRecord&, const NodeTimeRecord&) = default;
};

// The price of a node of the flavor from `since` on. Key: `flavor`, `since`.
struct PriceRecord {
  std::string flavor;
  Seconds since = 0;
  std::optional<std::int64_t> hourly_nano;  // billionths of USD; nullopt: no price
  friend bool operator==(const PriceRecord&, const PriceRecord&) = default;
};

// The nominal quota of a ClusterQueue for a resource, the sum over its flavors, from `since` on.
// Key: `cluster_queue`, `resource`, `since`. berth.dev/gpus counts the GPUs of all resources.
struct QuotaRecord {
  std::string cluster_queue;
  std::string resource;
  Seconds since = 0;
  api::Amount nominal = 0;  // 0: the ClusterQueue is gone, or has no quota for the resource
  friend bool operator==(const QuotaRecord&, const QuotaRecord&) = default;
};

// The nodes of a pool over a while: sums of node-seconds. Key: `pool`, the while.
struct PoolSampleRecord {
  std::string pool;  // empty: nodes of no pool
  Seconds from = 0;
  Seconds span = 0;          // the length of the while; a record for the ledger: kSampleSeconds
  std::int64_t seconds = 0;  // the seconds of the while that were sampled
  std::int64_t ready = 0;    // node-seconds of nodes that are ready
  std::int64_t booting = 0;  // node-seconds of nodes that have not been ready yet
  std::int64_t idle = 0;     // node-seconds of ready nodes without pods but for DaemonSets'
  Seconds idle_seconds = 0;  // the part of `seconds` in which pods were known
  friend bool operator==(const PoolSampleRecord&, const PoolSampleRecord&) = default;
};

inline constexpr Seconds kSampleSeconds = 60;

using Record =
    std::variant<AttemptRecord, DeletedRecord, PresentWorkloads, CapacityRecord, PresentRequests,
                 NodeTimeRecord, PriceRecord, QuotaRecord, PoolSampleRecord>;

}  // namespace berth::ledger
