// local/apiserver/http/request_access.h — the access attributes of a request, for the authorizer.
//
// The handlers use the same parsed path and parameters, so that no request does more than its
// attributes say.
//
// Threads: pure functions. Source: k8s.io/apiserver request info, restated.
#pragma once

#include <optional>
#include <string_view>

#include "local/apiserver/auth/policy_rule.h"
#include "local/apiserver/http/target.h"

namespace berth::local {

// `api`: the result of ParseApiPath for the target's path.
AccessAttributes AttributesOf(std::string_view method, const Target& target,
                              const std::optional<ApiPath>& api);

}  // namespace berth::local
