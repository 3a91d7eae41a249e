// local/apiserver/http/reviews.h — reviews: whose token is this, who am I, may I, may this user?
// They are answered and not stored. The answers are those of the server's own Authenticator and
// Authorize.
//
// Errors: 400 (no object, no token), 422 names the field.
#pragma once

#include "local/apiserver/api.h"
#include "local/apiserver/auth/authenticator.h"
#include "local/apiserver/registry/request.h"

namespace berth::local {

// Of tokens that are for this server; a TokenReview may ask for it in spec.audiences.
inline constexpr char kAudience[] = "https://kubernetes.default.svc.cluster.local";

bool IsReview(const ResourceInfo& resource);
// The review with its status. `context`: of the request, with its user and namespace.
ApiResult<Json> AnswerReview(const RequestContext& context, const Authenticator& authenticator,
                             Json review);

}  // namespace berth::local
