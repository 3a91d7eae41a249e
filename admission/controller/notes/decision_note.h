// admission/controller/notes/decision_note.h — the reasons for which a workload waits, as found by
// a cycle. Recording data for each head is cheap; text is made when a note is written or read.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/controller/notes/pending_note.h"
#include "admission/decision.h"
#include "admission/scheduler.h"
#include "base/small_vector.h"

namespace berth::admission {

class DecisionNote final : public PendingNote {
 public:
  // Null where the decision has no reason to report. `scheduler` must outlive the note.
  static std::shared_ptr<const DecisionNote> Of(const Decision& decision,
                                                const Scheduler& scheduler);

  // `reason` is one of the words of api/reasons.h.
  DecisionNote(std::string_view reason, const Decision& decision, const Scheduler& scheduler);

  std::string_view reason() const override { return reason_; }
  std::string message() const override;
  std::vector<api::PodSetRequests> resource_requests() const override;
  // Limits are the present ones; workloads that are gone are left out.
  std::string explanation() const override;

 private:
  // The parts of the decision that the texts read; each waiting workload has a note.
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
  // Null where no text reads the object, so that a note does not keep the object in memory.
  std::shared_ptr<const api::Workload> object_;
  std::unique_ptr<const StopCost> stops_;  // null: unknown, or no checkpoints are claimed
  WallTime remark_at_{};
  std::int64_t forgotten_count_;  // WorkloadRecords::forgotten_count() when the note was made
};

}  // namespace berth::admission
