// admission/cycle/cycle_room.h — the quota and nodes that the earlier entries of a cycle have left,
// and what an entry takes of them: the assignment of an admitted workload, or a claim of one that
// waits.
//
// The quota and nodes that an entry takes count in the ClusterState until the end of the cycle.
//
// Threads: one. Errors: none.
// Source: Kueue pkg/scheduler (processEntry, fits, resourcesToReserve).
#pragma once

#include <cstdint>

#include "admission/cycle/cycle_entry.h"
#include "admission/cycle/cycle_preemptions.h"

namespace berth::admission {

enum class Room : std::uint8_t { kEnough, kNoQuota, kNoNodes };

class CycleRoom {
 public:
  // `preemptions`: those of the cycle; must outlive the object.
  CycleRoom(const CycleContext& context, CyclePreemptions& preemptions)
      : context_(context), preemptions_(preemptions) {}

  // Whether the entry's assignment fits once its own targets have stopped.
  Room RoomFor(const CycleEntry& entry);
  // Counts the assignment and the nodes of an admitted entry.
  void CountIn(const CycleEntry& entry);
  // Counts the assignment and the nodes of an entry that waits, as a claim.
  void Claim(const CycleEntry& entry);
  // Counts the claim of an entry without candidates to preempt: at most the quota that its queue
  // may have.
  void ReserveForPreemptor(const CycleEntry& entry);
  // Counts the claim of an entry whose plan has no room, because a head above took quota that the
  // plan needs too. The freed usage is kept nevertheless.
  void KeepFreed(const CycleEntry& entry);

 private:
  CycleContext context_;
  CyclePreemptions& preemptions_;
};

}  // namespace berth::admission
