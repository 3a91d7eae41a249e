// provisioning/spend.h — what the capacity of each LocalQueue may cost, by day.
//
//     cost of a request --Record--> charge --SpentBy--> what is left of the day's budget
//
// A request is charged before it is made, with the cost that is expected, to the day of the
// request. The charge of a request that brings no nodes is taken back when the request cannot be
// granted: the request has failed, or is gone. Each request that brings nodes is charged in full,
// until the cost of its nodes is measured (meter.h).
//
// Bounded: the last two days of a queue, 2000 charges a day; further charges are added up and are
// not taken back.
//
// Units: USD in billionths, saturating; days of UTC. Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "api/spend_memory.h"
#include "api/workload.h"
#include "base/clock.h"
#include "provisioning/meter.h"

namespace berth::provisioning {

struct Charge {
  std::string queue;  // namespace/name of the LocalQueue
  std::int64_t day = 0;
  std::string id;                 // names the request
  std::int64_t nano_dollars = 0;  // 0: taken back
  friend bool operator==(const Charge&, const Charge&) = default;
};

class SpendMemory {
 public:
  void Record(const Charge& charge);
  // Whether Record would change nothing.
  bool Knows(const Charge& charge) const;
  // 0: there is no such charge.
  std::int64_t ChargeOf(const std::string& queue, std::int64_t day, const std::string& id) const;
  // The queue's charges of that day without those of `ids`. Where the nodes of a charge were
  // measured and are gone, their cost counts; while nodes stand, no less than the charge.
  std::int64_t SpentBy(const std::string& queue, std::int64_t day,
                       const std::set<std::string>& ids) const;

  const api::QueueSpend& Of(const std::string& queue) const;
  // Joins the charges that another process has written: the higher charge holds.
  void Merge(const std::string& queue, const api::QueueSpend& other);

  MeterMemory& meters() { return meters_; }
  const MeterMemory& meters() const { return meters_; }

 private:
  static void Bound(api::DaySpend& day, const std::string& keep);
  static void Bound(api::QueueSpend& spend, std::int64_t keep);

  std::map<std::string, api::QueueSpend> by_queue_;
  MeterMemory meters_;
};

std::int64_t DayOf(WallTime time);
WallTime BeginOf(std::int64_t day);
std::string QueueOf(const api::Workload& workload);
// 16 hex digits for a request whose nodes have come.
std::string KeptChargeId(const std::string& request_uid);
// 16 hex digits for the request of that attempt, as long as no nodes have come.
std::string ChargeId(const api::Workload& workload, const std::string& check, std::int32_t attempt);

}  // namespace berth::provisioning
