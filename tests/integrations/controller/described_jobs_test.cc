// Goal: the life of a job of a described kind on an API: Workload created, started with its
// admission, stopped and restored, finished; a CRD that comes later; an object that does not fit
// its description. Method: JobSet on the real API in memory, in virtual time; the test plays
// scheduler and JobSet's controller.
#include "integrations/controller/described_jobs.h"

#include "tests/integrations/controller/described_jobs_fixture.h"

namespace berth::integrations::described_jobs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(DescribedJobsTest, JobSetIsQueuedStartedStoppedAndFinished) {
  api_.Put(kCrds, JobSetCrd());
  Start();
  Submit();
  const Json workload = Workload();
  EXPECT_EQ(workload["metadata"]["name"].get<std::string>().rfind("jobset-train-", 0), 0U);
  EXPECT_EQ(workload["metadata"]["ownerReferences"][0]["apiVersion"], "jobset.x-k8s.io/v1alpha2");
  EXPECT_EQ(workload["spec"]["queueName"], "lq");
  ASSERT_EQ(workload["spec"]["podSets"].size(), 2U);
  EXPECT_EQ(workload["spec"]["podSets"][1]["name"], "workers");
  EXPECT_EQ(workload["spec"]["podSets"][1]["count"], 6);

  Apply({"QuotaReserved", "Admitted"});
  const Json started = Job();
  EXPECT_EQ(started["spec"]["suspend"], false);
  EXPECT_EQ(TemplateOf(started, 0)["spec"]["nodeSelector"], (Json{{"capacity", "spot"}}));
  EXPECT_EQ(TemplateOf(started, 1)["spec"]["nodeSelector"],
            (Json{{"capacity", "spot"}, {"pool", "a"}}));
  EXPECT_EQ(TemplateOf(started, 1)["metadata"]["labels"]["kueue.x-k8s.io/podset"], "workers");
  EXPECT_EQ(started["spec"]["unknown"], Json::parse(R"({"kept": [1, 2]})"));

  Status(Json::parse(R"({"replicatedJobsStatus": [{"name": "driver", "active": 1, "ready": 1},
                         {"name": "workers", "active": 2, "ready": 2}]})"));
  // Evicted: stopped at once; its quota goes back when nothing of it runs.
  Apply({"QuotaReserved", "Admitted", "Evicted"});
  const Json stopped = Job();
  EXPECT_EQ(stopped["spec"], JobSet()["spec"]) << Json::diff(JobSet()["spec"], stopped["spec"]);
  EXPECT_TRUE(Workload()["status"].contains("admission"));
  Status(Json::parse(R"({"replicatedJobsStatus": [{"name": "driver", "active": 0}]})"));
  EXPECT_TRUE(Workload()["status"].contains("admission"));
  Status(Json::parse(R"({"replicatedJobsStatus": [{"name": "driver", "active": 0}],
                         "conditions": [{"type": "Suspended", "status": "True"}]})"));
  EXPECT_FALSE(Workload()["status"].contains("admission"));

  Status(Json::parse(R"({"conditions": [{"type": "Failed", "status": "True", "reason": "R",
      "message": "a job failed", "lastTransitionTime": "2026-01-01T00:00:00Z"}]})"));
  const Json conditions = Workload()["status"]["conditions"];
  const auto finished = std::find_if(conditions.begin(), conditions.end(),
                                     [](const Json& each) { return each["type"] == "Finished"; });
  ASSERT_NE(finished, conditions.end());
  EXPECT_EQ((*finished)["reason"], "Failed");
  EXPECT_EQ((*finished)["message"], "a job failed");
}

TEST_F(DescribedJobsTest, KindIsManagedWhenItsDefinitionArrivesLater) {
  Start();
  EXPECT_TRUE(manager_.controllers_running());
  api_.Put(kCrds, JobSetCrd());
  Submit();
  EXPECT_NE(WorkloadPath(), "");
}

TEST_F(DescribedJobsTest, ObjectThatCannotBeReadIsHeldWithAnEvent) {
  api_.Put(kCrds, JobSetCrd());
  Start();
  Json job = JobSet();
  job["spec"]["suspend"] = false;
  job["spec"]["replicatedJobs"][1]["replicas"] = "many";
  Submit(job);
  EXPECT_EQ(WorkloadPath(), "");
  EXPECT_EQ(Job()["spec"]["suspend"], true);  // it does not run without quota
  EXPECT_THAT(Told("ErrWorkloadCompose"), ElementsAre(HasSubstr("podSets.count")));
  ExpectRest();

  Submit();
  EXPECT_NE(WorkloadPath(), "");
}

