// admission/controller/decision_note.h — why a workload waits, as the cycle found it: recorded as
// data, which is cheap and happens for each head; put into words when somebody writes or reads it.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "admission/controller/pending_note.h"
#include "admission/decision.h"
#include "admission/scheduler.h"

namespace berth::admission {

class DecisionNote final : public PendingNote {
 public:
  // Null where the decision leaves nothing to say. `scheduler` outlives the note.
  static std::shared_ptr<const DecisionNote> Of(const Decision& decision,
                                                const Scheduler& scheduler);

  DecisionNote(std::string reason, const Decision& decision, const Scheduler& scheduler);

  std::string message() const override;
  std::map<std::string, api::ResourceAmounts> resource_requests() const override;
  // Limits are those of now; workloads that have gone meanwhile are left out.
  std::string explanation() const override;

 private:
  Decision decision_;  // without the objects that nothing here reads
  const Scheduler& scheduler_;
  std::int64_t forgotten_count_;  // numbers of workloads are good since then
};

}  // namespace berth::admission
