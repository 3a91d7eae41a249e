// tests/local/cloud/whole_local.h — everything that `berth up` starts but the HTTP front: the real
// embedded API, cluster, cloud and processes, in real time.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "api/yaml/yaml.h"
#include "base/system_clock.h"
#include "base/threads/thread_executor.h"
#include "local/apiserver/api_server.h"
#include "local/cloud/cloud_driver.h"
#include "local/cluster/cluster.h"
#include "local/cluster/kubelet/pod_logs.h"
#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cloud {

class WholeLocal {
 public:
  // `folder` outlives this.
  explicit WholeLocal(std::string folder) : folder_(std::move(folder)) {}
  ~WholeLocal() {
    if (server_ != nullptr) Stop();
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

  WholeApi& api() { return server_->api(); }
  cluster::PodLogs& logs() { return *logs_; }

  void Apply(const ResourceId& resource, const std::string& namespace_name,
             const std::string& yaml) {
    const auto document = berth::api::ParseYaml(yaml);
    ASSERT_TRUE(document) << document.error().message;
    const auto created = api().Create(resource, namespace_name, document->value, {});
    ASSERT_TRUE(created) << created.error().message;
  }
  void ApplyFile(const std::string& path) {
    std::ifstream file(std::string(BERTH_SOURCE_FOLDER) + "/" + path);
    Apply({"apiextensions.k8s.io", "v1", "customresourcedefinitions"}, "",
          {std::istreambuf_iterator<char>(file), {}});
  }

  Json Read(const ResourceId& resource, const std::string& name,
            const std::string& namespace_name = "default") {
    const auto object = api().Get(resource, namespace_name, name);
    return object ? **object : Json();
  }

  static bool Eventually(const std::function<bool()>& holds) {
    for (int round = 0; round < 2000; ++round) {
      if (holds()) return true;
      // allow sleep-in-test: processes and their watchers are waited for
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
    Apply(cluster::kNodePools, "", R"(
apiVersion: cloud.berth.dev/v1alpha1
kind: NodePool
metadata: {name: t4}
spec: {machineType: n1-standard-2, accelerator: {type: nvidia-tesla-t4, count: 1},
       zones: [us-central1-c], queuedProvisioning: true, bootSeconds: 1, idleSeconds: 1, stock: 1}
)");
    Apply(cluster::kPodTemplates, "default", R"(
apiVersion: v1
kind: PodTemplate
metadata: {name: ppt}
template:
  spec:
    nodeSelector: {cloud.google.com/gke-nodepool: t4}
    tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
    containers: [{name: main, image: shell, resources: {requests: {nvidia.com/gpu: 1}}}]
)");
    Apply(cluster::kProvisioningRequests, "default", R"(
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata: {name: pr}
spec:
  provisioningClassName: queued-provisioning.gke.io
  podSets: [{count: 1, podTemplateRef: {name: ppt}}]
)");
  }

 private:
  SystemClock clock_;
  const std::string folder_;
  std::unique_ptr<cluster::PodLogs> logs_;
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<ThreadExecutor> executor_;
  std::unique_ptr<cluster::Cluster> cluster_;
  std::unique_ptr<CloudDriver> cloud_;
};

}  // namespace berth::local::cloud
