// tests/faults/fair_law.h — the victims that fair sharing allows.
//
//     share(n) = the largest, over resources, of n's usage above its subtree quota,
//                in thousandths of its parent's quota if nothing were in use;
//                divided by n's weight
//
// Shares are compared at the children of the lowest cohort that preemptor and victim have in
// common. The preemptor's share counts its workload in. By a strategy of the Configuration
//   LessThanOrEqualToFinalShare  it is at most the victim's share without the victim
//   LessThanInitialShare         it is less than the victim's share
//
// No object records the flavors that the preemptor was to get, nor the victims of its own queue:
// the law assumes the lowest possible share of the preemptor and the highest of the victim.
//
// Pure. Source: Kueue KEP-1714.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tests/faults/truth.h"
#include "tests/support/quota_formulae.h"

namespace berth::sim {

struct FairStrategies {
  bool final_share = true;
  bool initial_share = true;
};

// The minimal usage and requests of a preemptor.
struct FairClaim {
  using Usages = std::deque<std::pair<SteadyTime, support::UsageByQueue>>;
  // `recent`: usage in recent states.
  FairClaim(const Truth& truth, const WorkloadFacts& preemptor, const std::string& queue,
            const Usages& recent);

  std::string queue;
  support::Amounts used;  // by others of its ClusterQueue that it may not preempt
  std::map<std::string, std::int64_t> asked;  // by resource
};

class FairLaw {
 public:
  FairLaw() = default;
  explicit FairLaw(const Truth& truth);

  // The reason why `victim` may not be preempted for fair shares; nullopt: it may.
  std::optional<std::string> Unfair(const FairStrategies& strategies,
                                    const support::QuotaFormulae& quota, const FairClaim& claim,
                                    const WorkloadFacts& victim,
                                    const support::UsageByQueue& usage) const;
  // The share of a node of `quota`, with `more` usage of unknown flavors added.
  double ShareOf(const support::QuotaFormulae& quota, const std::string& node,
                 const support::UsageByQueue& usage,
                 const std::map<std::string, std::int64_t>& more) const;

  friend bool operator==(const FairLaw&, const FairLaw&) = default;

 private:
  std::map<std::string, double> weights_;  // by node; 1 where there is none
};

}  // namespace berth::sim
