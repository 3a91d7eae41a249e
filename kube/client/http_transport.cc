#include "kube/client/http_transport.h"

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/json_text.h"
#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/log/log.h"
#include "base/seconds.h"
#include "base/strings.h"
#include "base/system_clock.h"
#include "kube/client/api_client.h"
#include "kube/client/credential_source.h"
#include "kube/client/exec_plugin.h"
#include "kube/client/line_splitter.h"
#include "kube/client/proxy.h"
#include "kube/client/status_error.h"
#include "net/client.h"

namespace berth::kube {
namespace {

constexpr int kUnauthorized = 401;
constexpr std::chrono::seconds kPluginTimeout{60};
// A connection pool with replaced credentials ends after the longest time of its requests.
constexpr std::chrono::seconds kRetireAfter{60};

JsonPtr ParseJson(std::string_view text) {
  Result<Json> json = api::ParseJson(text);
  return json ? std::make_shared<const Json>(*std::move(json)) : nullptr;
}

// The parser of small texts, whose buffers serve the next text of the thread.
api::JsonText& ParserOfThread() {
  thread_local api::JsonText parser;
  return parser;
}

// Larger texts have a parser of their own: its buffers are freed afterwards.
constexpr std::size_t kSmallText = 256 * 1024;

// Calls `read` with the root of the text; nullopt where the text is not JSON.
template <typename Read>
auto ReadRoot(std::string_view text, Read read)
    -> decltype(read(std::declval<const api::JsonNode&>())) {
  std::optional<api::JsonText> own;
  api::JsonText& parser = text.size() > kSmallText ? own.emplace() : ParserOfThread();
  const Result<const api::JsonNode*> root = parser.Parse(text);
  if (!root) return std::nullopt;
  return read(**root);
}

// nullopt where the text is no object: parsing a tree then finds the error.
std::optional<ReadObject> ReadObjectOf(std::string_view text, const ObjectReader& reader) {
  return ReadRoot(text, [&reader](const api::JsonNode& root) -> std::optional<ReadObject> {
    if (root.kind != api::JsonNode::Kind::kObject) return std::nullopt;
    return reader.Read(root);
  });
}

// nullopt where the text is no list: parsing a tree then finds the error.
std::optional<ReadPage> ReadPageOf(std::string_view text, const ObjectReader& reader) {
  ReadPage page;
  Result<api::JsonListHead> head = api::JsonText().ReadList(
      text, [&](const api::JsonNode& item) { page.items.push_back(reader.Read(item)); });
  if (!head) return std::nullopt;
  page.resource_version = std::move(head->resource_version);
  page.continue_token = std::move(head->continue_token);
  return page;
}

ApiResponse ToApiResponse(net::Response response, const ApiRequest& request) {
  constexpr int kOk = 200;
  constexpr int kCreated = 201;
  ApiResponse result;
  result.status = response.status;
  if (request.reader != nullptr && (response.status == kOk || response.status == kCreated)) {
    if (request.method == "GET") {
      result.page = ReadPageOf(response.body, *request.reader);
    } else {
      result.read = ReadObjectOf(response.body, *request.reader);
    }
    if (result.page || result.read) return result;
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

// The event of a watch line, or the error that the line carries.
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

// Reads what ParseWatchLine reads, without a tree; nullopt for lines that need the tree.
std::optional<WatchEvent> ReadWatchEvent(const api::JsonNode& root, const ObjectReader& reader) {
  const api::JsonNode* type = root.Find("type");
  const api::JsonNode* object = root.Find("object");
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

  // Called on the I/O thread.
  void OnHead(int status) { status_ = status; }
  void OnData(std::string_view bytes) {
    if (failed_) return;
    if (status_ >= 300) {  // a Status in place of events
      if (refusal_.size() + bytes.size() <= kMaxRefusalBytes) refusal_ += bytes;
      return;
    }
    std::vector<WatchEvent> events;
    std::optional<Error> error;
    const Status fed = lines_.Feed(bytes, [&](const std::string& line) {
      if (error) return;
      if (reader_ != nullptr) {
        std::optional<WatchEvent> read = ReadRoot(
            line, [this](const api::JsonNode& root) { return ReadWatchEvent(root, *reader_); });
        if (read) {
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

  // Called on the strand. This object owns the stream until the watch ends.
  void SetStream(std::unique_ptr<net::StreamHandle> stream) {
    if (!stopped_) stream_ = std::move(stream);
  }
  void OnRefused(std::function<void()> refused) { on_refused_ = std::move(refused); }
  bool stopped() const { return stopped_; }
  void Fail(const Error& error) { PostEnd(error); }
  void Stop() {
    stopped_ = true;
    stream_.reset();
  }

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
    strand_.Post([self = shared_from_this(), status, refused = status_ == kUnauthorized] {
      if (self->stopped_) return;
      self->Stop();
      if (refused && self->on_refused_) self->on_refused_();
      self->callbacks_.on_end(status);
    });
  }

  Executor& strand_;
  WatchCallbacks callbacks_;
  const std::shared_ptr<const ObjectReader> reader_;  // null: events as JSON
  std::function<void()> on_refused_;                  // used on the strand only
  std::unique_ptr<net::StreamHandle> stream_;
  bool stopped_ = false;
  LineSplitter lines_;  // used on the I/O thread only
  int status_ = 200;
  bool failed_ = false;
  std::string refusal_;
};

class HttpWatch final : public WatchHandle {
 public:
  explicit HttpWatch(std::shared_ptr<WatchState> state) : state_(std::move(state)) {}
  ~HttpWatch() override { state_->Stop(); }

 private:
  std::shared_ptr<WatchState> state_;
};

// Makes a header name of any text: percent-encodes all but the characters of a token.
std::string HeaderName(std::string_view text) { return EscapeQuery(ToLower(text)); }

void AddImpersonation(const Impersonation& as, net::Headers& headers) {
  if (as.user.empty()) return;
  headers.Add("Impersonate-User", as.user);
  if (!as.uid.empty()) headers.Add("Impersonate-Uid", as.uid);
  for (const std::string& group : as.groups) headers.Add("Impersonate-Group", group);
  for (const auto& [key, values] : as.extra) {
    for (const std::string& value : values) {
      headers.Add("Impersonate-Extra-" + HeaderName(key), value);
    }
  }
}

net::Request ToHttp(const ApiRequest& request, const std::string& token, const Impersonation& as) {
  net::Request http;
  http.method = request.method;
  http.target = request.path;
  http.headers.Add("Accept", request.accept);
  if (request.body != nullptr) {
    http.headers.Add("Content-Type", request.content_type);
    http.body = api::FormatJson(*request.body);
  }
  if (!token.empty()) http.headers.Add("Authorization", "Bearer " + token);
  AddImpersonation(as, http.headers);
  return http;
}

class HttpTransport final : public Transport {
 public:
  HttpTransport(net::IoPool& pool, Executor& strand, const KubeConfig& config,
                HttpTransportOptions options)
      : pool_(pool),
        strand_(strand),
        options_(std::move(options)),
        server_(config.server),
        server_name_(config.server_name),
        as_(config.as),
        self_(std::make_shared<HttpTransport*>(this)),
        runner_(kPluginTimeout),
        source_(strand, clock_, config,
                [this](const ExecPlugin& plugin, const KubeConfig& ours,
                       std::function<void(Result<PluginCredential>)> done) {
                  runner_.Run(plugin, ours, std::move(done));
                }) {}

  // Takes the credential of `config`, and validates its URLs and PEMs.
  Status Open(const KubeConfig& config) {
    BERTH_TRY(proxy_url_, ProxyFor(config.server, config.proxy_url, ReadProxyEnvironment()));
    return UseCredential(std::make_shared<const Credential>(Credential{
        config.bearer_token, config.ca_pem, config.client_certificate_pem, config.client_key_pem}));
  }

  void Send(ApiRequest request, Duration timeout,
            std::function<void(Result<ApiResponse>)> done) override {
    auto call = std::make_shared<Call>();
    call->request = std::move(request);
    call->done = std::move(done);
    call->end = clock_.SteadyNow() + timeout;
    Start(call);
    // The request's timeout includes a run of the plugin.
    if (call->started) return;
    strand_.PostAfter(timeout, [call] {
      if (call->started) return;
      call->Finish(Error{ErrorCode::kDeadlineExceeded,
                         call->request.method + " " + call->request.path +
                             ": the exec plugin has given no credential in time"});
    });
  }

  std::unique_ptr<WatchHandle> Watch(ApiRequest request, Duration silence,
                                     WatchCallbacks callbacks) override {
    auto state = std::make_shared<WatchState>(strand_, std::move(callbacks),
                                              options_.max_watch_line_bytes, request.reader);
    source_.Get([this, state, silence,
                 request = std::move(request)](const Result<CredentialPtr>& credential) {
      if (state->stopped()) return;
      if (!credential) return state->Fail(credential.error());
      OpenWatch(state, request, silence, *credential);
    });
    return std::make_unique<HttpWatch>(std::move(state));
  }

 private:
  // A request until its answer.
  struct Call {
    ApiRequest request;
    std::function<void(Result<ApiResponse>)> done;
    SteadyTime end;
    bool started = false;   // has a credential, or needs none
    bool repeated = false;  // it was sent again with another credential

    void Finish(Result<ApiResponse> result) {
      if (const auto callback = std::exchange(done, nullptr)) callback(std::move(result));
    }
  };

  void Start(const std::shared_ptr<Call>& call) {
    source_.Get([this, call](const Result<CredentialPtr>& credential) {
      call->started = true;
      if (!call->done) return;  // timed out
      if (credential) return SendWith(call, *credential);
      strand_.Post([call, error = credential.error()] { call->Finish(error); });
    });
  }

  void SendWith(const std::shared_ptr<Call>& call, const CredentialPtr& credential) {
    Adopt(credential);
    client_->Send(
        ToHttp(call->request, credential->token, as_), call->end - clock_.SteadyNow(),
        [&strand = strand_, weak = std::weak_ptr(self_), call,
         credential](Result<net::Response> response) {
          Result<ApiResponse> result =
              response ? Result<ApiResponse>(ToApiResponse(*std::move(response), call->request))
                       : Result<ApiResponse>(response.error());
          strand.Post([weak, call, credential, result = std::move(result)]() mutable {
            const auto self = weak.lock();
            if (self != nullptr && (*self)->IsToRepeat(*call, credential, result)) {
              return (*self)->Start(call);
            }
            call->Finish(std::move(result));
          });
        });
  }

  // After a 401 nothing happened: any method may be repeated with another credential.
  bool IsToRepeat(Call& call, const CredentialPtr& used, const Result<ApiResponse>& result) {
    return result && result->status == kUnauthorized && source_.Refused(used) &&
           !std::exchange(call.repeated, true);
  }

  void OpenWatch(const std::shared_ptr<WatchState>& state, const ApiRequest& request,
                 Duration silence, const CredentialPtr& credential) {
    Adopt(credential);
    state->OnRefused([weak = std::weak_ptr(self_), credential] {
      if (const auto self = weak.lock()) (*self)->source_.Refused(credential);
    });
    net::StreamCallbacks stream;
    stream.on_head = [state](int status, const net::Headers&) { state->OnHead(status); };
    stream.on_data = [state](std::string_view bytes) { state->OnData(bytes); };
    stream.on_end = [state](const Status& status) { state->OnEnd(status); };
    state->SetStream(
        client_->Open(ToHttp(request, credential->token, as_), silence, std::move(stream)));
  }

  // While one of two files is replaced, they do not match: then the old ones stay in use.
  void Adopt(const CredentialPtr& credential) {
    if (const Status used = UseCredential(credential); !used) {
      LogWarning("new certificates of the kubeconfig cannot be used",
                 {{"error", used.error().message}});
    }
  }

  // A connection belongs to the certificates with which it was opened.
  Status UseCredential(const CredentialPtr& credential) {
    if (tls_of_ == credential) return OkStatus();
    const bool same_tls = tls_of_ != nullptr && tls_of_->ca_pem == credential->ca_pem &&
                          tls_of_->certificate_pem == credential->certificate_pem &&
                          tls_of_->key_pem == credential->key_pem;
    tls_of_ = credential;  // an unusable one is tried once only
    if (same_tls) return OkStatus();
    net::ClientOptions options;
    options.base_url = server_;
    options.ca_pem = credential->ca_pem;
    options.server_name = server_name_;
    options.proxy_url = proxy_url_;
    if (!credential->certificate_pem.empty()) {
      options.certificate = std::make_shared<const net::TlsIdentity>(
          net::TlsIdentity{credential->certificate_pem, credential->key_pem});
    }
    options.user_agent = options_.user_agent;
    options.max_connections = options_.max_connections;
    BERTH_TRY(std::unique_ptr<net::HttpClient> client,
              net::HttpClient::Create(pool_, std::move(options)));
    if (client_ != nullptr) Retire(std::move(client_));
    client_ = std::move(client);
    return OkStatus();
  }

  void Retire(std::unique_ptr<net::HttpClient> client) {
    retired_.push_back(std::move(client));
    strand_.PostAfter(kRetireAfter, [weak = std::weak_ptr(self_)] {
      if (const auto self = weak.lock()) (*self)->retired_.pop_front();
    });
  }

  net::IoPool& pool_;
  Executor& strand_;
  const SystemClock clock_;
  const HttpTransportOptions options_;
  const std::string server_;
  const std::string server_name_;
  const Impersonation as_;
  std::string proxy_url_;
  std::shared_ptr<HttpTransport*> self_;
  CredentialPtr tls_of_;  // whose certificates client_ uses
  std::unique_ptr<net::HttpClient> client_;
  std::deque<std::unique_ptr<net::HttpClient>> retired_;
  PluginRunner runner_;
  CredentialSource source_;
};

}  // namespace

Result<std::unique_ptr<Transport>> MakeHttpTransport(net::IoPool& pool, Executor& strand,
                                                     const KubeConfig& config,
                                                     const HttpTransportOptions& options) {
  auto transport = std::make_unique<HttpTransport>(pool, strand, config, options);
  BERTH_CHECK_OK(transport->Open(config));
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace berth::kube
