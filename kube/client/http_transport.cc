#include "kube/client/http_transport.h"

#include <fstream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/json_text.h"
#include "api/codec/json_tree.h"
#include "base/seconds.h"
#include "base/strings.h"
#include "kube/client/line_splitter.h"
#include "kube/client/status_error.h"
#include "net/client.h"

namespace berth::kube {
namespace {

constexpr std::chrono::seconds kTokenLife{60};  // how long a token read from a file is trusted

JsonPtr ParseJson(std::string_view text) {
  Result<Json> json = api::ParseJson(text);
  return json ? std::make_shared<const Json>(*std::move(json)) : nullptr;
}

// Nothing where the text is no list: the slow way then says what it is.
std::optional<ReadPage> ReadPageOf(std::string_view text, const ObjectReader& reader) {
  ReadPage page;
  Result<api::JsonListHead> head = api::JsonText().ReadList(
      text, [&](const api::JsonNode& item) { page.items.push_back(reader.Read(item)); });
  if (!head) return std::nullopt;
  page.resource_version = std::move(head->resource_version);
  page.continue_token = std::move(head->continue_token);
  return page;
}

ApiResponse ToApiResponse(net::Response response, const ObjectReader* reader) {
  ApiResponse result;
  result.status = response.status;
  if (reader != nullptr && response.status == 200) {
    result.page = ReadPageOf(response.body, *reader);
    if (result.page) return result;
  }
  if (response.headers.Find("Content-Type").find("json") != std::string_view::npos) {
    result.body = ParseJson(response.body);
  }
  if (result.body == nullptr) result.text = std::move(response.body);
  if (const auto seconds = ParseInt64(response.headers.Find("Retry-After")); seconds) {
    result.retry_after = BoundedSeconds(*seconds);
  }
  return result;
}

WatchEvent::Type TypeOf(std::string_view word) {
  if (word == "MODIFIED") return WatchEvent::Type::kModified;
  if (word == "DELETED") return WatchEvent::Type::kDeleted;
  if (word == "BOOKMARK") return WatchEvent::Type::kBookmark;
  return WatchEvent::Type::kAdded;
}

// The event of a watch line, or the error that it carries or is.
Result<WatchEvent> ParseWatchLine(const std::string& line) {
  Json json = api::ParseJsonOrNull(line);
  if (!json.is_object() || !json.contains("object") || !json["object"].is_object() ||
      !json.contains("type") || !json["type"].is_string()) {
    return Error{ErrorCode::kUnavailable, "the watch sent something that is not an event"};
  }
  const std::string type = json["type"].get<std::string>();
  if (type == "ERROR") {
    const Json& status = json["object"];
    const bool has_code = status.contains("code") && status["code"].is_number_integer() &&
                          status["code"] >= 400 && status["code"] < 600;
    const int code = has_code ? status["code"].get<int>() : 500;
    return ErrorFromStatus(code, &status);
  }
  WatchEvent event;
  event.type = TypeOf(type);
  event.object = std::make_shared<const Json>(std::move(json["object"]));
  return event;
}

// The same without a tree; nothing where the slow way has more to say.
std::optional<WatchEvent> ReadWatchLine(const std::string& line, const ObjectReader& reader) {
  api::JsonText text;
  const Result<const api::JsonNode*> root = text.Parse(line);
  if (!root) return std::nullopt;
  const api::JsonNode* type = (*root)->Find("type");
  const api::JsonNode* object = (*root)->Find("object");
  if (type == nullptr || object == nullptr || type->kind != api::JsonNode::Kind::kString ||
      object->kind != api::JsonNode::Kind::kObject || type->text == "ERROR") {
    return std::nullopt;
  }
  WatchEvent event;
  event.type = TypeOf(type->text);
  if (const api::JsonNode* metadata = object->Find("metadata")) {
    const api::JsonNode* version = metadata->Find("resourceVersion");
    if (version != nullptr && version->kind == api::JsonNode::Kind::kString) {
      event.resource_version = version->text;
    }
  }
  if (event.type != WatchEvent::Type::kBookmark) event.read = reader.Read(*object);
  return event;
}

// One open watch. The I/O thread fills `queue` and posts one drain at a time to the strand.
class WatchState : public std::enable_shared_from_this<WatchState> {
 public:
  WatchState(Executor& strand, WatchCallbacks callbacks, std::size_t max_line_bytes,
             std::shared_ptr<const ObjectReader> reader)
      : strand_(strand),
        callbacks_(std::move(callbacks)),
        reader_(std::move(reader)),
        lines_(max_line_bytes) {}

  // I/O thread.
  void OnHead(int status) { status_ = status; }
  void OnData(std::string_view bytes) {
    if (failed_) return;
    if (status_ >= 300) {  // a Status instead of events
      if (refusal_.size() + bytes.size() <= kMaxRefusalBytes) refusal_ += bytes;
      return;
    }
    std::vector<WatchEvent> events;
    std::optional<Error> error;
    const Status fed = lines_.Feed(bytes, [&](const std::string& line) {
      if (error) return;
      if (reader_ != nullptr) {
        if (std::optional<WatchEvent> read = ReadWatchLine(line, *reader_)) {
          events.push_back(*std::move(read));
          return;
        }
      }
      Result<WatchEvent> event = ParseWatchLine(line);
      if (event) {
        events.push_back(*std::move(event));
      } else {
        error = event.error();
      }
    });
    if (!fed) error = fed.error();
    if (!events.empty()) PostEvents(std::move(events));
    if (error) {
      failed_ = true;
      PostEnd(*error);
    }
  }
  void OnEnd(const Status& status) {
    if (failed_) return;
    if (status_ >= 300) {
      const JsonPtr body = ParseJson(refusal_);
      return PostEnd(ErrorFromStatus(status_, body.get()));
    }
    PostEnd(status);
  }

