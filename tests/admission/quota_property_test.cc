// Goal: quota holds, whatever comes. Method: random clusters and stories (tests/support/story.h)
// against a model that works every number out anew from the objects (tests/support/quota_model.h).
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/core_digest.h"
#include "tests/support/property.h"
#include "tests/support/quota_model.h"
#include "tests/support/story_runner.h"

namespace berth::admission {
namespace {

using support::Amounts;
using support::CoreWorld;
using support::QuotaModel;

bool TookQuota(const Decision& decision) {
  return decision.outcome == Outcome::kAdmitted || decision.outcome == Outcome::kQuotaReserved;
}

// Each admission in turn fits what the tree has left, with all counted that still hold quota, be
// they told to stop or not.
void CheckAdmissions(const CoreWorld& world, const CycleResult& result) {
  QuotaModel model(world, QuotaModel::Evicted::kCount);
  for (const Decision& decision : result.decisions) {
    if (!TookQuota(decision)) continue;
    const std::string& queue = world.scheduler().state().queue(decision.cluster_queue).name;
    const Amounts asked = support::AskedBy(decision, world.scheduler().vocabulary());
    for (const auto& [fr, amount] : asked) {
      const api::Amount available = model.Available(queue, fr);
      if (amount > std::max<api::Amount>(0, available)) {
        RC_FAIL("cycle " + std::to_string(result.cycle) + ": " + decision.object->meta.name +
                " took " + std::to_string(amount) + " of " + fr.first + "." + fr.second + " in " +
                queue + ", where " + std::to_string(available) + " was left");
      }
    }
    model.AddUsage(queue, asked);
  }
}

TEST(QuotaProperty, NobodyGetsMoreThanTheTreeHasLeft) {
  support::CheckProperty(2000, [] {
    const auto story = *support::AnyStory({});
    support::StoryRun(story, {.decided = CheckAdmissions}).Play();
  });
}

void CheckTree(const CoreWorld& world) {
  const QuotaModel model(world, QuotaModel::Evicted::kCount);
  const ClusterState& state = world.scheduler().state();
  const Vocabulary& names = world.scheduler().vocabulary();
  for (const std::string& node : model.Nodes()) {
    const auto slash = node.find('/');
    const std::string name = node.substr(slash + 1);
    const bool is_queue = node.starts_with("queue/");
    const NodeId number =
        is_queue ? state.queue(*state.FindQueue(name)).node : *state.CohortNode(name);
    for (FlavorResourceId fr = 0; fr < state.tree().flavor_resource_count(); ++fr) {
      const support::FlavorResource pair{names.flavors[state.FlavorOf(fr)],
                                         names.resources[state.ResourceOf(fr)]};
      RC_ASSERT(state.tree().SubtreeQuota(number, fr) == model.Subtree(node, pair));
      RC_ASSERT(state.tree().UsageOf(number, fr) == model.Usage(node, pair));
      if (!is_queue) continue;
      RC_ASSERT(state.tree().Potential(number, fr) == model.Potential(name, pair));
      RC_ASSERT(state.tree().Available(number, fr) ==
                std::max<api::Amount>(0, model.Available(name, pair)));
    }
  }
}

TEST(QuotaProperty, TheTreeAgreesWithTheFormulae) {
  support::CheckProperty(1500, [] {
    const auto story = *support::AnyStory({.max_cohorts = 4, .max_queues = 5});
    support::StoryRun(story, {.before_cycle = CheckTree, .at_rest = CheckTree}).Play();
  });
}

TEST(QuotaProperty, StateRebuiltFromTheObjectsIsTheStateKept) {
  support::CheckProperty(1500, [] {
    const auto story = *support::AnyStory({});
    const auto compare = [&story](const CoreWorld& world) {
      Scheduler rebuilt(support::ConfigOf(story));
      world.Replay(rebuilt);
      RC_ASSERT(support::DigestOfState(rebuilt) == support::DigestOfState(world.scheduler()));
      RC_ASSERT(support::DigestOfQueues(rebuilt, support::Waiting::kMembers) ==
                support::DigestOfQueues(world.scheduler(), support::Waiting::kMembers));
    };
    support::StoryRun(story, {.at_rest = compare}).Play();
  });
}

// A cycle looks for flavors and victims by trying things out on the one state there is.
TEST(QuotaProperty, ACycleThatAdmitsNobodyLeavesTheStateBitByBit) {
  support::CheckProperty(1500, [] {
    const auto story = *support::AnyStory({});
    std::string before;
    std::uint64_t version = 0;
    support::StoryHooks hooks;
    hooks.before_cycle = [&](const CoreWorld& world) {
      before = support::DigestOfState(world.scheduler());
      version = world.scheduler().state().tree().version();
    };
    hooks.decided = [&](const CoreWorld& world, const CycleResult& result) {
      RC_ASSERT(!world.scheduler().state().tree().simulating());
      if (std::any_of(result.decisions.begin(), result.decisions.end(), TookQuota)) return;
      RC_ASSERT(support::DigestOfState(world.scheduler()) == before);
      RC_ASSERT(world.scheduler().state().tree().version() == version);
    };
    support::StoryRun(story, hooks).Play();
  });
}

}  // namespace
}  // namespace berth::admission
