// kube/runtime/front_proxy.h — the users of requests that kube-apiserver passes on: its aggregation
// layer shows a client certificate and names the user in headers.
//
//     ConfigMap kube-system/extension-apiserver-authentication
//         ─▶ FrontProxyTrust ─▶ UserOf(request)
//
// Threads: FrontProxyTrust is data, functions are pure; FrontProxyKeeper: one Executor, that of the
// client; destroy it there.
// Source: Kubernetes, "Configure the Aggregation Layer"; RFC of headers in k8s.io/apiserver
// pkg/authentication/request/headerrequest.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client/api_client.h"
#include "kube/runtime/access_reviews.h"
#include "net/http.h"

namespace berth::kube {

struct FrontProxyTrust {
  std::string client_ca_pem;  // empty: no proxy is trusted
  std::vector<std::string>
      allowed_names;  // common names of the proxy's certificate; empty: every name
  std::vector<std::string> username_headers;
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers;
  std::vector<std::string> extra_prefixes;
  friend bool operator==(const FrontProxyTrust&, const FrontProxyTrust&) = default;
};

// Reads the data of the ConfigMap. kInvalid names the key.
Result<FrontProxyTrust> ParseFrontProxyTrust(const Json& config_map);

// nullopt: the request does not come from a trusted proxy, or names no user.
std::optional<AccessUser> UserOf(const net::Request& request, const FrontProxyTrust& trust);

// Reads the ConfigMap at regular intervals, since the CA of the proxy rotates.
class FrontProxyKeeper {
 public:
  struct Options {
    Duration look_again = std::chrono::minutes(1);
    Duration look_again_failed = std::chrono::seconds(10);
  };

  // `changed` is called on the Executor with each new content.
  FrontProxyKeeper(ApiClient& client, Options options,
                   std::function<void(const FrontProxyTrust&)> changed);
  ~FrontProxyKeeper();
  FrontProxyKeeper(const FrontProxyKeeper&) = delete;
  FrontProxyKeeper& operator=(const FrontProxyKeeper&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::kube
