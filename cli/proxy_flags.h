// cli/proxy_flags.h — the proxy whose headers name the readers of the read API, from flags.
//
// Errors: kInvalid, kNotFound and kUnavailable name the flag, or the file.
#pragma once

#include "base/result.h"
#include "cli/server_flags.h"
#include "kube/runtime/front_proxy.h"

namespace berth::cli {

// Without --read-api-proxy-ca no proxy is trusted.
Result<kube::FrontProxyTrust> ProxyTrustOf(const PageProxyFlags& flags);

}  // namespace berth::cli
