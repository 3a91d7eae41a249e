// local/cluster/kubelet/pod_logs.h — reads the logs of pods from the files of their processes
// (pod_folders.h).
//
// Depends on the files alone, so that it can be made before the API server. The time of a line is
// the time of its first byte in the index beside the log (log_times.h).
//
// Threads: any thread. Its own thread polls followed files ten times a second.
#pragma once

#include <memory>
#include <string>

#include "local/apiserver/log_source.h"

namespace berth::local::cluster {

class PodLogs final : public LogSource {
 public:
  // `data_folder` as in ClusterOptions.
  explicit PodLogs(const std::string& data_folder);
  ~PodLogs() override;  // every LogFollow must be destroyed earlier

  ApiResult<std::string> Read(const LogRequest& request) override;
  ApiResult<std::unique_ptr<LogFollow>> Follow(const LogRequest& request,
                                               std::function<bool(std::string_view text)> on_text,
                                               std::function<void()> on_end) override;

 private:
  class Followers;
  struct Found;
  ApiResult<Found> Find(const LogRequest& request) const;

  std::string root_;
  std::shared_ptr<Followers> followers_;
};

}  // namespace berth::local::cluster
