// tests/simulation/faults/fair_law.h — whom fair sharing allows to preempt.
//
//     share(n) = the largest, over resources, of what n uses above its subtree quota, in
//     thousandths
//                of what its parent could have if nothing were in use; divided by n's weight
//
// Shares are compared at the children of the lowest cohort that preemptor and victim have in
// common. The preemptor's share counts its workload in. By a strategy of the Configuration
//   LessThanOrEqualToFinalShare  it is at most the victim's share without the victim
//   LessThanInitialShare         it is less than the victim's share
//
// Which flavors the preemptor was to get and which victims of its own queue went first nobody
// writes down: the preemptor's share is taken as low as it can have been, the victim's as high.
//
// Pure. Source: Kueue KEP-1714.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tests/simulation/faults/truth.h"
#include "tests/support/quota_formulae.h"

namespace berth::sim {

struct FairStrategies {
  bool final_share = true;
  bool initial_share = true;
};

// What a preemptor uses and asks for, at the least.
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

  // Why `victim` may not be preempted for fair shares; nullopt: it may.
  std::optional<std::string> Unfair(const FairStrategies& strategies,
                                    const support::QuotaFormulae& quota, const FairClaim& claim,
                                    const WorkloadFacts& victim,
                                    const support::UsageByQueue& usage) const;
  // Of a node of `quota`, with `more` of resources whose flavors are not known.
  double ShareOf(const support::QuotaFormulae& quota, const std::string& node,
                 const support::UsageByQueue& usage,
                 const std::map<std::string, std::int64_t>& more) const;

  friend bool operator==(const FairLaw&, const FairLaw&) = default;

 private:
  std::map<std::string, double> weights_;  // by node; 1 where there is none
};

}  // namespace berth::sim
