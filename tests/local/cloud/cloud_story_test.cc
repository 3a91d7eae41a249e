// Goal: GKE's stories of queued provisioning: the same conditions, reasons and texts in the same
// order, nodes that come and go, stock-outs that end.
// Method: the whole cluster and cloud in virtual time on the embedded API in memory; the test plays
// the queue: it makes requests, and pods once they are provisioned.
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "local/cloud/cloud_driver.h"
#include "local/cluster/cluster.h"
#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/fake_runner.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cloud {
namespace {

namespace fs = std::filesystem;
using cluster::kNodePools;
using cluster::kNodes;
using cluster::kPods;
using cluster::kPodTemplates;
using cluster::kProvisioningRequests;
using cluster::StringAt;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kExhausted[] =
    "Provisioned=False ResourcePoolExhausted: Waiting for resources. Currently there are not "
    "enough resources available to fulfill the request.";

class CloudStoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-cloud-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    recorder_ =
        api_.Watch(kProvisioningRequests, WatchFrom::kState, [this](const WatchEvent& event) {
          if (event.type != WatchEvent::Type::kDeleted) Record(*event.object);
        });
    Start();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Start() {
    cluster::ClusterOptions options;
    options.data_folder = folder_;
    options.runner = &runner_;
    auto started = cluster::Cluster::Start(api_, clock_, executor_, options);
    ASSERT_TRUE(started);
    cluster_ = *std::move(started);
    cloud_ = std::make_unique<CloudDriver>(api_, cluster_->cache(), clock_, executor_);
    executor_.RunFor(seconds(1));
  }
  void Stop() {
    cloud_.reset();
    cluster_.reset();
  }

  // Each condition as it appears or changes.
  void Record(const Json& request) {
    for (const Json& condition : cluster::ArrayAt(request, {"status", "conditions"})) {
      const std::string text =
          StringAt(condition, {"type"}) + "=" + StringAt(condition, {"status"}) + " " +
          StringAt(condition, {"reason"}) + ": " + StringAt(condition, {"message"});
      std::string& last = last_[cluster::NameOf(request) + StringAt(condition, {"type"})];
      if (last == text) continue;
      last = text;
      story_.push_back(text);
    }
  }

  void CreatePool(const std::string& name, const std::string& machine, const Json& more) {
    Json pool = {{"metadata", {{"name", name}}},
                 {"spec", {{"machineType", machine}, {"zones", {"us-central1-c"}}}}};
    pool["spec"].update({{"minNodes", 0}, {"maxNodes", 1}, {"queuedProvisioning", true}});
    pool["spec"].update({{"bootSeconds", 60}, {"idleSeconds", 600}, {"stock", 1}});
    pool["spec"].merge_patch(more);
    ASSERT_TRUE(api_.Create(kNodePools, "", pool, {}));
  }
  void CreateT4Pool(const Json& more = Json::object()) {
    Json spec = {{"accelerator", {{"type", "nvidia-tesla-t4"}, {"count", 1}}}};
    spec.merge_patch(more);
    CreatePool("dws-t4-nodepool", "n1-standard-2", spec);
  }

