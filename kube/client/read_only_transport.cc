#include "kube/client/read_only_transport.h"

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace berth::kube {
namespace {

class ReadOnlyTransport final : public Transport {
 public:
  ReadOnlyTransport(Transport& inner, Executor& executor) : inner_(inner), executor_(executor) {}

  void Send(ApiRequest request, Duration timeout,
            std::function<void(Result<ApiResponse>)> done) override {
    if (!IsWrite(request)) return inner_.Send(std::move(request), timeout, std::move(done));
    executor_.Post([done = std::move(done), what = request.method + " " + request.path] {
      done(Error{ErrorCode::kForbidden, what + " was not sent: this program writes nothing"});
    });
  }

  std::unique_ptr<WatchHandle> Watch(ApiRequest request, Duration silence,
                                     WatchCallbacks callbacks) override {
    return inner_.Watch(std::move(request), silence, std::move(callbacks));
  }

 private:
  Transport& inner_;
  Executor& executor_;
};

}  // namespace

// Reviews are questions in the form of a POST.
bool IsWrite(const ApiRequest& request) {
  if (request.method == "GET") return false;
  constexpr std::string_view kReviews = "reviews";
  const std::string_view path = std::string_view(request.path).substr(0, request.path.find('?'));
  return !(request.method == "POST" && path.size() > kReviews.size() &&
           path.substr(path.size() - kReviews.size()) == kReviews);
}

std::unique_ptr<Transport> ReadOnly(Transport& inner, Executor& executor) {
  return std::make_unique<ReadOnlyTransport>(inner, executor);
}

}  // namespace berth::kube
