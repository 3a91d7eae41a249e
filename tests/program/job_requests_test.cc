// Goal: Berth sends the API server no request for a Job whose effect is already there: the list of
// its requests for one Job is short, and known. Method: all controllers of Berth on the real API in
// memory, in virtual time; the test plays the Job controller. Each request of the Job's life is
// compared.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "admission/controller/configuration/configuration.h"
#include "api/codec/admission_status.h"
#include "api/codec/codec.h"
#include "api/reasons.h"
#include "kube/runtime/events.h"
#include "kube/runtime/metrics.h"
#include "program/controller_set.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr char kKueue[] = "/apis/kueue.x-k8s.io/v1beta2/";
constexpr char kJobs[] = "/apis/batch/v1/namespaces/team/jobs";
constexpr char kJob[] = "/apis/batch/v1/namespaces/team/jobs/train";

class JobRequestsTest : public ::testing::Test {
 protected:
  explicit JobRequestsTest(admission::Configuration configuration = {})
      : configuration_(std::move(configuration)) {
    manager_.StartInformers();
    manager_.StartControllers();
    const std::string root = kKueue;
    api_.Put(root + "resourceflavors", {{"metadata", {{"name", "default"}}}});
    api_.Put(root + "clusterqueues",
             Json::parse(R"({"metadata": {"name": "cq"}, "spec": {"namespaceSelector": {},
               "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "default",
                 "resources": [{"name": "cpu", "nominalQuota": 4}]}]}]}})"));
    api_.Put(root + "namespaces/team/localqueues",
             {{"metadata", {{"name", "lq"}}}, {"spec", {{"clusterQueue", "cq"}}}});
    executor_.RunFor(10s);
    api_.ClearRequests();
  }
  ~JobRequestsTest() override { manager_.Stop(); }

  void Create(const std::string& name) {
    Json job = Json::parse(R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "lq"}},
      "spec": {"suspend": true, "parallelism": 1, "completions": 1, "template": {"spec":
        {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i",
          "resources": {"requests": {"cpu": 1}}}]}}}})");
    job["metadata"]["name"] = name;
    api_.Put(kJobs, job);
  }
  void Submit() {
    Create("train");
    executor_.RunFor(5s);
  }
  void SetJobStatus(const Json& status) {
    Json job = *api_.Find(kJob);
    job["status"] = status;
    api_.Put(kJobs, job);
    executor_.RunFor(5s);
  }
  void Finish() {
    SetJobStatus({{"startTime", "2026-01-01T00:00:00Z"},
                  {"completionTime", "2026-01-01T00:00:01Z"},
                  {"succeeded", 1},
                  {"conditions",
                   {{{"type", "SuccessCriteriaMet"}, {"status", "True"}},
                    {{"type", "Complete"}, {"status", "True"}}}}});
  }

  // Requests about the Job and its Workload since the last call, in their order.
  std::vector<std::string> Requests() {
    std::vector<std::string> found;
    for (const auto& request : api_.requests()) {
      const bool is_about_job = request.path.find("/workloads") != std::string::npos ||
                                request.path.find("/jobs") != std::string::npos;
      if (request.query.find("watch=") != std::string::npos || !is_about_job) continue;
      const auto manager = request.query.find("fieldManager=");
      std::string line = request.method + " ";
      line += request.path.find("/jobs") != std::string::npos ? "job" : "workload";
      if (request.path.ends_with("/status")) line += "/status";
      if (manager != std::string::npos) {
        const std::string rest = request.query.substr(manager + 13);
        line += " by " + rest.substr(0, rest.find('&'));
      }
      found.push_back(line);
    }
    return found;
  }
  std::vector<std::string> Events() {
    std::vector<std::string> found;
    for (const auto& request : api_.requests()) {
      if (request.path.ends_with("/events")) found.push_back(request.body["reason"]);
    }
    return found;
  }
  std::size_t QueueWrites() {
    std::size_t count = 0;
    for (const auto& request : api_.requests()) {
      count += request.path.find("queues/") != std::string::npos && request.method != "GET" ? 1 : 0;
    }
    return count;
  }
  Json Workload() {
    for (const auto& request : api_.requests()) {
      if (request.method != "POST" || !request.path.ends_with("/workloads")) continue;
      workload_ = request.path + "/" + request.body["metadata"]["name"].get<std::string>();
    }
    return *api_.Find(workload_);
  }
  std::vector<std::string> Conditions() {
    std::vector<std::string> found;
    const Json workload = Workload();
    for (const Json& each : workload["status"]["conditions"]) {
      found.push_back(each["type"].get<std::string>() + "=" + each["status"].get<std::string>());
    }
    return found;
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::Manager manager_{client_, executor_};
  kube::EventRecorder events_{
      client_, clock_, {.controller = "kueue", .first_api = kube::EventApi::kCore}};
  kube::Metrics metrics_;
  const admission::Configuration configuration_;
  program::ControllerSet controllers_{manager_, clock_, events_, metrics_, configuration_};
  std::string workload_;
};

