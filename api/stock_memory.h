// api/stock_memory.h — the outcomes of requests of one provisioning class: the content of the
// ConfigMap berth-stock-CLASS. All queues share it.
//
// Units: seconds, pods. The rules are in provisioning/stock.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace berth::api {

enum class StockResult : std::uint8_t {
  kGranted,
  kStockout,
  kHard,     // the cloud says that the machine will not come here
  kQuota,    // the cloud's quota
  kTimeout,  // given up while the cloud had no stock
};

struct StockOutcome {
  std::string id;  // the request's id, 8 hex digits
  WallTime asked_at{};
  std::int64_t wait_seconds = 0;
  std::int64_t pods = 0;
  StockResult result = StockResult::kGranted;
  friend bool operator==(const StockOutcome&, const StockOutcome&) = default;
};

// The machines that an outcome is about. Pods of one shape differ in number only.
struct StockKey {
  std::string flavor;     // ResourceFlavor
  std::string zone;       // empty: the cloud chooses
  std::string shape;      // "nvidia.com/gpu=8 pool=a3"
  std::int32_t size = 0;  // the least number of pods of the size class: 1, 2, 5, 17, 65
  friend auto operator<=>(const StockKey&, const StockKey&) = default;
};

struct StockEntry {
  StockKey key;
  std::int32_t strikes = 0;            // rests in a row without a grant
  WallTime rest_until{};               // no request is made before it; in the past: no rest
  std::string reason;                  // the reason of the newest failure
  std::vector<StockOutcome> outcomes;  // the newest, oldest first
  friend bool operator==(const StockEntry&, const StockEntry&) = default;
};

using ClassStock = std::vector<StockEntry>;  // sorted by key

}  // namespace berth::api
