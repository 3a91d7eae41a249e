// admission/controller/decision_note.h — why a workload waits, as the cycle found it: recorded as
// data, which is cheap and happens for each head; put into words when somebody writes or reads it.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "admission/controller/pending_note.h"
#include "admission/decision.h"
#include "admission/scheduler.h"
#include "base/small_vector.h"

namespace berth::admission {

class DecisionNote final : public PendingNote {
 public:
  // Null where the decision leaves nothing to say. `scheduler` outlives the note.
  static std::shared_ptr<const DecisionNote> Of(const Decision& decision,
                                                const Scheduler& scheduler);

  // `reason` is one of the words of api/reasons.h.
  DecisionNote(std::string_view reason, const Decision& decision, const Scheduler& scheduler);

  std::string_view reason() const override { return reason_; }
  std::string message() const override;
  std::map<std::string, api::ResourceAmounts> resource_requests() const override;
  // Limits are those of now; workloads that have gone meanwhile are left out.
  std::string explanation() const override;

 private:
  // What of the decision the texts are made of; there is a note for each waiting workload.
  struct PodSetNote {
    std::string name;
    std::int32_t count = 0;
    queue::Requests requests;
    SmallVector<Obstacle, 1> obstacles;
  };
  Decision ToDecision() const;

  std::string_view reason_;
  const Scheduler& scheduler_;
  ClusterQueueId cluster_queue_;
  Outcome outcome_;
  Remark remark_;
  std::uint32_t victim_count_;
  SmallVector<PodSetNote, 1> pod_sets_;
  SmallVector<SparedCandidate, 2> spared_;
  // Null where no text reads it: it would stay in memory for as long as the workload waits.
  std::shared_ptr<const api::Workload> object_;
  std::int64_t forgotten_count_;  // numbers of workloads are good since then
};

}  // namespace berth::admission
