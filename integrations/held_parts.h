// integrations/held_parts.h — the Workloads of a job that is held by its pods (held_job.h), each
// with the pods that it counts.
//
//     HeldParts parts(job, main, growths);   // every pod at its Workload
//     parts.Size();                          // what the job asks for more or less
//
// Threads: pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "integrations/held_job.h"

namespace berth::integrations {

using PodCounts = std::map<std::string, std::int32_t>;  // by pod set
std::int32_t CountIn(const PodCounts& counts, const std::string& pod_set);

bool IsLive(const QueuedPod& pod);  // not gated, not ended
bool HasTrue(const api::Workload& workload, const char* condition);
bool MayRun(const api::Workload& workload);  // whether the Workload's pods may run

struct HeldPart {
  const api::Workload* workload = nullptr;  // null: a growth that has no Workload yet
  std::int32_t growth = 0;                  // 0: the job itself
  bool runs = false;
  PodCounts counts;                      // pods whose quota it has, or asks for
  std::vector<QueuedPodPtr> live;        // not gated, not ended
  std::vector<QueuedPodPtr> starts;      // gated, with room
  std::vector<api::JobPodSet> pod_sets;  // pod sets that the Workload should have
  std::vector<api::ReclaimablePod> reclaimable;

  bool is_reserved() const;
  bool is_empty() const;  // it counts no pod
  std::int32_t Used(const std::string& pod_set) const;
  std::int32_t Room(const std::string& pod_set) const;  // 0 unless it runs
  std::int32_t Free(const std::string& pod_set) const;  // counted, and used by no pod
};

class HeldParts {
 public:
  // `main`: the Workload of the job itself; `growths` in order.
  HeldParts(const HeldJob& job, const api::Workload& main,
            const std::vector<const api::Workload*>& growths);

  // Makes the Workloads ask for what the job asks for: growths that wait change, and a new growth
  // may be added; the other Workloads release the quota that no pod uses.
  void Size();

  std::vector<HeldPart>& all() { return parts_; }  // the part of the job itself first
  // Pods that run, and that no Workload counts.
  const std::vector<QueuedPodPtr>& homeless() const { return homeless_; }
  // The pods of the pod set for which quota is admitted.
  std::int32_t Admitted(const std::string& pod_set) const;

 private:
  void PlaceLive();
  HeldPart* TakerOf(const QueuedPod& pod, const HeldPart* own, bool (*may)(const HeldPart&));
  void PlaceGated();
  static void Reclaim(HeldPart& part, const std::string& pod_set);
  void Shrink(const std::string& pod_set, std::int32_t excess);
  void Grow(const std::string& pod_set, std::int32_t missing);

  const HeldJob& job_;
  std::vector<HeldPart> parts_;
  std::vector<QueuedPodPtr> homeless_;
};

}  // namespace berth::integrations
