// Goal: the rules of played controllers can be broken, and a proper life breaks none. Method:
// histories are written into a store by hand; the world only gives the time.
#include "tests/faults/play_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log/log.h"
#include "tests/faults/dask_play.h"
#include "tests/faults/jobset_play.h"
#include "tests/faults/pod_play.h"

namespace berth::sim {
namespace {

class PodRulesTest : public PlayRulesTest {
 protected:
  PodRulesTest() { Let(std::make_unique<PodPlay>(*world_, invariants_)); }
  static Json InGroup(Json pod) {
    pod["metadata"]["labels"] = {{kSetLabel, "s"}, {"kueue.x-k8s.io/pod-group-name", "g"}};
    pod["metadata"]["annotations"] = {{"kueue.x-k8s.io/pod-group-total-count", "1"},
                                      {"kueue.x-k8s.io/role-hash", "main"}};
    return pod;
  }
  void PutLone(const Json& pod) {
    Json labelled = pod;
    labelled["metadata"]["labels"] = {{kSetLabel, "s"}};
    Put("pods", "default", "p", labelled);
  }
};

TEST_F(PodRulesTest, AllowAGroupFromAdmissionToItsEnd) {
  Put("pods", "default", "p", InGroup(Pod(true, "Pending")));
  PutWorkload("g", "nobody", "1", true);
  Put("pods", "default", "p", InGroup(Pod(false, "Running")));
  Put("pods", "default", "p", InGroup(Pod(false, "Succeeded")));
  PutFinished("g", "nobody");
  EXPECT_EQ(Broken(), "");
  EXPECT_EQ(Found(), "");
}

TEST_F(PodRulesTest, DetectAPodUngatedWithoutAdmission) {
  PutLone(Pod(true, "Pending"));
  PutLone(Pod(false, "Pending"));
  EXPECT_EQ(Broken(), "pod-without-admission");
  EXPECT_EQ(Found(), "pod-runs-unadmitted");
}

TEST_F(PodRulesTest, DetectAPodUngatedWithoutItsNodeSelector) {
  PutLone(Pod(true, "Pending"));
  PutWorkload("w", "p", "1", true);
  Json pod = Pod(false, "Pending");
  pod["spec"].erase("nodeSelector");
  PutLone(pod);
  EXPECT_EQ(Broken(), "pod-in-wrong-place");
}

TEST_F(PodRulesTest, DetectMorePodsOfARoleThanAdmitted) {
  PutWorkload("g", "nobody", "1", true);
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(Broken(), "");
    Put("pods", "default", name, InGroup(Pod(true, "Pending")));
    Put("pods", "default", name, InGroup(Pod(false, "Pending")));
  }
  EXPECT_EQ(Broken(), "too-many-group-pods");
}

TEST_F(PodRulesTest, DetectAGroupsQuotaReleasedWhileItRuns) {
  PutWorkload("g", "nobody", "1", true);
  Put("pods", "default", "p", InGroup(Pod(false, "Running")));
  PutWorkload("g", "nobody", "", false);
  EXPECT_EQ(Broken(), "group-released");
}

TEST_F(PodRulesTest, DetectAnEndedPodThatKeepsItsFinalizer) {
  Json pod = Pod(false, "Succeeded");
  pod["metadata"]["finalizers"] = Json::array({"kueue.x-k8s.io/managed"});
  PutLone(pod);
  EXPECT_EQ(Found(), "pod-held");
}

TEST_F(PodRulesTest, DetectAnEndedGroupWithAnUnfinishedWorkload) {
  PutWorkload("g", "nobody", "1", true);
  Put("pods", "default", "p", InGroup(Pod(false, "Succeeded")));
  EXPECT_EQ(Found(), "group-not-finished");
}

class JobSetRulesTest : public PlayRulesTest {
 protected:
  JobSetRulesTest() { Let(std::make_unique<JobSetPlay>(Story{}, *world_, invariants_)); }
  void PutSet(bool suspend, const Json& selector, const std::string& ended = "") {
    Json set{{"spec", {{"suspend", suspend}}}};
    Json part{{"name", "main"}};
    part["template"]["spec"]["template"]["spec"]["nodeSelector"] = selector;
    set["spec"]["replicatedJobs"] = Json::array({part});
    if (!ended.empty()) {
      set["status"]["conditions"] = Json::array({Condition(ended.c_str(), true)});
    }
    Put("jobsets.jobset.x-k8s.io", "default", "s", set);
  }
  void PutPod(const std::string& name, const std::string& phase) {
    Json pod = Pod(false, phase);
    pod["metadata"]["labels"] = {{"jobset.sigs.k8s.io/jobset-name", "s"}};
    Put("pods", "default", name, pod);
  }
  const Json nowhere_ = Json::object();
  const Json pool_ = {{"pool", "f"}};
};

TEST_F(JobSetRulesTest, AllowASetFromAdmissionToItsEnd) {
  PutSet(true, nowhere_);
  PutWorkload("w", "s", "1", true);
  PutSet(false, pool_);
  PutPod("p", "Running");
  EXPECT_EQ(Found(), "");
  PutPod("p", "Succeeded");
  PutSet(false, pool_, "Completed");
  PutFinished("w", "s");
  EXPECT_EQ(Broken(), "");
  EXPECT_EQ(Found(), "");
}

TEST_F(JobSetRulesTest, DetectASetStartedWithoutAdmission) {
  PutSet(true, nowhere_);
  PutWorkload("w", "s", "", false);
  PutSet(false, pool_);
  EXPECT_EQ(Broken(), "jobset-without-admission");
  EXPECT_EQ(Found(), "jobset-runs-unadmitted");
}

TEST_F(JobSetRulesTest, DetectASetStartedOnNodesOfAnotherFlavor) {
  PutSet(true, nowhere_);
  PutWorkload("w", "s", "1", true);
  PutSet(false, {{"pool", "g"}});
  EXPECT_EQ(Broken(), "jobset-in-wrong-place");
}

TEST_F(JobSetRulesTest, DetectMorePodsThanAdmitted) {
  PutSet(false, pool_);
  PutWorkload("w", "s", "1", true);
  PutPod("a", "Running");
  EXPECT_EQ(Broken(), "");
  PutPod("b", "Pending");
  EXPECT_EQ(Broken(), "too-many-jobset-pods");
}

TEST_F(JobSetRulesTest, DetectQuotaReleasedWhileItsPodsRun) {
  PutSet(false, pool_);
  PutWorkload("w", "s", "1", true);
  PutPod("p", "Running");
  PutWorkload("w", "s", "", false);
  EXPECT_EQ(Broken(), "jobset-released");
}

TEST_F(JobSetRulesTest, DetectAStoppedSetThatKeepsItsNodeSelector) {
  PutSet(true, nowhere_);
  PutSet(true, pool_);
  EXPECT_EQ(Found(), "jobset-template-changed");
}

TEST_F(JobSetRulesTest, DetectAnEndedSetWithAnUnfinishedWorkload) {
  PutWorkload("w", "s", "1", true);
  PutSet(false, pool_, "Failed");
  EXPECT_EQ(Found(), "jobset-not-finished");
}

// Slices of an elastic job, which the rules of all jobs judge.
class SliceRulesTest : public HistoryTest {
 protected:
  void PutSlice(const std::string& name, const std::string& replaces, const std::string& cpu) {
    const Json owner{{"kind", "Job"}, {"name", "j"}, {"uid", "uid-of-j"}, {"controller", true}};
    Put(kWorkloads, "default", name,
        {{"metadata",
          {{"ownerReferences", Json::array({owner})},
           {"annotations",
            {{"kueue.x-k8s.io/elastic-job", "true"},
             {"kueue.x-k8s.io/workload-slice-replacement-for", replaces}}}}},
         {"spec", {{"queueName", "q"}, {"podSets", PodSets(cpu)}}},
         {"status",
          {{"admission", AdmissionOf(cpu)},
           {"conditions",
            Json::array({Condition("Admitted", true), Condition("QuotaReserved", true)})}}}});
  }
};

TEST_F(SliceRulesTest, ChargeALargerSliceInPlaceOfTheReplacedOne) {
  PutSlice("a", "", "3");
  PutSlice("b", "default/a", "4");
  EXPECT_EQ(Broken(), "");
  PutWorkload("c", "k", "1m", true);
  EXPECT_EQ(Broken(), "quota-exceeded");
}

TEST_F(SliceRulesTest, ChargeASliceThatReplacesNothingBesideTheOther) {
  PutSlice("a", "", "3");
  PutSlice("b", "", "3");
  EXPECT_EQ(Broken(), "quota-exceeded");
}

TEST_F(SliceRulesTest, AllowASliceOfEqualSizeInAQueueWithoutQuota) {
  PutSlice("a", "", "3");
  Put("clusterqueues.kueue.x-k8s.io", "", "cq", {{"spec", QueueSpec("0")}});
  now_ += std::chrono::seconds(3);
  PutSlice("b", "default/a", "3");
  EXPECT_EQ(Broken(), "");
  PutSlice("c", "default/b", "4");
  EXPECT_EQ(Broken(), "quota-exceeded");
}

TEST_F(SliceRulesTest, DetectAnotherJobsWorkloadInPlaceOfASlice) {
  PutSlice("a", "", "3");
  Put("clusterqueues.kueue.x-k8s.io", "", "cq", {{"spec", QueueSpec("0")}});
  now_ += std::chrono::seconds(3);
  PutWorkload("b", "k", "", false);
  Change(kWorkloads, "default", "b", "/metadata/annotations",
         {{"kueue.x-k8s.io/workload-slice-replacement-for", "default/a"}});
  Change(kWorkloads, "default", "b", "/spec/podSets", PodSets("3"));
  Change(kWorkloads, "default", "b", "/status",
         {{"conditions", {Condition("QuotaReserved", true)}}, {"admission", AdmissionOf("3")}});
  EXPECT_EQ(Broken(), "quota-exceeded");
}

class DaskRulesTest : public PlayRulesTest {
 protected:
  DaskRulesTest() {
    Let(std::make_unique<DaskPlay>(Story{}, *world_, invariants_));
    Put("daskclusters.kubernetes.dask.org", "default", "c", Json::object());
  }
  // The pod set is that of PutWorkload: a group made by hand.
  void PutPod(const std::string& name, bool gated, const std::string& workload = "w") {
    Json pod = Pod(gated, gated ? "Pending" : "Running");
    pod["metadata"]["labels"] = {
        {kDaskClusterLabel, "c"}, {kDaskComponentLabel, "worker"}, {kDaskGroupLabel, "main"}};
    pod["metadata"]["annotations"] = {{"integrations.berth.dev/workload", workload},
                                      {"kueue.x-k8s.io/pod-suspending-parent", kDaskFramework}};
    if (workload.empty()) pod["metadata"].erase("annotations");
    Put("pods", "default", name, pod);
  }
};

TEST_F(DaskRulesTest, AllowAPodStartedAfterAdmission) {
  PutPod("p", true);
  PutWorkload("w", "c", "1", true);
  PutPod("p", false);
  EXPECT_EQ(Broken(), "");
  EXPECT_EQ(Found(), "");
}

TEST_F(DaskRulesTest, DetectAPodStartedWithoutAdmission) {
  PutPod("p", true);
  PutWorkload("w", "c", "1", false);
  PutPod("p", false);
  EXPECT_EQ(Broken(), "dask-pod-without-admission");
  EXPECT_EQ(Found(), "dask-runs-unadmitted");
}

TEST_F(DaskRulesTest, DetectAPodStartedWithTheWorkloadOfAnotherOwner) {
  PutPod("p", true);
  PutWorkload("w", "c", "1", true);
  PutWorkload("x", "other", "1", true);
  PutPod("p", false, "x");
  EXPECT_EQ(Broken(), "dask-pod-without-admission");
}

TEST_F(DaskRulesTest, DetectMorePodsStartedThanAdmitted) {
  PutWorkload("w", "c", "1", true);
  PutPod("a", false);
  EXPECT_EQ(Broken(), "");
  PutPod("b", false);
  EXPECT_EQ(Broken(), "too-many-dask-pods");
  EXPECT_EQ(Found(), "dask-over-quota");
}

TEST_F(DaskRulesTest, DetectQuotaReleasedWhileItsPodsRun) {
  PutWorkload("w", "c", "1", true);
  PutPod("p", false);
  PutWorkload("w", "c", "", false);
  EXPECT_EQ(Broken(), "dask-released");
}

TEST_F(DaskRulesTest, DetectAnUnmarkedPodAndDoNotCountIt) {
  PutWorkload("w", "c", "1", true);
  PutPod("a", false);
  PutPod("b", false, "");
  EXPECT_EQ(Broken(), "");
  EXPECT_EQ(Found(), "dask-pod-missed");
}

TEST_F(DaskRulesTest, DetectAGatedPodOfAnAdmittedWorkload) {
  PutWorkload("w", "c", "1", true);
  PutPod("p", true);
  EXPECT_EQ(Found(), "dask-pod-held");
}

}  // namespace
}  // namespace berth::sim

int main(int argc, char** argv) {
  berth::ConfigureLog(berth::LogLevel::kError);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
