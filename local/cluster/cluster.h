// local/cluster/cluster.h — the components that make the embedded API a cluster: Job controller,
// pod binder, garbage collector, namespaces, executor.
//
//     berth up:  Api ◀── Cluster (one Executor) ──▶ ProcessHost (its own thread)
//                          └── cache() ──▶ CloudDriver (local/cloud), on the same Executor
//
// Threads: all controllers run in tasks of one Executor, whose tasks may block
// (base/threads/thread_executor.h); another thread writes their events. Stop that Executor before
// the Cluster is destroyed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/apiserver/pod_streams.h"
#include "local/cluster/kubelet/container_environment.h"
#include "local/cluster/kubelet/pod_account.h"
#include "local/cluster/kubelet/pod_folders.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/processes/process_host.h"
#include "net/http.h"

namespace berth::local::cluster {

inline constexpr std::int64_t kDefaultLogBytes = 64 * 1024 * 1024;

struct ClusterOptions {
  std::string data_folder;  // absolute; pods have their files in data_folder/pods
  std::vector<std::pair<std::string, std::string>> programs;  // image → absolute path of a program
  // Image → absolute path of an image folder; images are unpacked into data_folder/images.
  std::vector<std::pair<std::string, std::string>> image_folders;
  // Folder of programs; empty: data_folder/pods/work. `berth up` sets one outside data_folder.
  std::string work_folder;
  std::optional<ProcessUser> job_user;        // nullopt: programs run as this process' user
  std::int64_t log_bytes = kDefaultLogBytes;  // limit of each log, in bytes; 0: no limit
  // Null: runs processes on this machine. Tests in virtual time pass their own.
  ProcessRunner* runner = nullptr;
  // "127.77": the part of 127.0.0.0/8 for pods and Services (loopback_network.h); empty: pods have
  // the machine's network.
  std::string network;
  // Null: programs get no kubeconfig of their pod's ServiceAccount.
  MakeAccountKubeconfig account_kubeconfig;
  // Variables of every program, by which clients in a cluster find the API (ApiVariables).
  Environment api_variables;
  // The URL of the API with its port, to which the Service `kubernetes` leads; empty: there is no
  // such Service.
  std::string api_url;
};

class Cluster {
 public:
  // Ends processes of an earlier run, then starts the controllers; they fill their cache and start
  // in tasks of `executor`. Errors: a data folder that cannot be written, an invalid image mapping,
  // no guard process.
  static Result<std::unique_ptr<Cluster>> Start(WholeApi& api, const Clock& clock,
                                                Executor& executor, ClusterOptions options);
  // Ends all processes, with SIGKILL after two seconds.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  ObjectCache& cache();
  const PodFolders& folders() const;
  // Serves exec, attach and portforward. The result may outlive the cluster, but not the executor.
  std::shared_ptr<PodStreams> streams() const;
  // Answers a request of metrics.k8s.io (usage/usage_api.h). Blocks; must not be called in a task
  // of the executor.
  net::Response AnswerUsage(const net::Request& request);

 private:
  struct Parts;
  explicit Cluster(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::local::cluster