  static Json PodSpec(const std::string& pool) {
    Json spec = Json::parse(R"({"restartPolicy": "Never",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                        {"key": "cloud.google.com/gke-queued", "operator": "Exists"}],
        "containers": [{"name": "dummy-job", "args": ["120s"],
          "image": "gcr.io/k8s-staging-perf-tests/sleep:v0.0.3", "resources": {"requests":
            {"cpu": "100m", "memory": "100Mi", "nvidia.com/gpu": 1}}}]})");
    spec["nodeSelector"] = {{"cloud.google.com/gke-nodepool", pool}};
    return spec;
  }

  void CreateTemplate(const std::string& name, const std::string& pool,
                      const std::string& zone = "") {
    Json spec = PodSpec(pool);
    if (!zone.empty()) spec["nodeSelector"]["topology.kubernetes.io/zone"] = zone;
    ASSERT_TRUE(api_.Create(kPodTemplates, "default",
                            {{"metadata", {{"name", name}}}, {"template", {{"spec", spec}}}}, {}));
  }
  void CreateRequest(const std::string& name, const std::string& pool_template, int count = 1,
                     const Json& parameters = Json::object()) {
    Json pod_set = {{"count", count}};
    pod_set["podTemplateRef"]["name"] = pool_template;
    ASSERT_TRUE(api_.Create(kProvisioningRequests, "default",
                            {{"metadata", {{"name", name}}},
                             {"spec",
                              {{"provisioningClassName", "queued-provisioning.gke.io"},
                               {"parameters", parameters},
                               {"podSets", Json::array({pod_set})}}}},
                            {}));
  }
  void CreatePod(const std::string& name, const std::string& pool, const std::string& request) {
    Json pod = {{"metadata", {{"name", name}}}, {"spec", PodSpec(pool)}};
    if (!request.empty()) {
      pod["metadata"]["annotations"]["autoscaling.x-k8s.io/consume-provisioning-request"] = request;
    }
    ASSERT_TRUE(api_.Create(kPods, "default", pod, {}));
  }

  std::vector<Object> Nodes() { return api_.List(kNodes, "", {})->items; }
  std::string Phase(const std::string& pod) {
    return StringAt(**api_.Get(kPods, "default", pod), {"status", "phase"});
  }
  Json Request(const std::string& name) {
    return **api_.Get(kProvisioningRequests, "default", name);
  }
  bool Has(const std::string& name, const std::string& type, const std::string& reason) {
    const auto request = api_.Get(kProvisioningRequests, "default", name);
    const Json* condition = request ? cluster::FindCondition(**request, type) : nullptr;
    return condition != nullptr && StringAt(*condition, {"reason"}) == reason;
  }
  Json PoolStatus(const std::string& name) { return (**api_.Get(kNodePools, "", name))["status"]; }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  test::FakeRunner runner_{executor_};
  std::string folder_;
  std::vector<std::string> story_;
  std::map<std::string, std::string> last_;
  std::unique_ptr<WatchHandle> recorder_;
  std::unique_ptr<cluster::Cluster> cluster_;
  std::unique_ptr<CloudDriver> cloud_;
};

TEST_F(CloudStoryTest, T4RequestIsProvisionedUsedAndReleased) {
  CreateT4Pool();
  CreateTemplate("ppt", "dws-t4-nodepool");
  CreateRequest("pr", "ppt");
  ASSERT_TRUE(
      executor_.RunUntil([&] { return Has("pr", "Provisioned", "Provisioned"); }, seconds(30)));
  executor_.RunReady();  // the watch tells of it
  EXPECT_THAT(story_,
              ElementsAre("Accepted=False NotAccepted: Provisioning Request wasn't accepted.",
                          "Accepted=True SuccessfullyQueued: Provisioning Request was "
                          "successfully queued.",
                          kExhausted,
                          "Provisioned=True Provisioned: Provisioning Request was successfully "
                          "provisioned."));
  const Json details = Request("pr")["status"]["provisioningClassDetails"];
  EXPECT_EQ(details["NodePoolName"], "dws-t4-nodepool");
  EXPECT_EQ(details["SelectedZone"], "us-central1-c");
  ASSERT_EQ(Nodes().size(), 1U);
  const Json node = *Nodes()[0];
  EXPECT_EQ(cluster::LabelOf(node, "autoscaling.gke.io/provisioning-request"),
            details["ResizeRequestName"]);
  EXPECT_EQ(cluster::LabelOf(node, "cloud.google.com/gke-accelerator"), "nvidia-tesla-t4");
  EXPECT_EQ(cluster::LabelOf(node, "topology.kubernetes.io/region"), "us-central1");
  EXPECT_EQ(node["status"]["allocatable"]["nvidia.com/gpu"], "1");
  EXPECT_TRUE(IsBooting(node));
  EXPECT_EQ(PoolStatus("dws-t4-nodepool")["stock"], 0);
  CreatePod("p", "dws-t4-nodepool", "pr");
  executor_.RunFor(seconds(30));
  EXPECT_EQ(Phase("p"), "Pending") << "the machine boots";
  ASSERT_TRUE(executor_.RunUntil([&] { return Phase("p") == "Running"; }, seconds(40)));
  ASSERT_TRUE(executor_.RunUntil([&] { return Phase("p") == "Succeeded"; }, seconds(121)));
  ASSERT_TRUE(api_.Delete(kProvisioningRequests, "default", "pr", {}));
  executor_.RunFor(seconds(590));
  EXPECT_EQ(Nodes().size(), 1U);
  executor_.RunFor(seconds(20));
  EXPECT_THAT(Nodes(), IsEmpty());
  EXPECT_EQ(PoolStatus("dws-t4-nodepool")["stock"], 1) << "the machine went back";
}

