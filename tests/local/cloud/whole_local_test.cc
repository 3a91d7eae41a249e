// Goal: the controllers and the real embedded API agree: the DWS story end to end, in process.
// Method: ApiServer without its HTTP front, the kinds from manifests/, real processes, short times.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "api/yaml/yaml.h"
#include "base/system_clock.h"
#include "base/thread_executor.h"
#include "local/apiserver/server.h"
#include "local/cloud/cloud_driver.h"
#include "local/cluster/cluster.h"
#include "local/cluster/pod_logs.h"
#include "local/cluster/resource_ids.h"

namespace berth::local::cloud {
namespace {

namespace fs = std::filesystem;
using cluster::ConditionIs;
using cluster::Find;
using cluster::kConfigMaps;
using cluster::kEvents;
using cluster::kJobs;
using cluster::kNamespaces;
using cluster::kNodePools;
using cluster::kNodes;
using cluster::kPods;
using cluster::kPodTemplates;
using cluster::kProvisioningRequests;
using cluster::StringAt;

const ResourceId kCrds{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

class WholeLocalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-whole-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    Start();
  }
  void TearDown() override {
    Stop();
    fs::remove_all(folder_);
  }

  void Start() {
    logs_ = std::make_unique<cluster::PodLogs>(folder_);
    ApiServerOptions server_options;
    server_options.data_directory = folder_;
    server_options.serve_http = false;
    server_options.logs = logs_.get();
    auto server = ApiServer::Start(server_options);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    executor_ = std::make_unique<ThreadExecutor>();
    cluster::ClusterOptions options;
    options.data_folder = folder_;
    options.programs = {{"shell", "/bin/sh"}};
    auto started = cluster::Cluster::Start(api(), clock_, *executor_, options);
    ASSERT_TRUE(started) << started.error().message;
    cluster_ = *std::move(started);
    CloudTimes times;
    times.grant_delay = std::chrono::seconds(1);
    cloud_ = std::make_unique<CloudDriver>(api(), cluster_->cache(), clock_, *executor_, times);
  }
  void Stop() {
    executor_->Stop();
    cloud_.reset();
    cluster_.reset();
    server_.reset();
  }

  Api& api() { return server_->api(); }

  void Apply(const ResourceId& resource, const std::string& namespace_name,
             const std::string& yaml) {
    const auto document = berth::api::ParseYaml(yaml);
    ASSERT_TRUE(document) << document.error().message;
    const auto created = api().Create(resource, namespace_name, document->value, {});
    ASSERT_TRUE(created) << created.error().message;
  }
  void ApplyFile(const std::string& path) {
    std::ifstream file(std::string(BERTH_SOURCE_FOLDER) + "/" + path);
    Apply(kCrds, "", {std::istreambuf_iterator<char>(file), {}});
  }

  Json Read(const ResourceId& resource, const std::string& name,
            const std::string& namespace_name = "default") {
    const auto object = api().Get(resource, namespace_name, name);
    return object ? **object : Json();
  }

  static bool Eventually(const std::function<bool()>& holds) {
    for (int round = 0; round < 2000; ++round) {
      if (holds()) return true;
      // allow sleep-in-test: other processes and threads bring it about
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  static std::string JobYaml(const std::string& script) {
    return R"(
apiVersion: batch/v1
kind: Job
metadata: {name: sample-job}
spec:
  template:
    metadata:
      annotations: {autoscaling.x-k8s.io/consume-provisioning-request: pr}
    spec:
      restartPolicy: Never
      nodeSelector: {cloud.google.com/gke-nodepool: t4}
      tolerations:
      - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
      - {key: cloud.google.com/gke-queued, operator: Exists}
      containers:
      - name: main
        image: shell
        args: ["-c", ")" +
           script + R"("]
        resources: {limits: {cpu: 100m, memory: 100Mi, nvidia.com/gpu: 1}}
)";
  }

  void ApplyStory() {
    ApplyFile("manifests/cloud/nodepools.cloud.berth.dev.yaml");
    ApplyFile("manifests/crds/autoscaling.x-k8s.io_provisioningrequests.yaml");
    Apply(kNodePools, "", R"(
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: t4}
spec: {machineType: n1-standard-2, accelerator: {type: nvidia-tesla-t4, count: 1},
       zones: [us-central1-c], queuedProvisioning: true, bootSeconds: 1, idleSeconds: 1, stock: 1}
)");
    Apply(kPodTemplates, "default", R"(
apiVersion: v1
kind: PodTemplate
metadata: {name: ppt}
template:
  spec:
    nodeSelector: {cloud.google.com/gke-nodepool: t4}
    tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
    containers: [{name: main, image: shell, resources: {requests: {nvidia.com/gpu: 1}}}]
)");
    Apply(kProvisioningRequests, "default", R"(
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata: {name: pr}
spec:
  provisioningClassName: queued-provisioning.gke.io
  podSets: [{count: 1, podTemplateRef: {name: ppt}}]
)");
  }

