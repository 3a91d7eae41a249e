// Goal: a queue's order decides who is its head, also after the order has changed, and a workload
// for which the queue keeps a place comes first. Method: one queue of workloads with expected run
// times.
#include <optional>

#include "api/job_user.h"
#include "tests/queue/one_queue.h"

namespace berth::queue {
namespace {

using api::QueueOrder;
using std::chrono::hours;

class PlaceTest : public QueueSetTest {
 protected:
  // A workload that waits since `since` and is expected to run for `run`.
  void AddRun(WorkloadId id, hours since, hours run, std::int32_t priority = 0,
              std::optional<hours> deadline = std::nullopt) {
    api::Workload object;
    object.meta.namespace_name = "default";
    object.meta.name = object.meta.uid = "w" + std::to_string(id);
    object.meta.creation_timestamp = WallTime(since);
    object.spec.queue_name = "lq";
    object.spec.priority = priority;
    WorkloadInfo info;
    info.object = std::make_shared<const api::Workload>(object);
    info.priority = priority;
    info.queued_at = object.meta.creation_timestamp;
    info.expected_run_seconds = std::chrono::seconds(run).count();
    if (deadline) info.deadline = WallTime(*deadline);
    info.shape = 1'000 + static_cast<std::uint64_t>(id);
    set.Upsert(id, nullptr, info, kNow);
    objects_.push_back(info.object);
  }
  // A workload that the user has submitted.
  static api::Workload Submitted(const std::string& user) {
    api::Workload object;
    object.meta.namespace_name = "default";
    object.meta.annotations[api::kUserAnnotation] = user;
    object.spec.queue_name = "lq";
    return object;
  }
  void SetShare(const std::string& user, double share) {
    set.places().SetUserShare(queue, set.places().UserOf(Submitted(user)), share);
  }
  // All are of one shape.
  void AddOf(const std::string& user, WorkloadId id, hours since, std::int32_t priority = 0) {
    api::Workload object = Submitted(user);
    object.meta.name = object.meta.uid = "w" + std::to_string(id);
    object.meta.creation_timestamp = WallTime(since);
    object.spec.priority = priority;
    Put(id, object, 7);
  }

