// kube/runtime/sweep.h — looking once at all of what is there, without a queue that holds the keys:
// after a start there may be a million, and an informer has them anyway.
//
// Threads: one Executor. Errors: none.
#pragma once

#include <functional>
#include <optional>

#include "api/object_meta.h"
#include "kube/client/informer.h"

namespace berth::kube {

struct Sweep {
  struct Step {
    api::ObjectKey place;
    std::optional<api::ObjectKey> key;  // to be looked at there
  };

  // Whether the sweep, were it to begin now, would come to `key`.
  std::function<bool(const api::ObjectKey& key)> covers;
  // The first step behind `place`, of which only the sweep knows what it is; an empty one stands
  // before all. nullopt: there is none. Objects may come and go between two steps: what is
  // there all the time must be come to, what comes or goes meanwhile is a handler's to Add (see
  // Controller::AddSweep).
  std::function<std::optional<Step>(const api::ObjectKey& place)> next;
};

// The keys of all its objects. `informer` outlives it.
template <typename T>
Sweep SweepOf(const Informer<T>& informer) {
  return {.covers = [&informer](const api::ObjectKey& key) { return informer.Get(key) != nullptr; },
          .next = [&informer](const api::ObjectKey& place) -> std::optional<Sweep::Step> {
            const auto object = informer.After(place);
            if (object == nullptr) return std::nullopt;
            return Sweep::Step{object->meta.key(), object->meta.key()};
          }};
}

}  // namespace berth::kube
