// kube/runtime/reconciler.h — the contract of everything that brings objects to what they ask for.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "api/object_meta.h"
#include "base/clock.h"
#include "base/result.h"

namespace berth::kube {

// When to look at the object again although nothing changed.
struct NextLook {
  std::optional<Duration> after;
};

class Reconciler {
 public:
  using Done = std::function<void(Result<NextLook>)>;

  virtual ~Reconciler() = default;
  virtual std::string_view name() const = 0;

  // Brings the world one step nearer to what the object asks for. Idempotent, and told only which
  // object to look at: a lost, repeated or reordered event changes nothing. `done` is called once,
  // inside this call or later; dropping it uncalled counts as an error. The work queue never runs
  // two calls for one key at once.
  //
  // Preconditions: the informers this reconciler reads have synced.
  // Errors: the queue tries the key again with exponential backoff, from 5 ms to 1000 s, after
  // kInvalid and kForbidden to a minute. A look may come earlier than NextLook asks for.
  virtual void Reconcile(const api::ObjectKey& key, Done done) = 0;
};

}  // namespace berth::kube
