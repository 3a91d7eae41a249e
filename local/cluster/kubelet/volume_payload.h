// local/cluster/kubelet/volume_payload.h — the files of a volume, replaced all at once as kubelet
// does.
//
//     FOLDER/..VERSION/path…   the files
//     FOLDER/..data            a link to ..VERSION, replaced by one rename
//     FOLDER/<first part>      a link to ..data/<first part>
//
// A program that opens a file again reads the new content; one that watches ..data sees one change.
// A mount of one file (subPath) keeps the content that the file had when it was mounted.
//
// Threads: any; at most one call for a folder at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/cluster/kubelet/pod_volumes.h"

namespace berth::local::cluster {

// Makes `files` the content of an existing folder; without a change nothing is written. `give`
// passes a file to its owner.
Status WritePayload(const std::string& folder, const std::vector<VolumeFile>& files,
                    const std::function<Status(const std::string& path)>& give);

}  // namespace berth::local::cluster
