// Goal: the requested pod sets, merged or not, and the updates of each.
#include "provisioning/pod_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::World;
using MergePolicy = api::ProvisioningRequestConfig::MergePolicy;

class PodSetsTest : public ::testing::Test {
 protected:
  PodSetsTest() {
    world_.workload.spec.pod_sets.clear();
    world_.AddPodSet("a", 1, {{"nvidia.com/gpu", 1}});
    world_.AddPodSet("b", 2, {{"nvidia.com/gpu", 1}});
    world_.AddPodSet("c", 3, {{"nvidia.com/gpu", 1}});
    world_.GiveQuota();
  }
  std::vector<PodSetGroup> Groups() {
    return RequiredPodSets(world_.workload, world_.config, world_.flavors);
  }
  World world_;
};

TEST_F(PodSetsTest, PodSetsAreNotMergedByDefault) { EXPECT_THAT(Groups(), SizeIs(3)); }

TEST_F(PodSetsTest, EveryOriginalPodSetOfAMergedGroupIsUpdated) {
  world_.config.pod_set_merge_policy = MergePolicy::kIdenticalPodTemplates;
  ASSERT_THAT(Groups(), SizeIs(1));
  EXPECT_EQ(Groups()[0].count, 6);
  EXPECT_THAT(Groups()[0].names, ElementsAre("a", "b", "c"));
  const auto updates =
      PodSetUpdates(world_.workload, Groups(), api::ProvisioningRequest{}, world_.config, {});
  EXPECT_THAT(updates, SizeIs(3));
}

TEST_F(PodSetsTest, MergePoliciesCompareDifferentFields) {
  world_.workload.spec.pod_sets[1].pod_template.spec.containers[0].image = "other";
  world_.config.pod_set_merge_policy = MergePolicy::kIdenticalPodTemplates;
  EXPECT_THAT(Groups(), SizeIs(2));
  world_.config.pod_set_merge_policy = MergePolicy::kIdenticalWorkloadSchedulingRequirements;
  EXPECT_THAT(Groups(), SizeIs(1));
  world_.workload.spec.pod_sets[2].pod_template.spec.node_selector = {{"zone", "z"}};
  EXPECT_THAT(Groups(), SizeIs(2));
}

TEST_F(PodSetsTest, GroupsHaveTheAssignedCounts) {
  world_.workload.status.admission->pod_set_assignments[2].count = 1;
  world_.workload.status.admission->pod_set_assignments[0].count = 0;
  const auto groups = Groups();
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[1].count, 1);
}

TEST_F(PodSetsTest, LimitsWithoutRequestsAreManagedAndBecomeRequests) {
  auto& container = world_.workload.spec.pod_sets[0].pod_template.spec.containers[0];
  container.limits = {{"nvidia.com/gpu", 1}};
  container.requests.clear();
  const auto groups = Groups();
  ASSERT_THAT(groups, SizeIs(3));
  EXPECT_EQ(groups[0].pod_template.spec.containers[0].requests.at("nvidia.com/gpu"), 1);
}

TEST_F(PodSetsTest, EmptyManagedResourcesMeansAll) {
  world_.workload.spec.pod_sets[0].pod_template.spec.containers[0].requests = {{"cpu", 1}};
  EXPECT_THAT(Groups(), SizeIs(2));
  world_.config.managed_resources.clear();
  EXPECT_THAT(Groups(), SizeIs(3));
}

TEST_F(PodSetsTest, FlavorsAddNodeLabelsAndTolerationsToTheTemplate) {
  api::ResourceFlavor flavor;
  flavor.node_labels = {{"zone", "z"}};
  flavor.tolerations = {{.key = "spot", .op = "Exists"}};
  world_.flavors = {{"gpu", flavor}};
  EXPECT_EQ(Groups()[0].pod_template.spec.node_selector.at("zone"), "z");
  EXPECT_THAT(Groups()[0].pod_template.spec.tolerations, SizeIs(1));
}

TEST_F(PodSetsTest, DetailsBecomeNodeSelectorsAndKeepTheUsersFields) {
  world_.config.node_selector_updates = {{"pool", "NodePoolName"}, {"absent", "Nothing"}};
  world_.workload.spec.pod_sets[0].pod_template.annotations = {
      {api::kSafeToEvictAnnotation, "true"}};
  world_.workload.spec.pod_sets[0].pod_template.spec.tolerations = {{.op = "Exists"}};
  api::ProvisioningRequest request;
  request.meta.name = "pr";
  request.provisioning_class_name = api::kQueuedProvisioningClass;
  request.provisioning_class_details = {{"NodePoolName", "dws-t4-nodepool"}};
  const auto updates = PodSetUpdates(world_.workload, Groups(), request, world_.config, {});
  EXPECT_EQ(updates[0].node_selector, (api::StringMap{{"pool", "dws-t4-nodepool"}}));
  EXPECT_EQ(updates[0].annotations.count(api::kSafeToEvictAnnotation), 0U);
  EXPECT_THAT(updates[0].tolerations, IsEmpty());
  EXPECT_EQ(updates[1].annotations.at(api::kSafeToEvictAnnotation), "false");
  EXPECT_EQ(updates[1].annotations.at(api::kDoNotDisruptAnnotation), "true");
  EXPECT_THAT(updates[1].tolerations, SizeIs(1));
}

}  // namespace
}  // namespace berth::provisioning
