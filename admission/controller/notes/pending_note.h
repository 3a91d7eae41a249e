// admission/controller/notes/pending_note.h — the reason, message and explanation of a waiting
// Workload. Texts are made on demand.
//
// Threads: one. Errors: none.
#pragma once

#include <string>
#include <vector>

#include "admission/workloads/reason_history.h"
#include "api/workload.h"

namespace berth::admission {

class PendingNote : public StatedReason {
 public:
  using StatedReason::StatedReason;
  virtual std::vector<api::PodSetRequests> resource_requests() const = 0;
  // JSON for api::kExplanationAnnotation; empty: no annotation.
  virtual std::string explanation() const = 0;
};

}  // namespace berth::admission
