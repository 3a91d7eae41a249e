// kube/client/proxy.h — the HTTP proxy for a server, by the rules of Go's clients.
//
// Source: Go, golang.org/x/net/http/httpproxy.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::kube {

struct ProxyEnvironment {
  std::string https_proxy;  // the value of HTTPS_PROXY or https_proxy
  std::string no_proxy;     // the value of NO_PROXY or no_proxy
};

ProxyEnvironment ReadProxyEnvironment();

// The proxy's URL; empty: no proxy. `configured`, a cluster's proxy-url, overrides the environment,
// whose proxy applies to https servers alone and never to loopback. Errors: kInvalid: a server
// without a host.
Result<std::string> ProxyFor(std::string_view server, std::string_view configured,
                             const ProxyEnvironment& environment);

}  // namespace berth::kube
