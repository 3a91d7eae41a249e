// Goal: a Workload with quota gets templates and a request through the API, its check follows the
// request, and faults of the API change nothing about the end.
// Method: both reconcilers on the real API in memory, in virtual time; the test plays queue and
// cloud.
#include "provisioning/controller/provisioning_controllers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::provisioning {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Effect = kube::RegistryTransport::Effect;

constexpr char kKueue[] = "/apis/kueue.x-k8s.io/v1beta2/";
constexpr char kWorkloads[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
constexpr char kRequests[] =
    "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests";
constexpr char kAllRequests[] = "/apis/autoscaling.x-k8s.io/v1/provisioningrequests";
constexpr char kAllPolicies[] = "/apis/provisioning.berth.dev/v1alpha1/provisioningpolicies";
constexpr char kTemplates[] = "/api/v1/namespaces/default/podtemplates";

class ProvisioningControllersTest : public ::testing::Test {
 protected:
  ProvisioningControllersTest() : ProvisioningControllersTest(nullptr) {}

  // The API server lacks the kind of the collection `missing`; null: it has all kinds.
  explicit ProvisioningControllersTest(const char* missing) {
    if (missing != nullptr) api_.SetMissing(missing, true);
    api_.Put(kKueue + std::string("admissionchecks"), Json::parse(R"({
      "metadata": {"name": "dws-prov"},
      "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request",
               "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig",
                              "name": "dws-config"}}})"));
    PutConfig();
    manager_.StartInformers();
    manager_.StartControllers();
    Settle();
  }

  void PutConfig(const Json& parameters = Json::object()) {
    api_.Put(kKueue + std::string("provisioningrequestconfigs"),
             {{"metadata", {{"name", "dws-config"}}},
              {"spec",
               {{"provisioningClassName", "queued-provisioning.gke.io"},
                {"managedResources", {"nvidia.com/gpu"}},
                {"parameters", parameters}}}});
  }
  void Settle() { executor_.RunFor(10s); }

  void GiveQuota() {
    api_.Put(kWorkloads, Json::parse(R"({"apiVersion": "kueue.x-k8s.io/v1beta2",
      "kind": "Workload", "metadata": {"name": "wl", "namespace": "default"},
      "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1, "template": {"spec": {
        "nodeSelector": {"pool": "t4"}, "volumes": [{"name": "v"}],
        "containers": [{"name": "c", "image": "i",
                        "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}]},
      "status": {
        "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved",
                        "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "admission": {"clusterQueue": "cq", "podSetAssignments": [
          {"name": "main", "count": 1, "flavors": {"nvidia.com/gpu": "gpu"}}]},
        "admissionChecks": [{"name": "dws-prov", "state": "Pending", "message": "",
                             "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})"));
    Settle();
  }

  Json Get(const std::string& path) {
    const Json* found = api_.Find(path);
    return found != nullptr ? *found : Json();
  }
  Json Request(int attempt = 1) {
    return Get(std::string(kRequests) + "/wl-dws-prov-" + std::to_string(attempt));
  }
  Json Template(int attempt = 1) {
    return Get(std::string(kTemplates) + "/ppt-wl-dws-prov-" + std::to_string(attempt) + "-main");
  }
  Json Check() { return Get(std::string(kWorkloads) + "/wl")["status"]["admissionChecks"][0]; }

  void Answer(const std::string& type, const std::string& status, const std::string& reason,
              const std::string& message, int attempt = 1) {
    Json request = Request(attempt);
    request["status"]["conditions"].push_back({{"type", type},
                                               {"status", status},
                                               {"reason", reason},
                                               {"message", message},
                                               {"lastTransitionTime", "2026-01-01T00:00:10Z"}});
    api_.Put(kRequests, request);
    Settle();
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::EventRecorder events_{
      client_, clock_, {.controller = "kueue-provisioning", .first_api = kube::EventApi::kCore}};
  kube::Manager manager_{client_, executor_};
  kube::Metrics metrics_;
  ProvisioningControllers controllers_{manager_, clock_, events_, {.metrics = &metrics_}};
};

TEST_F(ProvisioningControllersTest, TheCheckIsActiveWhileItsConfigExists) {
  const auto active = [this] {
    return Get(kKueue + std::string("admissionchecks/dws-prov"))["status"]["conditions"][0];
  };
  EXPECT_EQ(active()["status"], "True");
  EXPECT_EQ(active()["reason"], "Active");
  api_.Remove(kKueue + std::string("provisioningrequestconfigs/dws-config"));
  Settle();
  EXPECT_EQ(active()["status"], "False");
  EXPECT_EQ(active()["reason"], "BadParametersRef");
  EXPECT_THAT(active()["message"].get<std::string>(), HasSubstr("\"dws-config\" not found"));
  PutConfig();
  Settle();
  EXPECT_EQ(active()["status"], "True");
}

TEST_F(ProvisioningControllersTest, RequestsAreCountedByTheirAnswers) {
  const auto value = [this](const std::string& series) {
    const std::string text = "\n" + metrics_.Text();
    const std::size_t at = text.find("\n" + series + " ");
    return at == std::string::npos ? "none" : text.substr(at + series.size() + 2, 1);
  };
  const std::string of_class = "provisioning_class=\"queued-provisioning.gke.io\"";
  const auto answered = [&](const std::string& outcome) {
    return value("berth_capacity_requests_answered_total{outcome=\"" + outcome + "\"," + of_class +
                 "}");
  };
  GiveQuota();
  EXPECT_EQ(value("berth_capacity_requests_open{" + of_class + "}"), "1");
  Answer("Failed", "True", "OutOfResources", "no GPUs");
  EXPECT_EQ(value("berth_capacity_requests_open{" + of_class + "}"), "0");
  EXPECT_EQ(answered("OutOfResources"), "1");
  EXPECT_EQ(value("berth_capacity_request_wait_duration_seconds_count{outcome=\"OutOfResources\"," +
                  of_class + "}"),
            "1");
  api_.Put(kRequests, {{"metadata", {{"name", "of-another-client"}}},
                       {"spec",
                        {{"provisioningClassName", "queued-provisioning.gke.io"},
                         {"podSets", {{{"podTemplateRef", {{"name", "t"}}}, {"count", 1}}}}}}});
  Settle();
  api_.Remove(std::string(kRequests) + "/of-another-client");
  Settle();
  EXPECT_EQ(answered("withdrawn"), "1");
  EXPECT_EQ(answered("provisioned"), "none");
}

TEST_F(ProvisioningControllersTest, MetricsShowTheOldestRequestAndCountStepsPassedOver) {
  const std::string oldest = "berth_capacity_oldest_request_timestamp_seconds{";
  GiveQuota();
  EXPECT_THAT(metrics_.Text(), HasSubstr(oldest));
  Answer("Failed", "True", "OutOfResources", "no GPUs");
  EXPECT_THAT(metrics_.Text(), testing::Not(HasSubstr(oldest)));
  const std::string path = kWorkloads + std::string("/wl");
  Json workload = Get(path);
  workload["status"]["admissionChecks"][0]["message"] =
      "No step may request capacity: step a (NeverFits): x; step b (NeverFits): y; step c "
      "(BudgetExceeded): z";
  api_.Put(kWorkloads, workload);
  Settle();
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("berth_capacity_steps_passed_over_total{reason=\"NeverFits\"} 2"));
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("berth_capacity_steps_passed_over_total{reason=\"BudgetExceeded\"} 1"));
}

TEST_F(ProvisioningControllersTest, MetricsShowRestsAndLeases) {
  kube::Metrics shown;
  CapacityMetrics metrics(manager_, shown, clock_);
  const WallTime until(std::chrono::seconds(1'800'000'000));
  api::ClassStock stock{{.key = {.flavor = "spot", .zone = "a", .size = 1}, .rest_until = until},
                        {.key = {.flavor = "spot", .zone = "a", .size = 2},
                         .rest_until = until - std::chrono::hours(1)},
                        {.key = {.flavor = "spot", .zone = "b", .size = 1}}};
  metrics.OnStock("q", stock);
  const std::string rests = "berth_capacity_rest_until_timestamp_seconds{";
  EXPECT_THAT(shown.Text(),
              HasSubstr(rests + "flavor=\"spot\",provisioning_class=\"q\",zone=\"a\"} "
                                "1800000000"));
  EXPECT_THAT(shown.Text(), testing::Not(HasSubstr("zone=\"b\"")));
  stock[0].rest_until = stock[1].rest_until = WallTime{};
  metrics.OnStock("q", stock);
  EXPECT_THAT(shown.Text(), testing::Not(HasSubstr(rests)));
  metrics.OnLeases(3);
  EXPECT_THAT(shown.Text(), HasSubstr("berth_capacity_leased_nodes 3"));
}

TEST_F(ProvisioningControllersTest, CountsRevokedCapacity) {
  const std::string of_class = "{provisioning_class=\"queued-provisioning.gke.io\"} ";
  GiveQuota();
  Answer("Provisioned", "True", "Provisioned", "");
  EXPECT_THAT(metrics_.Text(), HasSubstr("outcome=\"provisioned\",provisioning_class"));
  EXPECT_THAT(metrics_.Text(), HasSubstr("berth_capacity_requests_open" + of_class + "0"));
  Answer("BookingExpired", "True", "BookingExpired", "");
  Answer("CapacityRevoked", "True", "CapacityRevoked", "");
  EXPECT_THAT(metrics_.Text(), HasSubstr("berth_capacity_revoked_total" + of_class + "1"));
}

TEST_F(ProvisioningControllersTest, CreatesTemplateThenRequestAndSetsOwners) {
  GiveQuota();
  ASSERT_FALSE(Request().is_null());
  EXPECT_EQ(Request()["spec"]["provisioningClassName"], "queued-provisioning.gke.io");
  EXPECT_EQ(Request()["metadata"]["ownerReferences"][0]["kind"], "Workload");
  ASSERT_FALSE(Template().is_null());
  EXPECT_EQ(Template()["metadata"]["ownerReferences"][0]["kind"], "ProvisioningRequest");
  EXPECT_EQ(Template()["template"]["spec"]["volumes"][0]["name"], "v") << "unknown fields survive";
  EXPECT_EQ(
      Template()["template"]["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"],
      "1");
  std::vector<std::string> created;
  for (const auto& request : api_.requests()) {
    if (request.method == "POST" && request.path.find("events") == std::string::npos) {
      created.push_back(request.path);
    }
  }
  EXPECT_EQ(created, (std::vector<std::string>{kTemplates, kRequests})) << "templates first";
  const std::size_t writes = api_.CountWrites();
  executor_.RunFor(60s);
  EXPECT_EQ(api_.CountWrites(), writes) << "at rest nothing is written";
}

// Names of templates can be foreseen: a tenant makes one that asks for eight GPUs where quota
// counts one.
TEST_F(ProvisioningControllersTest, ReplacesATemplateThatHasNoRequest) {
  const auto gpus = [this] {
    return Template()["template"]["spec"]["containers"][0]["resources"]["requests"]
                     ["nvidia.com/gpu"];
  };
  for (const Json& owners : {Json::array(), Json::parse(R"([{
      "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": "wl", "uid": "u",
      "controller": true}])")}) {
    SCOPED_TRACE(owners.dump());
    api_.Put(kTemplates,
             {{"metadata", {{"name", "ppt-wl-dws-prov-1-main"}, {"ownerReferences", owners}}},
              {"template", Json::parse(R"({"spec": {"containers": [{
      "name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "8"}}}]}})")}});
    Settle();
    GiveQuota();
    EXPECT_FALSE(Request().is_null());
    EXPECT_EQ(gpus(), "1");
    EXPECT_EQ(Template()["metadata"]["ownerReferences"][0]["kind"], "ProvisioningRequest");
    for (const std::string& path :
         {std::string(kRequests) + "/wl-dws-prov-1",
          std::string(kTemplates) + "/ppt-wl-dws-prov-1-main", kWorkloads + std::string("/wl")}) {
      api_.Remove(path);
    }
    Settle();
  }
}

// The answer to a request of another namespace that names the Workload's UID is no answer.
TEST_F(ProvisioningControllersTest, IgnoresARequestOfAnotherNamespace) {
  GiveQuota();
  const std::string uid = Get(std::string(kWorkloads) + "/wl")["metadata"]["uid"];
  Json foreign = Request();
  foreign["metadata"] = {{"name", "wl-dws-prov-1"},
                         {"namespace", "other"},
                         {"ownerReferences", Request()["metadata"]["ownerReferences"]}};
  ASSERT_EQ(foreign["metadata"]["ownerReferences"][0]["uid"], uid);
  foreign["status"]["conditions"] = {{{"type", "Provisioned"},
                                      {"status", "True"},
                                      {"reason", "Provisioned"},
                                      {"message", "forged"},
                                      {"lastTransitionTime", "2026-01-01T00:00:10Z"}}};
  api_.Put("/apis/autoscaling.x-k8s.io/v1/namespaces/other/provisioningrequests", foreign);
  Settle();
  EXPECT_EQ(Check()["state"], "Pending");
  api_.Remove(std::string(kWorkloads) + "/wl");
  Settle();
  EXPECT_FALSE(
      Get("/apis/autoscaling.x-k8s.io/v1/namespaces/other/provisioningrequests/wl-dws-prov-1")
          .is_null())
      << "the controller deletes requests of the Workload alone";
}

TEST_F(ProvisioningControllersTest, ProvisionedRequestMakesTheCheckReadyWithUpdates) {
  GiveQuota();
  Answer("Accepted", "True", "SuccessfullyQueued", "queued");
  Answer("Provisioned", "False", "ResourcePoolExhausted", "Waiting for resources.");
  EXPECT_EQ(Check()["message"], "Waiting for resources.");
  Json request = Request();
  request["status"]["conditions"][1]["status"] = "True";
  request["status"]["conditions"][1]["message"] = "It is there.";
  api_.Put(kRequests, request);
  Settle();
  EXPECT_EQ(Check()["state"], "Ready");
  EXPECT_EQ(Check()["podSetUpdates"][0]["annotations"]
                   ["autoscaling.x-k8s.io/consume-provisioning-request"],
            "wl-dws-prov-1");
}

TEST_F(ProvisioningControllersTest, FailedRequestMakesTheCheckRetryWithTheNextAttempt) {
  GiveQuota();
  Answer("Failed", "True", "QuotaExceeded", "No quota.");
  EXPECT_EQ(Check()["state"], "Retry");
  // The queue takes the quota back.
  Json workload = Get(std::string(kWorkloads) + "/wl");
  workload["status"].erase("admission");
  workload["status"]["conditions"][0]["status"] = "False";
  workload["status"]["conditions"].push_back({{"type", "Evicted"},
                                              {"status", "True"},
                                              {"reason", "AdmissionCheck"},
                                              {"message", ""},
                                              {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
  workload["status"]["admissionChecks"][0]["state"] = "Pending";
  workload["status"]["admissionChecks"][0]["retryCount"] = 1;
  workload["status"]["admissionChecks"][0].erase("requeueAfterSeconds");
  const Json reset = workload["status"]["admissionChecks"];
  api_.Put(kWorkloads, workload);
  Settle();
  EXPECT_TRUE(Request().is_null());
  EXPECT_TRUE(Template().is_null());
  GiveQuota();
  workload = Get(std::string(kWorkloads) + "/wl");
  workload["status"]["admissionChecks"] = reset;
  api_.Put(kWorkloads, workload);
  Settle();
  EXPECT_FALSE(Request(2).is_null());
}

TEST_F(ProvisioningControllersTest, LostReservationWithoutAnEvictionKeepsItsRequest) {
  GiveQuota();
  Json workload = Get(std::string(kWorkloads) + "/wl");
  workload["status"].erase("admission");
  workload["status"].erase("conditions");
  api_.Put(kWorkloads, workload);
  Settle();
  EXPECT_FALSE(Request().is_null());
  EXPECT_FALSE(Template().is_null());
  GiveQuota();
  EXPECT_FALSE(Request().is_null());
  EXPECT_TRUE(Request(2).is_null());
}

TEST_F(ProvisioningControllersTest, ChangedConfigCreatesANewRequest) {
  GiveQuota();
  PutConfig({{"maxRunDurationSeconds", "600"}});
  Settle();
  EXPECT_TRUE(Request(1).is_null());
  EXPECT_EQ(Request(2)["spec"]["parameters"]["maxRunDurationSeconds"], "600");
}

TEST_F(ProvisioningControllersTest, ADeletedRequestIsMadeAgainWithTheNextNumber) {
  GiveQuota();
  api_.Remove(std::string(kRequests) + "/wl-dws-prov-1");
  api_.Remove(std::string(kTemplates) + "/ppt-wl-dws-prov-1-main");
  Settle();
  EXPECT_FALSE(Request(2).is_null());
}

TEST_F(ProvisioningControllersTest, RecreatedWorkloadRequestsOnceDespiteAStaleRequest) {
  GiveQuota();
  ASSERT_FALSE(Request().is_null());
  api_.MuteWatches(kAllRequests);
  api_.Remove(std::string(kWorkloads) + "/wl");
  api_.Remove(std::string(kRequests) + "/wl-dws-prov-1");
  api_.Remove(std::string(kTemplates) + "/ppt-wl-dws-prov-1-main");
  Settle();
  GiveQuota();
  EXPECT_FALSE(Request(1).is_null());
  EXPECT_TRUE(Request(2).is_null());
}

// Simulation, request-twice, seed 16000995.
TEST_F(ProvisioningControllersTest, CreationWithoutAnAnswerRequestsOnceDuringABrokenWatch) {
  api_.MuteWatches(kAllRequests);
  api_.FailNext(std::string("POST ") + kRequests, 0, Effect::kDone);
  GiveQuota();
  EXPECT_FALSE(Request(1).is_null());
  EXPECT_TRUE(Request(2).is_null());
}

TEST_F(ProvisioningControllersTest, FailedWritesLeadToOneOwnedRequest) {
  struct Fault {
    std::string what;
    int status;
    Effect effect;
  };
  for (const Fault& fault : {Fault{std::string("POST ") + kTemplates, 0, Effect::kDone},
                             Fault{std::string("POST ") + kRequests, 0, Effect::kDone},
                             Fault{std::string("POST ") + kRequests, 500, Effect::kNone},
                             Fault{std::string("PATCH ") + kTemplates, 409, Effect::kNone}}) {
    api_.FailNext(fault.what, fault.status, fault.effect);
    GiveQuota();
    EXPECT_FALSE(Request(1).is_null()) << fault.what;
    EXPECT_TRUE(Request(2).is_null()) << fault.what;
    EXPECT_EQ(Template()["metadata"]["ownerReferences"][0]["kind"], "ProvisioningRequest")
        << fault.what;
    api_.Remove(std::string(kWorkloads) + "/wl");
    api_.Remove(std::string(kRequests) + "/wl-dws-prov-1");
    api_.Remove(std::string(kTemplates) + "/ppt-wl-dws-prov-1-main");
    Settle();
  }
}

TEST_F(ProvisioningControllersTest, ConflictOfACheckWriteIsRetried) {
  GiveQuota();
  api_.FailNext(std::string("PATCH ") + kWorkloads, 409);
  Answer("Provisioned", "True", "Provisioned", "It is there.");
  EXPECT_EQ(Check()["state"], "Ready");
}

TEST_F(ProvisioningControllersTest, RefusedCreationOfARequestIsReportedAndRetried) {
  api_.FailNext(std::string("POST ") + kRequests, 422);
  api_.FailNext(std::string("POST ") + kRequests, 422);
  api_.Put(kWorkloads, Json::parse(R"({"metadata": {"name": "other"}, "spec": {"podSets": [
      {"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}]}})"));
  GiveQuota();
  executor_.RunFor(5s);
  bool told = false;
  for (const auto& request : api_.requests()) {
    told =
        told || request.body.dump().find("Error creating ProvisioningRequest") != std::string::npos;
  }
  EXPECT_TRUE(told);
  EXPECT_FALSE(Request(1).is_null()) << "and tried again";
}

TEST_F(ProvisioningControllersTest, RefusedCheckWriteEmitsAnEventAndIsRetried) {
  GiveQuota();
  for (int i = 0; i < 2; ++i) api_.FailNext("PATCH " + std::string(kWorkloads) + "/wl/status", 422);
  Answer("Provisioned", "True", "Provisioned", "It is there.");
  executor_.RunFor(60s);
  bool seen = false;
  for (const auto& request : api_.requests()) {
    if (request.method == "POST") seen |= request.body.value("reason", "") == "WriteRefused";
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(Check()["state"], "Ready");
}

class WithoutProvisioningRequests : public ProvisioningControllersTest {
 protected:
  WithoutProvisioningRequests() : ProvisioningControllersTest(kAllRequests) {}
};

TEST_F(WithoutProvisioningRequests, NoRequestIsCreatedUntilTheCrdExists) {
  EXPECT_TRUE(manager_.controllers_running()) << "the other controllers do not wait for the CRD";
  EXPECT_TRUE(manager_.NotSynced().empty());
  GiveQuota();
  EXPECT_TRUE(Template().is_null());
  const std::string check = kKueue + std::string("admissionchecks/dws-prov");
  EXPECT_FALSE(Get(check).contains("status")) << "a check that nobody serves is not active";

  api_.SetMissing(kAllRequests, false);
  executor_.RunFor(31s);
  EXPECT_FALSE(Template().is_null());
  EXPECT_FALSE(Request().is_null());
  EXPECT_EQ(Get(check)["status"]["conditions"][0]["status"], "True");
}

class WithoutProvisioningPolicies : public ProvisioningControllersTest {
 protected:
  WithoutProvisioningPolicies() : ProvisioningControllersTest(kAllPolicies) {}
};

TEST_F(WithoutProvisioningPolicies, ChecksWithAPolicyAreActiveOnceTheCrdExists) {
  EXPECT_TRUE(manager_.controllers_running()) << "no controller waits for the CRD";
  EXPECT_TRUE(manager_.NotSynced().empty());
  const std::string path = kKueue + std::string("admissionchecks/dws-prov");
  const auto active = [&] { return Get(path)["status"]["conditions"][0]["status"]; };
  EXPECT_EQ(active(), "True");
  GiveQuota();
  EXPECT_FALSE(Request().is_null()) << "a check without a policy needs no CRD";

  Json check = Get(path);
  check["metadata"]["annotations"]["berth.dev/provisioning-policy"] = "late";
  api_.Put(kKueue + std::string("admissionchecks"), check);
  Settle();
  EXPECT_EQ(active(), "False") << "its policy does not exist";
  api_.SetMissing(kAllPolicies, false);
  api_.Put(kAllPolicies,
           {{"metadata", {{"name", "late"}}}, {"spec", {{"reuse", {{"enabled", true}}}}}});
  executor_.RunFor(31s);
  EXPECT_EQ(active(), "True");
}

constexpr char kNodes[] = "/api/v1/nodes";

class LeaseTest : public ProvisioningControllersTest {
 protected:
  LeaseTest() {
    api_.Put(kAllPolicies,
             {{"metadata", {{"name", "thrifty"}}}, {"spec", {{"reuse", {{"enabled", true}}}}}});
    Json check = Get(kKueue + std::string("admissionchecks/dws-prov"));
    check["metadata"]["annotations"]["berth.dev/provisioning-policy"] = "thrifty";
    api_.Put(kKueue + std::string("admissionchecks"), check);
    api_.Put(kNodes, Json::parse(R"({"metadata": {"name": "n1", "labels": {"pool": "t4"}},
      "status": {"allocatable": {"nvidia.com/gpu": "1", "cpu": "8", "pods": "10"},
                 "conditions": [{"type": "Ready", "status": "True"}]}})"));
    Settle();
  }
  Json Label() { return Node()["metadata"]["labels"]["berth.dev/lease"]; }
  Json Node() { return Get(kNodes + std::string("/n1")); }
  void Finish() {
    Json workload = Get(std::string(kWorkloads) + "/wl");
    workload["status"]["conditions"].push_back({{"type", "Finished"},
                                                {"status", "True"},
                                                {"reason", "Succeeded"},
                                                {"message", ""},
                                                {"lastTransitionTime", "2026-01-01T00:00:10Z"}});
    api_.Put(kWorkloads, workload);
    Settle();
  }
};

TEST_F(LeaseTest, AnIdleNodeIsLeasedAndReleasedAtTheEnd) {
  GiveQuota();
  EXPECT_EQ(Check()["state"], "Ready");
  EXPECT_EQ(Check()["message"], "reusing 1 idle node");
  EXPECT_EQ(Check()["podSetUpdates"][0]["nodeSelector"]["berth.dev/lease"], Label());
  EXPECT_EQ(Node()["metadata"]["annotations"]["berth.dev/lease-of"], "default/wl");
  EXPECT_TRUE(Request().is_null());
  Finish();
  EXPECT_TRUE(Label().is_null());
  EXPECT_FALSE(Node()["metadata"]["annotations"].contains("berth.dev/lease-until"));
}

TEST_F(LeaseTest, ANodeWithPodsIsNotIdleUntilTheyHaveEnded) {
  Json pod = Json::parse(R"({"metadata": {"name": "p", "namespace": "default"},
    "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}})");
  api_.Put("/api/v1/namespaces/default/pods", pod);
  Settle();
  GiveQuota();
  EXPECT_TRUE(Label().is_null());
  ASSERT_FALSE(Request().is_null());
  api_.Remove(std::string(kRequests) + "/wl-dws-prov-1");
  api_.Remove("/api/v1/namespaces/default/pods/p");
  Settle();
  executor_.RunFor(1min);
  EXPECT_EQ(Check()["message"], "reusing 1 idle node");
}

TEST_F(LeaseTest, ForbiddenLeaseEmitsAnEventAndRequestsCapacity) {
  api_.FailNext(std::string("PATCH ") + kNodes, 403);
  GiveQuota();
  executor_.RunFor(1min);
  EXPECT_TRUE(Label().is_null());
  EXPECT_FALSE(Request().is_null());
  bool told = false;
  for (const auto& request : api_.requests()) {
    told = told || request.body.dump().find("LeaseRefused") != std::string::npos;
  }
  EXPECT_TRUE(told);
}

TEST_F(LeaseTest, TheLeaseOfADeletedWorkloadIsReleased) {
  GiveQuota();
  ASSERT_FALSE(Label().is_null());
  api_.Remove(std::string(kWorkloads) + "/wl");
  Settle();
  EXPECT_TRUE(Label().is_null());
}

TEST_F(LeaseTest, ConflictOfALeaseWriteIsRetried) {
  api_.FailNext(std::string("PATCH ") + kNodes, 409);
  GiveQuota();
  EXPECT_EQ(Check()["state"], "Ready");
  EXPECT_TRUE(Request().is_null());
}

}  // namespace
}  // namespace berth::provisioning
