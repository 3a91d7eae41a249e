// admission/pending_facts.h — the facts that the message of a waiting workload is made of, for
// callers that keep no Decision. Refers to the objects it was made from.
//
// Threads: data. Errors: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "admission/decision.h"
#include "base/small_vector.h"

namespace berth::admission {

struct PendingFacts {
  struct PodSetObstacles {
    std::string_view name;
    std::span<const Obstacle> obstacles;
  };
  Outcome outcome = Outcome::kNotNominated;
  Remark remark = Remark::kNone;
  SmallVector<PodSetObstacles, 4> pod_sets;
  std::size_t victim_count = 0;
  bool spares_foreign_owners = false;  // candidates with SparedCandidate::Cause::kForeignOwner
  // The workload itself for kEvictForNodeFailure, the preemptor for kHeldForPreemptor, the workload
  // with the place for kPlaceIsKept; other outcomes and remarks do not read it.
  const api::Workload* object = nullptr;
  WallTime remark_at{};  // Decision::remark_at
};

template <typename Spared>
bool SparesForeignOwners(const Spared& spared) {
  return std::any_of(spared.begin(), spared.end(), [](const SparedCandidate& candidate) {
    return candidate.cause == SparedCandidate::Cause::kForeignOwner;
  });
}

// Equal to the PendingMessage of the Decision (admission/messages.h).
std::string PendingMessage(const PendingFacts& facts, const Vocabulary& vocabulary,
                           const std::string& queue_name);

}  // namespace berth::admission