TEST_F(CloudStoryTest, RequestWaitsForStockWithoutWrites) {
  CreateT4Pool();
  CreatePool("dws-h100-nodepool", "a3-highgpu-8g",
             {{"accelerator", {{"type", "nvidia-h100-80gb"}, {"count", 8}}}, {"stock", 0}});
  CreateTemplate("h100", "dws-h100-nodepool");
  CreateTemplate("t4", "dws-t4-nodepool");
  CreateRequest("waits", "h100");
  executor_.RunFor(seconds(5));
  const auto quiet = Request("waits");
  CreateRequest("passes", "t4");
  executor_.RunFor(hours(72));
  EXPECT_TRUE(Has("passes", "BookingExpired", "BookingExpired")) << "another pool, another line";
  EXPECT_EQ(Request("waits"), quiet) << "nothing is written while nothing changes";
  EXPECT_EQ(PoolStatus("dws-h100-nodepool")["queued"], 1);
  ASSERT_TRUE(api_.Patch(kNodePools, "", "dws-h100-nodepool", PatchType::kMerge,
                         {{"spec", {{"stock", 1}}}}, {}));
  executor_.RunFor(seconds(1));
  EXPECT_TRUE(Has("waits", "Provisioned", "Provisioned"));
}

TEST_F(CloudStoryTest, RequestWithoutAPoolFailsAfterTwoMinutes) {
  CreateT4Pool();
  CreateTemplate("h100", "dws-h100-nodepool");
  CreateRequest("pr", "h100");
  executor_.RunFor(seconds(110));
  EXPECT_TRUE(Has("pr", "Accepted", "NoQueuedNodepoolAvailable"));
  EXPECT_FALSE(Has("pr", "Failed", "NoQueuedNodepoolAvailable"));
  executor_.RunFor(seconds(15));
  EXPECT_TRUE(Has("pr", "Failed", "NoQueuedNodepoolAvailable"));
  EXPECT_THAT(story_.back(),
              "Failed=True NoQueuedNodepoolAvailable: No nodepool with QueuedProvisioning enabled "
              "is available for scale up");
}

TEST_F(CloudStoryTest, PoolCreatedInTimeIsUsed) {
  CreateTemplate("t4", "dws-t4-nodepool");
  CreateRequest("pr", "t4");
  executor_.RunFor(seconds(60));
  CreateT4Pool();
  executor_.RunFor(seconds(10));
  EXPECT_TRUE(Has("pr", "Provisioned", "Provisioned"));
}

TEST_F(CloudStoryTest, MissingTemplateIsNamed) {
  CreateT4Pool();
  CreateRequest("pr", "gone");
  executor_.RunFor(seconds(5));
  EXPECT_TRUE(Has("pr", "Accepted", "MissingPodTemplates"));
  EXPECT_THAT(story_.back(), HasSubstr("1 templates were missing: gone"));
  CreateTemplate("gone", "dws-t4-nodepool");
  executor_.RunFor(seconds(10));
  EXPECT_TRUE(Has("pr", "Provisioned", "Provisioned"));
}

