// local/apiserver/registry/token_requests.h — POST …/serviceaccounts/NAME/token: signs a token for
// a ServiceAccount.
//
// Threads: any.
// Errors: 404, 400, 409 and 422 for the request; 503: the server signs no tokens.
// Source: authentication.k8s.io/v1 TokenRequest; k8s.io/kubernetes
// pkg/registry/core/serviceaccount, restated.
#pragma once

#include <optional>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/auth/account_tokens.h"
#include "local/apiserver/registry/identifiers.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/registry/write_committer.h"
#include "local/apiserver/store/watch_cache.h"

namespace berth::local {

class TokenRequests {
 public:
  // Null `tokens`: no tokens are signed.
  TokenRequests(const WatchCache& cache, const Clock& clock, Identifiers& identifiers,
                const WriteCommitter& committer, const AccountTokens* tokens)
      : cache_(cache),
        clock_(clock),
        identifiers_(identifiers),
        committer_(committer),
        tokens_(tokens) {}

  // Returns the TokenRequest with its status; warnings go to `context`.
  ApiResult<Json> Issue(RequestContext& context, const Json& request) const;

 private:
  // Binds the token to the pod or secret that the request names.
  std::optional<ApiError> BindToken(const RequestContext& context, const Json& reference,
                                    AccountClaims& claims) const;

  const WatchCache& cache_;
  const Clock& clock_;
  Identifiers& identifiers_;
  const WriteCommitter& committer_;
  const AccountTokens* tokens_;
};

}  // namespace berth::local
