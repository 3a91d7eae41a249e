#include "local/cluster/cluster.h"

#include "base/log/log.h"
#include "base/sha1.h"
#include "base/threads/thread_executor.h"
#include "local/cluster/accounts/token_secret_controller.h"
#include "local/cluster/cron/cron_controller.h"
#include "local/cluster/garbage/garbage_collector.h"
#include "local/cluster/garbage/namespace_controller.h"
#include "local/cluster/garbage/pod_garbage.h"
#include "local/cluster/jobs/job_controller.h"
#include "local/cluster/kubelet/image_map.h"
#include "local/cluster/kubelet/node_reporter.h"
#include "local/cluster/kubelet/pod_executor.h"
#include "local/cluster/kubelet/pod_stream_service.h"
#include "local/cluster/network/api_service.h"
#include "local/cluster/network/pod_network.h"
#include "local/cluster/network/service_controller.h"
#include "local/cluster/objects/pod_index.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/policies/disruption_controller.h"
#include "local/cluster/policies/quota_controller.h"
#include "local/cluster/probes/net_probe_caller.h"
#include "local/cluster/replicas/daemon_set_controller.h"
#include "local/cluster/replicas/deployment_controller.h"
#include "local/cluster/replicas/replica_set_controller.h"
#include "local/cluster/replicas/stateful_set_controller.h"
#include "local/cluster/scheduler/node_taints.h"
#include "local/cluster/scheduler/pod_binder.h"
#include "local/cluster/usage/usage_service.h"
#include "local/cluster/volumes/volume_controller.h"

namespace berth::local::cluster {
namespace {

constexpr Duration kTrackRetry = std::chrono::seconds(1);

// Null where this process may not listen on port 443 of an address of Services.
std::unique_ptr<ApiService> MakeApiService(Api& api, ObjectCache& cache, Executor& executor,
                                           const Clock& clock, const ClusterOptions& options) {
  auto backend = ApiBackend(options.api_url);
  if (!backend || options.network.empty() || !MayServeHttps(options.network)) return nullptr;
  return std::make_unique<ApiService>(api, cache, executor, clock, *std::move(backend));
}

}  // namespace

struct Cluster::Parts {
  Parts(WholeApi& api, const Clock& clock, Executor& on, PodFolders own_folders,
        ImageMap own_images, std::unique_ptr<StreamPump> own_streams,
        std::unique_ptr<ProcessHost> own_host, ProcessRunner& runner, const ClusterOptions& options)
      : executor(on),
        folders(std::move(own_folders)),
        images(std::move(own_images)),
        streams(std::move(own_streams)),
        host(std::move(own_host)),
        event_thread(host != nullptr ? std::make_unique<ThreadExecutor>() : nullptr),
        cache(api, on),
        jobs(api, cache, on, event_writes(), clock),
        replica_sets(api, cache, on, event_writes(), clock, ReplicaKinds::kSets),
        replication_controllers(api, cache, on, event_writes(), clock, ReplicaKinds::kControllers),
        deployments(api, cache, on, event_writes(), clock),
        stateful_sets(api, cache, on, event_writes(), clock),
        daemon_sets(api, cache, on, event_writes(), clock),
        disruptions(api, cache, on, clock),
        quotas(api, cache, on, clock),
        token_secrets(api, cache, on, clock),
        cron_jobs(api, cache, on, event_writes(), clock),
        network(options.network.empty() ? nullptr
                                        : std::make_unique<PodNetwork>(
                                              options.network, options.data_folder + "/hosts")),
        services(api, cache, on, event_writes(), clock, network.get()),
        api_service(MakeApiService(api, cache, on, clock, options)),
        volumes(api, cache, on, event_writes(), clock, folders),
        nodes(api, cache, on, clock),
        node_taints(api, cache, on, event_writes(), clock),
        binder(api, cache, on, event_writes(), clock),
        garbage(api, cache, on, clock),
        pod_garbage(api, cache, on, clock),
        namespaces(api, cache, on, clock),
        pods({api, cache, on, event_writes(), clock, runner, folders, images, options.job_user,
              options.log_bytes, network.get(), host != nullptr ? &probe_calls : nullptr,
              options.account_kubeconfig, options.api_variables, streams.get()}),
        stream_service(std::make_shared<PodStreamService>(on, pods)),
        usage(api, on, clock, pods) {
    IndexUnfinishedPods(cache);
  }

