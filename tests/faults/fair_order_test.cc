// Goal: the order among the heads of ClusterQueues by their shares is a law that can be broken, and
// is not broken by what the scheduler may do.
// Method: a history by hand for each row. cq and cq2 have 4 CPUs each in one cohort; of these cq2
// uses 5 and cq 1. A workload waits in each.
#include <gtest/gtest.h>

#include "tests/faults/history.h"

namespace berth::sim {
namespace {

using std::chrono::seconds;

constexpr char kQueues[] = "clusterqueues.kueue.x-k8s.io";

class FairOrderTest : public HistoryTest {
 protected:
  FairOrderTest()
      : HistoryTest({.staleness = seconds(2), .writes_per_minute = 20, .fair_sharing = true}) {
    PutQueue("cq", "1");
    PutQueue("cq2", "1");
    Put("localqueues.kueue.x-k8s.io", "default", "q", {{"spec", {{"clusterQueue", "cq"}}}});
    Put("localqueues.kueue.x-k8s.io", "default", "q2", {{"spec", {{"clusterQueue", "cq2"}}}});
    PutWorkload("little", "job-little", "1", false);
    PutWorkload("much", "job-much", "3", false);  // given quota where there is some, then moved
    Change(kWorkloads, "default", "much", "/status/admission/clusterQueue", "cq2");
    PutWorkload("more", "job-more", "2", false);
    Change(kWorkloads, "default", "more", "/status/admission/clusterQueue", "cq2");
    now_ += seconds(5);
  }
  void PutQueue(const std::string& name, const std::string& weight) {
    Json spec = QueueSpec("4");
    spec["cohortName"] = "team";
    spec["fairSharing"]["weight"] = weight;
    Put(kQueues, "", name,
        {{"spec", spec}, {"status", {{"conditions", {Condition("Active", true)}}}}});
  }
  void PutWaiting(const std::string& name, const std::string& queue, const std::string& cpu,
                  int minute) {
    PutWorkload(name, "job-" + name, "", false);
    Change(kWorkloads, "default", name, "/spec/podSets", PodSets(cpu));
    Change(kWorkloads, "default", name, "/spec/queueName", queue);
    Change(kWorkloads, "default", name, "/metadata/creationTimestamp",
           "2026-01-01T00:0" + std::to_string(minute) + ":00Z");
  }
  void GiveQuota(const std::string& name, const std::string& queue, const std::string& cpu) {
    Json admission = AdmissionOf(cpu);
    admission["clusterQueue"] = queue;
    Change(kWorkloads, "default", name, "/status",
           {{"conditions", {Condition("QuotaReserved", true)}}, {"admission", admission}});
  }
  // Something is written once all has settled.
  std::string BrokenLater() {
    now_ += seconds(3);
    PutWaiting("later", "q", "8", 9);
    return Broken();
  }
};

TEST_F(FairOrderTest, DetectsAHeadOfALowerShareThatIsPassedOver) {
  PutWaiting("poor", "q", "1", 2);
  PutWaiting("rich", "q2", "1", 1);
  now_ += seconds(6);
  GiveQuota("rich", "cq2", "1");
  EXPECT_EQ(Broken(), "") << "what was decided with it may still show itself";
  EXPECT_EQ(BrokenLater(), "fair-order");
  EXPECT_EQ(invariants_.fair_comparisons(), 1);
}

TEST_F(FairOrderTest, AllowsTheHeadOfTheLowerShareFirst) {
  PutWaiting("poor", "q", "1", 2);
  PutWaiting("rich", "q2", "1", 1);
  now_ += seconds(6);
  GiveQuota("poor", "cq", "1");
  EXPECT_EQ(BrokenLater(), "");
  EXPECT_EQ(invariants_.fair_comparisons(), 0) << "rich would borrow, poor does not";
}

// A parked head is woken a moment after the release of quota, that of a StrictFIFO queue is not
// parked.
class ReleaseFairOrderTest : public FairOrderTest {
 protected:
  std::string BrokenIfTheQueueIs(const char* strategy) {
    PutQueue("cq3", "1");
    Change(kQueues, "", "cq2", "/spec/queueingStrategy", strategy);
    PutWorkload("third", "job-third", "1", false);
    Change(kWorkloads, "default", "third", "/status/admission/clusterQueue", "cq3");
    now_ += seconds(5);
    PutWaiting("poor", "q", "1", 2);
    PutWaiting("rich", "q2", "1", 1);
    now_ += seconds(6);
    Change(kWorkloads, "default", "third", "/status/conditions/-", Condition("Finished", true));
    GiveQuota("rich", "cq2", "1");
    return BrokenLater();
  }
};

TEST_F(ReleaseFairOrderTest, AllowsAStrictHeadToTakeReleasedQuotaBeforeOthersWake) {
  EXPECT_EQ(BrokenIfTheQueueIs("StrictFIFO"), "");
}

TEST_F(ReleaseFairOrderTest, ComparesHeadsThatAreWokenTogether) {
  EXPECT_EQ(BrokenIfTheQueueIs("BestEffortFIFO"), "fair-order");
}

// A queue of weight 9 has a ninth of the share: 3 borrowed of cq against 2 of cq2 that are its own.
TEST_F(FairOrderTest, CountsTheWeightOfAQueue) {
  PutQueue("cq2", "9");
  now_ += seconds(5);
  PutWaiting("owner", "q", "2", 2);
  GiveQuota("owner", "cq", "2");  // 3 in use of 4
  now_ += seconds(5);
  PutWaiting("poor", "q", "2", 2);
  PutWaiting("rich", "q2", "2", 1);
  Change(kWorkloads, "default", "more", "/status/conditions/-", Condition("Finished", true));
  now_ += seconds(6);
  GiveQuota("rich", "cq2", "2");
  EXPECT_EQ(BrokenLater(), "");
  EXPECT_EQ(invariants_.fair_comparisons(), 1);
}

TEST_F(FairOrderTest, DoesNotCompareAHeadThatNeedsMore) {
  PutWaiting("poor", "q", "2", 2);
  PutWaiting("rich", "q2", "1", 1);
  now_ += seconds(6);
  GiveQuota("rich", "cq2", "1");
  EXPECT_EQ(BrokenLater(), "");
}

TEST_F(FairOrderTest, DoesNotCompareAWorkloadBehindTheHead) {
  PutWaiting("first", "q", "9", 1);
  PutWaiting("poor", "q", "1", 2);
  PutWaiting("rich", "q2", "1", 1);
  now_ += seconds(6);
  GiveQuota("rich", "cq2", "1");
  EXPECT_EQ(BrokenLater(), "");
}

TEST_F(FairOrderTest, AllowsAnEarlierDecisionToBeWrittenLater) {
  PutWaiting("poor", "q", "1", 2);
  PutWaiting("rich", "q2", "1", 1);
  now_ += seconds(6);
  GiveQuota("rich", "cq2", "1");
  now_ += seconds(1);
  GiveQuota("poor", "cq", "1");
  EXPECT_EQ(BrokenLater(), "");
}

}  // namespace
}  // namespace berth::sim
