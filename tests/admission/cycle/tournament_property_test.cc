// Goal: the turns of a tournament equal those of its rule, applied in each turn to all remaining
// entrants. Method: random trees of cohorts, quotas, weights and entrants; winners take their usage
// or leave; compared with a model that asks every queue and cohort in each turn.
#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "admission/cycle/tournament.h"
#include "tests/support/core_fixture.h"
#include "tests/support/property.h"

namespace berth::admission {
namespace {

constexpr int kTournamentCohorts = 5;

struct QueuePlan {
  int cohort = 0;  // kTournamentCohorts: none
  int nominal = 0;
  int weight = 0;
  int asks = 0;
  int priority = 0;
  int waits_since = 0;
  bool goes_first = false;
  bool admitted = false;
};
std::ostream& operator<<(std::ostream& out, const QueuePlan& plan) {
  return out << "cohort " << plan.cohort << " nominal " << plan.nominal << " weight " << plan.weight
             << " asks " << plan.asks << " priority " << plan.priority << " since "
             << plan.waits_since << (plan.goes_first ? " first" : "")
             << (plan.admitted ? " admitted" : "");
}

class Game {
 public:
  Game(const std::vector<int>& parents, const std::vector<QueuePlan>& plans, bool by_borrowing)
      : plans_(plans) {
    gates_.fair_sharing_prioritize_non_borrowing = by_borrowing;
    state_.SetFlavor(support::MakeFlavor("f"));
    for (int i = 0; i < kTournamentCohorts; ++i) {
      // Only earlier ones are named as parents: no cycles.
      const int parent = parents[static_cast<std::size_t>(i)];
      state_.SetCohort(support::MakeCohort(Cohort(i), parent < i ? Cohort(parent) : ""));
    }
    workloads_.resize(plans.size());
    usages_.resize(plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const QueuePlan& plan = plans[i];
      const std::string cohort = plan.cohort == kTournamentCohorts ? "" : Cohort(plan.cohort);
      api::ClusterQueue queue = support::MakeQueue("q" + std::to_string(i), cohort,
                                                   {{"f", {{"gpu", plan.nominal, {}, {}}}}});
      queue.spec.fair_weight_nano = plan.weight * 500'000'000LL;
      state_.SetClusterQueue(queue);
      workloads_[i].priority = plan.priority;
      workloads_[i].queued_at = WallTime(std::chrono::seconds(plan.waits_since));
      queues_of_.push_back(*state_.cluster_queues().Find(queue.meta.name));
      const auto fr = state_.queue(queues_of_.back()).groups[0].flavor_resources[0];
      usages_[i] = {{fr, plan.asks}};
      left_.push_back(true);
    }
  }

  void Play() {
    Tournament tournament(state_, gates_, shares_);
    for (int round = 0; round < 2; ++round) {  // the second on memory that was used
      tournament.Clear();
      left_.assign(plans_.size(), true);
      const QuotaTree::Mark mark = state_.tree().Begin();
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        tournament.Add({i, queues_of_[i], &workloads_[i], &usages_[i], plans_[i].goes_first});
      }
      while (const std::optional<std::size_t> expected = Expected()) {
        const std::optional<std::size_t> winner = tournament.Next();
        RC_ASSERT(winner == expected);
        left_[*winner] = false;
        if (plans_[*winner].admitted) state_.tree().AddUsage(LeafOf(*winner), usages_[*winner]);
      }
      RC_ASSERT(!tournament.Next());
      state_.tree().RollBack(mark);
    }
  }

 private:
  static std::string Cohort(int number) { return "c" + std::to_string(number); }
  NodeId LeafOf(std::size_t entrant) const { return state_.queue(queues_of_[entrant]).node; }

  // The next entrant in the tree of the first remaining one.
  std::optional<std::size_t> Expected() {
    const auto first = std::find(left_.begin(), left_.end(), true);
    if (first == left_.end()) return std::nullopt;
    const auto index = static_cast<std::size_t>(first - left_.begin());
    const NodeId root = state_.tree().Root(LeafOf(index));
    return root == LeafOf(index) ? index : *BestBelow(root);
  }

