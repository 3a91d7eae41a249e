// Goal: cached shares equal shares computed from scratch. Method: queues and cohorts come, go, move
// (into cycles, too) and change their quotas at random; after each step every share equals that of
// an object without a cache.
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "admission/quota/dominant_share.h"
#include "tests/support/property.h"

namespace berth::admission {
namespace {

using support::Below;

constexpr int kShareCohorts = 4;
constexpr int kQueues = 4;
constexpr int kFlavors = 3;

struct ShareStep {
  int kind = 0;
  int object = 0;
  int parent = 0;
  int flavor = 0;
  int quota = 0;
  int limit = 0;
};
std::ostream& operator<<(std::ostream& out, const ShareStep& step) {
  constexpr const char* kNames[] = {"cohort", "cohort goes", "queue", "queue goes", "usage"};
  return out << kNames[step.kind] << ' ' << step.object << " parent " << step.parent << " flavor "
             << step.flavor << " quota " << step.quota << " limit " << step.limit;
}

rc::Gen<ShareStep> AnyStep() {
  return rc::gen::build<ShareStep>(
      rc::gen::set(&ShareStep::kind, Below(5)), rc::gen::set(&ShareStep::object, Below(kQueues)),
      rc::gen::set(&ShareStep::parent, Below(kShareCohorts + 1)),
      rc::gen::set(&ShareStep::flavor, Below(kFlavors)), rc::gen::set(&ShareStep::quota, Below(6)),
      rc::gen::set(&ShareStep::limit, Below(4)));
}

std::string CohortName(int number) {
  return number == kShareCohorts ? "" : "c" + std::to_string(number);
}

// One or two flavors with two resources, sometimes with limits, sometimes with sums above the range
// of Amount.
std::vector<api::ResourceGroup> Groups(const ShareStep& step) {
  api::ResourceGroup group;
  group.covered_resources = {"cpu", "gpu"};
  for (int i = 0; i <= step.limit % 2; ++i) {
    api::FlavorQuotas flavor;
    flavor.flavor = "f" + std::to_string((step.flavor + i) % kFlavors);
    for (const std::string& resource : group.covered_resources) {
      api::ResourceQuota quota;
      quota.resource = resource;
      quota.nominal_quota = step.quota == 5 ? INT64_MAX / 2 : step.quota + i;
      if (step.limit >= 2) quota.borrowing_limit = step.quota / 2;
      if (step.limit == 3) quota.lending_limit = step.quota / 3;
      flavor.resources.push_back(quota);
    }
    group.flavors.push_back(std::move(flavor));
  }
  return {group};
}

void Play(const ShareStep& step, queue::QueueSet& queues, ClusterState& state) {
  const std::string queue = "q" + std::to_string(step.object);
  switch (step.kind) {
    case 0: {
      api::Cohort cohort;
      cohort.meta.name = CohortName(step.object % kShareCohorts);
      cohort.spec.parent_name = CohortName(step.parent);
      if (step.limit > 0) cohort.spec.resource_groups = Groups(step);
      state.SetCohort(cohort);
      return;
    }
    case 1: state.RemoveCohort(CohortName(step.object % kShareCohorts)); return;
    case 2: {
      api::ClusterQueue object;
      object.meta.name = queue;
      object.spec.cohort_name = CohortName(step.parent);
      object.spec.resource_groups = Groups(step);
      state.SetClusterQueue(object);
      return;
    }
    case 3: state.RemoveClusterQueue(queue); return;
    default: {
      if (!state.cluster_queues().Find(queue)) return;
      const QueueState& used = state.queue(queues.ClusterQueueNumber(queue));
      const FlavorResourceId fr =
          used.groups.front().flavor_resources[static_cast<std::size_t>(step.limit % 2)];
      state.tree().AddUsage(used.node, {{fr, step.quota + 1}});
    }
  }
}

void ExpectSame(DominantShares& kept, const ClusterState& state) {
  DominantShares anew(state);
  const auto same = [&](NodeId node) {
    if (state.tree().InCycle(node)) return;
    const DominantShare expected = anew.Of(node);
    const DominantShare share = kept.Of(node);
    RC_ASSERT(share.unweighted == expected.unweighted);
    RC_ASSERT(share.weight == expected.weight);
  };
  for (const ClusterQueueId queue : state.cluster_queues().Present()) same(state.queue(queue).node);
  for (const std::string& cohort : state.cohorts().Names()) same(*state.cohorts().Find(cohort));
}

TEST(DominantShareProperty, KeptSharesEqualComputedShares) {
  support::CheckProperty(1500, [] {
    const auto steps = *rc::gen::container<std::vector<ShareStep>>(AnyStep());
    queue::QueueSet queues(true);
    ClusterState state(queues);
    DominantShares kept(state);
    for (const ShareStep& step : steps) {
      Play(step, queues, state);
      ExpectSame(kept, state);
    }
  });
}

}  // namespace
}  // namespace berth::admission
