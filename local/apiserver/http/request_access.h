// local/apiserver/http/request_access.h — what a request does, as the authorizer sees it.
//
// The handlers parse the same path and parameters with the same functions, so that no request does
// more than its attributes say.
//
// Threads: pure functions. Source: k8s.io/apiserver request info, restated.
#pragma once

#include <string_view>

#include "local/apiserver/auth/policy_rule.h"
#include "local/apiserver/http/target.h"

namespace berth::local {

AccessAttributes AttributesOf(std::string_view method, const Target& target);

}  // namespace berth::local
