// Goal: conflicts, lost answers, crashes and lost watches never break quota and never lose a
// workload. Method: ordered faults first, then seeded stories of random ones with the invariants.

#include <algorithm>

#include "base/random.h"
#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

using kube::RegistryTransport;

class AdmissionFaultsTest : public AdmissionFixture {
 protected:
  // The reserved quota, read from the API.
  int ReservedCpu() const {
    int sum = 0;
    for (const std::string& name : names_) sum += ReservedCpuOf(name);
    return sum;
  }
  int ReservedCpuOf(const std::string& name) const {
    const api::Workload workload = Get(name);
    if (!workload.status.admission || api::IsTrue(workload.status.conditions, api::kFinished)) {
      return 0;
    }
    int sum = 0;
    for (const auto& set : workload.status.admission->pod_set_assignments) {
      sum += static_cast<int>(set.resource_usage.at("cpu") / 1000);
    }
    return sum;
  }
  std::vector<std::string> names_;
};

TEST_F(AdmissionFaultsTest, AdmitsAfterAConflictOfTheAdmissionWrite) {
  PutQueues(4);
  api_.FailNext("workloads/a/status", 409);
  PutWorkload("a", 1);
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("a", api::kAdmitted));
}

TEST_F(AdmissionFaultsTest, AThrottledAdmissionIsWrittenAgainSoon) {
  PutQueues(1);
  for (int i = 0; i < 2; ++i) api_.FailNext("workloads/a/status", 429);
  PutWorkload("a", 1);
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("a", api::kAdmitted)) << "not put aside as refused";
}

TEST_F(AdmissionFaultsTest, ConflictWithoutAChangeOfTheObjectNeedsNoNewDecision) {
  PutQueues(4);
  executor_.RunFor(2s);
  const std::int64_t cycles = admission_->cycle_count();
  api_.FailNext("workloads/a/status", 409);
  api_.FailNext("workloads/a/status", 409);
  PutWorkload("a", 1);
  executor_.RunFor(2s);
  EXPECT_TRUE(Is("a", api::kAdmitted));
  EXPECT_EQ(admission_->cycle_count(), cycles + 1) << "decided once";
}

TEST_F(AdmissionFaultsTest, ConflictWithANewSpecIsDecidedAgain) {
  PutQueues(4);
  executor_.RunFor(2s);
  api_.set_latency(50ms);
  PutWorkload("a", 1);
  executor_.RunUntil([&] { return admission_->cycle_count() > 0; }, 5s);
  PutWorkload("a", 2);  // during the admission of the old one
  executor_.RunFor(5s);
  ASSERT_TRUE(Is("a", api::kAdmitted));
  EXPECT_EQ(ReservedCpuOf("a"), 2);
}

TEST_F(AdmissionFaultsTest, AdmissionWhoseAnswerIsLostKeepsItsQuota) {
  PutQueues(1);
  api_.FailNext("workloads/a/status", 0, RegistryTransport::Effect::kDone,
                ErrorCode::kDeadlineExceeded);
  PutWorkload("a", 1);
  executor_.RunFor(2s);
  PutWorkload("b", 1);
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("a", api::kAdmitted));
  EXPECT_FALSE(Is("b", api::kQuotaReserved));
}

// The API server carried the write out; the client met a timeout, or a broken connection.
TEST_F(AdmissionFaultsTest, DecisionsWhoseAnswerIsLostGetTheirEvents) {
  const auto lose = [this](const char* what, ErrorCode code) {
    api_.FailNext(what, 0, RegistryTransport::Effect::kDone, code);
  };
  const auto count = [this](const std::string& about, const std::string& reason) {
    const std::vector<std::string> reasons = EventReasons(about);
    return std::count(reasons.begin(), reasons.end(), reason);
  };
  PutQueues(4, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  lose("workloads/low/status", ErrorCode::kDeadlineExceeded);
  PutWorkload("low", 4, {{"priority", 1}});
  executor_.RunFor(3s);
  EXPECT_EQ(count("low", "Admitted"), 1);
  lose("workloads/low/status", ErrorCode::kUnavailable);
  PutWorkload("high", 4, {{"priority", 9}});
  executor_.RunFor(3s);
  EXPECT_TRUE(Is("low", api::kPreempted));
  EXPECT_EQ(count("low", "Preempted"), 1);
}

TEST_F(AdmissionFaultsTest, AnAdmissionByItsChecksWhoseAnswerIsLostGetsItsEvent) {
  Put("admissionchecks", "dws", {{"controllerName", "example.com/c"}});
  ActivateCheck("dws");
  PutQueues(4, {{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "dws"}}}}}}});
  PutWorkload("a", 4);
  executor_.RunFor(3s);
  api_.FailNext("workloads/a/status", 0, RegistryTransport::Effect::kDone,
                ErrorCode::kDeadlineExceeded);
  Edit("a", [](Json& object) { object["status"]["admissionChecks"][0]["state"] = "Ready"; });
  executor_.RunFor(10s);
  EXPECT_TRUE(Is("a", api::kAdmitted));
  const std::vector<std::string> reasons = EventReasons("a");
  EXPECT_EQ(std::count(reasons.begin(), reasons.end(), "Admitted"), 1);
}

// A decision that was not written is written later, and its event is emitted once.
TEST_F(AdmissionFaultsTest, EmitsTheEventOfAnAdmissionThatIsWrittenLater) {
  PutQueues(4);
  for (int i = 0; i < 3; ++i) api_.FailNext("workloads/a/status", 503);
  PutWorkload("a", 4);
  executor_.RunFor(10s);
  const std::vector<std::string> reasons = EventReasons("a");
  EXPECT_EQ(std::count(reasons.begin(), reasons.end(), "Admitted"), 1);
}