TEST_F(DescribedJobsTest, ObjectOfAThousandPodSetsIsHeldWithAnEvent) {
  api_.Put(kCrds, JobSetCrd());
  Start();
  Json job = JobSet();
  Json& jobs = job["spec"]["replicatedJobs"];
  Json one = jobs[0];
  jobs = Json::array();
  for (int i = 0; i < 1000; ++i) {
    one["name"] = "role-" + std::to_string(i);
    jobs.push_back(one);
  }
  Submit(job);
  EXPECT_EQ(WorkloadPath(), "");
  EXPECT_THAT(Told("ErrWorkloadCompose"), ElementsAre(HasSubstr("more than 18 pod sets")));
  ExpectRest();
}

TEST_F(DescribedJobsTest, AMissingTemplateWaitsWithTheReason) {
  api_.Put(kCrds, JobSetCrd());
  Start();
  Json job = JobSet();
  job["spec"]["replicatedJobs"][0]["template"]["spec"].erase("template");
  Submit(job);
  EXPECT_EQ(WorkloadPath(), "");
  EXPECT_EQ(Job()["spec"]["suspend"], true);
  EXPECT_THAT(Told("ErrWorkloadCompose"),
              ElementsAre("spec.replicatedJobs[0].template.spec.template: the pod template is "
                          "missing"));
  ExpectRest();
}

TEST_F(DescribedJobsTest, AJobThatMultiKueueRunsIsLeftAlone) {
  api_.Put(kCrds, JobSetCrd());
  Start();
  Json job = JobSet();
  job["spec"]["suspend"] = false;
  job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue";
  Submit(job);
  EXPECT_EQ(WorkloadPath(), "");
  EXPECT_EQ(Job()["spec"]["suspend"], false);
  EXPECT_EQ(Told("ManagedByMultiKueue").size(), 1U);
  ExpectRest();
  job["spec"]["managedBy"] = "example.com/operator";
  Submit(job);
  EXPECT_NE(WorkloadPath(), "");
}

// An owner that is queued decides for its children, whatever their kinds.
TEST_F(DescribedJobsTest, AChildFollowsItsParentOfAnotherKind) {
  api_.Put(kCrds, JobSetCrd());
  Start();
  Submit();
  const std::string workload = WorkloadPath();
  const Json child = Json::parse(R"({"metadata": {"name": "train-workers-0", "namespace": "default",
      "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
      "spec": {"suspend": false, "template": {"spec": {"restartPolicy": "Never",
      "containers": [{"name": "c", "image": "i"}]}}}})");
  Json owned = child;
  owned["metadata"]["ownerReferences"] = {{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                           {"kind", "JobSet"},
                                           {"name", "train"},
                                           {"uid", Job()["metadata"]["uid"]},
                                           {"controller", true}}};
  api_.Put("/apis/batch/v1/namespaces/default/jobs", owned);
  Settle();
  const std::string path = "/apis/batch/v1/namespaces/default/jobs/train-workers-0";
  EXPECT_EQ((*api_.Find(path))["spec"]["suspend"], true);
  EXPECT_EQ(WorkloadPath(), workload);  // the child has none
}

// The search for a queued owner ends at the tenth.
TEST_F(DescribedJobsTest, JobBelowTooManyOwnersIsNotSuspended) {
  Start();
  const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
  Json owners = Json::array();
  for (int i = 0; i < 13; ++i) {
    Json job = Json::parse(R"({"metadata": {"namespace": "default"},
        "spec": {"suspend": false, "template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i"}]}}}})");
    const std::string name = "j" + std::to_string(i);
    job["metadata"]["name"] = name;
    if (!owners.empty()) job["metadata"]["ownerReferences"] = owners;
    if (i == 10 || i == 12) job["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "lq"}};
    const Json made = api_.Put(jobs, job);
    owners = {{{"apiVersion", "batch/v1"},
               {"kind", "Job"},
               {"name", name},
               {"uid", made["metadata"]["uid"]},
               {"controller", true}}};
  }
  Settle();
  EXPECT_EQ((*api_.Find(jobs + "/j12"))["spec"]["suspend"], false);
  EXPECT_EQ((*api_.Find(jobs + "/j10"))["spec"]["suspend"], true);  // ten owners, none queued
  int told = 0;
  for (const auto& request : api_.requests()) {
    const bool is_event = request.path.find("/events") != std::string::npos;
    if (is_event && request.body["reason"] == "JobNestingTooDeep") ++told;
  }
  EXPECT_EQ(told, 2);  // j11's and j12's, once each
}

// A user must not run more than was admitted by breaking the templates of a job that runs.
TEST_F(DescribedJobsTest, AJobThatIsBrokenWhileItRunsIsStopped) {
  api_.Put(kCrds, JobSetCrd());
  Start();
  Submit();
  Apply({"QuotaReserved", "Admitted"});
  ASSERT_EQ(Job()["spec"]["suspend"], false);
  const std::string path = WorkloadPath();
  Json broken = Job();
  broken["spec"]["replicatedJobs"][1]["template"]["spec"].erase("template");
  api_.Put(kJobSets, broken);
  Settle();
  EXPECT_EQ(Job()["spec"]["suspend"], true) << "nobody knows how much it uses";
  EXPECT_EQ(api_.Find(path), nullptr) << "its quota is free";
}

