// provisioning/stock.h — the stock memory: what is known about the stock of each class, zone and
// shape from the outcomes of Berth's own requests, and how long to rest before the next request.
//
//     outcome --Record--> memory --RestOf--> "not before 14:05, after 2 failures"
//
// A failure begins a rest: 15 minutes for a stock-out, doubled with each further one, at most 6
// hours; 6 hours, at most 7 days, where the cloud says that the machine will not come; 30 days for
// a zone that never has the machine; an hour for the cloud's quota. Failures during a rest add
// nothing: many Workloads that fail at once count once. A grant of at least that size ends the
// rest. A rest holds for requests of that size class or a larger one: a stock without two nodes has
// no eight nodes.
//
// Bounded: 64 keys a class, 256 outcomes a key, 4096 a class; the oldest go first.
//
// Units: seconds, pods. Threads: one. Errors: none. Source: this repository's specification of
// capacity; the figures are of cluster-autoscaler's back-off and of users' reports.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/provisioning_policy.h"
#include "api/queues.h"
#include "api/stock_memory.h"
#include "api/workload.h"
#include "base/clock.h"

namespace berth::provisioning {

struct StockLesson {  // one outcome, with its place in the memory
  std::string provisioning_class;
  api::StockKey key;
  api::StockOutcome outcome;
  std::string reason;
  WallTime at{};  // when the answer came
};

class StockMemory {
 public:
  // Does nothing for an outcome of a request that the key knows.
  void Record(const StockLesson& lesson);
  bool Knows(const StockLesson& lesson) const;

  // The entry whose rest forbids a request of `key` at `now`; null: none.
  const api::StockEntry* RestOf(const std::string& provisioning_class, const api::StockKey& key,
                                WallTime now) const;
  // Whether a request of the same key that was asked after `since` was granted: a request that was
  // asked before and still waits has lost its place.
  bool Overtaken(const std::string& provisioning_class, const api::StockKey& key,
                 const std::string& id, WallTime since) const;

  const api::ClassStock& Of(const std::string& provisioning_class) const;
  // Joins outcomes and rests that another process has written: the longer rest holds.
  void Merge(const std::string& provisioning_class, const api::ClassStock& other);

 private:
  std::map<std::string, api::ClassStock> by_class_;
};

// The least size of the size class: 1, 2, 5, 17 or 65.
std::int32_t SizeClass(std::int64_t pods);
// 8 hex digits for the request.
std::string StockId(std::string_view request_uid);

// The key of a request of `step` for the Workload. `flavors`: those of its admission, for a step
// without a flavor. `zone`: where the request asks; empty: where the pods' node selector says.
// nullopt: the flavor is unknown without an admission.
std::optional<api::StockKey> StockKeyOf(const api::Workload& workload,
                                        const api::ProvisioningRequestConfig& config,
                                        const std::string& step_flavor,
                                        const std::vector<std::string>& flavors,
                                        const std::string& zone = "");

// The result for the stock that follows from a reason; nullopt: the reason says nothing about the
// stock. `waited`: the reason of the condition that the cloud gave while the request waited, for a
// request that was given up.
std::optional<api::StockResult> ResultOf(std::string_view reason, std::string_view waited);

std::string_view StockResultName(api::StockResult result);  // "granted"

}  // namespace berth::provisioning
