// kube/runtime/leader_fence.h — a Transport that sends writes only while this replica holds the
// lease.
//
// Every write of a controller is checked when the write is sent, also when the client repeats the
// write after a 429. So a process that was frozen longer than its lease writes nothing when the
// process continues, although its controllers do not know of the loss yet.
//
//     a write begins before     WriteWindow::begin_before
//     a write is given up at    WriteWindow::end_before: from then on another replica may
//                               lead
//
// Kubernetes offers no fence on the server's side: a write that the network delivers after it was
// given up is held back only by the resourceVersion that the write carries.
//
// Reads, watches and reviews (POST of …reviews) pass at any time.
//
// Threads: as Transport, on `executor`.
// Errors: kUnavailable: the write was not sent.
#pragma once

#include <functional>
#include <vector>

#include "base/executor.h"
#include "kube/client/transport.h"

namespace berth::kube {

// If both fields are SteadyTime{}, the clock's start, this replica does not lead.
struct WriteWindow {
  SteadyTime begin_before{};
  SteadyTime end_before{};
};

class LeaderFence final : public Transport {
 public:
  // `window` is called for every write. `inner`, `executor` and `clock` must outlive the fence.
  LeaderFence(Transport& inner, Executor& executor, const Clock& clock,
              std::function<WriteWindow()> window);

  void Send(ApiRequest request, Duration timeout,
            std::function<void(Result<ApiResponse>)> done) override;
  std::unique_ptr<WatchHandle> Watch(ApiRequest request, Duration silence,
                                     WatchCallbacks callbacks) override;

  // No write begins from now on; calls `idle` when the last open write has its answer.
  void Close(std::function<void()> idle);

 private:
  struct OpenWrites;

  Transport& inner_;
  Executor& executor_;
  const Clock& clock_;
  std::function<WriteWindow()> window_;
  bool closed_ = false;
  std::shared_ptr<OpenWrites> open_;  // callbacks outlive the fence
};

}  // namespace berth::kube
