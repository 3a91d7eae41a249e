// scenarios/world/embedded_api.h — the API server of `berth up` without HTTP: the real
// registry with its schemas, defaults, validation and patches, on a store in memory.
//
// The registry begins with the manifests of `berth up`: the namespaces of every cluster, all CRDs,
// and the webhook configurations if `webhooks` is set.
//
// Threads: one, with an Executor in virtual time; else as local/apiserver/api.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/apiserver/registry/registry.h"
#include "local/apiserver/store/store.h"

namespace berth {

struct EmbeddedApiOptions {
  std::uint64_t seed = 1;                    // the seed of uids and generated names
  Executor* deliver_on = nullptr;            // null: watches of the Api have a thread
  local::WebhookCaller* webhooks = nullptr;  // null: no webhook is registered
};

class EmbeddedApi {
 public:
  // All arguments must outlive it.
  static Result<std::unique_ptr<EmbeddedApi>> Start(const Clock& clock, EmbeddedApiOptions options);
  ~EmbeddedApi();
  EmbeddedApi(const EmbeddedApi&) = delete;
  EmbeddedApi& operator=(const EmbeddedApi&) = delete;

  local::Store& store() { return *store_; }
  local::Registry& registry() { return *registry_; }
  local::WholeApi& api() { return *api_; }

  // Does what kubectl apply --server-side does.
  local::ApiResult<local::Object> Apply(const local::Json& object);

 private:
  EmbeddedApi() = default;

  std::unique_ptr<local::Store> store_;
  std::unique_ptr<local::Registry> registry_;
  std::unique_ptr<local::WholeApi> api_;
};

}  // namespace berth
