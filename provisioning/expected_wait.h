// provisioning/expected_wait.h — how long a request for capacity is going to wait, from the stock
// memory.
//
//     waits that ended, waits that were given up, requests that still wait ──EtaOf──▶ p10, p50, p90
//
// provisioning/survival.h estimates: a wait that was given up, or has not ended, counts as "longer
// than that"; without these the estimate is too short. Outcomes fade with a half-life of seven
// days. The key's own outcomes count most; while these are few, those of the same machines in other
// sizes and then those of the flavor's other machines are added, at half and at a quarter of the
// weight; and a prior of weight 3 always. Requests that found others waiting for the same machines
// and requests that found none are kept apart as soon as both are known: waiting requests are a
// sign that the stock is out. The remaining wait of a request is conditional on the time that it
// has waited already.
//
// Units: seconds. Threads: pure functions. Errors: none. Source: this repository's specification of
// capacity; the priors are its figures for queued provisioning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/stock_memory.h"
#include "base/clock.h"
#include "provisioning/stock.h"
#include "provisioning/survival.h"

namespace berth::provisioning {

// A request that waits for capacity now.
struct StillWaiting {
  api::StockKey key;
  std::int64_t seconds = 0;  // since its creation
};

struct EtaInput {
  const StockMemory& stock;
  std::string provisioning_class;
  api::StockKey key;
  WallTime now{};
  std::int64_t waited_seconds = 0;    // how long the request itself has waited; 0: it is made now
  std::vector<StillWaiting> waiting;  // other requests of the class
};

struct Eta {
  enum class Basis : std::uint8_t {
    kPrior,     // no outcome of these machines is known
    kObserved,  // outcomes of these machines
  };
  // From now to the nodes. At most kMostEtaSeconds, which also stands for "not within that time".
  std::int64_t p10_seconds = 0;
  std::int64_t p50_seconds = 0;
  std::int64_t p90_seconds = 0;
  Basis basis = Basis::kPrior;
  std::int32_t outcomes = 0;  // outcomes on these machines, of any size
  friend bool operator==(const Eta&, const Eta&) = default;
};
inline constexpr std::int64_t kMostEtaSeconds = 30LL * 24 * 3600;

// The waiting times of requests like the one of the input, as one distribution.
class WaitForecast {
 public:
  explicit WaitForecast(const EtaInput& input);

  Eta eta() const;
  // The probability that nodes come within `span` seconds from now, in thousandths.
  std::int64_t ChanceWithin(std::int64_t span) const;

 private:
  struct Sample {
    std::int64_t seconds = 0;
    double weight = 0;
    bool came = false;     // false: the wait was longer
    bool crowded = false;  // other requests waited for the same machines
  };

  void Gather(const EtaInput& input);
  void AddPrior(const EtaInput& input);
  void KeepAlike(bool crowded);

  std::vector<Sample> samples_;  // empty once `waits_` is made
  Survival waits_;
  std::int64_t waited_ = 0;
  Eta::Basis basis_ = Eta::Basis::kPrior;
  std::int32_t outcomes_ = 0;
};

inline Eta EtaOf(const EtaInput& input) { return WaitForecast(input).eta(); }

}  // namespace berth::provisioning
