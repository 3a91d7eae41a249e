// local/cluster/pod_logs.h — the logs of pods, read from the files that their processes write
// (pod_folders.h).
//
// Knows the files alone, so that it can be made before the API server that asks it. Programs write
// their logs themselves: the time of a line is not known, and options that need it are refused.
//
// Threads: any. One thread of its own looks at followed files ten times a second.
#pragma once

#include <memory>
#include <string>

#include "local/apiserver/log_source.h"

namespace berth::local::cluster {

class PodLogs final : public LogSource {
 public:
  // `data_folder` as in ClusterOptions.
  explicit PodLogs(const std::string& data_folder);
  ~PodLogs() override;  // every LogFollow is gone before

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
