// kube/runtime/reconciler.h — the contract of reconcilers, which bring objects to their spec.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "api/object_meta.h"
#include "base/clock.h"
#include "base/result.h"

namespace berth::kube {

// The delay after which the object is reconciled again without a change; nullopt: not until a
// change.
struct NextLook {
  std::optional<Duration> after;
};

class Reconciler {
 public:
  using Done = std::function<void(Result<NextLook>)>;

  virtual ~Reconciler() = default;
  virtual std::string_view name() const = 0;

  // Brings the cluster one step nearer to the object's desired state. Idempotent, and given the key
  // alone: a lost, repeated or reordered event changes nothing. `done` is called once, inside this
  // call or later; dropping it uncalled counts as an error. The work queue never runs two calls for
  // one key at once.
  //
  // Preconditions: the informers this reconciler reads have synced.
  // Errors: the queue retries the key with exponential backoff, from 5 ms to a minute. A
  // reconcile may come earlier than NextLook says.
  virtual void Reconcile(const api::ObjectKey& key, Done done) = 0;
};

}  // namespace berth::kube