TEST_F(CloudStoryTest, FullPoolFailsTheSecondRequest) {
  CreateT4Pool();
  CreateTemplate("t4", "dws-t4-nodepool");
  CreateRequest("first", "t4");
  executor_.RunFor(seconds(1));
  CreateRequest("second", "t4");
  executor_.RunFor(seconds(10));
  EXPECT_TRUE(Has("first", "Provisioned", "Provisioned"));
  EXPECT_TRUE(Has("second", "Accepted", "NodepoolSizeReached"));
  executor_.RunFor(minutes(2));
  EXPECT_TRUE(Has("second", "Failed", "NodepoolSizeReached"));
}

TEST_F(CloudStoryTest, GangIsProvisionedWholeAndInOrder) {
  CreateT4Pool({{"maxNodes", 6}, {"stock", 2}});
  CreateTemplate("t4", "dws-t4-nodepool");
  CreateRequest("a-gang", "t4", 3);
  executor_.RunFor(seconds(5));
  CreateRequest("single", "t4", 1);
  executor_.RunFor(minutes(1));
  EXPECT_THAT(Nodes(), IsEmpty()) << "two machines are not three, and nobody overtakes";
  ASSERT_TRUE(api_.Patch(kNodePools, "", "dws-t4-nodepool", PatchType::kMerge,
                         {{"spec", {{"stock", 4}}}}, {}));
  executor_.RunFor(seconds(2));
  EXPECT_TRUE(Has("a-gang", "Provisioned", "Provisioned"));
  EXPECT_TRUE(Has("single", "Provisioned", "Provisioned"));
  EXPECT_EQ(Nodes().size(), 4U);
}

TEST_F(CloudStoryTest, ZoneWithoutMachinesBlocksNoOtherZone) {
  CreateT4Pool({{"maxNodes", 4},
                {"stock", 4},
                {"zones", {"us-central1-a", "us-central1-b"}},
                {"stockByZone", {{"us-central1-a", 0}, {"us-central1-b", 1}}}});
  const auto zoned = [this](const std::string& name, const std::string& zone) {
    CreateTemplate(name, "dws-t4-nodepool", zone);
    CreateRequest(name, name);
  };
  zoned("in-a", "us-central1-a");
  executor_.RunFor(seconds(5));
  CreateTemplate("any", "dws-t4-nodepool");
  CreateRequest("anywhere", "any");
  executor_.RunFor(seconds(5));
  zoned("in-b", "us-central1-b");
  executor_.RunFor(minutes(1));
  EXPECT_TRUE(Has("in-a", "Provisioned", "ResourcePoolExhausted"));
  EXPECT_TRUE(Has("anywhere", "Provisioned", "Provisioned"));
  EXPECT_TRUE(Has("in-b", "Provisioned", "ResourcePoolExhausted")) << "its zone has one machine";
  EXPECT_EQ(PoolStatus("dws-t4-nodepool")["stock"], 0);
  ASSERT_EQ(Nodes().size(), 1U);
  ASSERT_TRUE(api_.Patch(kNodePools, "", "dws-t4-nodepool", PatchType::kMerge,
                         {{"spec", {{"stockByZone", {{"us-central1-b", 2}}}}}}, {}));
  executor_.RunFor(seconds(2));
  EXPECT_TRUE(Has("in-b", "Provisioned", "Provisioned"));
  EXPECT_FALSE(Has("in-a", "Provisioned", "Provisioned"));
}

