// admission/preemption/owner_kinds.h — the kinds of owners whose jobs a controller starts and
// stops. The Workload of another owner is no candidate for preemption, because no controller would
// stop its pods.
//
// Threads: one. Errors: none.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/workload.h"

namespace berth::admission {

// A kind of object that owns Workloads, such as "batch", "Job".
struct OwnerKind {
  std::string group;
  std::string kind;
  friend bool operator==(const OwnerKind&, const OwnerKind&) = default;
};

class OwnerKinds {
 public:
  // nullopt: all kinds are managed.
  explicit OwnerKinds(std::optional<std::vector<OwnerKind>> kinds) : kinds_(std::move(kinds)) {}

  // Returns whether the set has changed; it never does where all kinds are managed.
  bool Set(const OwnerKind& kind, bool managed);
  // Whether the Workload's owner is of a kind that is not managed.
  bool IsForeign(const api::Workload& object) const;

 private:
  std::optional<std::vector<OwnerKind>> kinds_;
};

}  // namespace berth::admission
