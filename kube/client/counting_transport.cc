#include "kube/client/counting_transport.h"

#include <utility>

namespace berth::kube {
namespace {

constexpr char kNoAnswer[] = "<error>";  // client-go's label
constexpr char kOk[] = "200";

class CountingTransport final : public Transport {
 public:
  CountingTransport(Transport& inner, CountAnswer count)
      : inner_(inner), count_(std::move(count)) {}

  void Send(ApiRequest request, Duration timeout,
            std::function<void(Result<ApiResponse>)> done) override {
    auto counted = [count = count_, method = request.method,
                    done = std::move(done)](Result<ApiResponse> answer) {
      count(method, answer ? std::to_string(answer->status) : kNoAnswer);
      done(std::move(answer));
    };
    inner_.Send(std::move(request), timeout, std::move(counted));
  }

  std::unique_ptr<WatchHandle> Watch(ApiRequest request, Duration silence,
                                     WatchCallbacks callbacks) override {
    const auto is_counted = std::make_shared<bool>(false);
    auto once = [count = count_, method = request.method, is_counted](const char* code) {
      if (!std::exchange(*is_counted, true)) count(method, code);
    };
    WatchCallbacks counting;
    counting.on_event = [once, on_event = std::move(callbacks.on_event)](WatchEvent event) {
      once(kOk);
      on_event(std::move(event));
    };
    counting.on_end = [once, on_end = std::move(callbacks.on_end)](const Status& status) {
      once(status ? kOk : kNoAnswer);
      on_end(status);
    };
    return inner_.Watch(std::move(request), silence, std::move(counting));
  }

 private:
  Transport& inner_;
  CountAnswer count_;
};

}  // namespace

std::unique_ptr<Transport> CountAnswers(Transport& inner, CountAnswer count) {
  return std::make_unique<CountingTransport>(inner, std::move(count));
}

}  // namespace berth::kube
