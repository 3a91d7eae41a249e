// cli/caller_screens.h — answers of the read API with the rights of the caller: what the mirror has
// is joined with what the API server gives to the caller's own token, and writes are the caller's.
//
//     CallerRequest, MirrorObjects ─▶ kept less than kept_for ago? ─▶ done
//                └─▶ a thread for its kind: Session with the token ─▶ screens/ ─▶ JSON ─▶ done
//
// Bounds: one request of a kind at a time, most_waiting in line, a timeout of each call, a limit of
// a forecast's time. The credentials of this process are never used.
//
// Threads: Ask from any; Stop by the owner. Errors of `done`: those of the API server for the
// token, kTooManyRequests, kInvalid.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "cli/caller_what_if.h"
#include "cli/commands.h"
#include "cli/read_mirror.h"
#include "cli/session.h"
#include "kube/client/kubeconfig.h"
#include "net/io_pool.h"
#include "readapi/caller.h"

namespace berth::cli {

struct CallerScreensOptions {
  kube::KubeConfig api;                              // of the API server
  std::string ledger;                                // of forecasts; empty: none
  admission::SchedulerConfig scheduler;              // of forecasts
  Duration wake_up_batch = std::chrono::seconds(1);  // of forecasts
  Duration call_timeout = std::chrono::seconds(10);  // of a call of the API server
  Duration longest_forecast = std::chrono::seconds(20);
  Duration kept_for = std::chrono::seconds(2);
  int most_waiting = 16;
};

// `api` with the token in place of every credential of this process.
kube::KubeConfig WithToken(const kube::KubeConfig& api, const std::string& token);

class CallerScreens {
 public:
  using Done = std::function<void(Result<std::string>)>;

  CallerScreens(const Clock& clock, CallerScreensOptions options);
  ~CallerScreens() { Stop(); }
  CallerScreens(const CallerScreens&) = delete;
  CallerScreens& operator=(const CallerScreens&) = delete;

  void Ask(const readapi::CallerRequest& request, MirrorObjects objects, Done done);
  void Stop();

 private:
  struct Kept {
    SteadyTime until{};
    std::string text;
  };
  enum Line : std::uint8_t { kReads, kForecasts, kWrites, kLines };

  Result<std::string> Make(const readapi::CallerRequest& request,
                           const MirrorObjects& objects) const;
  Result<std::string> Capacity(Session& session, const readapi::CallerRequest& request,
                               const MirrorObjects& objects) const;
  Result<std::string> Cost(Session& session, const readapi::CallerRequest& request,
                           const MirrorObjects& objects) const;
  Result<std::string> Topology(Session& session, const readapi::CallerRequest& request,
                               const MirrorObjects& objects) const;
  Result<std::string> WhatIf(Session& session, const readapi::CallerRequest& request,
                             const MirrorObjects& objects) const;
  std::optional<std::string> KeptText(const readapi::CallerRequest& request);

  const Clock& clock_;
  const CallerScreensOptions options_;
  std::mutex mutex_;
  std::map<readapi::CallerRequest, Kept> kept_;
  std::atomic<bool> stopped_{false};
  std::array<std::atomic<int>, kLines> waiting_{};
  net::IoPool pool_{kLines};  // a thread for each line
  std::array<std::unique_ptr<Executor>, kLines> lines_;
};

}  // namespace berth::cli
