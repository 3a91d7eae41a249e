// local/apiserver/http/reviews.h — answers TokenReviews, SelfSubjectReviews and access reviews.
// Reviews are not stored. The answers come from the server's own Authenticator and Authorize.
//
// Errors: 400 (no object, no token, no namespace), 422 names the field.
#pragma once

#include "local/apiserver/api.h"
#include "local/apiserver/auth/authenticator.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/registry/request.h"

namespace berth::local {

bool IsReview(const ResourceInfo& resource);
// Returns the review with its status. `context`: user and namespace of the request.
ApiResult<Json> AnswerReview(const RequestContext& context, const Authenticator& authenticator,
                             RoleIndex& roles, Json review);

}  // namespace berth::local
