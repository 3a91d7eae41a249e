// local/cluster/kubelet/container_mounts.h — the folders of a program of this machine: the mounts
// of its pod's volumes, its own /tmp, and its working directory.
//
// Programs whose image is an image folder get their mounts from image_mounts.h.
//
// Threads: tasks of one Executor; makes folders.
// Errors: kInvalid, in words for the pod's owner; kUnavailable for the disk.
// Source: Kubernetes "Volumes".
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/cluster/kubelet/container_environment.h"
#include "local/cluster/kubelet/pod_folders.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/processes/mount_steps.h"
#include "local/cluster/processes/process_host.h"

namespace berth::local::cluster {

class ContainerMounts {
 public:
  // `inherited`: the variables that every program gets from this process; files in the machine's
  // /tmp that they name stay visible. `has_job_user`: programs have a user of their own.
  ContainerMounts(const ObjectCache& cache, const PodFolders& folders, const Environment& inherited,
                  bool has_job_user)
      : cache_(cache), folders_(folders), inherited_(inherited), has_job_user_(has_job_user) {}

  // The mounts of a container, outer ones first. `own`: the variables that the container declares.
  Result<std::vector<MountPoint>> PointsOf(const Json& pod, const Json& container,
                                           const Environment& own) const;
  // Adds the mounts and the working directory to `process`. False `starts` is for a program beside
  // a running container's, which has the mounts already.
  Status AddTo(ProcessSpec& process, const Json& pod, const Json& container, const Environment& own,
               bool starts) const;

 private:
  Result<std::vector<MountStep>> PlanTemporary(const Json& pod, const std::string& container,
                                               const std::set<std::string>& kept,
                                               std::vector<MountPoint> inside) const;

  const ObjectCache& cache_;
  const PodFolders& folders_;
  const Environment& inherited_;
  const bool has_job_user_;
};

}  // namespace berth::local::cluster
