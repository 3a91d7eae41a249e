// Goal: scheduler, job controller and provisioning controller together bring a Job from submission
// to its end through queued provisioning, and through a failure with its back-off.
// Method: all controllers on the real API in memory, in virtual time; the test plays the cloud and
// the Job controller of Kubernetes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "admission/controller/admission_controllers.h"
#include "base/rfc3339.h"
#include "integrations/controller/job_controllers.h"
#include "provisioning/controller/provisioning_controllers.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr char kKueue[] = "/apis/kueue.x-k8s.io/v1beta2/";
constexpr char kJobs[] = "/apis/batch/v1/namespaces/default/jobs";
constexpr char kRequests[] =
    "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests";
constexpr char kWorkloads[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";

class DwsStoryTest : public ::testing::Test {
 protected:
  DwsStoryTest() {
    api_.Put("/api/v1/namespaces",
             {{"metadata",
               {{"name", "default"}, {"labels", {{"kubernetes.io/metadata.name", "default"}}}}}});
    PutKueue("resourceflavors", R"({"metadata": {"name": "default-flavor"}, "spec": {}})");
    PutKueue("admissionchecks", R"({"metadata": {"name": "dws-prov"}, "spec": {
      "controllerName": "kueue.x-k8s.io/provisioning-request",
      "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig",
                     "name": "dws-config"}}})");
    PutKueue("provisioningrequestconfigs", R"({"metadata": {"name": "dws-config"}, "spec": {
      "provisioningClassName": "queued-provisioning.gke.io",
      "managedResources": ["nvidia.com/gpu"]}})");
    PutKueue("clusterqueues", R"({"metadata": {"name": "dws-cluster-queue"}, "spec": {
      "namespaceSelector": {},
      "admissionChecksStrategy": {"admissionChecks": [{"name": "dws-prov"}]},
      "resourceGroups": [{"coveredResources": ["cpu", "memory", "nvidia.com/gpu"], "flavors": [
        {"name": "default-flavor", "resources": [
          {"name": "cpu", "nominalQuota": "1000000000"},
          {"name": "memory", "nominalQuota": "1000000000Gi"},
          {"name": "nvidia.com/gpu", "nominalQuota": "1000000000"}]}]}]}})");
    api_.Put("/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues",
             Json::parse(R"({"metadata": {"name": "dws-local-queue", "namespace": "default"},
                             "spec": {"clusterQueue": "dws-cluster-queue"}})"));
    manager_.StartInformers();
    manager_.StartControllers();
    executor_.RunFor(5s);
  }
  ~DwsStoryTest() override { manager_.Stop(); }

  void PutKueue(const std::string& plural, const char* text) {
    api_.Put(kKueue + plural, Json::parse(text));
  }

  void Submit() {
    api_.Put(kJobs, Json::parse(R"({"apiVersion": "batch/v1", "kind": "Job",
      "metadata": {"name": "sample-job", "namespace": "default",
                   "labels": {"kueue.x-k8s.io/queue-name": "dws-local-queue"}},
      "spec": {"suspend": true, "parallelism": 1, "completions": 1, "template": {"spec": {
        "nodeSelector": {"cloud.google.com/gke-nodepool": "dws-t4-nodepool"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "restartPolicy": "Never", "containers": [{"name": "dummy-job", "image": "sleep",
          "resources": {"requests": {"cpu": "100m", "memory": "100Mi", "nvidia.com/gpu": 1}}}]}}}})"));
    executor_.RunFor(2s);
  }

  Json Only(const std::string& collection) {
    Json found;
    for (const auto& request : api_.requests()) {
      if (request.method != "POST" || request.path != collection) continue;
      const Json* object =
          api_.Find(collection + "/" + request.body["metadata"]["name"].get<std::string>());
      if (object != nullptr) found = *object;
    }
    return found;
  }
  Json Job() { return *api_.Find(std::string(kJobs) + "/sample-job"); }
  Json Workload() { return Only(kWorkloads); }
  Json Request() { return Only(kRequests); }
  std::string StatusOf(const std::string& type) {
    const Json workload = Workload();
    for (const Json& each : workload["status"]["conditions"]) {
      if (each["type"] == type) {
        return each["status"].get<std::string>() + " " + each["reason"].get<std::string>();
      }
    }
    return "";
  }
  void Answer(const std::string& type, const std::string& status, const std::string& reason,
              const std::string& message) {
    Json request = Request();
    ASSERT_FALSE(request.is_null());
    request["status"]["conditions"].push_back({{"type", type},
                                               {"status", status},
                                               {"reason", reason},
                                               {"message", message},
                                               {"lastTransitionTime", Now()}});
    api_.Put(kRequests, request);
    executor_.RunFor(2s);
  }
  std::string Now() { return FormatTime(clock_.Now()); }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::EventRecorder events_{
      client_, clock_, {.controller = "kueue", .first_api = kube::EventApi::kCore}};
  kube::Metrics metrics_;
  kube::Manager manager_{client_, executor_};
  admission::AdmissionControllers admission_{manager_, clock_, events_, metrics_, {}};
  integrations::JobControllers jobs_{
      manager_,
      clock_,
      events_,
      {.job = {.namespace_selector = integrations::DefaultManagedNamespaces("kueue-system")}}};
  provisioning::ProvisioningControllers provisioning_{manager_, clock_, events_, {}};
};