  // Strand.
  void Stop() { stopped_ = true; }

 private:
  static constexpr std::size_t kMaxRefusalBytes = 64 * 1024;

  void PostEvents(std::vector<WatchEvent> events) {
    strand_.Post([self = shared_from_this(), events = std::move(events)]() mutable {
      for (WatchEvent& event : events) {
        if (self->stopped_) return;
        self->callbacks_.on_event(std::move(event));
      }
    });
  }
  void PostEnd(const Status& status) {
    strand_.Post([self = shared_from_this(), status] {
      if (!std::exchange(self->stopped_, true)) self->callbacks_.on_end(status);
    });
  }

  Executor& strand_;
  WatchCallbacks callbacks_;
  const std::shared_ptr<const ObjectReader> reader_;  // null: events as JSON
  bool stopped_ = false;                              // strand only
  LineSplitter lines_;                                // these: I/O thread only
  int status_ = 200;
  bool failed_ = false;
  std::string refusal_;
};

class HttpWatch final : public WatchHandle {
 public:
  HttpWatch(std::shared_ptr<WatchState> state, std::unique_ptr<net::StreamHandle> stream)
      : state_(std::move(state)), stream_(std::move(stream)) {}
  ~HttpWatch() override { state_->Stop(); }

 private:
  std::shared_ptr<WatchState> state_;
  std::unique_ptr<net::StreamHandle> stream_;
};

class HttpTransport final : public Transport {
 public:
  HttpTransport(std::unique_ptr<net::HttpClient> client, Executor& strand, KubeConfig config,
                HttpTransportOptions options)
      : client_(std::move(client)),
        strand_(strand),
        config_(std::move(config)),
        options_(std::move(options)) {}

  void Send(ApiRequest request, Duration timeout,
            std::function<void(Result<ApiResponse>)> done) override {
    client_->Send(
        ToHttp(request), timeout,
        [&strand = strand_, reader = request.reader,
         done = std::move(done)](Result<net::Response> response) {
          Result<ApiResponse> result =
              response ? Result<ApiResponse>(ToApiResponse(*std::move(response), reader.get()))
                       : Result<ApiResponse>(response.error());
          strand.Post([done, result = std::move(result)]() mutable { done(std::move(result)); });
        });
  }

  std::unique_ptr<WatchHandle> Watch(ApiRequest request, Duration silence,
                                     WatchCallbacks callbacks) override {
    auto state = std::make_shared<WatchState>(strand_, std::move(callbacks),
                                              options_.max_watch_line_bytes, request.reader);
    net::StreamCallbacks stream;
    stream.on_head = [state](int status, const net::Headers&) { state->OnHead(status); };
    stream.on_data = [state](std::string_view bytes) { state->OnData(bytes); };
    stream.on_end = [state](const Status& status) { state->OnEnd(status); };
    auto handle = client_->Open(ToHttp(request), silence, std::move(stream));
    return std::make_unique<HttpWatch>(std::move(state), std::move(handle));
  }

 private:
  net::Request ToHttp(const ApiRequest& request) {
    net::Request http;
    http.method = request.method;
    http.target = request.path;
    http.headers.Add("Accept", "application/json");
    if (request.body != nullptr) {
      http.headers.Add("Content-Type", request.content_type);
      http.body = request.body->dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    if (const std::string token = Token(); !token.empty()) {
      http.headers.Add("Authorization", "Bearer " + token);
    }
    return http;
  }

  // A projected service account token is replaced on disk long before it ends.
  std::string Token() {
    const auto now = std::chrono::steady_clock::now();
    if (!config_.token_file.empty() && now >= token_good_until_) {
      std::ifstream file(config_.token_file);
      std::ostringstream text;
      text << file.rdbuf();
      if (file && !text.str().empty()) config_.bearer_token = TrimSpace(text.str());
      token_good_until_ = now + kTokenLife;
    }
    return config_.bearer_token;
  }

  std::unique_ptr<net::HttpClient> client_;
  Executor& strand_;
  KubeConfig config_;
  HttpTransportOptions options_;
  std::chrono::steady_clock::time_point token_good_until_{};
};

}  // namespace

Result<std::unique_ptr<Transport>> MakeHttpTransport(net::IoPool& pool, Executor& strand,
                                                     const KubeConfig& config,
                                                     const HttpTransportOptions& options) {
  net::ClientOptions client_options;
  client_options.base_url = config.server;
  client_options.ca_pem = config.ca_pem;
  client_options.server_name = config.server_name;
  if (!config.client_certificate_pem.empty()) {
    client_options.certificate = std::make_shared<const net::TlsIdentity>(
        net::TlsIdentity{config.client_certificate_pem, config.client_key_pem});
  }
  client_options.user_agent = options.user_agent;
  client_options.max_connections = options.max_connections;
  BERTH_TRY(std::unique_ptr<net::HttpClient> client,
            net::HttpClient::Create(pool, std::move(client_options)));
  return std::unique_ptr<Transport>(
      std::make_unique<HttpTransport>(std::move(client), strand, config, options));
}

}  // namespace berth::kube
