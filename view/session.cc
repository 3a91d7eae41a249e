#include "view/session.h"

#include <condition_variable>
#include <mutex>
#include <string_view>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "kube/client/http_transport.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/status_error.h"
#include "net/io_pool.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;

// The type with which kubectl asks for the columns that the server shows of a kind.
constexpr char kTableType[] = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

class HttpSession final : public Session {
 public:
  HttpSession(kube::KubeConfig config, const ClientOptions& options)
      : config_(std::move(config)),
        timeout_(options.timeout),
        page_size_(options.page_size),
        pool_(1),
        strand_(pool_.MakeStrand()) {}

  ~HttpSession() override {
    pool_.Stop();  // ends callbacks, which refer to members
    transport_.reset();
  }

  Status Connect() {
    BERTH_TRY(transport_, kube::MakeHttpTransport(pool_, *strand_, config_, {}));
    return OkStatus();
  }

  const std::string& default_namespace() const override { return config_.namespace_name; }
  const std::string& server_url() const override { return config_.server; }
  const std::string& cluster_name() const override { return name_; }

  std::vector<Result<Json>> GetAll(const std::vector<std::string>& paths) override {
    std::vector<Result<Json>> answers(paths.size(),
                                      Result<Json>(Error{ErrorCode::kInternal, "not asked"}));
    std::unique_lock lock(mutex_);
    open_ = paths.size();
    for (std::size_t i = 0; i < paths.size(); ++i) {
      strand_->Post([this, &answers, i, path = paths[i]] {
        Fetch({.method = "GET", .path = path}, "", Json(), answers[i]);
      });
    }
    all_answered_.wait(lock, [&] { return open_ == 0; });
    return answers;
  }

  Result<Json> GetTable(const std::string& path) override {
    Result<Json> answer(Error{ErrorCode::kInternal, "not asked"});
    std::unique_lock lock(mutex_);
    open_ = 1;
    strand_->Post([this, &answer, path] {
      Fetch({.method = "GET", .path = path, .accept = kTableType}, "", Json(), answer);
    });
    all_answered_.wait(lock, [&] { return open_ == 0; });
    return answer;
  }

  Result<std::string> GetText(const std::string& path) override {
    Result<std::string> answer(Error{ErrorCode::kInternal, "not asked"});
    std::unique_lock lock(mutex_);
    open_ = 1;
    strand_->Post([this, &answer, path] {
      transport_->Send({.method = "GET", .path = path, .accept = "*/*"}, timeout_,
                       [this, &answer](const Result<kube::ApiResponse>& response) {
                         Finish(answer, TextOf(response));
                       });
    });
    all_answered_.wait(lock, [&] { return open_ == 0; });
    return answer;
  }

  Result<Json> Post(const std::string& path) override {
    return SendOne({.method = "POST", .path = path});
  }

  Result<Json> Write(const std::string& method, const std::string& path,
                     const std::string& content_type, const Json& body) override {
    return SendOne({.method = method,
                    .path = path,
                    .content_type = content_type,
                    .body = std::make_shared<const Json>(body)});
  }

 private:
  Result<Json> SendOne(const kube::ApiRequest& one) {
    Result<Json> answer(Error{ErrorCode::kInternal, "not asked"});
    std::unique_lock lock(mutex_);
    open_ = 1;
    strand_->Post([this, &answer, one] {
      transport_->Send(one, timeout_, [this, &answer, one](Result<kube::ApiResponse> response) {
        Take(one, Json(), std::move(response), answer);
      });
    });
    all_answered_.wait(lock, [&] { return open_ == 0; });
    return answer;
  }

  // A path with a limit of its own asks for one page alone.
  static bool IsBounded(const kube::ApiRequest& request) {
    return request.path.find("limit=") != std::string::npos;
  }

  // Reads one page of `whole`, appends it to `so_far`, and continues while the server has more.
  void Fetch(const kube::ApiRequest& whole, const std::string& token, Json so_far,
             Result<Json>& answer) {
    kube::ApiRequest page = whole;
    const auto ask = [&page](const std::string& parameter) {
      page.path += (page.path.find('?') == std::string::npos ? "?" : "&") + parameter;
    };
    if (page_size_ > 0 && !IsBounded(whole)) ask("limit=" + std::to_string(page_size_));
    if (!token.empty()) ask("continue=" + token);
    transport_->Send(std::move(page), timeout_,
                     [this, whole, so_far = std::move(so_far),
                      &answer](Result<kube::ApiResponse> response) mutable {
                       Take(whole, std::move(so_far), std::move(response), answer);
                     });
  }

  void Take(const kube::ApiRequest& whole, Json so_far, Result<kube::ApiResponse> response,
            Result<Json>& answer) {
    if (!response) return Finish(answer, Unreachable(response.error()));
    if (response->status >= 400)
      return Finish(answer, kube::ErrorFromStatus(response->status, response->body.get()));
    if (!response->body) {
      return Finish(answer,
                    Error{ErrorCode::kInternal, "the answer to " + whole.path + " is not JSON"});
    }
    Json page = *response->body;
    std::string token;
    if (const auto metadata = page.find("metadata");
        metadata != page.end() && metadata->is_object()) {
      token = metadata->value("continue", "");
    }
    const char* entries = page.contains("rows") ? "rows" : "items";
    if (so_far.is_object() && page.contains(entries)) {
      for (Json& entry : page[entries]) so_far[entries].push_back(std::move(entry));
    } else {
      so_far = std::move(page);
    }
    if (token.empty() || IsBounded(whole)) return Finish(answer, std::move(so_far));
    Fetch(whole, token, std::move(so_far), answer);
  }

  Error Unreachable(const Error& error) const {
    return {error.code, "the API at " + config_.server + " cannot be reached: " + error.message +
                            " (context " + config_.context +
                            "; `berth up` starts a local cluster)"};
  }

  // A log whose only line is JSON is text, too.
  Result<std::string> TextOf(const Result<kube::ApiResponse>& response) const {
    if (!response) return Unreachable(response.error());
    if (response->status >= 400) {
      return kube::ErrorFromStatus(response->status, response->body.get());
    }
    return response->body ? api::FormatJson(*response->body) : response->text;
  }

  template <typename T>
  void Finish(Result<T>& answer, Result<std::type_identity_t<T>> result) {
    const std::lock_guard lock(mutex_);
    answer = std::move(result);
    if (--open_ == 0) all_answered_.notify_one();
  }

  kube::KubeConfig config_;
  Duration timeout_;
  std::int64_t page_size_;
  // The context that `berth up` writes is named after the program, not after the cluster.
  std::string name_ = config_.context == "berth" ? "local cluster" : config_.context;
  net::IoPool pool_;
  std::unique_ptr<Executor> strand_;
  std::unique_ptr<kube::Transport> transport_;
  std::mutex mutex_;
  std::condition_variable all_answered_;
  std::size_t open_ = 0;
};

}  // namespace

Result<std::unique_ptr<Session>> Session::Open(const ClientOptions& options) {
  Result<kube::KubeConfig> config =
      kube::FindKubeConfig({.path = options.kubeconfig, .context = options.context});
  if (!config && config.error().code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kUnavailable, config.error().message +
                                              " (`berth up` starts a local cluster and says how to "
                                              "point KUBECONFIG at it)"};
  }
  if (!config) return config.error();
  return Connect(*std::move(config), options);
}

Result<std::unique_ptr<Session>> Session::Connect(kube::KubeConfig config,
                                                  const ClientOptions& options) {
  auto session = std::make_unique<HttpSession>(std::move(config), options);
  BERTH_CHECK_OK(session->Connect());
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace berth::view
