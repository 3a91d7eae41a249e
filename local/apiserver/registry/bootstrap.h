// local/apiserver/registry/bootstrap.h — the objects that every cluster has: namespaces, priority
// classes, and the ConfigMap that servers of extensions read at their start.
//
// Threads: one call at a time.
// Errors: kUnavailable where an object cannot be created.
// Source: kube-apiserver's bootstrap controllers, restated.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::local {

class Registry;

// The common name of the certificate under which requests are passed on.
inline constexpr std::string_view kFrontProxyName = "front-proxy-client";

struct ClusterAuthorities {
  std::string root_ca_pem;         // signs the certificates of clients
  std::string front_proxy_ca_pem;  // signs the client certificate of requests that are passed on;
                                   // empty: no request is passed on
};

// Creates the missing objects; idempotent. An immutable ConfigMap with other authorities stays,
// with a warning in the log.
Status BootstrapCluster(Registry& registry, const ClusterAuthorities& authorities);

}  // namespace berth::local
