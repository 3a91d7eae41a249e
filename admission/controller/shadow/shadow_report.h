// admission/controller/shadow/shadow_report.h — what Berth would have decided beside what the
// incumbent (the Kueue, or other Berth, that runs the cluster) has decided: counts, and the latest
// comparisons.
//
// The report is bounded: it keeps the latest kMaxDifferences differences and kMaxAgreements
// agreements, and says how many older differences it has dropped.
//
// Threads: Add, Follow, SetOpen: one; the others: any thread. Errors: none.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/object_meta.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/runtime/metrics.h"

namespace berth::admission {

enum class ShadowSubject : std::uint8_t { kAdmission, kPreemption };
enum class ShadowResult : std::uint8_t {
  kSame,
  kDiffers,        // both acted: other flavors, counts or victims
  kOnlyBerth,      // Berth would have acted, the incumbent did not within the window
  kOnlyIncumbent,  // the incumbent acted, Berth would not have
};
const char* ToString(ShadowSubject subject);
const char* ToString(ShadowResult result);

// What Berth, or the incumbent, did with a workload.
struct ShadowSide {
  std::optional<WallTime> at;               // when it did so; nullopt: it did nothing
  std::string verdict;                      // reserved, preempting, waiting
  std::optional<api::Admission> admission;  // ClusterQueue, flavors and counts
  std::vector<std::string> preempted;       // namespace/name
  std::string reason;                       // why it waits or preempts
  std::string message;
};

struct ShadowComparison {
  ShadowSubject subject = ShadowSubject::kAdmission;
  ShadowResult result = ShadowResult::kSame;
  api::ObjectKey workload;  // kOnlyIncumbent preemptions: the victim where the preemptor is unknown
  std::string uid;
  // The rule of docs/reference/differences.md that shaped Berth's decision. Empty: none is known.
  std::string rule;
  ShadowSide berth;
  ShadowSide incumbent;
};

// Whether two admissions give the same pod sets, counts and flavors in the same ClusterQueue. The
// nodes of a topology assignment are not compared.
bool SameShares(const api::Admission& one, const api::Admission& other);

class ShadowReport {
 public:
  static constexpr std::size_t kMaxDifferences = 1000;
  static constexpr std::size_t kMaxAgreements = 100;

  // `metrics` must outlive the report.
  ShadowReport(kube::Metrics& metrics, Duration window);
  ShadowReport(const ShadowReport&) = delete;
  ShadowReport& operator=(const ShadowReport&) = delete;

  // Returns a number for Follow.
  std::uint64_t Add(ShadowComparison comparison);
  // Call when the incumbent acts after the window: the comparison stays counted as a difference,
  // and says what the incumbent did. Victims are added to the earlier ones.
  void Follow(std::uint64_t number, ShadowSide incumbent);
  // A decision that nothing can be compared with: its workload or victims ended by themselves.
  void AddOvertaken();
  // A decision of the incumbent about which Berth could not decide.
  void AddUnjudged();
  void SetOpen(std::size_t decisions);

  struct Counts {
    std::map<std::pair<ShadowSubject, ShadowResult>, std::int64_t> by_kind;
    std::int64_t overtaken = 0;
    std::int64_t unjudged = 0;
    std::size_t open = 0;

    std::int64_t Of(ShadowResult result) const;
    // The part of comparisons with kSame; nullopt: nothing was compared.
    std::optional<double> agreement() const;
  };
  Counts counts() const;
  std::string JsonText(WallTime now) const;
  // The latest differences in one line each, newest first.
  std::vector<std::string> Lines(std::size_t most) const;

 private:
  struct Numbered {
    std::uint64_t number = 0;
    ShadowComparison comparison;
  };

  kube::Metrics& metrics_;
  const Duration window_;
  mutable std::mutex mutex_;
  Counts counts_;
  std::uint64_t next_number_ = 1;
  std::int64_t dropped_ = 0;
  std::deque<Numbered> differences_;  // oldest first
  std::deque<Numbered> agreements_;
};

}  // namespace berth::admission
