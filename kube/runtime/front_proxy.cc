#include "kube/runtime/front_proxy.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/kinds.h"
#include "base/log/log.h"
#include "base/strings.h"
#include "net/escapes.h"

namespace berth::kube {
namespace {

constexpr api::ResourceKind kConfigMap{"", "v1", "ConfigMap", "configmaps", true};
const api::ObjectKey kAuthentication{"kube-system", "extension-apiserver-authentication"};

// A JSON array of strings in a string; absent: empty.
Status ReadNames(const Json& data, const char* key, std::vector<std::string>& out) {
  const auto found = data.find(key);
  if (found == data.end()) return OkStatus();
  const Json names = found->is_string() ? api::ParseJsonOrNull(found->get<std::string>()) : Json();
  const bool is_list = names.is_array() && std::all_of(names.begin(), names.end(),
                                                       [](const Json& n) { return n.is_string(); });
  if (!is_list) {
    return Error{ErrorCode::kInvalid,
                 kAuthentication.ToString() + ": data." + key + " must be a JSON list of strings"};
  }
  out = names.get<std::vector<std::string>>();
  return OkStatus();
}

std::string FirstValue(const net::Request& request, const std::vector<std::string>& headers) {
  for (const std::string& header : headers) {
    if (const std::string_view value = request.headers.Find(header); !value.empty()) {
      return std::string(value);
    }
  }
  return {};
}

}  // namespace

Result<FrontProxyTrust> ParseFrontProxyTrust(const Json& config_map) {
  FrontProxyTrust trust;
  const Json data = config_map.is_object() ? config_map.value("data", Json::object()) : Json();
  if (!data.is_object()) return trust;
  const auto authority = data.find("requestheader-client-ca-file");
  if (authority == data.end() || !authority->is_string()) return trust;
  BERTH_CHECK_OK(ReadNames(data, "requestheader-allowed-names", trust.allowed_names));
  BERTH_CHECK_OK(ReadNames(data, "requestheader-username-headers", trust.username_headers));
  BERTH_CHECK_OK(ReadNames(data, "requestheader-uid-headers", trust.uid_headers));
  BERTH_CHECK_OK(ReadNames(data, "requestheader-group-headers", trust.group_headers));
  BERTH_CHECK_OK(ReadNames(data, "requestheader-extra-headers-prefix", trust.extra_prefixes));
  trust.client_ca_pem = authority->get<std::string>();
  return trust;
}

std::optional<AccessUser> UserOf(const net::Request& request, const FrontProxyTrust& trust) {
  const std::string& proxy = request.client_certificate_common_name;
  if (trust.client_ca_pem.empty() || proxy.empty()) return std::nullopt;
  const auto& names = trust.allowed_names;
  if (!names.empty() && std::find(names.begin(), names.end(), proxy) == names.end()) {
    return std::nullopt;
  }
  AccessUser user;
  user.name = FirstValue(request, trust.username_headers);
  if (user.name.empty()) return std::nullopt;
  user.uid = FirstValue(request, trust.uid_headers);
  for (const net::Header& header : request.headers) {
    for (const std::string& name : trust.group_headers) {
      if (EqualsIgnoreCase(header.name, name)) user.groups.push_back(header.value);
    }
    for (const std::string& prefix : trust.extra_prefixes) {
      if (header.name.size() <= prefix.size() ||
          !EqualsIgnoreCase(std::string_view(header.name).substr(0, prefix.size()), prefix)) {
        continue;
      }
      const std::string key = ToLower(std::string_view(header.name).substr(prefix.size()));
      if (auto plain = net::Unescape(key, net::Plus::kLiteral))
        user.extra[*plain].push_back(header.value);
    }
  }
  return user;
}

struct FrontProxyKeeper::State : std::enable_shared_from_this<State> {
  State(ApiClient& the_client, Options the_options,
        std::function<void(const FrontProxyTrust&)> the_changed)
      : client(the_client), options(the_options), changed(std::move(the_changed)) {}

  void Look() {
    client.Get(kConfigMap, kAuthentication,
               [weak = weak_from_this()](const Result<JsonPtr>& answer) {
                 const auto self = weak.lock();
                 if (self != nullptr) self->Take(answer);
               });
  }

  void Take(const Result<JsonPtr>& answer) {
    // A server without the ConfigMap has no aggregation layer: its proxy is not trusted.
    const bool is_missing = !answer && answer.error().code == ErrorCode::kNotFound;
    Result<FrontProxyTrust> now = FrontProxyTrust{};
    if (!is_missing) {
      now = answer ? ParseFrontProxyTrust(**answer) : Result<FrontProxyTrust>(answer.error());
    }
    if (!now) {
      LogWarning("the certificate authority of kube-apiserver's proxy could not be read",
                 {{"error", now.error().message}});
      return LookAfter(options.look_again_failed);
    }
    if (!(*now == seen)) {
      seen = *now;
      changed(seen);
    }
    LookAfter(options.look_again);
  }

  void LookAfter(Duration delay) {
    client.executor().PostAfter(delay, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Look();
    });
  }

  ApiClient& client;
  const Options options;
  std::function<void(const FrontProxyTrust&)> changed;
  FrontProxyTrust seen;
};

FrontProxyKeeper::FrontProxyKeeper(ApiClient& client, Options options,
                                   std::function<void(const FrontProxyTrust&)> changed)
    : state_(std::make_shared<State>(client, options, std::move(changed))) {
  state_->Look();
}

FrontProxyKeeper::~FrontProxyKeeper() = default;

}  // namespace berth::kube
