// admission/controller/pending_note.h — what is to be told about why a Workload waits. Texts are
// made when they are asked for.
//
// Threads: one. Errors: none.
#pragma once

#include <map>
#include <string>

#include "admission/reason_history.h"
#include "api/quantity.h"

namespace berth::admission {

class PendingNote : public StatedReason {
 public:
  using StatedReason::StatedReason;
  virtual std::map<std::string, api::ResourceAmounts> resource_requests() const = 0;
  // JSON for api::kExplanationAnnotation; empty: none.
  virtual std::string explanation() const = 0;
};

}  // namespace berth::admission
