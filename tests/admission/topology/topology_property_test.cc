// Goal: in every story no domain gets more than it has, a required level is one domain, slices stay
// in one domain, and incremental counts equal recomputed ones. Method: random nodes, changes and
// requests on one PlacementCase; after each step the answer is checked against the nodes, and every
// count against a new view.
#include <cstdlib>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/admission/topology/placement_case.h"

namespace berth::admission {
namespace {

constexpr const char* kLevels = "block rack host";
constexpr int kNodes = 12;

std::string PathOf(int node) {
  return "b" + std::to_string(node / 6) + "/r" + std::to_string(node / 2) + "/n" +
         std::to_string(node);
}

int Below(int limit) { return *rc::gen::inRange(0, limit); }

std::string AnyNode(int node) {
  std::string text = PathOf(node) + " cpu=" + std::to_string(1 + Below(6)) +
                     " pods=" + std::to_string(1 + Below(8));
  if (Below(4) == 0) text += " gpu=" + std::to_string(1 + Below(4));
  if (Below(8) == 0) text += " notready";
  if (Below(8) == 0) text += " taint=kind";
  if (Below(3) == 0) text += std::string(" label=zone:") + (Below(2) == 0 ? "a" : "b");
  return text;
}

std::string AnyPodSet(const std::string& name, const std::string& group) {
  std::string text =
      name + " " + std::to_string(group.empty() || name == "main" ? 1 + Below(8) : 1);
  text += " cpu=" + std::to_string(1 + Below(2));
  if (Below(4) == 0) text += " gpu=1";
  if (Below(3) == 0) text += " tolerate=kind";
  if (Below(2) == 0) text += " prefer=zone:a:2 prefer=zone:b:1";
  const char* const levels[] = {"block", "rack", "host"};
  const int level = Below(3);
  switch (Below(4)) {
    case 0: text += std::string(" required=") + levels[level]; break;
    case 1: text += std::string(" preferred=") + levels[level]; break;
    case 2: text += " unconstrained"; break;
    default: break;
  }
  if (group.empty() && Below(3) == 0) {
    text += std::string(" required=rack slice=host:") + std::to_string(1 + Below(3));
  }
  if (!group.empty()) text += " group=" + group;
  return text;
}

api::Workload AnyWorkload() {
  api::Workload workload;
  const std::string group = Below(4) == 0 ? "g" : "";
  workload.spec.pod_sets.push_back(PodSetFrom(AnyPodSet("main", group)));
  if (!group.empty() || Below(3) == 0) {
    workload.spec.pod_sets.push_back(PodSetFrom(AnyPodSet("driver", group)));
    if (!group.empty()) {
      workload.spec.pod_sets[1].topology_request = workload.spec.pod_sets[0].topology_request;
    }
  }
  // Slices of whole pods only, as the webhooks have it.
  for (api::PodSet& pod_set : workload.spec.pod_sets) {
    if (!pod_set.topology_request || pod_set.topology_request->slice_constraints.empty()) continue;
    const std::int32_t size = pod_set.topology_request->slice_constraints.front().size;
    pod_set.count = (pod_set.count + size - 1) / size * size;
  }
  return workload;
}

std::vector<PlacedPods> BookingsOf(PlacementCase& given, const api::Workload& workload,
                                   const PlacementResult& result) {
  std::vector<PlacedPods> bookings;
  for (const Placement& placement : result.placements) {
    bookings.push_back(given.placer().Booking(workload.spec.pod_sets[placement.pod_set],
                                              given.flavor(), placement.assignment));
  }
  return bookings;
}

void CheckNoLeafIsOverfull(const PlacementCase& given) {
  const TopologyTree& tree = given.tree();
  for (std::int32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    if (tree.domain(tree.domain_of_leaf(leaf)).live == 0) continue;
    for (ResourceId resource = 0; resource < tree.resource_count(); ++resource) {
      RC_ASSERT(tree.Used(leaf, resource) <= tree.Free(leaf, resource));
    }
  }
}

void CheckPlacement(const PlacementCase& given, const api::PodSet& pod_set,
                    const api::TopologyAssignment& assignment) {
  const TopologyTree& tree = given.tree();
  std::map<DomainId, std::int32_t> by_required;
  std::int32_t pods = 0;
  const auto& request = pod_set.topology_request;
  for (const auto& domain : assignment.domains) {
    RC_ASSERT(domain.count > 0);
    pods += domain.count;
    DomainId id = tree.FindLeaf(domain.values.back());
    RC_ASSERT(id != kNoDomain);
    RC_ASSERT(tree.domain(id).live > 0);
    if (request && !request->slice_constraints.empty()) {
      RC_ASSERT(domain.count % request->slice_constraints.front().size == 0);
    }
    if (!request || !request->required) continue;
    const std::int32_t level = *tree.LevelOf(*request->required);
    while (tree.domain(id).level > level) id = tree.domain(id).parent;
    by_required[id] += domain.count;
  }
  RC_ASSERT(pods == pod_set.count);
  RC_ASSERT(by_required.size() <= 1U);
}

void Play(TopologyPlacer::Profile profile) {
  PlacementCase given(kLevels, profile);
  for (int node = 0; node < kNodes; ++node) given.AddNode(AnyNode(node));
  std::vector<std::vector<PlacedPods>> running;
  const int steps = 4 + Below(12);
  for (int step = 0; step < steps; ++step) {
    if (!running.empty() && Below(3) == 0) {
      const auto gone = static_cast<std::size_t>(Below(static_cast<int>(running.size())));
      given.placer().Free(running[gone]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(gone));
      continue;
    }
    const api::Workload workload = AnyWorkload();
    const PlacementResult result =
        given.placer().Place(workload, given.RequestsFor(workload), CountKey::Usage::kAsUsed);
    if (result.failure) continue;
    for (const Placement& placement : result.placements) {
      CheckPlacement(given, workload.spec.pod_sets[placement.pod_set], placement.assignment);
    }
    running.push_back(BookingsOf(given, workload, result));
    RC_ASSERT(given.placer().Fits(running.back(), TopologyPlacer::Counting::kTogether));
    given.placer().Use(running.back());
    CheckNoLeafIsOverfull(given);
  }
}

TEST(TopologyProperty, NoDomainExceedsItsCapacity) {
  EXPECT_TRUE(rc::check([] { Play({}); }));
}

TEST(TopologyProperty, NoDomainExceedsItsCapacityWithPreferredNodes) {
  EXPECT_TRUE(rc::check([] { Play({.preferred_nodes = true}); }));
  EXPECT_TRUE(rc::check([] { Play({.balanced = true, .preferred_nodes = true}); }));
}

TEST(TopologyProperty, NoDomainExceedsItsCapacityWithBalancedPlacement) {
  EXPECT_TRUE(rc::check([] { Play({.least_free_for_unconstrained = false, .balanced = true}); }));
}

CountKey AnyShape(const PlacementCase& given, Vocabulary& vocabulary) {
  const ResourceId cpu = vocabulary.resources.Intern("cpu");
  const ResourceId pods = vocabulary.resources.Intern("pods");
  CountKey shape;
  shape.pod = {{cpu, 1000 * (1 + Below(2))}, {pods, 1}};
  if (Below(2) == 0) shape.leader = std::vector<ResourceRequest>{{cpu, 1000}, {pods, 1}};
  shape.slice_size = 1 + Below(3);
  shape.slice_level = Below(given.tree().level_count());
  if (shape.slice_level < 2 && Below(2) == 0) shape.inner_sizes = {0, 0, 2};
  if (Below(2) == 0) shape.usage = CountKey::Usage::kEmpty;
  if (Below(2) == 0) shape.order = CountKey::Order::kLeastFirst;
  if (Below(2) == 0) {
    shape.filter.preferred = {{3, {.match_expressions = {{"zone", "In", {"a"}}}}},
                              {1, {.match_expressions = {{"zone", "Exists", {}}}}}};
  }
  return shape;
}

void CheckSame(CountView& kept, CountView& fresh, const TopologyTree& tree) {
  RC_ASSERT(kept.Exclusions() == fresh.Exclusions());
  for (DomainId id = 0; id < tree.domain_count(); ++id) {
    RC_ASSERT(kept.present(id) == fresh.present(id));
    if (!kept.present(id)) continue;
    RC_ASSERT(kept.at(id) == fresh.at(id));
    RC_ASSERT(kept.preference(id) == fresh.preference(id));
  }
  for (std::int32_t level = 0; level < tree.level_count(); ++level) {
    RC_ASSERT(kept.ByCapacity(level).domains == fresh.ByCapacity(level).domains);
    RC_ASSERT(kept.ByCapacity(level).slices == fresh.ByCapacity(level).slices);
  }
}

TEST(TopologyProperty, KeptCountsEqualRecomputedCounts) {
  EXPECT_TRUE(rc::check([] {
    PlacementCase given(kLevels);
    for (int node = 0; node < kNodes / 2; ++node) given.AddNode(AnyNode(node));
    CountView kept(given.tree(), given.vocabulary().resources, AnyShape(given, given.vocabulary()));
    kept.Refresh();
    for (std::int32_t level = 0; level < given.tree().level_count(); ++level) {
      kept.ByCapacity(level);
    }
    for (int step = 0; step < 10; ++step) {
      const int node = Below(kNodes);
      switch (Below(3)) {
        case 0: given.AddNode(AnyNode(node)); break;
        case 1: given.placer().RemoveNode("n" + std::to_string(node)); break;
        default: given.AddUsed("n" + std::to_string(node) + " 1 cpu=1"); break;
      }
      kept.Refresh();
      CountView fresh(given.tree(), given.vocabulary().resources, kept.shape());
      fresh.Refresh();
      CheckSame(kept, fresh, given.tree());
    }
  }));
}

}  // namespace
}  // namespace berth::admission

// The same cases in every run; RC_PARAMS from outside wins.
int main(int argc, char** argv) {
  setenv("RC_PARAMS", "seed=20261120 max_success=400", 0);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
