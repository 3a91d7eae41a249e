// program/caller_screens.h — answers of the read API with the rights of the caller: the mirror's
// objects are joined with the objects that the API server gives to the caller, and writes are made
// with the caller's rights.
//
//     CallerRequest, MirrorObjects ─▶ kept less than kept_for ago, or being made? ─▶ done
//                └─▶ a thread for its kind: Session of the caller ─▶ screens/ ─▶ JSON ─▶ done
//
// Readers with the same request share one answer: 200 open pages of a user cause one request.
// Bounds: one request of a kind at a time, most_waiting in line, 1,024 that share an answer, a
// timeout of each call, a limit of a forecast's time. The credentials of this process are used only
// to impersonate users whom a trusted proxy names, which needs the right `impersonate`.
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
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "kube/client/kubeconfig.h"
#include "net/io_pool.h"
#include "program/caller_what_if.h"
#include "program/read_mirror.h"
#include "readapi/caller.h"
#include "view/session.h"

namespace berth::program {

struct CallerScreensOptions {
  kube::KubeConfig api;                              // the API server's address
  std::string ledger;                                // the ledger of forecasts; empty: none
  admission::DriverOptions driver;                   // the rules of forecasts
  Duration call_timeout = std::chrono::seconds(10);  // the limit of a call of the API server
  Duration longest_forecast = std::chrono::seconds(20);
  Duration kept_for = std::chrono::seconds(2);
  int most_waiting = 16;
};

// `api` with the token in place of every credential of this process.
kube::KubeConfig WithToken(const kube::KubeConfig& api, const std::string& token);
// `api` on behalf of the user.
kube::KubeConfig AsUser(kube::KubeConfig api, const readapi::CallerUser& user);

class CallerScreens {
 public:
  using Done = std::function<void(Result<std::string>)>;
  using HasLeft = std::function<bool()>;  // whether nobody waits for the answer; any thread

  CallerScreens(const Clock& clock, CallerScreensOptions options);
  ~CallerScreens() { Stop(); }
  CallerScreens(const CallerScreens&) = delete;
  CallerScreens& operator=(const CallerScreens&) = delete;

  // `objects` is called within Ask if an answer has to be made from the objects. A forecast or a
  // write whose client has left by its turn is not begun: `done` gets kUnavailable.
  void Ask(const readapi::CallerRequest& request, const std::function<MirrorObjects()>& objects,
           Done done, HasLeft has_left = nullptr);
  void Stop();

 private:
  struct Kept {
    SteadyTime until{};
    std::string text;
  };
  enum Line : std::uint8_t { kReads, kStories, kDetails, kLocations, kForecasts, kWrites, kLines };

  Result<std::string> Make(const readapi::CallerRequest& request,
                           const MirrorObjects& objects) const;
  Result<std::string> Capacity(view::Session& session, const readapi::CallerRequest& request,
                               const MirrorObjects& objects) const;
  Result<std::string> Cost(view::Session& session, const readapi::CallerRequest& request,
                           const MirrorObjects& objects) const;
  Result<std::string> WhatIf(view::Session& session, const readapi::CallerRequest& request,
                             const MirrorObjects& objects) const;
  static Line LineFor(readapi::CallerRequest::Kind kind);
  bool Joins(const readapi::CallerRequest& request, Done& done);
  std::vector<Done> TakeJoined(const readapi::CallerRequest& request,
                               const Result<std::string>& answer);

  const Clock& clock_;
  const CallerScreensOptions options_;
  std::mutex mutex_;
  std::map<readapi::CallerRequest, Kept> kept_;
  std::map<readapi::CallerRequest, std::vector<Done>>
      being_made_;  // the callers who wait for the answer that is being made
  std::atomic<bool> stopped_{false};
  std::array<std::atomic<int>, kLines> waiting_{};
  net::IoPool pool_{kLines};  // a thread for each line
  std::array<std::unique_ptr<Executor>, kLines> lines_;
};

}  // namespace berth::program