TEST_F(JobRequestsTest, JobFromCreationToEndMakesTheseRequests) {
  Submit();
  EXPECT_THAT(Requests(),
              ElementsAre("POST workload by berth", "PATCH workload/status by kueue-admission",
                          "PATCH job by berth"));
  EXPECT_THAT(Conditions(), ElementsAre("QuotaReserved=True", "Admitted=True", "PodsReady=False"));
  SetJobStatus({{"startTime", "2026-01-01T00:00:00Z"}, {"active", 1}, {"ready", 1}});
  Finish();
  EXPECT_THAT(
      Requests(),
      ElementsAre("POST workload by berth", "PATCH workload/status by kueue-admission",
                  "PATCH job by berth", "PATCH workload/status by kueue-job-controller-PodsReady",
                  "PATCH workload/status by kueue-job-controller-Finished",
                  "PATCH workload by berth"));
  EXPECT_THAT(Events(),
              UnorderedElementsAre("CreatedWorkload", "Admitted", "Started", "FinishedWorkload"));
  EXPECT_LE(QueueWrites(), 6U) << "of both queues: pending, admitted, finished";
  EXPECT_THAT(Conditions(), ElementsAre("QuotaReserved=True", "Admitted=True", "PodsReady=True",
                                        "Finished=True"));
}

TEST_F(JobRequestsTest, StagesOfAJobReplaceOneAnotherWhereEventsWait) {
  api_.set_latency(500ms);
  for (int i = 0; i < 200; ++i) {
    events_.Record(
        {"v1", "Pod", {"team", "p" + std::to_string(i)}, "uid-" + std::to_string(i), "1"},
        kube::EventType::kNormal, "Busy", "", "one of many");
  }
  Submit();
  SetJobStatus({{"startTime", "2026-01-01T00:00:00Z"}, {"active", 1}, {"ready", 1}});
  Finish();
  executor_.RunFor(2min);
  std::vector<std::string> told = Events();
  std::erase(told, "Busy");
  EXPECT_THAT(told, UnorderedElementsAre("Admitted", "FinishedWorkload"));
}

// The condition that the admission wrote is the job controller's from its first report on: later
// writes of the admission neither set it back nor remove it.
TEST_F(JobRequestsTest, PodsReadySurvivesLaterWritesOfTheAdmission) {
  const auto apply_again = [this] {
    const auto stored = api::Decode<api::Workload>(Workload());
    ASSERT_TRUE(stored);
    client_.Patch(api::KindOf<api::Workload>(), stored->meta.key(), kube::PatchType::kApply,
                  api::AdmissionStatusPatch(*stored, stored->status),
                  {.field_manager = api::kAdmissionManager,
                   .force = kube::Force::kYes,
                   .subresource = "status"},
                  [](const Result<kube::JsonPtr>& done) { EXPECT_TRUE(done); });
    executor_.RunFor(1s);
  };
  Submit();
  apply_again();
  EXPECT_THAT(Conditions(), ElementsAre("QuotaReserved=True", "Admitted=True", "PodsReady=False"));
  SetJobStatus({{"startTime", "2026-01-01T00:00:00Z"}, {"active", 1}, {"ready", 1}});
  apply_again();
  EXPECT_THAT(Conditions(), ElementsAre("QuotaReserved=True", "Admitted=True", "PodsReady=True"));
  SetJobStatus({{"startTime", "2026-01-01T00:00:00Z"}, {"active", 1}, {"ready", 0}});
  apply_again();
  EXPECT_THAT(Conditions(), ElementsAre("QuotaReserved=True", "Admitted=True", "PodsReady=False"));
}

// The Workloads of four Jobs. Events and requests take four seconds each.
class ConcurrencyTest : public JobRequestsTest {
 protected:
  using JobRequestsTest::JobRequestsTest;

  // Creations under way at once.
  std::size_t Creations() {
    api_.set_latency(4s);
    for (const char* name : {"a", "b", "c", "d"}) Create(name);
    executor_.RunFor(10s);
    const std::vector<std::string> requests = Requests();
    return static_cast<std::size_t>(
        std::count(requests.begin(), requests.end(), "POST workload by berth"));
  }
};

class OneAtATimeTest : public ConcurrencyTest {
 protected:
  OneAtATimeTest() : ConcurrencyTest(OneJobAtATime()) {}
  static admission::Configuration OneJobAtATime() {
    admission::Configuration configuration;
    configuration.program.concurrency["Job.batch"] = 1;
    return configuration;
  }
};

TEST_F(ConcurrencyTest, JobsAreReconciledConcurrently) { EXPECT_EQ(Creations(), 4U); }
TEST_F(OneAtATimeTest, JobsAreReconciledOneByOne) { EXPECT_EQ(Creations(), 1U); }

}  // namespace
}  // namespace berth
