// local/apiserver/http/reviews.h — who am I, may I: reviews are answered, not stored. Everybody who
// is let in may do everything: this server has no roles.
#pragma once

#include "local/apiserver/api.h"
#include "local/apiserver/registry/request.h"

namespace berth::local {

bool IsReview(const ResourceInfo& resource);
// The review with its status.
ApiResult<Json> AnswerReview(const ResourceInfo& resource, const UserInfo& user, Json review);

}  // namespace berth::local
