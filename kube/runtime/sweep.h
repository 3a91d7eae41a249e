// kube/runtime/sweep.h — reconciles every present object once, without a queue of keys: after a
// start there may be a million, which an informer holds anyway.
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
    std::optional<api::ObjectKey> key;  // the key to reconcile
  };

  // Whether a sweep that began now would reach `key`.
  std::function<bool(const api::ObjectKey& key)> covers;
  // The first step behind `place`, a position that only the sweep interprets; an empty `place` is
  // before all steps. nullopt: no further step. Objects may come and go between two steps: the
  // sweep must reach objects that are present all the time; a handler Adds those that come or go
  // meanwhile (see Controller::AddSweep).
  std::function<std::optional<Step>(const api::ObjectKey& place)> next;
};

// A sweep over all keys of `informer`, which must outlive the sweep.
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
