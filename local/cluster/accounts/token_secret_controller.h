// local/cluster/accounts/token_secret_controller.h — fills Secrets of the type
// kubernetes.io/service-account-token with a token of the ServiceAccount that their annotation
// names, and deletes them when the account is gone.
//
// Kubernetes' tokens of this kind have no end. The tokens of this controller are valid for a year,
// are replaced after half a year, and end with the Secret.
//
// Threads: as ObjectCache.
#pragma once

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

class TokenSecretController {
 public:
  // Registers its listeners; call before the cache tracks Secrets and ServiceAccounts.
  TokenSecretController(Api& api, ObjectCache& cache, Executor& executor, const Clock& clock);
  TokenSecretController(const TokenSecretController&) = delete;
  TokenSecretController& operator=(const TokenSecretController&) = delete;

  // Reconciles all present Secrets of the type. Call after the cache is filled.
  void Start();

 private:
  Result<NextLook> Look(const ObjectKey& key);
  Result<NextLook> Fill(const Json& secret, const Json& account);

  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  FunctionController secrets_;
};

}  // namespace berth::local::cluster
