#include "local/apiserver/webhooks/http_caller.h"

#include <chrono>

#include "api/codec/json_tree.h"
#include "local/apiserver/blocking.h"
#include "local/apiserver/webhooks/service_address.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxClients = 256;
constexpr std::size_t kMaxAnswerBytes = 32 * 1024 * 1024;

std::string TimeoutText(Duration timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
  return std::to_string(seconds) + "s";
}

}  // namespace

HttpWebhookCaller::HttpWebhookCaller(net::IoPool& pool, const WatchCache& cache,
                                     std::map<std::string, std::string> services)
    : pool_(pool), cache_(cache), services_(std::move(services)) {}

void HttpWebhookCaller::SetService(const std::string& name, const std::string& url) {
  const std::lock_guard lock(mutex_);
  services_[name] = url;
}

Result<std::string> HttpWebhookCaller::BaseUrlOf(const WebhookTarget& target,
                                                 const std::string& server_name) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = services_.find(server_name);
    if (known != services_.end()) return known->second;
  }
  const StoredPtr stored = cache_.Get({"services", target.service_namespace, target.service_name});
  const Object service = stored == nullptr ? nullptr : stored->json();
  BERTH_TRY(const std::string address,
            AddressOfService(service.get(), target.service_name, target.service_port));
  return "https://" + address;
}

Result<HttpWebhookCaller::Address> HttpWebhookCaller::Resolve(const WebhookTarget& target,
                                                              Duration timeout) {
  Address address;
  const std::string query = "timeout=" + TimeoutText(timeout);
  if (!target.url.empty()) {
    const std::size_t host = target.url.find("://");
    const std::size_t path = host == std::string::npos ? host : target.url.find('/', host + 3);
    address.base_url = target.url.substr(0, path);
    address.path = path == std::string::npos ? "/" : target.url.substr(path);
    address.path += (address.path.find('?') == std::string::npos ? "?" : "&") + query;
    address.shown_url = address.base_url + address.path;
    return address;
  }
  address.server_name = target.service_name + "." + target.service_namespace + ".svc";
  address.path = (target.service_path.empty() ? "/" : target.service_path) + "?" + query;
  address.shown_url =
      "https://" + address.server_name + ":" + std::to_string(target.service_port) + address.path;
  auto base_url = BaseUrlOf(target, address.server_name);
  if (!base_url) {
    return Error{base_url.error().code,
                 "Post \"" + address.shown_url + "\": " + base_url.error().message};
  }
  address.base_url = *std::move(base_url);
  return address;
}

Result<std::shared_ptr<net::HttpClient>> HttpWebhookCaller::ClientFor(const Address& address,
                                                                      const std::string& ca_pem) {
  const std::pair<std::string, std::string> key{address.base_url + " " + address.server_name,
                                                ca_pem};
  const std::lock_guard lock(mutex_);
  if (const auto it = clients_.find(key); it != clients_.end()) return it->second;
  if (clients_.size() >= kMaxClients) clients_.clear();
  net::ClientOptions options;
  options.base_url = address.base_url;
  options.ca_pem = ca_pem;
  options.server_name = address.server_name;
  options.user_agent = "kube-apiserver-admission";
  options.max_body_bytes = kMaxAnswerBytes;
  BERTH_TRY(auto client, net::HttpClient::Create(pool_, std::move(options)));
  std::shared_ptr<net::HttpClient> shared = std::move(client);
  clients_[key] = shared;
  return shared;
}

Result<Json> HttpWebhookCaller::Call(const WebhookTarget& target, const WebhookQuestion& question,
                                     Duration timeout, int* http_code) {
  BERTH_TRY(const Address address, Resolve(target, timeout));
  const std::string post = "Post \"" + address.shown_url + "\": ";
  BERTH_TRY(const std::shared_ptr<net::HttpClient> client, ClientFor(address, target.ca_pem));
  net::Request request;
  request.method = "POST";
  request.target = address.path;
  request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json, */*"}};
  request.body = question.Text();
  auto answer = [&] {
    const BlockingScope blocking;
    return client->SendAndWait(std::move(request), timeout);
  }();
  if (!answer) {
    const bool late = answer.error().code == ErrorCode::kDeadlineExceeded;
    return Error{answer.error().code,
                 post + (late ? "context deadline exceeded" : answer.error().message)};
  }
  if (answer->status != 200) {
    if (http_code != nullptr) *http_code = answer->status;
    return Error{ErrorCode::kUnavailable, "the server answered " + std::to_string(answer->status) +
                                              ": " + answer->body.substr(0, 200)};
  }
  Result<Json> parsed = api::ParseJson(answer->body);
  if (!parsed) {
    return Error{ErrorCode::kUnavailable, "the answer is not JSON: " + parsed.error().message};
  }
  return parsed;
}

}  // namespace berth::local