TEST_F(DescribedJobsTest, ATemplateOfAMegabyteIsQueued) {
  api_.Put(kCrds, JobSetCrd());
  Start();
  Json job = JobSet();
  Json& container =
      job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0];
  container["env"] = {{{"name", "LONG"}, {"value", std::string(1'000'000, 'x')}}};
  Submit(job);
  ASSERT_NE(WorkloadPath(), "");
  Apply({"QuotaReserved", "Admitted"});
  EXPECT_EQ(Job()["spec"]["suspend"], false);
  const std::size_t requests = api_.requests().size();
  executor_.RunFor(60s);
  EXPECT_EQ(api_.requests().size(), requests);
}

// A TrainJob's pod sets are those of a runtime.
TEST_F(DescribedJobsTest, JobIsReadAgainWhenItOrItsRuntimeChanges) {
  constexpr char kTrainJobs[] = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs";
  constexpr char kRuntimes[] = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes";
  const auto put_crd = [this](const std::string& kind, const std::string& plural,
                              const char* scope) {
    Json crd = JobSetCrd();
    crd["metadata"]["name"] = plural + ".trainer.kubeflow.org";
    crd["spec"]["group"] = "trainer.kubeflow.org";
    crd["spec"]["scope"] = scope;
    crd["spec"]["names"] = {
        {"kind", kind}, {"plural", plural}, {"singular", plural}, {"listKind", kind + "List"}};
    crd["spec"]["versions"][0]["name"] = "v1alpha1";
    api_.Put(kCrds, crd);
  };
  put_crd("TrainJob", "trainjobs", "Namespaced");
  put_crd("TrainingRuntime", "trainingruntimes", "Namespaced");
  put_crd("ClusterTrainingRuntime", "clustertrainingruntimes", "Cluster");
  const auto put_runtime = [&](int nodes) {
    Json runtime = Json::parse(R"({"metadata": {"name": "torch"}, "spec": {"mlPolicy": {},
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {
          "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
          "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "i"}]}}}}}]}}}})");
    runtime["spec"]["mlPolicy"]["numNodes"] = nodes;
    api_.Put(kRuntimes, runtime);
    Settle();
  };
  kube::Manager manager(client_, executor_);
  DescribedJobs jobs(manager, FindBuiltInKind("trainer.kubeflow.org/trainjob"));
  Json job = Json::parse(R"({"metadata": {"name": "t", "namespace": "default"},
      "spec": {"suspend": true, "runtimeRef": {"name": "torch"}}})");
  api_.Put(kTrainJobs, job);
  manager.StartInformers();
  put_runtime(2);
  const auto pods_of = [&jobs] {
    const auto state = jobs.Get({"default", "t"});
    const JobView view = state == nullptr ? JobView{} : state->View();
    EXPECT_EQ(view.problem, "");
    return view.pod_sets.empty() ? api::JobPodSet{} : view.pod_sets[0];
  };
  const api::JobPodSet first = pods_of();
  EXPECT_EQ(first.count, 2);
  EXPECT_EQ(pods_of().json, first.json) << "the same text, not its copy";
  put_runtime(3);
  EXPECT_EQ(pods_of().count, 3);
  job["spec"]["trainer"]["numNodes"] = 5;
  api_.Put(kTrainJobs, job);
  Settle();
  EXPECT_EQ(pods_of().count, 5);
  api_.Remove(std::string(kTrainJobs) + "/t");
  Settle();
  EXPECT_EQ(jobs.Get({"default", "t"}), nullptr);
}

class JobSetConcurrencyTest : public DescribedJobsTest {
 protected:
  // Creations of Workloads under way at once, of four JobSets.
  std::size_t Creations() {
    api_.Put(kCrds, JobSetCrd());
    Start();
    api_.ClearRequests();
    api_.set_latency(4s);
    for (const char* name : {"a", "b", "c", "d"}) {
      Json job = JobSet();
      job["metadata"]["name"] = name;
      api_.Put(kJobSets, job);
    }
    executor_.RunFor(10s);
    return static_cast<std::size_t>(
        std::count_if(api_.requests().begin(), api_.requests().end(), [](const auto& request) {
          return request.method == "POST" && request.path == kWorkloadsPath;
        }));
  }
};
class OneJobSetAtATimeTest : public JobSetConcurrencyTest {
 protected:
  OneJobSetAtATimeTest() { concurrency_ = {{"JobSet.jobset.x-k8s.io", 1}, {"Job.batch", 9}}; }
};

TEST_F(JobSetConcurrencyTest, FourJobSetsAreReconciledAtOnce) { EXPECT_EQ(Creations(), 4U); }
TEST_F(OneJobSetAtATimeTest, ConcurrencyOfOneReconcilesJobSetsInTurn) {
  EXPECT_EQ(Creations(), 1U);
}

}  // namespace
}  // namespace berth::integrations::described_jobs_test
