// local/cluster/kubelet/image_mounts.h — containers whose image is an image folder: their program
// has the root of the image.
//
// Threads: tasks of one Executor.
// Errors: kInvalid, in words for the pod's owner.
// Source: the image's configuration; Kubernetes "Configure a Security Context for a Pod".
#pragma once

#include <string>

#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/cluster/kubelet/container_environment.h"
#include "local/cluster/kubelet/container_mounts.h"
#include "local/cluster/kubelet/pod_folders.h"
#include "local/cluster/processes/process_host.h"
#include "local/images/image_folder.h"

namespace berth::local::cluster {

class ImageMounts {
 public:
  ImageMounts(const PodFolders& folders, const ContainerMounts& mounts)
      : folders_(folders), mounts_(mounts) {}

  // Makes the folders that one run of the container needs.
  Status Prepare(const Json& pod, const std::string& container) const;
  // Adds the root of the image with the container's mounts, the program in it and its user to
  // `process`, which has its argv and network. `own`: the variables that the container declares.
  Status AddTo(ProcessSpec& process, const Json& pod, const Json& container, const Environment& own,
               const images::ImageRoot& image) const;

 private:
  std::string Folder(const Json& pod, const std::string& container) const;

  const PodFolders& folders_;
  const ContainerMounts& mounts_;
};

}  // namespace berth::local::cluster
