// api/spend_memory.h — the charges for the capacity of one LocalQueue's workloads, by day: the
// content of a ConfigMap berth-spend-….
//
// Units: USD in billionths (nano-dollars); days of UTC since 1970-01-01. The rules are in
// provisioning/spend.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace berth::api {

struct DaySpend {
  std::map<std::string, std::int64_t> charges;  // by request, 16 hex digits
  std::int64_t folded = 0;                      // the sum of requests beyond the bound
  friend bool operator==(const DaySpend&, const DaySpend&) = default;
};

using QueueSpend = std::map<std::int64_t, DaySpend>;  // by day

}  // namespace berth::api