 private:
  std::vector<std::shared_ptr<const api::Workload>> objects_;
};

TEST_F(PlaceTest, TheShortestWorkloadIsTheHead) {
  Open(kBestEffort);
  set.places().SetRules(queue, {QueueOrder::kShortestFirst});
  AddRun(0, hours(1), hours(8));
  AddRun(1, hours(2), hours(1));
  AddRun(2, hours(3), hours(2));
  EXPECT_EQ(Active(), (Ids{1, 2, 0}));
}

TEST_F(PlaceTest, QueueWithDeadlinesStartsTheLeastSlackFirst) {
  Open(kBestEffort);
  AddRun(0, hours(100), hours(2));
  AddRun(1, hours(100), hours(2), 0, hours(140));
  AddRun(2, hours(100), hours(2), 0, hours(110));
  EXPECT_EQ(Active(), (Ids{0, 1, 2})) << "deadlines move nobody unless the queue says so";
  set.places().SetRules(queue, {QueueOrder::kFifo, hours(1)});
  EXPECT_EQ(Active(), (Ids{2, 0, 1})) << "without a deadline the slack is a day";
  set.places().SetRules(queue, {QueueOrder::kFifo, hours(0)});
  EXPECT_EQ(Active(), (Ids{0, 1, 2}));
}

TEST_F(PlaceTest, ADeadlineGainsNoMoreThanTheTightestSlackThatTheQueueHonours) {
  Open(kBestEffort);
  set.places().SetRules(queue, {QueueOrder::kFifo, hours(6)});
  AddRun(0, hours(100), hours(1));
  AddRun(1, hours(117), hours(1), 0, hours(118));
  EXPECT_EQ(Active(), (Ids{1, 0})) << "17 hours later, with a slack of 0 that counts as 6";
  AddRun(2, hours(119), hours(1), 0, hours(1));
  EXPECT_EQ(Active(), (Ids{1, 0, 2})) << "19 hours later";
}

TEST_F(PlaceTest, PrioritiesStandAboveDeadlines) {
  Open(kBestEffort);
  set.places().SetRules(queue, {QueueOrder::kFifo, hours(1)});
  AddRun(0, hours(100), hours(1), 1);
  AddRun(1, hours(100), hours(1), 0, hours(102));
  EXPECT_EQ(Active(), (Ids{0, 1}));
}

TEST_F(PlaceTest, WorkloadIsOvertakenForABoundedTime) {
  Open(kBestEffort);
  set.places().SetRules(queue, {QueueOrder::kShortestFirst});
  AddRun(0, hours(0), hours(8));
  AddRun(1, hours(7 * kShortestFirstWeight - 1), hours(1));
  AddRun(2, hours(7 * kShortestFirstWeight + 1), hours(1));
  EXPECT_EQ(Active(), (Ids{1, 0, 2}));
}

TEST_F(PlaceTest, UsersTakeTurnsByTheirShares) {
  Open(kBestEffort);
  set.places().SetRules(queue, {QueueOrder::kFairByUser});
  AddOf("ann", 0, hours(1));
  AddOf("ann", 1, hours(2));
  AddOf("bob", 2, hours(3));
  EXPECT_EQ(Active(), (Ids{0, 1, 2}));
  SetShare("ann", 0.5);
  EXPECT_EQ(Active(), (Ids{2, 0, 1}));
  EXPECT_EQ(Pop(), 2);
  set.Requeue({2, queue}, RequeueReason::kGeneric, QueueSet::Scan::kPendingFlavors, kNow);
  SetShare("bob", 0.75);
  EXPECT_EQ(Active(), (Ids{0, 1, 2}));
  SetShare("ann", 0);
  SetShare("bob", 0);
  EXPECT_EQ(Active(), (Ids{0, 1, 2}));
}

TEST_F(PlaceTest, PrioritiesAndKeptPlacesStayAboveTheShares) {
  Open(kBestEffort);
  set.places().SetRules(queue, {QueueOrder::kFairByUser});
  AddOf("ann", 0, hours(1));
  AddOf("ann", 1, hours(2), 10);
  AddOf("bob", 2, hours(3));
  SetShare("ann", 0.5);
  EXPECT_EQ(Active(), (Ids{1, 2, 0}));
  set.places().SetKept(0, true);
  EXPECT_EQ(Active(), (Ids{1, 0, 2}));
}

TEST_F(PlaceTest, SharesCountOnlyInTheFairOrder) {
  Open(kBestEffort);
  AddOf("ann", 0, hours(1));
  AddOf("bob", 1, hours(2));
  SetShare("ann", 0.5);
  EXPECT_EQ(Active(), (Ids{0, 1}));
  set.places().SetRules(queue, {QueueOrder::kFairByUser});
  EXPECT_EQ(Active(), (Ids{0, 1})) << "the owner of the shares tells them anew";
  SetShare("ann", 0.5);
  EXPECT_EQ(Active(), (Ids{1, 0}));
}

TEST_F(PlaceTest, PrioritiesStayAboveTheOrder) {
  Open(kStrict);
  set.places().SetRules(queue, {QueueOrder::kShortestFirst});
  AddRun(0, hours(1), hours(1));
  AddRun(1, hours(2), hours(8), 10);
  EXPECT_EQ(Active(), (Ids{1, 0}));
}

TEST_F(PlaceTest, ChangedOrderSortsWaitingWorkloads) {
  Open(kBestEffort);
  AddRun(0, hours(1), hours(8));
  AddRun(1, hours(2), hours(1));
  EXPECT_EQ(Active(), (Ids{0, 1}));
  set.places().SetRules(queue, {QueueOrder::kShortestFirst});
  EXPECT_EQ(Active(), (Ids{1, 0}));
  set.places().SetRules(queue, {QueueOrder::kFifo});
  EXPECT_EQ(Active(), (Ids{0, 1}));
}

TEST_F(PlaceTest, AKeptWorkloadComesFirstInItsPriority) {
  Open(kBestEffort);
  set.places().SetRules(queue, {QueueOrder::kShortestFirst});
  AddRun(0, hours(1), hours(800));
  AddRun(1, hours(2), hours(1));
  AddRun(2, hours(3), hours(1), 10);
  set.places().SetKept(0, true);
  EXPECT_EQ(Active(), (Ids{2, 0, 1}));
  set.places().SetKept(0, false);
  EXPECT_EQ(Active(), (Ids{2, 1, 0}));
}

TEST_F(PlaceTest, AParkedWorkloadStaysParkedWhenItsPlaceIsKept) {
  Open(kBestEffort);
  AddRun(0, hours(1), hours(8));
  AddRun(1, hours(2), hours(1));
  EXPECT_EQ(Pop(), 0);
  EXPECT_EQ(Requeue(0, RequeueReason::kGeneric), Destination::kInadmissible);
  set.places().SetKept(0, true);
  EXPECT_EQ(Active(), (Ids{1}));
  EXPECT_EQ(Inadmissible(), (Ids{0}));
}

TEST_F(PlaceTest, AgesListWaitingWorkloadsByAge) {
  Open(kBestEffort);
  AddRun(0, hours(2), hours(1));
  AddRun(1, hours(1), hours(1));
  EXPECT_TRUE(set.places().ByAge(queue).empty());
  set.places().ListAges(queue, true);
  AddRun(2, hours(3), hours(1));
  using Ages = QueuePlaces::Ages;
  EXPECT_EQ(set.places().ByAge(queue),
            (Ages{{WallTime(hours(1)), 1}, {WallTime(hours(2)), 0}, {WallTime(hours(3)), 2}}));
  set.Remove(0);
  EXPECT_EQ(set.places().ByAge(queue), (Ages{{WallTime(hours(1)), 1}, {WallTime(hours(3)), 2}}));
}

}  // namespace
}  // namespace berth::queue