TEST_F(CloudStoryTest, SearchTakesTheFirstZoneWithMachines) {
  CreateT4Pool({{"maxNodes", 2},
                {"zones", {"us-central1-a", "us-central1-b"}},
                {"stockByZone", {{"us-central1-a", 0}, {"us-central1-b", 0}}}});
  CreateTemplate("t4", "dws-t4-nodepool");
  const Json search = {{"capacitySearchStrategy", "OBTAINABILITY"}};
  CreateRequest("pr", "t4", 1, search);
  executor_.RunFor(minutes(5));
  Json details = Request("pr")["status"]["provisioningClassDetails"];
  EXPECT_EQ(details["CommittedZones"], "us-central1-a,us-central1-b");
  EXPECT_FALSE(details.contains("SelectedZone"));
  ASSERT_TRUE(api_.Patch(kNodePools, "", "dws-t4-nodepool", PatchType::kMerge,
                         {{"spec", {{"stockByZone", {{"us-central1-b", 1}}}}}}, {}));
  executor_.RunFor(seconds(2));
  details = Request("pr")["status"]["provisioningClassDetails"];
  EXPECT_EQ(details["SelectedZone"], "us-central1-b");
  EXPECT_FALSE(details.contains("CommittedZones"));
  EXPECT_FALSE(details.contains("OverprovisionedZones"));
  CreateTemplate("zoned", "dws-t4-nodepool", "us-central1-a");
  CreateRequest("bound", "zoned", 1, search);
  executor_.RunFor(seconds(5));
  EXPECT_TRUE(Has("bound", "Failed", "ObtainabilityStrategyAndZoneIncompatible"));
  CreateRequest("large", "t4", 1, search);
  executor_.RunFor(minutes(3));
  EXPECT_TRUE(Has("large", "Failed", "CannotExecuteObtainabilityStrategy"));
}

TEST_F(CloudStoryTest, CancelledRequestGetsNoNode) {
  CreateT4Pool({{"stock", 0}});
  CreateTemplate("t4", "dws-t4-nodepool");
  CreateRequest("pr", "t4");
  executor_.RunFor(seconds(10));
  ASSERT_TRUE(api_.Delete(kProvisioningRequests, "default", "pr", {}));
  ASSERT_TRUE(api_.Patch(kNodePools, "", "dws-t4-nodepool", PatchType::kMerge,
                         {{"spec", {{"stock", 5}}}}, {}));
  executor_.RunFor(hours(1));
  EXPECT_THAT(Nodes(), IsEmpty());
  EXPECT_EQ(PoolStatus("dws-t4-nodepool")["queued"], 0);
}

TEST_F(CloudStoryTest, ValidUntilBoundsTheWait) {
  CreateT4Pool({{"stock", 0}});
  CreateTemplate("t4", "dws-t4-nodepool");
  CreateRequest("pr", "t4", 1, {{"ValidUntilSeconds", "600"}});
  executor_.RunFor(seconds(590));
  EXPECT_TRUE(Has("pr", "Provisioned", "ResourcePoolExhausted"));
  executor_.RunFor(seconds(15));
  EXPECT_TRUE(Has("pr", "Failed", "WaitTimeExceeded"));
}

TEST_F(CloudStoryTest, BadRunLimitFailsAtOnce) {
  CreateT4Pool();
  CreateTemplate("t4", "dws-t4-nodepool");
  CreateRequest("pr", "t4", 1, {{"maxRunDurationSeconds", "ten"}});
  executor_.RunFor(seconds(5));
  EXPECT_TRUE(Has("pr", "Failed", "InvalidArgumentMaxRunDurationParseError"));
}

TEST_F(CloudStoryTest, NodesAreDeletedAtTheRunLimit) {
  CreateT4Pool();
  CreateTemplate("t4", "dws-t4-nodepool");
  CreateRequest("pr", "t4", 1, {{"maxRunDurationSeconds", "1200"}});
  executor_.RunFor(seconds(10));
  ASSERT_EQ(Nodes().size(), 1U);
  const auto ends = ParseTime(cluster::AnnotationOf(*Nodes()[0], kEndsAtAnnotation));
  EXPECT_NEAR(static_cast<double>((*ends - clock_.Now()).count()), 1200e6, 15e6);
  executor_.RunFor(minutes(11));
  EXPECT_TRUE(Has("pr", "BookingExpired", "BookingExpired"));
  executor_.RunFor(minutes(10));
  EXPECT_TRUE(Has("pr", "CapacityRevoked", "CapacityRevoked"));
  EXPECT_THAT(Nodes(), IsEmpty());
}

TEST_F(CloudStoryTest, BookingKeepsIdleNodes) {
  CreateT4Pool({{"idleSeconds", 30}});
  CreateTemplate("t4", "dws-t4-nodepool");
  CreateRequest("pr", "t4");
  executor_.RunFor(minutes(9));
  EXPECT_EQ(Nodes().size(), 1U) << "nobody came yet, but it is booked";
  executor_.RunFor(minutes(3));
  EXPECT_THAT(Nodes(), IsEmpty());
}

