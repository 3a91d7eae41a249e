// Goal: a page of the visibility API shows the queue as it is, and a queue that has not changed is
// not read again.
#include "admission/controller/visibility_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::KeyOf;
using support::MakeJob;
using support::MakeLocalQueue;
using support::MakeQueue;
using support::TableWorld;
using ::testing::HasSubstr;
using ::testing::Not;

kube::ExtensionRequest ClusterQueueRequest(const std::string& name) {
  return {.version = "v1beta2", .resource = "clusterqueues", .name = name};
}

kube::ExtensionRequest LocalQueueRequest(const std::string& name) {
  return {
      .version = "v1beta2", .namespace_name = "default", .resource = "localqueues", .name = name};
}

TEST(VisibilityApiTest, AQueueIsReadAgainOnlyAfterAChange) {
  TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 1}}}})});
  world.Apply(MakeLocalQueue("b", "a"));
  world.Apply(MakeJob("w0", "a", 1, {{"gpu", 1}}));
  world.Apply(MakeJob("w1", "b", 1, {{"gpu", 1}}));
  PendingReads reads(world.scheduler());
  EXPECT_THAT(reads.Read(ClusterQueueRequest("a"), {})().body, HasSubstr("\"w1\""));
  EXPECT_THAT(reads.Read(ClusterQueueRequest("a"), {.offset = 1})().body, Not(HasSubstr("\"w0\"")));
  EXPECT_THAT(reads.Read(LocalQueueRequest("b"), {})().body, HasSubstr("\"w1\""));
  EXPECT_EQ(reads.snapshots_taken(), 1);

  world.DeleteWorkload(KeyOf("w0"));
  EXPECT_THAT(reads.Read(ClusterQueueRequest("a"), {})().body, Not(HasSubstr("\"w0\"")));
  EXPECT_THAT(reads.Read(LocalQueueRequest("b"), {})().body,
              HasSubstr("\"positionInClusterQueue\":0"));
  EXPECT_EQ(reads.snapshots_taken(), 2);
}

TEST(VisibilityApiTest, SnapshotsOfTheQueuesReadLastAreKept) {
  std::vector<api::ClusterQueue> queues;
  const int most = static_cast<int>(PendingReads::kMostSnapshots);
  for (int i = 0; i <= most; ++i) {
    queues.push_back(MakeQueue("q" + std::to_string(i), "", {{"f", {{"gpu", 1}}}}));
  }
  TableWorld world({"f"}, queues);
  PendingReads reads(world.scheduler());
  for (int i = 0; i <= most; ++i) reads.Read(ClusterQueueRequest("q" + std::to_string(i)), {});
  EXPECT_EQ(reads.snapshots_taken(), most + 1);
  reads.Read(ClusterQueueRequest("q1"), {});
  EXPECT_EQ(reads.snapshots_taken(), most + 1);
  reads.Read(ClusterQueueRequest("q0"), {});
  EXPECT_EQ(reads.snapshots_taken(), most + 2) << "nine queues, eight snapshots";
}

TEST(VisibilityApiTest, AnswersNotFoundForUnknownQueues) {
  TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 1}}}})});
  PendingReads reads(world.scheduler());
  EXPECT_EQ(reads.Read(ClusterQueueRequest("none"), {})().status, 404);
  EXPECT_EQ(reads.Read(LocalQueueRequest("none"), {})().status, 404);
  EXPECT_EQ(reads.Read(LocalQueueRequest("a"), {})().status, 200);
}

}  // namespace
}  // namespace berth::admission
