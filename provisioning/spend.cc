#include "provisioning/spend.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "api/quantity.h"
#include "base/sha1.h"

namespace berth::provisioning {
namespace {

constexpr std::size_t kMostDays = 2;
constexpr std::size_t kMostCharges = 2000;  // the most charges of a queue and day
constexpr std::size_t kIdDigits = 16;
using Days = std::chrono::duration<std::int64_t, std::ratio<86400>>;

// What counts of a charge whose nodes are measured.
std::int64_t Counted(std::int64_t charge, const Metered& nodes) {
  if (nodes.unpriced != 0) return charge;
  return nodes.open == 0 ? nodes.nano_dollars : std::max(charge, nodes.nano_dollars);
}

}  // namespace

void SpendMemory::Record(const Charge& charge) {
  if (Knows(charge)) return;
  api::DaySpend& day = by_queue_[charge.queue][charge.day];
  if (charge.nano_dollars == 0) {
    day.charges.erase(charge.id);
  } else {
    day.charges[charge.id] = charge.nano_dollars;
  }
  Bound(day, charge.id);
  Bound(by_queue_[charge.queue], charge.day);
}

bool SpendMemory::Knows(const Charge& charge) const {
  const std::int64_t known = ChargeOf(charge.queue, charge.day, charge.id);
  return charge.nano_dollars == 0 ? known == 0 : known >= charge.nano_dollars;
}

std::int64_t SpendMemory::ChargeOf(const std::string& queue, std::int64_t day,
                                   const std::string& id) const {
  const api::QueueSpend& spend = Of(queue);
  const auto found = spend.find(day);
  if (found == spend.end()) return 0;
  const auto charge = found->second.charges.find(id);
  return charge == found->second.charges.end() ? 0 : charge->second;
}

std::int64_t SpendMemory::SpentBy(const std::string& queue, std::int64_t day,
                                  const std::set<std::string>& ids) const {
  const api::QueueSpend& spend = Of(queue);
  const auto found = spend.find(day);
  if (found == spend.end()) return 0;
  const std::map<std::string, Metered> measured = meters_.ByCharge(queue);
  std::int64_t sum = found->second.folded;
  for (const auto& [request, amount] : found->second.charges) {
    if (ids.contains(request)) continue;
    const auto nodes = measured.find(request);
    sum = api::AddAmounts(sum, nodes == measured.end() ? amount : Counted(amount, nodes->second));
  }
  return sum;
}

const api::QueueSpend& SpendMemory::Of(const std::string& queue) const {
  static const api::QueueSpend kNone;
  const auto found = by_queue_.find(queue);
  return found == by_queue_.end() ? kNone : found->second;
}

void SpendMemory::Merge(const std::string& queue, const api::QueueSpend& other) {
  api::QueueSpend& mine = by_queue_[queue];
  for (const auto& [day, spend] : other) {
    api::DaySpend& into = mine[day];
    into.folded = std::max(into.folded, spend.folded);
    for (const auto& [id, amount] : spend.charges) {
      std::int64_t& charge = into.charges[id];
      charge = std::max(charge, amount);
    }
    Bound(into, "");
  }
  if (!mine.empty()) Bound(mine, mine.rbegin()->first);
}

void SpendMemory::Bound(api::DaySpend& day, const std::string& keep) {
  while (day.charges.size() > kMostCharges) {
    auto first = day.charges.begin();
    if (first->first == keep) ++first;
    day.folded = api::AddAmounts(day.folded, first->second);
    day.charges.erase(first);
  }
}

// A clock that was set back leaves days of the future: the day in use stays.
void SpendMemory::Bound(api::QueueSpend& spend, std::int64_t keep) {
  while (spend.size() > kMostDays) {
    const auto first = spend.begin();
    spend.erase(first->first == keep ? std::next(first) : first);
  }
}

std::int64_t DayOf(WallTime time) {
  return std::chrono::floor<Days>(time.time_since_epoch()).count();
}

WallTime BeginOf(std::int64_t day) { return WallTime(Days(day)); }

std::string QueueOf(const api::Workload& workload) {
  return workload.meta.namespace_name + "/" + workload.spec.queue_name;
}

std::string KeptChargeId(const std::string& request_uid) {
  return Sha1Hex(request_uid).substr(0, kIdDigits);
}

std::string ChargeId(const api::Workload& workload, const std::string& check,
                     std::int32_t attempt) {
  return Sha1Hex(workload.meta.uid + "/" + check + "/" + std::to_string(attempt))
      .substr(0, kIdDigits);
}

}  // namespace berth::provisioning