TEST_F(CloudStoryTest, RestartAtAnyMomentChangesNothing) {
  CreateT4Pool();
  CreateTemplate("t4", "dws-t4-nodepool");
  CreateRequest("pr", "t4");
  for (int second = 0; second < 12; ++second) {
    Stop();
    Start();
  }
  EXPECT_TRUE(Has("pr", "Provisioned", "Provisioned"));
  EXPECT_EQ(Nodes().size(), 1U);
}

TEST_F(CloudStoryTest, PlainPoolFollowsPendingPodsAndGoesIdle) {
  CreatePool("system-nodepool", "e2-small",
             {{"queuedProvisioning", false},
              {"minNodes", 1},
              {"maxNodes", 3},
              {"spot", true},
              {"stock", 3},
              {"bootSeconds", 10},
              {"idleSeconds", 60}});
  executor_.RunFor(seconds(15));
  ASSERT_EQ(Nodes().size(), 1U) << "the minimum";
  EXPECT_EQ(cluster::LabelOf(*Nodes()[0], "cloud.google.com/gke-spot"), "true");
  for (const char* name : {"a", "b"}) {
    Json pod = {{"metadata", {{"name", name}}}, {"spec", PodSpec("system-nodepool")}};
    pod["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", "600m"}};
    ASSERT_TRUE(api_.Create(kPods, "default", pod, {}));
  }
  executor_.RunFor(seconds(1));
  EXPECT_EQ(Nodes().size(), 2U) << "one fits, one needs another machine";
  executor_.RunFor(seconds(15));
  EXPECT_EQ(Phase("a"), "Running");
  EXPECT_EQ(Phase("b"), "Running");
  executor_.RunFor(seconds(200));
  EXPECT_EQ(Nodes().size(), 1U) << "back to the minimum";
}

TEST_F(CloudStoryTest, PodsOfProvisioningRequestsScaleNoPoolUp) {
  CreatePool("plain", "n1-standard-2", {{"queuedProvisioning", false}});
  Json pod = {{"metadata", {{"name", "p"}}}, {"spec", PodSpec("plain")}};
  pod["spec"]["containers"][0].erase("resources");
  pod["metadata"]["annotations"]["autoscaling.x-k8s.io/consume-provisioning-request"] = "x";
  ASSERT_TRUE(api_.Create(kPods, "default", pod, {}));
  executor_.RunFor(minutes(5));
  EXPECT_THAT(Nodes(), IsEmpty());
}

TEST_F(CloudStoryTest, UnknownMachineTypeIsReported) {
  CreatePool("odd", "z9-mega", {{"queuedProvisioning", false}, {"minNodes", 1}});
  executor_.RunFor(seconds(5));
  const Json pool = **api_.Get(kNodePools, "", "odd");
  const Json* ready = cluster::FindCondition(pool, "Ready");
  ASSERT_NE(ready, nullptr);
  EXPECT_THAT(StringAt(*ready, {"message"}),
              HasSubstr("The cloud has no machine type \"z9-mega\". It has: e2-small,"));
}

TEST_F(CloudStoryTest, DeletedPoolDeletesItsNodes) {
  CreateT4Pool();
  CreateTemplate("t4", "dws-t4-nodepool");
  CreateRequest("pr", "t4");
  executor_.RunFor(minutes(2));
  CreatePod("p", "dws-t4-nodepool", "pr");
  executor_.RunFor(seconds(5));
  ASSERT_EQ(Phase("p"), "Running");
  ASSERT_TRUE(api_.Delete(kNodePools, "", "dws-t4-nodepool", {}));
  executor_.RunFor(seconds(5));
  EXPECT_THAT(Nodes(), IsEmpty());
  EXPECT_EQ(Phase("p"), "Failed");
  EXPECT_EQ(runner_.running_count(), 0U);
}

}  // namespace
}  // namespace berth::local::cloud
