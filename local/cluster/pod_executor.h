// local/cluster/pod_executor.h — the kubelet's part: runs bound pods as processes of this machine.
//
// One executor serves all nodes: a process runs the same on every node, real or emulated (whose
// GPUs are only counted). Pods that ran at the end of an earlier run of `berth up` are marked
// Failed and never started again: a pod runs at most once at a time.
//
// Threads: as ObjectCache; the ends of processes are posted to the executor.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "local/apiserver/pod_streams.h"
#include "local/cluster/container_environment.h"
#include "local/cluster/image_map.h"
#include "local/cluster/looks.h"
#include "local/cluster/network/pod_network.h"
#include "local/cluster/object_cache.h"
#include "local/cluster/object_events.h"
#include "local/cluster/pod_account.h"
#include "local/cluster/pod_folders.h"
#include "local/cluster/pod_lifecycle.h"
#include "local/cluster/probes/pod_probes.h"
#include "local/cluster/process_host.h"
#include "local/cluster/stream_pump.h"
#include "local/cluster/usage/pod_usage.h"
#include "local/cluster/writer.h"

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
    PodNetwork* network = nullptr;             // null: pods have the machine's
    ProbeCaller* probes = nullptr;             // null: every probe passes
    MakeAccountKubeconfig account_kubeconfig;  // null: programs get none
    Environment api_variables;                 // every program gets them
    StreamPump* streams = nullptr;             // null: no program takes input
  };

  // Registers its listeners; call before the cache tracks pods and nodes.
  explicit PodExecutor(const Services& services);
  PodExecutor(const PodExecutor&) = delete;
  PodExecutor& operator=(const PodExecutor&) = delete;

  // Reconciles all present pods. Call after the cache is filled.
  void Start();

  // pod_executor_streams.cc. As PodStreams, but in tasks of the executor.
  ApiResult<std::unique_ptr<RunningProgram>> StartProgram(
      const ProgramRequest& request, const std::shared_ptr<ProgramObserver>& observer);
  ApiResult<std::string> FindPort(const PodPlace& place, std::uint16_t port) const;

  // pod_executor_usage.cc. What the programs have used by now, as /proc tells.
  UsageReading ReadUsage() const;

 private:
  struct Live {
    Object pod;  // state at its start; read for names only
    PodRun run;
    std::map<std::size_t, ProcessId> processes;  // by container
    std::optional<WallTime> renew_tokens_at;     // in volumes; nullopt: there are none
    std::set<std::string> stale_volumes;         // what they show has changed
  };

  void OnPod(const ObjectChange& change);
  std::string AddressFor(const Json& pod);
  void GiveBackAddress(const std::string& uid);
  Result<NextLook> Look(const ObjectKey& key);
  // Null if there is no such node. A node that the cache does not have is asked for: a pod is not
  // lost for a cache that is behind.
  ApiResult<Object> FindNode(const std::string& name);
  void EndOthers(const ObjectKey& key, const std::string& uid);
  Result<NextLook> LookAtEnded(const Json& pod);
  // The node refuses the pod before anything of it runs.
  Status Reject(const Json& pod, const std::string& reason, const std::string& message);
  Status MarkLost(const Json& pod, const std::string& reason, const std::string& message);
  PodStep Advance(const Json& pod, Live& live);
  bool Perform(const Json& pod, Live& live, const PodStep& step);
  void StartContainer(const Json& pod, Live& live, std::size_t at);
  Result<ProcessSpec> MakeSpec(const Json& stored_pod, const PodRun& run,
                               const ContainerRun& container, const LocalProgram& program);
  // pod_executor_volumes.cc
  Status HasClaims(const Json& pod) const;
  Status HasMachinePaths(const Json& pod) const;
  bool PrepareVolumes(const Json& pod, Live& live, ContainerRun& container);
  Result<std::vector<PodVolume>> ReadVolumes(const Json& pod, Live& live);
  void RenewTokens(const Json& pod, Live& live);
  void OnData(const ObjectChange& change, DataKind kind);
  void NoteStale(const std::string& uid, std::set<std::string> volumes);
  void RenewStale(const Json& pod, Live& live);
  Result<std::vector<MountPoint>> MountPointsOf(const Json& pod, const Json& container,
                                                const Environment& own) const;
  Status AddVolumes(const Json& pod, const Json& container, const Environment& own, bool starts,
                    ProcessSpec& process) const;
  Result<std::vector<MountStep>> PlanTemporary(const Json& pod, const std::string& container,
                                               const std::set<std::string>& kept,
                                               std::vector<MountPoint> inside) const;
  // pod_executor_images.cc
  std::string ImageFolder(const Json& pod, const std::string& container) const;
  Status AddImageView(const Json& pod, const Json& container, const Environment& own,
                      const images::ImageRoot& image, ProcessSpec& process) const;
  void Hold(ContainerRun& container, const std::string& reason, const std::string& message);
  void ReportMissingImage(const Json& pod, ContainerRun& container);
  void SignalAll(const Live& live, int signal);
  void OnExit(const std::string& uid, std::size_t at, ProcessExit exit);
  // pod_executor_probes.cc
  void StartProbes(Live& live, std::size_t at, const Json& container);
  void OnVerdict(const PodProbes::Container& place, ProbeKind kind, bool passed,
                 const std::string& why);
  void KillForProbe(Live& live, std::size_t at, ProbeKind kind);
  // pod_executor_streams.cc
  struct RunningContainer;
  ApiResult<RunningContainer> FindContainerOf(const ProgramRequest& request);
  std::unique_ptr<RunningProgram> Attach(const ProgramRequest& request,
                                         const RunningContainer& target,
                                         const std::shared_ptr<ProgramObserver>& observer);
  ApiResult<std::unique_ptr<RunningProgram>> Execute(
      const ProgramRequest& request, const RunningContainer& target,
      const std::shared_ptr<ProgramObserver>& observer);
  void PostAlive(std::function<void()> task);
  void EndStreams(const std::string& uid, std::size_t at);
  void RunProbeCommand(const PodProbes::Container& place, const std::vector<std::string>& command,
                       Duration timeout, const std::function<void(ProbeAnswer)>& done);

  std::string LastWords(const Json& pod, const ContainerRun& container) const;
  // True `binary` includes the entries that are no text.
  Json ReadData(const std::string& namespace_name, DataKind kind, const std::string& name,
                bool binary = false);

  Services services_;
  Writer writer_;
  ObjectEvents events_;
  FunctionController pods_;
  std::map<std::string, Live> live_by_uid_;
  std::map<ObjectKey, std::set<std::string>> uids_by_key_;
  std::set<std::string> lost_uids_;
  // Sessions of StreamPump at containers, by uid and container, and the process that runs for each;
  // 0: an attached session.
  std::map<std::pair<std::string, std::size_t>, std::map<std::int64_t, ProcessId>> streams_;
  Environment base_environment_;
  std::unique_ptr<PodProbes> probes_;  // null: every probe passes
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::local::cluster
