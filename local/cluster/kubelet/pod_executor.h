// local/cluster/kubelet/pod_executor.h — the kubelet's part: runs bound pods as processes of this
// machine.
//
// One executor serves all nodes: a process runs the same on every node, real or emulated (whose
// GPUs are only counted). Pods that ran at the end of an earlier run of `berth up` are marked
// Failed and never started again: a pod runs at most once at a time.
//
//   Look: PodStep (pod_lifecycle.h) ─▶ VolumeWriter ─▶ ProcessSpecs ─▶ ProcessRunner ─▶ OnExit
//   beside a running container: ContainerProbes, ContainerStreams; LiveProcesses reads /proc
//
// Threads: tasks of one Executor, those of the ObjectCache; the ends of processes are posted to it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "local/apiserver/pod_streams.h"
#include "local/cluster/kubelet/container_environment.h"
#include "local/cluster/kubelet/container_probes.h"
#include "local/cluster/kubelet/container_streams.h"
#include "local/cluster/kubelet/image_map.h"
#include "local/cluster/kubelet/live_pods.h"
#include "local/cluster/kubelet/live_processes.h"
#include "local/cluster/kubelet/pod_account.h"
#include "local/cluster/kubelet/pod_folders.h"
#include "local/cluster/kubelet/pod_lifecycle.h"
#include "local/cluster/kubelet/process_specs.h"
#include "local/cluster/kubelet/volume_writer.h"
#include "local/cluster/network/pod_network.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/owned_tasks.h"
#include "local/cluster/objects/writer.h"
#include "local/cluster/probes/pod_probes.h"
#include "local/cluster/processes/process_host.h"
#include "local/cluster/processes/stream_pump.h"
#include "local/cluster/usage/pod_usage.h"

namespace berth::local::cluster {

class PodExecutor {
 public:
  struct Services {
    Api& api;
    ObjectCache& cache;
    Executor& executor;
    Executor& event_writes;
    const Clock& clock;
    ProcessRunner& runner;
    const PodFolders& folders;
    const ImageMap& images;
    std::optional<ProcessUser> job_user;
    std::int64_t log_bytes = 0;
    PodNetwork* network = nullptr;             // null: pods have the machine's network
    ProbeCaller* probes = nullptr;             // null: every probe passes
    MakeAccountKubeconfig account_kubeconfig;  // null: programs get no kubeconfig
    Environment api_variables;                 // every program gets them
    StreamPump* streams = nullptr;             // null: no program takes input
  };

  // Registers its listeners; call before the cache tracks pods and nodes.
  explicit PodExecutor(const Services& services);
  ~PodExecutor();
  PodExecutor(const PodExecutor&) = delete;
  PodExecutor& operator=(const PodExecutor&) = delete;

  // Reconciles all present pods. Call after the cache is filled.
  void Start();

  // Do what PodStreams does, in tasks of the executor.
  ApiResult<std::unique_ptr<RunningProgram>> StartProgram(
      const ProgramRequest& request, const std::shared_ptr<ProgramObserver>& observer);
  ApiResult<std::string> FindPort(const PodPlace& place, std::uint16_t port) const;

  // The usage of the programs up to now, from /proc.
  UsageReading ReadUsage() const;

 private:
  void OnPod(const ObjectChange& change);
  void OnData(const ObjectChange& change, DataKind kind);
  void NoteStale(const std::string& uid, std::set<std::string> volumes);
  std::string AddressFor(const Json& pod);
  void GiveBackAddress(const std::string& uid);
  Result<NextLook> Look(const ObjectKey& key);
  // Null if there is no such node. A node that the cache lacks is requested from the API, so that
  // no pod is lost because the cache is behind.
  ApiResult<Object> FindNode(const std::string& name);
  void EndOthers(const ObjectKey& key, const std::string& uid);
  Result<NextLook> LookAtEnded(const Json& pod);
  // The node refuses the pod before any of its programs runs.
  Status Reject(const Json& pod, const std::string& reason, const std::string& message);
  Status MarkLost(const Json& pod, const std::string& reason, const std::string& message);
  PodStep Advance(const Json& pod, LivePod& live);
  bool Perform(const Json& pod, LivePod& live, const PodStep& step);
  void StartContainer(const Json& pod, LivePod& live, std::size_t at);
  void NoteStart(const Json& pod, LivePod& live, std::size_t at, const Result<ProcessId>& spawned);
  void Hold(ContainerRun& container, const std::string& reason, const std::string& message);
  void ReportMissingImage(const Json& pod, ContainerRun& container);
  void SignalAll(const LivePod& live, int signal);
  void OnExit(const ContainerPlace& place, ProcessExit exit);
  std::string LastWords(const Json& pod, const ContainerRun& container) const;

  std::shared_ptr<bool> owner_ = std::make_shared<bool>(true);
  const Services services_;
  const OwnedTasks tasks_;
  Writer writer_;
  ObjectEvents events_;
  FunctionController pods_;
  LivePods live_by_uid_;
  std::map<ObjectKey, std::set<std::string>> uids_by_key_;
  std::set<std::string> lost_uids_;
  const ProcessSpecs specs_;
  VolumeWriter volumes_;
  ContainerProbes probes_;
  ContainerStreams streams_;
  const LiveProcesses processes_;
};

}  // namespace berth::local::cluster
