// Goal: the life of a Job on an API: Workload created, Job started with its admission,
// stopped and restored, finished; lost answers and conflicts end the same way. Method: the
// reconciler on the real API in memory, in virtual time; the test plays scheduler and Job
// controller.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "integrations/controller/job_controllers.h"
#include "integrations/controller/stop_pace.h"
#include "kube/runtime/manager.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr char kJobs[] = "/apis/batch/v1/namespaces/default/jobs";
constexpr char kJob[] = "/apis/batch/v1/namespaces/default/jobs/train";
constexpr char kWorkloads[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
constexpr char kFlavors[] = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors";

class JobReconcilerTest : public ::testing::Test {
 protected:
  virtual JobReconcilerOptions Options() const {
    return {.namespace_selector = DefaultManagedNamespaces("kueue-system")};
  }
  void SetUp() override {
    JobReconcilerOptions options = Options();
    options.metrics = &metrics_;
    controllers_.emplace(manager_, clock_, events_, JobControllersOptions{.job = options});
    api_.Put(kFlavors, {{"metadata", {{"name", "spot"}}},
                        {"spec", {{"nodeLabels", {{"capacity", "spot"}}}}}});
    manager_.StartInformers();
    manager_.StartControllers();
  }

  void Settle() { executor_.RunFor(10s); }

  void Submit(const std::string& queue = "lq") {
    Json job = Json::parse(R"({"apiVersion": "batch/v1", "kind": "Job",
      "metadata": {"name": "train", "namespace": "default"},
      "spec": {"suspend": true, "parallelism": 1, "completions": 1, "template": {
        "spec": {"nodeSelector": {"pool": "t4"}, "setHostnameAsFQDN": true, "restartPolicy": "Never",
                 "containers": [{"name": "c", "image": "i", "args": ["120s"],
                   "resources": {"requests": {"nvidia.com/gpu": 1}}}]}}}})");
    if (!queue.empty()) job["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", queue}};
    api_.Put(kJobs, job);
    Settle();
  }

  Json Job() { return *api_.Find(kJob); }
  std::string WorkloadPath() {
    for (const auto& request : api_.requests()) {
      if (request.method == "POST" && request.path == kWorkloads) {
        return std::string(kWorkloads) + "/" + request.body["metadata"]["name"].get<std::string>();
      }
    }
    ADD_FAILURE() << "no Workload was created";
    return "";
  }
  Json Workload() { return *api_.Find(WorkloadPath()); }
  void Condition(Json& workload, const std::string& type, const std::string& status,
                 const std::string& reason) {
    Json condition = {{"type", type},
                      {"status", status},
                      {"reason", reason},
                      {"message", "said by the test"},
                      {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
    for (Json& each : workload["status"]["conditions"]) {
      if (each["type"] == type) {
        each = condition;
        return;
      }
    }
    workload["status"]["conditions"].push_back(condition);
  }
  // Applies as the scheduler does, so that a later apply without the field removes it.
  void Admit() {
    Json workload = Workload();
    workload.erase("spec");
    workload["metadata"].erase("managedFields");
    workload["status"] = {
        {"admission",
         {{"clusterQueue", "cq"},
          {"podSetAssignments",
           {{{"name", "main"}, {"count", 1}, {"flavors", {{"nvidia.com/gpu", "spot"}}}}}}}}};
    Condition(workload, "QuotaReserved", "True", "QuotaReserved");
    Condition(workload, "Admitted", "True", "Admitted");
    const std::string name = workload["metadata"]["name"].get<std::string>();
    client_.Patch(
        api::KindOf<api::Workload>(), {"default", name}, kube::PatchType::kApply, workload,
        {.field_manager = "kueue-admission", .force = kube::Force::kYes, .subresource = "status"},
        [](const Result<kube::JsonPtr>& done) { EXPECT_TRUE(done); });
    Settle();
  }
  std::string StatusOf(const std::string& type) {
    const Json workload = Workload();
    for (const Json& each :
         workload.value("status", Json::object()).value("conditions", Json::array())) {
      if (each["type"] == type) {
        return each["status"].get<std::string>() + " " + each["reason"].get<std::string>();
      }
    }
    return "";
  }

  int Events(const std::string& reason) {
    int count = 0;
    for (const auto& request : api_.requests()) {
      const bool is_event = request.method == "POST" && request.path.ends_with("/events");
      if (is_event && request.body.value("reason", "") == reason) ++count;
    }
    return count;
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::EventRecorder events_{
      client_, clock_, {.controller = "kueue-job", .first_api = kube::EventApi::kCore}};
  kube::Manager manager_{client_, executor_};
  kube::Metrics metrics_;
  std::optional<JobControllers> controllers_;
};

TEST_F(JobReconcilerTest, CreatesAWorkloadForAJob) {
  Submit();
  EXPECT_NE(
      metrics_.Text().find("kueue_workload_creation_latency_seconds_count{job_kind=\"Job\"} 1"),
      std::string::npos)
      << metrics_.Text();
  const Json workload = Workload();
  EXPECT_EQ(workload["spec"]["queueName"], "lq");
  EXPECT_EQ(workload["metadata"]["ownerReferences"][0]["name"], "train");
  EXPECT_EQ(workload["metadata"]["ownerReferences"][0]["uid"], Job()["metadata"]["uid"]);
  const Json& pod_spec = workload["spec"]["podSets"][0]["template"]["spec"];
  EXPECT_EQ(pod_spec["setHostnameAsFQDN"], true) << "fields unknown to us survive";
  EXPECT_EQ(pod_spec["containers"][0]["args"][0], "120s");
  EXPECT_EQ(api_.CountWrites(), 2U) << "the Workload and its event";
}

// A Workload without owner is found by the job that names it, at once.
TEST_F(JobReconcilerTest, JobAdoptsItsPrebuiltWorkloadOnceItIsCreated) {
  const Json pod = {{"metadata", Json::object()},
                    {"spec",
                     {{"restartPolicy", "Never"},
                      {"containers",
                       {{{"name", "c"},
                         {"image", "i"},
                         {"resources", {{"requests", {{"nvidia.com/gpu", 1}}}}}}}}}}};
  for (const char* name : {"train", "other"}) {
    Json job = {
        {"apiVersion", "batch/v1"},
        {"kind", "Job"},
        {"metadata",
         {{"name", name},
          {"namespace", "default"},
          {"labels",
           {{"kueue.x-k8s.io/queue-name", "lq"},
            {"kueue.x-k8s.io/prebuilt-workload-name", std::string("for-") + name}}}}},
        {"spec", {{"suspend", true}, {"parallelism", 1}, {"completions", 1}, {"template", pod}}}};
    api_.Put(kJobs, std::move(job));
  }
  Settle();
  api_.Put(kWorkloads, {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                        {"kind", "Workload"},
                        {"metadata", {{"name", "for-train"}, {"namespace", "default"}}},
                        {"spec",
                         {{"queueName", "lq"},
                          {"podSets", {{{"name", "main"}, {"count", 1}, {"template", pod}}}}}}});
  executor_.RunFor(100ms);
  const Json workload = *api_.Find(std::string(kWorkloads) + "/for-train");
  EXPECT_EQ(workload["metadata"]["ownerReferences"][0]["name"], "train") << workload.dump(2);
}

// Simulation, hot-loop, seed 5134: the job was gone, its watch was late, and the garbage collector
// deleted its Workload as often as it was created again.
TEST_F(JobReconcilerTest, CreatesADeletedWorkloadAgainWithBackoff) {
  Submit();
  const std::string path = WorkloadPath();
  api_.Remove(path);
  executor_.RunFor(100ms);
  EXPECT_NE(api_.Find(path), nullptr) << "somebody has deleted it";
  int lost = 0;
  for (int i = 0; i < 200; ++i) {
    if (api_.Find(path) != nullptr) {
      api_.Remove(path);
      ++lost;
    }
    executor_.RunFor(100ms);
  }
  EXPECT_LE(lost, 5) << "in twenty seconds";
  EXPECT_GE(lost, 3);
}

// Simulation, hot-loop, seed 13002138.
TEST_F(JobReconcilerTest, StopsAJobThatIsStartedRepeatedlyWithBackoff) {
  Submit();
  int started = 0;
  for (int i = 0; i < 200; ++i) {
    Json job = Job();
    if (job["spec"]["suspend"] == true) {
      job["spec"]["suspend"] = false;
      api_.Put(kJobs, job);
      ++started;
    }
    executor_.RunFor(100ms);
  }
  EXPECT_EQ(started, StopPace::kBurst + 5) << "after 1, 2, 4 and 8 s, and once more";
}

TEST_F(JobReconcilerTest, IgnoresJobsWithoutAQueueAndInKubeSystem) {
  const Json pod = {
      {"spec", {{"restartPolicy", "Never"}, {"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
  api_.Put(kJobs, {{"metadata", {{"name", "mine"}, {"namespace", "default"}}},
                   {"spec", {{"suspend", false}, {"template", pod}}}});
  api_.Put("/apis/batch/v1/namespaces/kube-system/jobs",
           {{"metadata",
             {{"name", "sys"},
              {"namespace", "kube-system"},
              {"labels", {{"kueue.x-k8s.io/queue-name", "lq"}}}}},
            {"spec", {{"suspend", true}, {"template", pod}}}});
  Settle();
  EXPECT_EQ(api_.CountWrites(), 0U);
}

class JobsWithoutQueuesTest : public JobReconcilerTest {
 protected:
  JobReconcilerOptions Options() const override {
    JobReconcilerOptions options = JobReconcilerTest::Options();
    options.queue_name_rule = QueueNameRule::kManageWithoutName;
    return options;
  }
};

TEST_F(JobsWithoutQueuesTest, AChildOfAManagedJobGetsNoWorkload) {
  Submit("");
  const Json parent = Job();
  Json child = parent;
  child["metadata"] = {{"name", "child"},
                       {"namespace", "default"},
                       {"ownerReferences",
                        {{{"apiVersion", "batch/v1"},
                          {"kind", "Job"},
                          {"name", "train"},
                          {"uid", parent["metadata"]["uid"]},
                          {"controller", true}}}}};
  child["spec"].erase("selector");
  child["spec"]["template"].erase("metadata");
  child["status"] = Json::object();
  api_.Put(kJobs, child);
  Settle();
  int workloads = 0;
  for (const auto& request : api_.requests()) {
    workloads += request.method == "POST" && request.path == kWorkloads ? 1 : 0;
  }
  EXPECT_EQ(workloads, 1) << "the parent's";
}

TEST_F(JobReconcilerTest, StartsAnAdmittedJobWithItsFlavorsNodeSelector) {
  Submit();
  Admit();
  const Json job = Job();
  EXPECT_EQ(job["spec"]["suspend"], false);
  EXPECT_EQ(job["spec"]["template"]["spec"]["nodeSelector"],
            (Json{{"capacity", "spot"}, {"pool", "t4"}}));
  EXPECT_EQ(job["spec"]["template"]["metadata"]["labels"]["kueue.x-k8s.io/podset"], "main");
  const std::size_t writes = api_.CountWrites();
  Settle();
  EXPECT_EQ(api_.CountWrites(), writes) << "at rest nothing is written";
}

TEST_F(JobReconcilerTest, EvictionRestoresTheTemplateAndReleasesTheQuota) {
  Submit();
  Admit();
  Json job = Job();
  job["status"] = {{"startTime", "2026-01-01T00:00:00Z"}, {"active", 1}};
  api_.Put(kJobs, job);
  Json workload = Workload();
  Condition(workload, "Evicted", "True", "Preempted");
  api_.Put(kWorkloads, workload);
  Settle();
  EXPECT_EQ(Job()["spec"]["suspend"], true);
  EXPECT_FALSE(Job()["status"].contains("startTime"));
  EXPECT_EQ(StatusOf("QuotaReserved"), "True QuotaReserved") << "a pod is still there";
  job = Job();
  job["status"]["active"] = 0;
  api_.Put(kJobs, job);
  Settle();
  EXPECT_EQ(Job()["spec"]["template"]["spec"]["nodeSelector"], (Json{{"pool", "t4"}}));
  EXPECT_FALSE(
      Job()["metadata"].value("annotations", Json::object()).contains("kueue.x-k8s.io/stopping"));
  EXPECT_EQ(StatusOf("QuotaReserved"), "False PendingEvaluation");
  EXPECT_EQ(StatusOf("Admitted"), "False NoReservation");
  EXPECT_EQ(StatusOf("Requeued"), "True Preempted");
  EXPECT_FALSE(Workload()["status"].contains("admission"));
}

TEST_F(JobReconcilerTest, ACrashBetweenTheWritesOfAStopLosesNothing) {
  Submit();
  Admit();
  Json workload = Workload();
  Condition(workload, "Evicted", "True", "Preempted");
  Condition(workload, "Admitted", "False", "NoReservation");
  api_.FailNext(std::string("PATCH ") + kJob, 500, kube::RegistryTransport::Effect::kDone);
  api_.Put(kWorkloads, workload);
  Settle();
  EXPECT_EQ(Job()["spec"]["suspend"], true);
  EXPECT_EQ(Job()["spec"]["template"]["spec"]["nodeSelector"], (Json{{"pool", "t4"}}));
  EXPECT_FALSE(
      Job()["metadata"].value("annotations", Json::object()).contains("kueue.x-k8s.io/stopping"));
}

TEST_F(JobReconcilerTest, RefusedStatusWriteEmitsAnEventAndIsRetried) {
  Submit();
  Admit();
  Json workload = Workload();
  Condition(workload, "Evicted", "True", "Preempted");
  for (int i = 0; i < 2; ++i) api_.FailNext("PATCH " + WorkloadPath() + "/status", 422);
  api_.Put(kWorkloads, workload);
  executor_.RunFor(60s);
  std::set<std::string> notes;
  for (const auto& request : api_.requests()) {
    if (request.method == "POST" && request.path.ends_with("/events") &&
        request.body.value("reason", "") == "WriteRefused") {
      notes.insert(request.body.value("message", ""));
    }
  }
  ASSERT_EQ(notes.size(), 1U) << "a repetition is a series";
  EXPECT_THAT(*notes.begin(), ::testing::HasSubstr("The API server refused a write"));
  EXPECT_EQ(StatusOf("QuotaReserved"), "False PendingEvaluation");
}

class ReviewedWorkloadTest : public JobReconcilerTest {
 protected:
  JobReconcilerOptions Options() const override {
    JobReconcilerOptions options = JobReconcilerTest::Options();
    options.review = [](const api::Workload& workload) {
      return workload.spec.queue_name == "lq" ? "" : "spec.queueName: unknown";
    };
    return options;
  }
  std::size_t Posts(std::string_view ending, std::string_view reason) const {
    return static_cast<std::size_t>(
        std::count_if(api_.requests().begin(), api_.requests().end(), [&](const auto& request) {
          return request.method == "POST" && request.path.ends_with(ending) &&
                 request.body.value("reason", "") == reason;
        }));
  }
};

TEST_F(ReviewedWorkloadTest, AWorkloadWithoutAFaultIsCreated) {
  Submit();
  EXPECT_EQ(Posts("/workloads", ""), 1U);
  EXPECT_EQ(Posts("/events", "ErrWorkloadCompose"), 0U);
}

TEST_F(ReviewedWorkloadTest, WorkloadWithAFaultEmitsAnEventAndIsNotCreated) {
  Submit("other");
  executor_.RunFor(60s);
  EXPECT_EQ(Posts("/workloads", ""), 0U);
  EXPECT_EQ(Posts("/events", "ErrWorkloadCompose"), 1U);
}

TEST_F(JobReconcilerTest, ConflictOfAStartIsRetried) {
  Submit();
  api_.FailNext(std::string("PATCH ") + kJob, 409);
  Admit();
  EXPECT_EQ(Job()["spec"]["suspend"], false);
}

TEST_F(JobReconcilerTest, StartEmitsOneEventWhateverItsAnswer) {
  using Effect = kube::RegistryTransport::Effect;
  Submit();
  Admit();
  EXPECT_EQ(Events("Started"), 1);
  for (const auto& [status, effect] : {std::pair{0, Effect::kDone},
                                       {0, Effect::kNone},
                                       {500, Effect::kDone},
                                       {409, Effect::kNone}}) {
    api_.Remove(kJob);
    Settle();
    api_.ClearRequests();
    Submit();
    api_.FailNext(std::string("PATCH ") + kJob, status, effect);
    Admit();
    EXPECT_EQ(Job()["spec"]["suspend"], false);
    Json job = Job();
    job["status"] = {{"startTime", "2026-01-01T00:00:00Z"}, {"active", 1}};
    api_.Put(kJobs, job);
    Settle();
    EXPECT_EQ(Events("Started"), 1) << status << (effect == Effect::kDone ? ", done" : "");
  }
}

// A job that its user has suspended meanwhile has no start to tell.
// Simulation, released-while-running, seed 13001039.
TEST_F(JobReconcilerTest, StartWithoutAnAnswerKeepsTheEvictedJobsQuota) {
  Submit();
  Json job = Job();
  job["spec"]["suspend"] = false;  // a stop precedes the start
  api_.Put(kJobs, job);
  Settle();
  ASSERT_EQ(Job()["spec"]["suspend"], true);
  api_.MuteWatches("/apis/batch/v1/jobs");
  api_.FailNext(std::string("PATCH ") + kJob, 0, kube::RegistryTransport::Effect::kDone);
  Admit();
  ASSERT_EQ(Job()["spec"]["suspend"], false);
  Json workload = Workload();
  Condition(workload, "Evicted", "True", "Preempted");
  api_.Put(kWorkloads, workload);
  executor_.RunFor(1s);
  EXPECT_EQ(StatusOf("QuotaReserved"), "True QuotaReserved");
}

TEST_F(JobReconcilerTest, FailedStartEmitsNoEvent) {
  Submit();
  for (int i = 0; i < 20; ++i) api_.FailNext(std::string("PATCH ") + kJob, 500);
  Admit();
  Json job = Job();
  EXPECT_EQ(job["spec"]["suspend"], true);
  job["metadata"]["labels"]["example.com/seen"] = "yes";
  api_.Put(kJobs, job);
  executor_.RunFor(1s);
  EXPECT_EQ(Events("Started"), 0);
}

TEST_F(JobReconcilerTest, FindsAWorkloadWhoseCreationHadNoAnswer) {
  api_.FailNext(std::string("POST ") + kWorkloads, 0, kube::RegistryTransport::Effect::kDone);
  Submit();
  EXPECT_FALSE(Workload().is_null());
  Admit();
  EXPECT_EQ(StatusOf("PodsReady"), "False WaitForStart");
}

TEST_F(JobReconcilerTest, FinishedJobFinishesItsWorkload) {
  Submit();
  Admit();
  Json job = Job();
  job["status"] = {{"startTime", "2026-01-01T00:00:00Z"},
                   {"completionTime", "2026-01-01T00:00:01Z"},
                   {"succeeded", 1},
                   {"conditions",
                    {{{"type", "SuccessCriteriaMet"}, {"status", "True"}},
                     {{"type", "Complete"}, {"status", "True"}}}}};
  api_.Put(kJobs, job);
  Settle();
  EXPECT_EQ(StatusOf("Finished"), "True Succeeded");
}

TEST_F(JobReconcilerTest, DeletedJobFinishesAndReleasesItsWorkload) {
  Submit();
  const std::string path = WorkloadPath();
  api_.Remove(kJob);
  Settle();
  EXPECT_EQ(StatusOf("Finished"), "True OwnerNotFound");
  const Json* workload = api_.Find(path);
  EXPECT_TRUE(workload == nullptr || !workload->at("metadata").contains("finalizers") ||
              workload->at("metadata")["finalizers"].empty());
}

// `--cascade=orphan`, which is also the default of the API for Jobs: the garbage collector removes
// the finalizer later.
TEST_F(JobReconcilerTest, JobUnderDeletionFinishesAndReleasesItsWorkload) {
  Submit();
  Admit();
  Json job = Job();
  job["metadata"]["finalizers"] = {"orphan"};
  api_.Put(kJobs, job);
  client_.Delete(api::KindOf<api::Job>(), {"default", "train"}, {}, [](const berth::Status&) {});
  Settle();
  ASSERT_TRUE(Job()["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(StatusOf("Finished"), "True OwnerNotFound");
  EXPECT_TRUE(Workload()["metadata"].value("finalizers", Json::array()).empty()) << Workload();
}

TEST_F(JobReconcilerTest, RestartReleasesTheWorkloadOfADeletedJob) {
  Submit();
  const std::string path = WorkloadPath();
  manager_.Stop();
  api_.Remove(kJob);
  Settle();
  ASSERT_NE(api_.Find(path), nullptr);
  kube::Manager next(client_, executor_);
  const JobControllers controllers(
      next, clock_, events_, {.job = {.namespace_selector = DefaultManagedNamespaces("kueue")}});
  next.StartInformers();
  next.StartControllers();
  Settle();
  const Json* workload = api_.Find(path);
  EXPECT_TRUE(workload == nullptr || !workload->at("metadata").contains("finalizers") ||
              workload->at("metadata")["finalizers"].empty());
}

TEST_F(JobReconcilerTest, AnEditOfAWaitingJobUpdatesItsWorkload) {
  Submit();
  Json job = Job();
  job["spec"]["template"]["spec"]["nodeSelector"] = {{"pool", "a100"}};
  job["spec"]["parallelism"] = 1;
  api_.Put(kJobs, job);
  Settle();
  EXPECT_EQ(Workload()["spec"]["podSets"][0]["template"]["spec"]["nodeSelector"],
            (Json{{"pool", "a100"}}));
}

}  // namespace
}  // namespace berth::integrations
