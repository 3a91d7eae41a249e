#include "kube/runtime/leader_fence.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "kube/client/read_only_transport.h"

namespace berth::kube {
struct LeaderFence::OpenWrites {
  std::size_t count = 0;
  std::function<void()> idle;

  void End() {
    --count;
    if (count == 0 && idle) std::exchange(idle, nullptr)();
  }
};

LeaderFence::LeaderFence(Transport& inner, Executor& executor, const Clock& clock,
                         std::function<WriteWindow()> window)
    : inner_(inner),
      executor_(executor),
      clock_(clock),
      window_(std::move(window)),
      open_(std::make_shared<OpenWrites>()) {}

void LeaderFence::Send(ApiRequest request, Duration timeout,
                       std::function<void(Result<ApiResponse>)> done) {
  if (!IsWrite(request)) return inner_.Send(std::move(request), timeout, std::move(done));
  const SteadyTime now = clock_.SteadyNow();
  const WriteWindow window = window_();
  if (closed_ || now >= window.begin_before) {
    return executor_.Post([done = std::move(done), method = request.method, path = request.path] {
      done(Error{ErrorCode::kUnavailable,
                 method + " " + path + " was not sent: this replica no longer holds the lease"});
    });
  }
  ++open_->count;
  inner_.Send(std::move(request), std::min(timeout, window.end_before - now),
              [open = open_, done = std::move(done)](Result<ApiResponse> response) {
                done(std::move(response));
                open->End();
              });
}

std::unique_ptr<WatchHandle> LeaderFence::Watch(ApiRequest request, Duration silence,
                                                WatchCallbacks callbacks) {
  return inner_.Watch(std::move(request), silence, std::move(callbacks));
}

void LeaderFence::Close(std::function<void()> idle) {
  closed_ = true;
  if (open_->count == 0) return idle();
  open_->idle = std::move(idle);
}

}  // namespace berth::kube
