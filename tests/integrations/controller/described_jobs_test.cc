// Goal: the life of a job of a described kind on an API: Workload created, started with its
// admission, stopped and restored, finished; a CRD that comes later; an object that does not fit
// its description. Method: JobSet on the real API in memory, in virtual time; the test plays
// scheduler and JobSet's controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "integrations/controller/job_controllers.h"
#include "integrations/kind_catalogue.h"
#include "kube/runtime/manager.h"
#include "tests/support/registry_transport.h"
#include "tests/support/sim_executor.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr char kCrds[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr char kJobSets[] = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets";
constexpr char kJobSet[] = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/train";
constexpr char kWorkloadsPath[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
constexpr char kFlavorsPath[] = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors";

// Open, as Kueue's tests need no more of it.
Json JobSetCrd() {
  return Json::parse(R"({
    "metadata": {"name": "jobsets.jobset.x-k8s.io"},
    "spec": {"group": "jobset.x-k8s.io", "scope": "Namespaced",
      "names": {"kind": "JobSet", "plural": "jobsets", "singular": "jobset", "listKind": "JobSetList"},
      "versions": [{"name": "v1alpha2", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        "subresources": {"status": {}}}]}})");
}

Json JobSet() {
  return Json::parse(R"({
    "metadata": {"name": "train", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
    "spec": {"suspend": true, "unknown": {"kept": [1, 2]}, "replicatedJobs": [
      {"name": "driver", "replicas": 1, "template": {"spec": {"template": {"spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}}}},
      {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 3, "completions": 3,
        "template": {"spec": {"nodeSelector": {"pool": "a"},
          "containers": [{"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}]}}}}}]}})");
}

class DescribedJobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    controllers_.emplace(
        manager_, clock_, events_,
        JobControllersOptions{
            .kinds = {FindBuiltInKind("jobset.x-k8s.io/jobset")},
            .job = {.namespace_selector = DefaultManagedNamespaces("kueue-system")}});
    api_.Put(kFlavorsPath, {{"metadata", {{"name", "spot"}}},
                            {"spec",
                             {{"nodeLabels", {{"capacity", "spot"}}},
                              {"tolerations", {{{"key", "spot"}, {"operator", "Exists"}}}}}}});
  }
  void Start() {
    manager_.StartInformers();
    manager_.StartControllers();
    Settle();
  }
  void Settle() { executor_.RunFor(40s); }
  void Submit(const Json& job = JobSet()) {
    api_.Put(kJobSets, job);
    Settle();
  }
  Json Job() { return *api_.Find(kJobSet); }
  std::string WorkloadPath() {
    for (const auto& request : api_.requests()) {
      if (request.method == "POST" && request.path == kWorkloadsPath) {
        return std::string(kWorkloadsPath) + "/" +
               request.body["metadata"]["name"].get<std::string>();
      }
    }
    return "";
  }
  Json Workload() { return *api_.Find(WorkloadPath()); }
  // Applies as the scheduler does, so that a later apply without the field removes it.
  void Apply(const std::vector<std::string>& conditions) {
    Json workload = Workload();
    workload.erase("spec");
    workload["metadata"].erase("managedFields");
    workload["status"] = {
        {"admission",
         {{"clusterQueue", "cq"},
          {"podSetAssignments",
           {{{"name", "driver"}, {"count", 1}, {"flavors", {{"cpu", "spot"}}}},
            {{"name", "workers"}, {"count", 6}, {"flavors", {{"nvidia.com/gpu", "spot"}}}}}}}}};
    for (const std::string& type : conditions) {
      workload["status"]["conditions"].push_back({{"type", type},
                                                  {"status", "True"},
                                                  {"reason", "Test"},
                                                  {"message", "said by the test"},
                                                  {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
    }
    client_.Patch(
        api::KindOf<api::Workload>(), {"default", workload["metadata"]["name"]},
        kube::PatchType::kApply, workload,
        {.field_manager = "kueue-admission", .force = kube::Force::kYes, .subresource = "status"},
        [](const Result<kube::JsonPtr>& done) { EXPECT_TRUE(done); });
    Settle();
  }
  void Status(const Json& status) {
    Json job = Job();
    job["status"] = status;
    api_.Put(kJobSets, job);
    Settle();
  }
  static Json TemplateOf(const Json& job, std::size_t index) {
    return job["spec"]["replicatedJobs"][index]["template"]["spec"]["template"];
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::EventRecorder events_{
      client_, clock_, {.controller = "kueue-job", .first_api = kube::EventApi::kCore}};
  kube::Manager manager_{client_, executor_};
  std::optional<JobControllers> controllers_;
};

TEST_F(DescribedJobsTest, LivesFromTheQueueToItsEnd) {
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

TEST_F(DescribedJobsTest, AKindWhoseDefinitionComesLater) {
  Start();
  EXPECT_TRUE(manager_.controllers_running());
  api_.Put(kCrds, JobSetCrd());
  Submit();
  EXPECT_NE(WorkloadPath(), "");
}

TEST_F(DescribedJobsTest, AnObjectThatDoesNotFitWaitsWithTheReason) {
  api_.Put(kCrds, JobSetCrd());
  Start();
  Json job = JobSet();
  job["spec"]["suspend"] = false;
  job["spec"]["replicatedJobs"][1]["replicas"] = "many";
  Submit(job);
  EXPECT_EQ(WorkloadPath(), "");
  EXPECT_EQ(Job()["spec"]["suspend"], true);  // it does not run without quota
  int told = 0;
  for (const auto& request : api_.requests()) {
    if (request.method != "POST" || request.path.find("/events") == std::string::npos) continue;
    if (request.body["reason"] != "ErrWorkloadCompose") continue;
    ++told;
    EXPECT_THAT(request.body["message"].get<std::string>(), HasSubstr("podSets.count"));
  }
  EXPECT_EQ(told, 1);
  // Nothing spins.
  const std::size_t requests = api_.requests().size();
  executor_.RunFor(60s);
  EXPECT_EQ(api_.requests().size(), requests);

  Submit();
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
TEST_F(DescribedJobsTest, AJobBelowTooManyOwnersIsLeftAsItIs) {
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
  EXPECT_EQ(told, 2);  // of j11 and j12, once each
}

// A kind of a user, of another group, with its own names for everything.
class UserKindsTest : public DescribedJobsTest {
 protected:
  static constexpr char kKinds[] = "/apis/integrations.berth.dev/v1alpha1/jobkinds";
  static constexpr char kKind[] = "/apis/integrations.berth.dev/v1alpha1/jobkinds/sweeps";
  static constexpr char kSweeps[] = "/apis/science.example/v1/namespaces/default/sweeps";
  static constexpr char kSweep[] = "/apis/science.example/v1/namespaces/default/sweeps/s";

  void SetUp() override {
    DescribedJobsTest::SetUp();
    Json crd = JobSetCrd();
    crd["metadata"]["name"] = "sweeps.science.example";
    crd["spec"]["group"] = "science.example";
    crd["spec"]["names"] = {
        {"kind", "Sweep"}, {"plural", "sweeps"}, {"singular", "sweep"}, {"listKind", "SweepList"}};
    crd["spec"]["versions"][0]["name"] = "v1";
    crd_ = crd;
  }
  static Json Kind(const std::string& count = "self.spec.trials") {
    return {{"metadata", {{"name", "sweeps"}}},
            {"spec",
             {{"group", "science.example"},
              {"version", "v1"},
              {"kind", "Sweep"},
              {"suspend", "spec.paused"},
              {"podSets",
               Json::array({{{"name", "'trial'"}, {"template", "spec.pod"}, {"count", count}}})},
              {"active", "self.?status.?running.orValue(0) > 0"},
              {"finished", Json::array({{{"when", "self.?status.?phase.orValue('') == 'Done'"},
                                         {"succeeded", "true"}}})}}}};
  }
  void SubmitSweep() {
    api_.Put(kSweeps, Json::parse(R"({"metadata": {"name": "s", "namespace": "default",
        "labels": {"kueue.x-k8s.io/queue-name": "lq"}}, "spec": {"paused": true, "trials": 7,
        "pod": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}})"));
    Settle();
  }
  std::string Ready() {
    const Json* kind = api_.Find(kKind);
    if (kind == nullptr || !kind->contains("status")) return "";
    const Json& condition = (*kind)["status"]["conditions"][0];
    return condition["status"].get<std::string>() + " " + condition["reason"].get<std::string>() +
           " " + condition["message"].get<std::string>();
  }

  Json crd_;
};

TEST_F(UserKindsTest, AreManagedWhileTheControllerRuns) {
  Start();
  api_.Put(kKinds, Kind());
  Settle();
  EXPECT_THAT(Ready(),
              HasSubstr("False NotServed the API server does not serve science.example/v1 sweeps"));
  api_.Put(kCrds, crd_);
  Settle();
  EXPECT_THAT(Ready(), HasSubstr("True Managed"));

  SubmitSweep();
  const Json pods = Workload()["spec"]["podSets"][0];
  EXPECT_EQ(pods["name"], "trial");
  EXPECT_EQ(pods["count"], 7);

  // Another description: the waiting job's Workload follows.
  api_.Put(kKinds, Kind("self.spec.trials * 2"));
  Settle();
  EXPECT_EQ(Workload()["spec"]["podSets"][0]["count"], 14);

  // Without the JobKind its jobs are left as they are; with the JobKind they are queued again.
  api_.Remove(kKind);
  Settle();
  const std::string workload = WorkloadPath();
  api_.Remove(workload);
  Settle();
  EXPECT_EQ(api_.Find(workload), nullptr);
  api_.Put(kKinds, Kind());
  Settle();
  ASSERT_NE(api_.Find(workload), nullptr);
  EXPECT_EQ((*api_.Find(workload))["spec"]["podSets"][0]["count"], 7);
}

TEST_F(UserKindsTest, AKindWhoseDefinitionGoesIsNotReady) {
  Start();
  api_.Put(kKinds, Kind());
  api_.Put(kCrds, crd_);
  Settle();
  EXPECT_THAT(Ready(), HasSubstr("True Managed"));
  api_.Remove(std::string(kCrds) + "/sweeps.science.example");
  executor_.RunFor(150s);
  EXPECT_THAT(Ready(), HasSubstr("False NotServed"));
  api_.Put(kCrds, crd_);
  executor_.RunFor(150s);
  EXPECT_THAT(Ready(), HasSubstr("True Managed"));
}

// Another kind's informer has objects of another type.
TEST_F(UserKindsTest, AKindThatIsReadForAnotherPurposeIsRefused) {
  Start();
  Json kind = Kind();
  kind["spec"]["group"] = "kueue.x-k8s.io";
  kind["spec"]["version"] = "v1beta2";
  kind["spec"]["plural"] = "workloads";
  api_.Put(kKinds, kind);
  Settle();
  EXPECT_THAT(Ready(),
              HasSubstr("False AlreadyDescribed Berth reads kueue.x-k8s.io/v1beta2 workloads"));
}

TEST_F(UserKindsTest, AKindThatCannotBeListedHoldsUpNoOther) {
  api_.Put(kCrds, crd_);
  Start();
  Json other = Kind();
  other["metadata"]["name"] = "others";
  other["spec"]["kind"] = "Other";
  api_.Put(kKinds, other);
  Settle();
  api_.Put(kKinds, Kind());
  Settle();
  SubmitSweep();
  EXPECT_NE(WorkloadPath(), "");
}

TEST_F(UserKindsTest, AJobThatGoesWithoutItsKindLeavesNoQuota) {
  api_.Put(kCrds, crd_);
  Start();
  api_.Put(kKinds, Kind());
  Settle();
  SubmitSweep();
  const std::string path = WorkloadPath();
  api_.Remove(kKind);
  Settle();
  client_.Delete(api::KindOf<api::Workload>(), {"default", path.substr(path.rfind('/') + 1)}, {},
                 [](const berth::Status&) {});
  Settle();
  ASSERT_NE(api_.Find(path), nullptr);  // the finalizer holds it
  api_.Remove(kSweep);
  Settle();
  EXPECT_EQ(api_.Find(path), nullptr);
}

TEST_F(UserKindsTest, TheSecondDescriptionTakesOverWhenTheFirstGoes) {
  api_.Put(kCrds, crd_);
  Start();
  api_.Put(kKinds, Kind());
  Settle();
  Json second = Kind();
  second["metadata"]["name"] = "second";
  api_.Put(kKinds, second);
  Settle();
  api_.Remove(kKind);
  Settle();
  SubmitSweep();
  EXPECT_NE(WorkloadPath(), "");
}

// A new leader reads the jobs before the kinds of their owners.
TEST_F(UserKindsTest, AChildIsNotStoppedBeforeTheKindOfItsOwnerIsRead) {
  api_.Put(kCrds, crd_);
  api_.Put(kKinds, Kind());
  const Json sweep = api_.Put(kSweeps, Json::parse(R"({"metadata": {"name": "s",
      "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}, "spec": {"paused": false,
      "trials": 1, "pod": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}})"));
  Json child = Json::parse(R"({"metadata": {"name": "s-run", "namespace": "default",
      "labels": {"kueue.x-k8s.io/queue-name": "lq"}}, "spec": {"suspend": false, "template": {"spec":
      {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}})");
  child["metadata"]["ownerReferences"] = {{{"apiVersion", "science.example/v1"},
                                           {"kind", "Sweep"},
                                           {"name", "s"},
                                           {"uid", sweep["metadata"]["uid"]},
                                           {"controller", true}}};
  api_.Put("/apis/batch/v1/namespaces/default/jobs", child);
  Start();
  for (const auto& request : api_.requests()) {
    EXPECT_FALSE(request.method == "POST" && request.path == kWorkloadsPath &&
                 request.body["metadata"]["ownerReferences"][0]["kind"] == "Job");
  }
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

TEST_F(UserKindsTest, ABadDescriptionSaysWhatIsWrong) {
  Start();
  api_.Put(kCrds, crd_);
  Json kind = Kind("self.spec.trials +");
  api_.Put(kKinds, kind);
  Settle();
  EXPECT_THAT(Ready(),
              HasSubstr("False InvalidDescription spec.podSets[0].count: ERROR: <input>:1:"));
  kind = Kind();
  kind["spec"]["kind"] = "JobSet";
  kind["spec"]["group"] = "jobset.x-k8s.io";
  api_.Remove(kKind);
  api_.Put(kKinds, kind);
  Settle();
  EXPECT_THAT(Ready(), HasSubstr("False AlreadyDescribed the kind is built in"));
}

}  // namespace
}  // namespace berth::integrations