  // Runs in a task of the executor. Tracks nodes before pods: a pod without its node counts lost.
  void Begin() {
    for (const ResourceId* resource : {&kNamespaces,
                                       &kNodes,
                                       &kCronJobs,
                                       &kJobs,
                                       &kDeployments,
                                       &kReplicaSets,
                                       &kReplicationControllers,
                                       &kStatefulSets,
                                       &kDaemonSets,
                                       &kControllerRevisions,
                                       &kDisruptionBudgets,
                                       &kResourceQuotas,
                                       &kServices,
                                       &kEndpoints,
                                       &kEndpointSlices,
                                       &kStorageClasses,
                                       &kPersistentVolumes,
                                       &kPersistentVolumeClaims,
                                       &kServiceAccounts,
                                       &kSecrets,
                                       &kPods}) {
      const auto tracked = cache.Track(*resource);
      if (tracked) continue;
      LogWarning("cannot list",
                 {{"resource", resource->resource}, {"error", tracked.error().message}});
      return BeginAfter(kTrackRetry);
    }
    cache.Follow(kConfigMaps);
    pods.Start();
    nodes.Start();
    node_taints.Start();
    volumes.Start();
    token_secrets.Start();
    jobs.Start();
    services.Start();
    if (api_service != nullptr) api_service->Start();
    replica_sets.Start();
    replication_controllers.Start();
    deployments.Start();
    stateful_sets.Start();
    daemon_sets.Start();
    cron_jobs.Start();
    disruptions.Start();
    quotas.Start();
    namespaces.Start();
    garbage.Start();
    pod_garbage.Start();
    if (host != nullptr) usage.Start();
  }

  void BeginAfter(Duration delay) {
    executor.PostAfter(delay, [this, still = std::weak_ptr<bool>(alive)] {
      if (!still.expired()) Begin();
    });
  }

  Executor& event_writes() { return event_thread != nullptr ? *event_thread : executor; }

  Executor& executor;
  PodFolders folders;
  ImageMap images;
  std::unique_ptr<StreamPump> streams;  // used by processes that end
  std::unique_ptr<ProcessHost> host;
  std::unique_ptr<ThreadExecutor> event_thread;  // null in virtual time
  ObjectCache cache;
  JobController jobs;
  ReplicaSetController replica_sets;
  ReplicaSetController replication_controllers;
  DeploymentController deployments;
  StatefulSetController stateful_sets;
  DaemonSetController daemon_sets;
  DisruptionController disruptions;
  QuotaController quotas;
  TokenSecretController token_secrets;
  CronController cron_jobs;
  std::unique_ptr<PodNetwork> network;
  ServiceController services;
  std::unique_ptr<ApiService> api_service;  // null: there is no Service `kubernetes`
  VolumeController volumes;
  NodeReporter nodes;
  NodeTaints node_taints;
  PodBinder binder;
  GarbageCollector garbage;
  PodGarbageCollector pod_garbage;
  NamespaceController namespaces;
  NetProbeCaller probe_calls;
  PodExecutor pods;
  std::shared_ptr<PodStreamService> stream_service;
  UsageService usage;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
};

namespace {

Status AddImageFolders(const ClusterOptions& options, ImageMap& images) {
  const std::string store = options.data_folder + "/images";
  std::vector<std::string> digests;
  for (const auto& [name, folder] : options.image_folders) {
    auto root = images::OpenImage(folder, store);
    if (!root) return Error{root.error().code, "image " + name + ": " + root.error().message};
    digests.push_back(root->digest);
    BERTH_CHECK_OK(images.AddImage(name, *std::move(root)));
  }
  images::KeepImages(store, digests);
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<Cluster>> Cluster::Start(WholeApi& api, const Clock& clock,
                                                Executor& executor, ClusterOptions options) {
  ImageMap images;
  for (const auto& [image, path] : options.programs) BERTH_CHECK_OK(images.Add(image, path));
  BERTH_CHECK_OK(AddImageFolders(options, images));
  const std::string root = options.data_folder + "/pods";
  PodFolders folders(root, options.work_folder.empty() ? root + "/work" : options.work_folder,
                     options.job_user);
  BERTH_CHECK_OK(folders.Open());
  std::unique_ptr<ProcessHost> host;
  std::unique_ptr<StreamPump> streams;
  if (options.runner == nullptr) {
    BERTH_TRY(streams, StreamPump::Start());
    folders.SweepRecords();
    // Programs have the mark, which does not reveal the data folder.
    const std::string mark = Sha1Hex(options.data_folder);
    if (const int swept = SweepProcesses(mark); swept > 0) {
      LogWarning("ended processes of an earlier run", {{"count", std::to_string(swept)}});
    }
    BERTH_TRY(host, ProcessHost::Start(mark));
  }
  ProcessRunner& runner = options.runner != nullptr ? *options.runner : *host;
  auto parts = std::make_unique<Parts>(api, clock, executor, std::move(folders), std::move(images),
                                       std::move(streams), std::move(host), runner, options);
  parts->BeginAfter(Duration::zero());
  return std::unique_ptr<Cluster>(new Cluster(std::move(parts)));
}

Cluster::Cluster(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
// Processes end first; their last reports are dropped.
Cluster::~Cluster() {
  if (parts_->streams != nullptr) parts_->streams->Stop();
  parts_->host.reset();
  if (parts_->event_thread != nullptr) parts_->event_thread->Stop();
}

ObjectCache& Cluster::cache() { return parts_->cache; }
const PodFolders& Cluster::folders() const { return parts_->folders; }
std::shared_ptr<PodStreams> Cluster::streams() const { return parts_->stream_service; }
net::Response Cluster::AnswerUsage(const net::Request& request) {
  return parts_->usage.Answer(request);
}

}  // namespace berth::local::cluster
