// local/cluster/processes/image_view.h — the system calls that make the root of an image a
// program's root.
//
//     the image's folder + an empty folder ──overlay──▶ a root; /proc, /dev, /etc/hosts and the
//     volumes in it ──pivot_root──▶ nothing else of the machine's files is left
//
// The paths of the steps are resolved within the image when the steps are planned (root_folder.h),
// so that a link of the image does not lead a mount to the machine's files. The empty folder has no
// links when the steps are performed.
//
// Threads: reads folders; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/cluster/processes/mount_steps.h"
#include "local/cluster/processes/process_host.h"
#include "local/images/image_folder.h"

namespace berth::local::cluster {

// A folder of this process for one run of a container; it begins empty.
struct ImageScratch {
  std::string root;   // the mount point
  std::string upper;  // holds the files that the program writes
  std::string work;   // the work folder of the overlay file system
};

// Makes the empty folders of a scratch in `folder`; removes files that an earlier run has left.
Result<ImageScratch> MakeImageScratch(const std::string& folder);
// The paths of the folders that MakeImageScratch makes.
ImageScratch ImageScratchIn(const std::string& folder);

struct ImageViewRequest {
  std::string hosts_path;          // stands at /etc/hosts; empty: the image's
  std::vector<MountPoint> mounts;  // outer ones first
  std::string working_folder;      // absolute; made if it is missing
};

// Plans the steps. kInvalid: a mountPath or a working directory on a link of the image that leads
// nowhere, a folder of the data directory whose name the overlay file system cannot take.
Result<std::vector<MountStep>> PlanImageView(const images::ImageRoot& image,
                                             const ImageScratch& scratch,
                                             const ImageViewRequest& request);

// Finds the program of `process.argv` in the image, by the PATH of `process.env`. kInvalid: there
// is none.
Status UseProgramOfImage(const images::ImageRoot& image, ProcessSpec& process);

}  // namespace berth::local::cluster
