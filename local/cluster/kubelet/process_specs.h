// local/cluster/kubelet/process_specs.h — describes the process of a container: command line,
// variables, folders, mounts, network, user.
//
//   pod + container + LocalProgram ─▶ ProcessSpec (process_host.h)
//
// Threads: tasks of one Executor; asks the API and makes folders.
// Errors: kInvalid: the container's declaration cannot be fulfilled; other errors: the machine, or
// the API.
// Source: Kubernetes "Define Environment Variables for a Container" and kubelet, restated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/cluster/kubelet/container_environment.h"
#include "local/cluster/kubelet/container_mounts.h"
#include "local/cluster/kubelet/image_map.h"
#include "local/cluster/kubelet/image_mounts.h"
#include "local/cluster/kubelet/pod_account.h"
#include "local/cluster/kubelet/pod_folders.h"
#include "local/cluster/kubelet/pod_lifecycle.h"
#include "local/cluster/network/pod_network.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/processes/process_host.h"

namespace berth::local::cluster {

class ProcessSpecs {
 public:
  struct Services {
    Api& api;
    const ObjectCache& cache;
    const PodFolders& folders;
    std::optional<ProcessUser> job_user;
    std::int64_t log_bytes = 0;                // newest bytes of a log; 0: all
    PodNetwork* network = nullptr;             // null: pods have the machine's network
    MakeAccountKubeconfig account_kubeconfig;  // null: programs get no kubeconfig
    Environment api_variables;                 // every program gets them
  };
  explicit ProcessSpecs(const Services& services);
  ProcessSpecs(const ProcessSpecs&) = delete;
  ProcessSpecs& operator=(const ProcessSpecs&) = delete;

  // Makes the folders that the next start of the container needs beside its volumes.
  Status PrepareImage(const Json& pod, const ContainerRun& container) const;
  // The process of the container, with the container's own command. If the container runs already,
  // its mounts are left out, since the new program starts beside the container's process.
  Result<ProcessSpec> Make(const Json& stored_pod, const PodRun& run, const ContainerRun& container,
                           const LocalProgram& program) const;

 private:
  const Services services_;
  const Environment inherited_;  // from this process
  const ContainerMounts mounts_;
  const ImageMounts image_mounts_;
};

}  // namespace berth::local::cluster
