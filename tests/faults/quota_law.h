// tests/faults/quota_law.h — the quota of ClusterQueues and cohorts of a Truth, by the
// formulae of tests/support/quota_formulae.h, and the victims that their policies allow.
//
// Pure. Source: Kueue KEP-79 (quota), ClusterQueuePreemption in Kueue's API (victims).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "tests/faults/truth.h"
#include "tests/support/quota_formulae.h"

namespace berth::sim {

class QuotaLaw {
 public:
  using What = support::FlavorResource;

  QuotaLaw() = default;
  explicit QuotaLaw(const Truth& truth);

  const support::QuotaFormulae& formulae() const { return formulae_; }
  bool HasQueue(const std::string& queue) const { return formulae_.HasQueue(queue); }
  bool Stopped(const std::string& queue) const { return stopped_.count(queue) > 0; }
  std::int64_t Available(const std::string& queue, const What& what,
                         const support::UsageByQueue& usage) const {
    return formulae_.Available(queue, what, usage);
  }
  // Why `victim` may not be preempted for `preemptor`, for the reason that its condition Preempted
  // gives; nullopt: the policies of the preemptor's ClusterQueue allow it.
  std::optional<std::string> Unlawful(const std::string& reason, const WorkloadFacts& preemptor,
                                      const std::string& preemptor_queue,
                                      const WorkloadFacts& victim,
                                      const support::UsageByQueue& usage) const;

  friend bool operator==(const QuotaLaw&, const QuotaLaw&) = default;

 private:
  std::optional<std::string> UnlawfulAcross(const std::string& reason,
                                            const PreemptionFacts& policy,
                                            const WorkloadFacts& preemptor,
                                            const WorkloadFacts& victim) const;

  support::QuotaFormulae formulae_;
  std::set<std::string> stopped_;
  std::map<std::string, PreemptionFacts> preemption_;  // by ClusterQueue
};

}  // namespace berth::sim