  std::optional<std::size_t> BestBelow(NodeId cohort) {
    std::optional<std::size_t> best;
    bool best_is_cohorts = false;
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (!left_[i] || state_.tree().parent(LeafOf(i)) != cohort) continue;
      if (!best || Order(i, *best, cohort) < 0) best = i;
    }
    for (const NodeId child : state_.tree().children(cohort)) {
      if (state_.cluster_queues().At(child) >= 0) continue;
      const std::optional<std::size_t> offered = BestBelow(child);
      if (!offered) continue;
      const int order = best ? Order(*offered, *best, cohort) : -1;
      if (order > 0 || (order == 0 && best_is_cohorts && *offered > *best)) continue;
      best = offered;
      best_is_cohorts = true;
    }
    return best;
  }

  int Order(std::size_t a, std::size_t b, NodeId cohort) {
    const QueuePlan& left = plans_[a];
    const QueuePlan& right = plans_[b];
    if (left.goes_first != right.goes_first) return left.goes_first ? -1 : 1;
    const auto [share_a, borrows_a] = With(a, cohort);
    const auto [share_b, borrows_b] = With(b, cohort);
    if (gates_.fair_sharing_prioritize_non_borrowing && borrows_a != borrows_b) {
      return borrows_a ? 1 : -1;
    }
    if (const int order = Compare(share_a, share_b); order != 0) return order;
    if (left.priority != right.priority) return left.priority > right.priority ? -1 : 1;
    return left.waits_since - right.waits_since;
  }

  // The share of the child of `cohort` above the entrant, with the entrant's request added.
  std::pair<DominantShare, bool> With(std::size_t entrant, NodeId cohort) {
    QuotaTree& tree = state_.tree();
    NodeId node = LeafOf(entrant);
    while (tree.parent(node) != cohort) node = tree.parent(node);
    const QuotaTree::Mark mark = tree.Begin();
    tree.AddUsage(LeafOf(entrant), usages_[entrant]);
    const FlavorResourceAmount& asked = usages_[entrant].front();
    const std::pair<DominantShare, bool> result{
        shares_.Of(node),
        asked.amount > 0 && tree.AmountsOf(node, asked.flavor_resource).Borrowing()};
    tree.RollBack(mark);
    return result;
  }

  std::vector<QueuePlan> plans_;
  FeatureGates gates_;
  queue::QueueSet queues_{false};
  ClusterState state_{queues_};
  DominantShares shares_{state_};
  std::vector<ClusterQueueId> queues_of_;
  std::vector<queue::WorkloadInfo> workloads_;
  std::vector<Usage> usages_;
  std::vector<bool> left_;
};

TEST(TournamentProperty, EveryTurnIsThatOfARecomputedTournament) {
  support::CheckProperty(2000, [] {
    const auto plan = rc::gen::build<QueuePlan>(
        rc::gen::set(&QueuePlan::cohort, support::Below(kTournamentCohorts + 1)),
        rc::gen::set(&QueuePlan::nominal, support::Below(6)),
        rc::gen::set(&QueuePlan::weight, support::Below(4)),
        rc::gen::set(&QueuePlan::asks, support::Below(6)),
        rc::gen::set(&QueuePlan::priority, support::Below(2)),
        rc::gen::set(&QueuePlan::waits_since, support::Below(3)),
        rc::gen::set(&QueuePlan::goes_first,
                     rc::gen::map(support::Below(8), [](int one) { return one == 7; })),
        rc::gen::set(&QueuePlan::admitted,
                     rc::gen::map(support::Below(4), [](int one) { return one != 0; })));
    const auto parents = *rc::gen::container<std::vector<int>>(kTournamentCohorts,
                                                               support::Below(kTournamentCohorts));
    Game(parents, *rc::gen::container<std::vector<QueuePlan>>(plan), *rc::gen::arbitrary<bool>())
        .Play();
  });
}

}  // namespace
}  // namespace berth::admission
