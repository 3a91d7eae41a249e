// Goal: quota holds in every story. Method: random clusters and stories (tests/support/story.h),
// with a model that recomputes all numbers from the objects (tests/support/quota_model.h).
#include <algorithm>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/core_digest.h"
#include "tests/support/property.h"
#include "tests/support/quota_model.h"
#include "tests/support/story_runner.h"

namespace berth::admission {
namespace {

using simulation::ControlPlane;
using support::Amounts;
using support::QuotaModel;

bool TookQuota(const Decision& decision) {
  return decision.outcome == Outcome::kAdmitted || decision.outcome == Outcome::kQuotaReserved;
}

// Each admission in turn fits the free quota of the tree, counting all workloads that hold quota,
// evicted ones too.
void CheckAdmissions(const ControlPlane& world, const CycleResult& result) {
  QuotaModel model(world, QuotaModel::Evicted::kCount);
  for (const Decision& decision : result.decisions) {
    if (!TookQuota(decision)) continue;
    const std::string& queue = world.scheduler().state().queue(decision.cluster_queue).name;
    const Amounts asked = support::AskedBy(decision, world.scheduler().state().vocabulary());
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

TEST(QuotaProperty, NoAdmissionExceedsTheTreesAvailableQuota) {
  support::CheckProperty(2000, [] {
    const auto story = *support::AnyStory({});
    support::StoryRun(story, {.decided = CheckAdmissions}).Play();
  });
}

void CheckTree(const ControlPlane& world) {
  const QuotaModel model(world, QuotaModel::Evicted::kCount);
  const ClusterState& state = world.scheduler().state();
  const Vocabulary& names = world.scheduler().state().vocabulary();
  for (const std::string& node : model.Nodes()) {
    const auto slash = node.find('/');
    const std::string name = node.substr(slash + 1);
    const bool is_queue = node.starts_with("queue/");
    const NodeId number = is_queue ? state.queue(*state.cluster_queues().Find(name)).node
                                   : *state.cohorts().Find(name);
    for (FlavorResourceId fr = 0; fr < names.flavor_resources.size(); ++fr) {
      const support::FlavorResource pair{names.flavors[names.flavor_resources.FlavorOf(fr)],
                                         names.resources[names.flavor_resources.ResourceOf(fr)]};
      RC_ASSERT(state.tree().AmountsOf(number, fr).subtree == model.Subtree(node, pair));
      RC_ASSERT(state.tree().AmountsOf(number, fr).usage == model.Usage(node, pair));
      if (!is_queue) continue;
      RC_ASSERT(state.tree().Potential(number, fr) == model.Potential(name, pair));
      RC_ASSERT(state.tree().Available(number, fr) ==
                std::max<api::Amount>(0, model.Available(name, pair)));
    }
  }
}

TEST(QuotaProperty, TreeAgreesWithTheFormulas) {
  support::CheckProperty(1500, [] {
    const auto story = *support::AnyStory({.max_cohorts = 4, .max_queues = 5});
    support::StoryRun(story, {.before_cycle = CheckTree, .at_rest = CheckTree}).Play();
  });
}

TEST(QuotaProperty, StateRebuiltFromTheObjectsEqualsTheKeptState) {
  support::CheckProperty(1500, [] {
    const auto story = *support::AnyStory({});
    const auto compare = [&story](const ControlPlane& world) {
      Scheduler rebuilt(support::ConfigOf(story));
      Replay(world, rebuilt);
      RC_ASSERT(support::DigestOfState(rebuilt) == support::DigestOfState(world.scheduler()));
      RC_ASSERT(support::DigestOfQueues(rebuilt, support::Waiting::kMembers) ==
                support::DigestOfQueues(world.scheduler(), support::Waiting::kMembers));
    };
    support::StoryRun(story, {.at_rest = compare}).Play();
  });
}

// A cycle searches flavors and victims by what-ifs on the one state.
TEST(QuotaProperty, CycleWithoutAdmissionsKeepsTheStateUnchanged) {
  support::CheckProperty(1500, [] {
    const auto story = *support::AnyStory({});
    std::string before;
    std::uint64_t version = 0;
    support::StoryHooks hooks;
    hooks.before_cycle = [&](const ControlPlane& world) {
      before = support::DigestOfState(world.scheduler());
      version = world.scheduler().state().tree().version();
    };
    hooks.decided = [&](const ControlPlane& world, const CycleResult& result) {
      RC_ASSERT(!world.scheduler().state().tree().simulating());
      if (std::any_of(result.decisions.begin(), result.decisions.end(), TookQuota)) return;
      RC_ASSERT(support::DigestOfState(world.scheduler()) == before);
      RC_ASSERT(world.scheduler().state().tree().version() == version);
    };
    support::StoryRun(story, hooks).Play();
  });
}

// A tree of four cohorts, one below the other or all below the first, and four queues; and what-ifs
// within what-ifs.
struct Change {
  int kind = 0;  // 0, 1: add; 2: remove; 3: begin; 4: roll back
  int leaf = 0;
  int amount = 0;
};
std::ostream& operator<<(std::ostream& out, const Change& change) {
  return out << change.kind << " leaf " << change.leaf << " amount " << change.amount;
}

class NestedWhatIfs {
 public:
  explicit NestedWhatIfs(const std::vector<support::QuotaPlan>& quotas) {
    for (std::size_t i = 0; i < 4; ++i) {
      nodes_.push_back(tree_.AddNode(QuotaTree::Kind::kCohort));
      if (i > 0) tree_.SetParent(nodes_[i], nodes_[quotas[i].nominal % 2 == 0 ? 0 : i - 1]);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      nodes_.push_back(tree_.AddNode(QuotaTree::Kind::kLeaf));
      const support::QuotaPlan& plan = quotas[i];
      Quota quota{0, plan.nominal, {}, {}};
      if (plan.borrowing > 0) quota.borrowing_limit = plan.borrowing - 1;
      if (plan.lending > 0) quota.lending_limit = plan.lending - 1;
      tree_.SetQuotas(nodes_.back(), {quota});
      tree_.SetParent(nodes_.back(), nodes_[i]);
    }
  }

  void Do(const Change& change) {
    const NodeId leaf = nodes_[4 + static_cast<std::size_t>(change.leaf)];
    if (change.kind < 2) tree_.AddUsage(leaf, {{0, change.amount}});
    if (change.kind == 2) {
      tree_.RemoveUsage(leaf,
                        {{0, std::min<Amount>(change.amount, tree_.AmountsOf(leaf, 0).usage)}});
    }
    if (change.kind == 3) open_.push_back({tree_.Begin(), Numbers()});
    if (change.kind == 4 && !open_.empty()) RollBack();
  }
  void RollBack() {
    tree_.RollBack(open_.back().mark);
    RC_ASSERT(Numbers() == open_.back().numbers);
    open_.pop_back();
  }
  bool done() const { return open_.empty(); }

 private:
  std::vector<Amount> Numbers() const {
    std::vector<Amount> numbers = {static_cast<Amount>(tree_.version())};
    for (const NodeId node : nodes_) {
      numbers.push_back(tree_.AmountsOf(node, 0).usage);
      numbers.push_back(tree_.AmountsOf(node, 0).LocalAvailable());
      numbers.push_back(tree_.Available(node, 0));
    }
    return numbers;
  }
  struct Open {
    QuotaTree::Mark mark;
    std::vector<Amount> numbers;
  };
  QuotaTree tree_;
  std::vector<NodeId> nodes_;
  std::vector<Open> open_;
};

TEST(QuotaProperty, NestedWhatIfsRollBackExactly) {
  support::CheckProperty(2000, [] {
    const auto quota = rc::gen::build<support::QuotaPlan>(
        rc::gen::set(&support::QuotaPlan::nominal, support::Below(8)),
        rc::gen::set(&support::QuotaPlan::borrowing, support::Below(5)),
        rc::gen::set(&support::QuotaPlan::lending, support::Below(5)));
    const auto change = rc::gen::build<Change>(rc::gen::set(&Change::kind, support::Below(5)),
                                               rc::gen::set(&Change::leaf, support::Below(4)),
                                               rc::gen::set(&Change::amount, support::Below(9)));
    NestedWhatIfs what_ifs(*rc::gen::container<std::vector<support::QuotaPlan>>(4, quota));
    const auto changes = *rc::gen::container<std::vector<Change>>(change);
    for (const Change& each : changes) what_ifs.Do(each);
    while (!what_ifs.done()) what_ifs.RollBack();
  });
}

}  // namespace
}  // namespace berth::admission
