#include "kube/client/rate_limited_transport.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace berth::kube {
namespace {

// A watch has no timeout: where it would wait longer than this it ends, and the reflector tries
// again.
constexpr Duration kLongestWatchWait = std::chrono::seconds(60);

class LimitedTransport final : public Transport {
 public:
  LimitedTransport(Transport& inner, Executor& executor, const Clock& clock,
                   std::shared_ptr<TokenBucket> bucket)
      : inner_(inner),
        executor_(executor),
        clock_(clock),
        bucket_(std::move(bucket)),
        self_(std::make_shared<LimitedTransport*>(this)) {}

  void Send(ApiRequest request, Duration timeout,
            std::function<void(Result<ApiResponse>)> done) override {
    const Duration wait = bucket_->Wait(clock_.SteadyNow());
    if (wait >= timeout) {
      return executor_.Post([done = std::move(done)] { done(OutOfTime()); });
    }
    bucket_->Take();
    if (wait <= Duration::zero()) return inner_.Send(std::move(request), timeout, std::move(done));
    executor_.PostAfter(wait, [weak = std::weak_ptr(self_), request = std::move(request),
                               left = timeout - wait, done = std::move(done)]() mutable {
      const auto self = weak.lock();
      if (self == nullptr) return;
      (*self)->inner_.Send(std::move(request), left, std::move(done));
    });
  }

  std::unique_ptr<WatchHandle> Watch(ApiRequest request, Duration silence,
                                     WatchCallbacks callbacks) override;

 private:
  // A watch that has not begun yet, then the one that has.
  struct OpenWatch {
    ApiRequest request;
    Duration silence{};
    WatchCallbacks callbacks;
    std::unique_ptr<WatchHandle> inner;
  };
  struct Handle final : WatchHandle {
    explicit Handle(std::shared_ptr<OpenWatch> the_watch) : watch(std::move(the_watch)) {}
    std::shared_ptr<OpenWatch> watch;
  };

  static Error OutOfTime() {
    return {ErrorCode::kDeadlineExceeded,
            "the limit of requests (clientConnection.qps) leaves no turn in time"};
  }

  Transport& inner_;
  Executor& executor_;
  const Clock& clock_;
  std::shared_ptr<TokenBucket> bucket_;
  std::shared_ptr<LimitedTransport*> self_;  // weak copies in tasks: null once this is gone
};

std::unique_ptr<WatchHandle> LimitedTransport::Watch(ApiRequest request, Duration silence,
                                                     WatchCallbacks callbacks) {
  const Duration wait = bucket_->Wait(clock_.SteadyNow());
  auto watch = std::make_shared<OpenWatch>(
      OpenWatch{std::move(request), silence, std::move(callbacks), nullptr});
  auto handle = std::make_unique<Handle>(watch);
  if (wait >= kLongestWatchWait) {
    executor_.Post([weak = std::weak_ptr(watch)] {
      if (const auto open = weak.lock()) open->callbacks.on_end(OutOfTime());
    });
    return handle;
  }
  bucket_->Take();
  const auto begin = [weak_self = std::weak_ptr(self_), weak = std::weak_ptr(watch)] {
    const auto self = weak_self.lock();
    const auto open = weak.lock();
    if (self == nullptr || open == nullptr) return;
    open->inner =
        (*self)->inner_.Watch(std::move(open->request), open->silence, std::move(open->callbacks));
  };
  if (wait <= Duration::zero()) {
    begin();
  } else {
    executor_.PostAfter(wait, begin);
  }
  return handle;
}

}  // namespace

std::unique_ptr<Transport> LimitRequests(Transport& inner, Executor& executor, const Clock& clock,
                                         std::shared_ptr<TokenBucket> bucket) {
  return std::make_unique<LimitedTransport>(inner, executor, clock, std::move(bucket));
}

}  // namespace berth::kube
