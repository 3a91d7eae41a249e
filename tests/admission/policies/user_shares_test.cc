// Goal: users of a queue take turns by what they have there, also after a change of the order, of
// the quota, and after a restart. Method: worlds of a few workloads, one GPU each.
#include "admission/policies/user_shares.h"

#include <memory>

#include <gtest/gtest.h>

#include "api/job_user.h"
#include "api/queue_policy.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

api::Workload JobOf(const std::string& user, const std::string& name, std::int32_t gpus = 1) {
  api::Workload workload = MakeJob(name, "q", gpus, {{"gpu", 1}});
  if (!user.empty()) workload.meta.annotations[api::kUserAnnotation] = user;
  return workload;
}

api::ClusterQueue OneQueue(api::Amount gpus, const std::string& order) {
  api::ClusterQueue queue = MakeQueue("q", "", {{"f", {{"gpu", gpus}}}});
  if (!order.empty()) queue.meta.annotations = {{api::kOrderAnnotation, order}};
  return queue;
}

class UserSharesTest : public ::testing::Test {
 protected:
  void Begin(api::Amount gpus, const std::string& order) {
    world_ = std::make_unique<TableWorld>(std::vector<std::string>{"f"},
                                          std::vector{OneQueue(gpus, order)});
  }
  void Submit(const api::Workload& workload) {
    world_->Advance(std::chrono::seconds(1));
    world_->Apply(workload);
  }

  std::unique_ptr<TableWorld> world_;
};

TEST_F(UserSharesTest, UserWithTheSmallerShareGoesFirst) {
  Begin(3, "FairByUser");
  for (const char* name : {"a1", "a2", "a3", "a4"}) Submit(JobOf("ann", name));
  for (const char* name : {"b1", "b2"}) Submit(JobOf("bob", name));
  EXPECT_EQ(world_->AdmitAll(), "a1, b1, a2");
  world_->Finish(KeyOf("a1"));
  world_->WakeUp();
  EXPECT_EQ(world_->AdmitAll(), "a3") << "equal shares: the older one";
  world_->Finish(KeyOf("b1"));
  world_->WakeUp();
  EXPECT_EQ(world_->AdmitAll(), "b2");
}

TEST_F(UserSharesTest, OrderOfArrivalIgnoresUsers) {
  Begin(3, "");
  for (const char* name : {"a1", "a2", "a3"}) Submit(JobOf("ann", name));
  Submit(JobOf("bob", "b1"));
  EXPECT_EQ(world_->AdmitAll(), "a1, a2, a3");
}

TEST_F(UserSharesTest, SharesCountTheSizeOfWorkloads) {
  Begin(4, "FairByUser");
  Submit(JobOf("ann", "wide", 2));
  for (const char* name : {"b1", "b2"}) Submit(JobOf("bob", name));
  Submit(JobOf("ann", "a2"));
  EXPECT_EQ(world_->AdmitAll(), "wide, b1, b2");
}

TEST_F(UserSharesTest, FairOrderCountsWorkloadsThatRunAlready) {
  Begin(2, "Fifo");
  for (const char* name : {"a1", "a2", "a3"}) Submit(JobOf("ann", name));
  Submit(JobOf("bob", "b1"));
  EXPECT_EQ(world_->AdmitAll(), "a1, a2");
  world_->Apply(OneQueue(2, "FairByUser"));
  world_->Finish(KeyOf("a1"));
  world_->WakeUp();
  EXPECT_EQ(world_->AdmitAll(), "b1");
  world_->Apply(OneQueue(2, "Fifo"));
  world_->Finish(KeyOf("a2"));
  world_->WakeUp();
  EXPECT_EQ(world_->AdmitAll(), "a3");
}

// The order is the same with four GPUs in place of three: ann has two, bob one.
TEST_F(UserSharesTest, ChangedQuotaKeepsTheShares) {
  Begin(3, "FairByUser");
  for (const char* name : {"a1", "a2", "a3"}) Submit(JobOf("ann", name));
  for (const char* name : {"b1", "b2"}) Submit(JobOf("bob", name));
  EXPECT_EQ(world_->AdmitAll(), "a1, b1, a2");
  world_->Apply(OneQueue(4, "FairByUser"));
  world_->WakeUp();
  EXPECT_EQ(world_->AdmitAll(), "b2");
}

// A LocalQueue that is made later may get what was known of one that is gone.
TEST_F(UserSharesTest, NewLocalQueueDoesNotInheritADeletedOnesShare) {
  Begin(1, "FairByUser");
  world_->Apply(support::MakeLocalQueue("gone", "q"));
  api::Workload first = JobOf("", "first");
  first.spec.queue_name = "gone";
  Submit(first);
  EXPECT_EQ(world_->AdmitAll(), "first");
  world_->Delete<api::LocalQueue>({"default", "gone"});
  world_->Finish(KeyOf("first"));
  world_->Apply(support::MakeLocalQueue("next", "q"));
  api::Workload next = JobOf("", "next");
  next.spec.queue_name = "next";
  Submit(next);
  Submit(JobOf("", "younger"));
  EXPECT_EQ(world_->AdmitAll(), "next");
}

TEST_F(UserSharesTest, WithoutUsersSharesCountByLocalQueue) {
  Begin(2, "FairByUser");
  world_->Apply(support::MakeLocalQueue("other", "q"));
  for (const char* name : {"a1", "a2", "a3"}) Submit(JobOf("", name));
  api::Workload other = JobOf("", "o1");
  other.spec.queue_name = "other";
  Submit(other);
  EXPECT_EQ(world_->AdmitAll(), "a1, o1");
}

}  // namespace
}  // namespace berth::admission