TEST_F(AdmissionFaultsTest, WorkloadWithRefusedWritesDoesNotBlockTheNextOne) {
  PutQueues(1);
  for (int i = 0; i < 3; ++i) api_.FailNext("workloads/a/status", 422);
  PutWorkload("a", 1, {{"priority", 9}});
  PutWorkload("b", 1);
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("b", api::kAdmitted));
  EXPECT_FALSE(Is("a", api::kQuotaReserved));
  EXPECT_THAT(EventReasons("a"), ::testing::Contains("WriteRefused")) << "it is seen";
  EXPECT_THAT(metrics_->Text(), ::testing::HasSubstr("berth_refused_workload_writes_total 1"));
  SetConditionOf("b", api::kFinished, true, "Succeeded");
  executor_.RunFor(60s);
  EXPECT_TRUE(Is("a", api::kAdmitted));
}

TEST_F(AdmissionFaultsTest, AdmitsTheNextWorkloadAfterTheFirstIsDeleted) {
  PutQueues(1);
  executor_.RunFor(2s);
  PutWorkload("a", 1);
  executor_.RunUntil([&] { return api_.CountWrites() > 0 && admission_->cycle_count() > 0; }, 5s);
  api_.Remove(PathOf("a"));
  PutWorkload("b", 1);
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("b", api::kAdmitted));
}

TEST_F(AdmissionFaultsTest, FailedPreemptionIsDecidedAgain) {
  PutQueues(1, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  PutWorkload("low", 1);
  executor_.RunFor(2s);
  api_.FailNext("workloads/low/status", 500);
  PutWorkload("high", 1, {{"priority", 5}});
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("low", api::kEvicted));
  EXPECT_EQ(Get("low").status.evictions.at(0).count, 1);
}

TEST_F(AdmissionFaultsTest, PreemptionThatIsRefusedIsNotTriedInALoop) {
  PutQueues(1, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  PutWorkload("low", 1);
  executor_.RunFor(2s);
  for (int i = 0; i < 2; ++i) api_.FailNext("workloads/low/status", 422);
  PutWorkload("high", 1, {{"priority", 5}});
  executor_.RunFor(8s);
  EXPECT_FALSE(Is("low", api::kEvicted)) << "it was tried again at once, more than once";
  executor_.RunFor(20s);
  EXPECT_TRUE(Is("low", api::kEvicted));
}

TEST_F(AdmissionFaultsTest, PreemptionIsWrittenOnceAfterConflicts) {
  PutQueues(1, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  PutWorkload("low", 1);
  executor_.RunFor(2s);
  for (int i = 0; i < 3; ++i) api_.FailNext("workloads/low/status", 409);
  PutWorkload("high", 1, {{"priority", 5}});
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("low", api::kEvicted));
  EXPECT_EQ(Get("low").status.evictions.at(0).count, 1);
}

TEST_F(AdmissionFaultsTest, RestartRebuildsEverythingFromTheApi) {
  PutQueues(4);
  for (int i = 0; i < 6; ++i) PutWorkload("w" + std::to_string(i), 1);
  executor_.RunFor(20ms);
  Crash();
  executor_.RunFor(1s);
  Boot();
  executor_.RunFor(5s);
  for (int i = 0; i < 6; ++i) names_.push_back("w" + std::to_string(i));
  EXPECT_EQ(ReservedCpu(), 4);
  EXPECT_EQ(Object("clusterqueues/cq")["status"]["reservingWorkloads"], 4);
}

TEST_F(AdmissionFaultsTest, RandomFaultsNeverExceedTheQuotaAndLoseNoWorkload) {
  constexpr int kCpu = 5;
  PutQueues(kCpu);
  executor_.RunFor(1s);
  Random random(20261120);
  std::set<std::string> finished;
  for (int step = 0; step < 400; ++step) {
    const std::uint64_t choice = random.Below(20);
    if (choice < 6 && names_.size() < 60) {
      names_.push_back("w" + std::to_string(names_.size()));
      PutWorkload(names_.back(), 1 + static_cast<int>(random.Below(3)));
    } else if (choice < 10 && !names_.empty()) {
      const std::string& name = names_[random.Below(names_.size())];
      if (Is(name, api::kAdmitted) && finished.insert(name).second) {
        SetConditionOf(name, api::kFinished, true, "Succeeded");
      }
    } else if (choice < 13) {
      const auto effect = random.Below(2) == 0 ? RegistryTransport::Effect::kNone
                                               : RegistryTransport::Effect::kDone;
      const int status = std::array{0, 409, 429, 500, 503}[random.Below(5)];
      api_.FailNext("PATCH", status, status == 409 ? RegistryTransport::Effect::kNone : effect);
    } else if (choice < 14) {
      api_.DropWatches(Error{ErrorCode::kUnavailable, "lost"});
    } else if (choice < 15) {
      api_.CompactHistory();
    } else if (choice < 16) {
      Crash();
      Boot();
    }
    executor_.RunFor(Duration(random.Below(400'000)));
    ASSERT_LE(ReservedCpu(), kCpu) << "step " << step;
  }
  // Every waiting workload gets quota after the others have finished.
  for (int round = 0; round < 200 && finished.size() < names_.size(); ++round) {
    for (const std::string& name : names_) {
      if (Is(name, api::kAdmitted) && finished.insert(name).second) {
        SetConditionOf(name, api::kFinished, true, "Succeeded");
      }
    }
    executor_.RunFor(5s);
    ASSERT_LE(ReservedCpu(), kCpu);
  }
  EXPECT_EQ(finished.size(), names_.size());
}

}  // namespace
}  // namespace berth::admission