  SystemClock clock_;
  std::string folder_;
  std::unique_ptr<cluster::PodLogs> logs_;
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<ThreadExecutor> executor_;
  std::unique_ptr<cluster::Cluster> cluster_;
  std::unique_ptr<CloudDriver> cloud_;
};

TEST_F(WholeLocalTest, FromRequestToEmptyPool) {
  ApplyStory();
  ASSERT_TRUE(Eventually([&] {
    return ConditionIs(Read(kProvisioningRequests, "pr"), "Provisioned", "True");
  })) << Read(kProvisioningRequests, "pr");
  Apply(kJobs, "default", JobYaml("echo computed"));
  ASSERT_TRUE(Eventually([&] {
    return ConditionIs(Read(kJobs, "sample-job"), "Complete", "True");
  })) << Read(kJobs, "sample-job").dump(1)
      << api().List(kPods, "", {})->items.size();
  EXPECT_EQ(Read(kJobs, "sample-job")["status"]["succeeded"], 1);
  const auto pods = api().List(kPods, "default", {});
  ASSERT_EQ(pods->items.size(), 1U);
  const Json pod = *pods->items[0];
  EXPECT_EQ(StringAt(pod, {"status", "phase"}), "Succeeded");
  EXPECT_TRUE(cluster::ArrayAt(pod, {"metadata", "finalizers"}).empty());
  LogRequest log;
  log.namespace_name = "default";
  log.pod = cluster::NameOf(pod);
  log.pod_uid = cluster::UidOf(pod);
  log.container = "main";
  EXPECT_EQ(*logs_->Read(log), "computed\n");
  ASSERT_TRUE(api().Delete(kProvisioningRequests, "default", "pr", {}));
  EXPECT_TRUE(Eventually([&] { return api().List(kNodes, "", {})->items.empty(); }));
  EXPECT_TRUE(Eventually([&] { return Read(kNodePools, "t4", "")["status"]["stock"] == 1; }));
  EXPECT_EQ(Read(kNodePools, "t4", "")["status"]["gpu"], "1 x nvidia-tesla-t4");
  std::set<std::string> reasons;
  const auto events = api().List(kEvents, "default", {});
  for (const Object& event : events->items) reasons.insert(StringAt(*event, {"reason"}));
  for (const char* reason : {"SuccessfulCreate", "Scheduled", "Started", "Completed"}) {
    EXPECT_EQ(reasons.count(reason), 1U) << reason;
  }
}

TEST_F(WholeLocalTest, RestartReplacesThePodThatRan) {
  ApplyStory();
  const std::string script =
      "test -e " + folder_ + "/again && exit 0; touch " + folder_ + "/again; sleep 100";
  Apply(kJobs, "default", JobYaml(script));
  ASSERT_TRUE(Eventually([&] { return fs::exists(folder_ + "/again"); }));
  Stop();
  Start();
  ASSERT_TRUE(Eventually([&] {
    return cluster::IntAt(Read(kJobs, "sample-job"), {"status", "failed"}) == 1;
  })) << Read(kJobs, "sample-job").dump(1);
  ASSERT_TRUE(Eventually([&] {
    return ConditionIs(Read(kJobs, "sample-job"), "Complete", "True");
  })) << Read(kJobs, "sample-job").dump(1);
}

TEST_F(WholeLocalTest, SuspendResumeAndDelete) {
  ApplyStory();
  Apply(kJobs, "default", JobYaml("sleep 100"));
  const auto phase_is = [&](const std::string& phase) {
    return Eventually([&] {
      const auto pods = api().List(kPods, "default", {});
      return pods->items.size() == 1 && StringAt(*pods->items[0], {"status", "phase"}) == phase;
    });
  };
  ASSERT_TRUE(phase_is("Running"));
  ASSERT_TRUE(api().Patch(kJobs, "default", "sample-job", PatchType::kMerge,
                          {{"spec", {{"suspend", true}}}}, {}));
  ASSERT_TRUE(Eventually([&] { return api().List(kPods, "default", {})->items.empty(); }));
  ASSERT_TRUE(
      Eventually([&] { return ConditionIs(Read(kJobs, "sample-job"), "Suspended", "True"); }));
  EXPECT_EQ(Find(Read(kJobs, "sample-job"), {"status", "startTime"}), nullptr);
  ASSERT_TRUE(api().Patch(kJobs, "default", "sample-job", PatchType::kMerge,
                          {{"spec", {{"suspend", false}}}}, {}));
  ASSERT_TRUE(phase_is("Running"));
  DeleteOptions options;
  options.propagation_policy = "Foreground";
  ASSERT_TRUE(api().Delete(kJobs, "default", "sample-job", options));
  EXPECT_TRUE(Eventually([&] { return Read(kJobs, "sample-job").is_null(); }));
  EXPECT_TRUE(Eventually([&] { return api().List(kPods, "default", {})->items.empty(); }));
}

TEST_F(WholeLocalTest, NamespaceGoesWithItsContent) {
  Apply(kNamespaces, "", "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n");
  Apply(kConfigMaps, "team", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
  ASSERT_TRUE(api().Delete(kNamespaces, "", "team", {}));
  EXPECT_TRUE(Eventually([&] { return Read(kNamespaces, "team", "").is_null(); }))
      << Read(kNamespaces, "team", "").dump(1);
}

}  // namespace
}  // namespace berth::local::cloud