TEST_F(DwsStoryTest, JobIsQueuedProvisionedStartedAndFinished) {
  Submit();
  EXPECT_EQ(StatusOf("QuotaReserved"), "True QuotaReserved") << Workload().dump(1);
  ASSERT_FALSE(Request().is_null()) << Workload().dump(1);
  Answer("Accepted", "True", "SuccessfullyQueued", "queued");
  Answer("Provisioned", "False", "ResourcePoolExhausted", "Waiting for resources.");
  EXPECT_EQ(Workload()["status"]["admissionChecks"][0]["message"], "Waiting for resources.");
  EXPECT_EQ(Job()["spec"]["suspend"], true);
  Json request = Request();
  request["status"]["conditions"][1]["status"] = "True";
  request["status"]["conditions"][1]["reason"] = "Provisioned";
  api_.Put(kRequests, request);
  executor_.RunFor(3s);
  EXPECT_EQ(StatusOf("Admitted"), "True Admitted") << Workload().dump(1);
  EXPECT_EQ(Job()["spec"]["suspend"], false);
  const Json pods = Job()["spec"]["template"];
  EXPECT_EQ(pods["metadata"]["annotations"]["autoscaling.x-k8s.io/consume-provisioning-request"],
            Request()["metadata"]["name"]);
  EXPECT_EQ(pods["spec"]["tolerations"].size(), 2U);
  Json job = Job();
  job["status"] = {{"startTime", Now()},
                   {"completionTime", Now()},
                   {"succeeded", 1},
                   {"conditions",
                    {{{"type", "SuccessCriteriaMet"}, {"status", "True"}},
                     {{"type", "Complete"}, {"status", "True"}}}}};
  api_.Put(kJobs, job);
  executor_.RunFor(3s);
  EXPECT_EQ(StatusOf("Finished"), "True Succeeded");
  EXPECT_TRUE(Request().is_null());
}

TEST_F(DwsStoryTest, FailedRequestReleasesQuotaAndRetriesAfterTheBackoff) {
  Submit();
  executor_.RunFor(300s);
  Answer("Failed", "True", "QuotaExceeded", "No quota.");
  executor_.RunFor(3s);
  EXPECT_EQ(StatusOf("Evicted"), "True AdmissionCheck") << Workload().dump(1);
  EXPECT_EQ(StatusOf("QuotaReserved").substr(0, 5), "False") << Workload().dump(1);
  EXPECT_TRUE(Request().is_null());
  executor_.RunFor(50s);
  EXPECT_EQ(StatusOf("QuotaReserved").substr(0, 5), "False") << "backs off";
  executor_.RunFor(15s);
  EXPECT_EQ(StatusOf("QuotaReserved").substr(0, 4), "True") << Workload().dump(1);
  ASSERT_FALSE(Request().is_null());
  EXPECT_THAT(Request()["metadata"]["name"].get<std::string>(), HasSubstr("-dws-prov-2"));
  EXPECT_EQ(Workload()["status"]["admissionChecks"][0]["retryCount"], 1);
}

TEST_F(DwsStoryTest, RevokedCapacityStopsTheJobAndDeactivates) {
  Submit();
  Answer("Provisioned", "True", "Provisioned", "there");
  EXPECT_EQ(Job()["spec"]["suspend"], false) << Workload().dump(1);
  Answer("CapacityRevoked", "True", "CapacityRevoked", "reclaimed");
  executor_.RunFor(5s);
  EXPECT_EQ(Job()["spec"]["suspend"], true) << Workload().dump(1);
  EXPECT_EQ(Workload()["spec"]["active"], false);
  EXPECT_EQ(Job()["spec"]["template"]["spec"]["tolerations"].size(), 1U) << "restored";
  EXPECT_TRUE(Request().is_null());
}

}  // namespace
}  // namespace berth
