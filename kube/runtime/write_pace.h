// kube/runtime/write_pace.h — decides when a write that no decision waits for may begin.
//
// Writes have three ranks:
//
//   decisions     admission, eviction, start, stop: begin at once, this class is not asked
//   facts         somebody waits for the write: the first reason of a waiting workload, a plan
//   commentary    changed reasons and texts, explanations, reasons of workloads parked in bulk,
//                 counters of queues while they change all the time
//
// Of Events (kube/runtime/events.h) those about decisions count as facts, all others as commentary.
//
// The rate of facts and commentary together follows the latency of the API server, measured over
// the writes that the owner reports: the rate grows steadily while answers take about as long as
// the fastest ones of the last ten minutes, and shrinks by a third while they take longer (additive
// increase, multiplicative decrease, as TCP). Commentary gets only the part of the rate that facts
// leave, but at least one write every kPatience.
//
// Pure: the instant is an argument. Threads: one.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/token_bucket.h"

namespace berth::kube {

class WritePace {
 public:
  enum class Rank : std::uint8_t { kFact, kCommentary };

  static constexpr double kSlowest = 10;    // writes per second
  static constexpr double kFastest = 1000;  // writes per second
  static constexpr int kBurst = 32;         // writes that may begin at one instant
  static constexpr Duration kPatience = std::chrono::seconds(1);

  // The latency to report for a write that the API server throttled, or that found no API server.
  static constexpr Duration kThrottled = std::chrono::seconds(1);

  // A write of any rank was answered.
  void OnAnswer(SteadyTime now, Duration latency);

  // Zero: the write may begin, and is counted. Else: how long to wait until the next question.
  Duration Take(SteadyTime now, Rank rank);

  // Undoes the last Take, whose write was not needed.
  void GiveBack() {
    bucket_.GiveBack();
    commentary_at_ = commentary_before_;
  }

  // Whether commentary has waited for kPatience: its turn comes before that of facts.
  bool CommentaryIsDue(SteadyTime now) const { return now - commentary_at_ >= kPatience; }

  double rate() const { return bucket_.per_second(); }  // writes per second

 private:
  TokenBucket bucket_{{.per_second = kFastest / 4, .burst = kBurst}, SteadyTime{}};
  SteadyTime changed_at_{};                   // when the rate changed last
  SteadyTime commentary_at_{};                // the newest write of commentary
  SteadyTime commentary_before_{};            // commentary_at_ at the last Take
  Duration fastest_{Duration::max()};         // shortest latency in the current window
  Duration fastest_before_{Duration::max()};  // shortest latency in the previous window
  SteadyTime window_at_{};
  Duration mean_{};  // moving average of recent latencies
};

}  // namespace berth::kube
