// Goal: no preemption is useless, and preemption terminates. Method: random stories; a model of the
// quota tree (tests/support/quota_model.h) judges the victims of each decision.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/property.h"
#include "tests/support/quota_model.h"
#include "tests/support/story_runner.h"

namespace berth::admission {
namespace {

using simulation::ControlPlane;
using support::Amounts;
using support::QuotaModel;

// Removes usage of flavor-resources that the decision does not request.
bool FitsWithout(const QuotaModel& start, const ControlPlane& world, const Decision& decision,
                 const Victim* kept, bool borrowing) {
  QuotaModel model = start;
  for (const Victim& victim : decision.victims) {
    if (&victim == kept) continue;
    model.RemoveUsage(world.scheduler().state().queue(victim.cluster_queue).name,
                      support::HeldBy(*victim.object));
  }
  const std::string& queue = world.scheduler().state().queue(decision.cluster_queue).name;
  const Amounts asked = support::AskedBy(decision, world.scheduler().state().vocabulary());
  return model.Fits(queue, asked) && (borrowing || !model.Borrows(queue, asked));
}

// Whether the victims of `decision` make room, and no smaller set of them does. `start`: the quota
// at the time of the search.
bool Minimal(const QuotaModel& start, const ControlPlane& world, const Decision& decision) {
  if (!FitsWithout(start, world, decision, nullptr, true)) return false;
  // Some victims may go only for a preemptor that keeps within its own quota; then "fits" means
  // that, and with one victim less it would have to borrow.
  const bool may_borrow = !FitsWithout(start, world, decision, nullptr, false);
  for (const Victim& victim : decision.victims) {
    if (FitsWithout(start, world, decision, &victim, may_borrow)) return false;
  }
  return true;
}

TEST(PreemptionProperty, EveryVictimIsNeeded) {
  std::int64_t judged = 0;
  support::CheckProperty(2000, [&judged] {
    const auto story = *support::AnyStory({.edits = false});
    const auto check = [&judged](const ControlPlane& world, const CycleResult& result) {
      QuotaModel at_start(world, QuotaModel::Evicted::kCount);
      QuotaModel so_far = at_start;  // for entries that are assigned again
      for (const Decision& decision : result.decisions) {
        const std::string& queue = world.scheduler().state().queue(decision.cluster_queue).name;
        if (decision.outcome == Outcome::kPreempting) {
          ++judged;
          if (!Minimal(at_start, world, decision) && !Minimal(so_far, world, decision)) {
            RC_FAIL("cycle " + std::to_string(result.cycle) + ": needless victim of " +
                    decision.object->meta.name);
          }
          for (const Victim& victim : decision.victims) {
            so_far.RemoveUsage(world.scheduler().state().queue(victim.cluster_queue).name,
                               support::HeldBy(*victim.object));
          }
        }
        if (decision.outcome == Outcome::kPreempting || decision.outcome == Outcome::kDeferred ||
            decision.outcome == Outcome::kAdmitted) {
          so_far.AddUsage(queue,
                          support::AskedBy(decision, world.scheduler().state().vocabulary()));
        }
      }
    };
    support::StoryRun(story, {.decided = check}).Play();
  });
  EXPECT_GT(judged, 100) << "the stories do not preempt enough to tell anything";
}

// The policies, shares, flavors, pod sets and minimum counts are any: Kueue's loops need several of
// them (docs/reference/differences.md).
TEST(PreemptionProperty, NoTwoWorkloadsPreemptEachOtherForever) {
  std::int64_t stories = 0;
  std::int64_t preemptions = 0;
  support::CheckProperty(2000, [&] {
    ++stories;
    const auto story = *support::AnyStory({.more_pod_sets = true});
    support::StoryRun run(story, {});
    const bool at_rest = run.Play();
    preemptions += run.tally().preemptions;
    RC_ASSERT(at_rest);
  });
  EXPECT_GT(preemptions, stories / 20) << "the stories do not preempt enough to tell anything";
}

TEST(PreemptionProperty, PoliciesAllowEveryVictim) {
  support::CheckProperty(1500, [] {
    const auto story = *support::AnyStory({});
    const auto check = [](const ControlPlane& world, const CycleResult& result) {
      const ClusterState& state = world.scheduler().state();
      for (const Decision& decision : result.decisions) {
        if (decision.outcome != Outcome::kPreempting) continue;
        const QueueState& queue = state.queue(decision.cluster_queue);
        const std::int32_t priority = decision.object->spec.priority.value_or(0);
        for (const Victim& victim : decision.victims) {
          if (victim.ongoing) continue;
          const bool own = victim.cluster_queue == decision.cluster_queue;
          const std::int32_t its = victim.object->spec.priority.value_or(0);
          const auto policy = own ? queue.spec.preemption.within_cluster_queue
                                  : queue.spec.preemption.reclaim_within_cohort;
          RC_ASSERT(policy != api::PreemptionPolicy::kNever);
          if (policy == api::PreemptionPolicy::kLowerPriority) RC_ASSERT(its < priority);
          if (policy == api::PreemptionPolicy::kLowerOrNewerEqualPriority) {
            RC_ASSERT(its <= priority);
          }
          RC_ASSERT(own == (victim.reason == PreemptionReason::kInClusterQueue));
          if (victim.reason == PreemptionReason::kInCohortReclaimWhileBorrowing) {
            RC_ASSERT(queue.spec.preemption.borrow_within_cohort != api::PreemptionPolicy::kNever);
            RC_ASSERT(its < priority);
            RC_ASSERT(its <= queue.spec.preemption.borrow_max_priority_threshold.value_or(its));
          }
        }
      }
    };
    support::StoryRun(story, {.decided = check}).Play();
  });
}

}  // namespace
}  // namespace berth::admission
