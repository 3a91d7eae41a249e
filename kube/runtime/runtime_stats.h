// kube/runtime/runtime_stats.h — counts the work of controllers, of their queues and of their
// client, for /metrics (runtime_metrics.h).
//
//     Controller, WorkQueue ──▶ ControllerStats ─┐
//     CountAnswers (Transport) ──────────────────┴─▶ RuntimeStats ──▶ Text of /metrics
//
// Threads: every function may be called on any thread.
// Source: controller-runtime pkg/internal/controller/metrics, client-go util/workqueue.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"

namespace berth::kube {

// Counts of durations by upper bounds in seconds, which ascend.
class DurationCounts {
 public:
  explicit DurationCounts(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void Add(Duration duration);

  const std::vector<double>& bounds() const { return bounds_; }
  // Has one element more than bounds(): the last one counts the durations above all bounds. Not
  // cumulative.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  double sum_seconds() const { return sum_seconds_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_seconds_ = 0;
};

enum class LookResult : std::uint8_t { kError, kRequeueAfter, kSuccess };

// Counts what all controllers with one name do.
class ControllerStats {
 public:
  struct Figures {
    std::size_t max_concurrent = 0;
    std::array<std::uint64_t, 3> looks{};  // by LookResult
    std::uint64_t adds = 0;
    std::uint64_t retries = 0;
    std::int64_t waiting = 0;
    DurationCounts look_times;
    DurationCounts queue_times;
    std::multiset<SteadyTime> begun;  // looks that are under way
  };

  explicit ControllerStats(const Clock& clock);

  SteadyTime Now() const { return clock_.SteadyNow(); }
  void AllowConcurrent(std::size_t count);
  void OnAdded();                  // a key waits
  void OnTaken(SteadyTime added);  // its look begins
  void OnRetry();
  void OnLooked(SteadyTime begun, LookResult result);
  void OnBegun(SteadyTime begun);

  Figures Read() const;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  Figures figures_;
};

class RuntimeStats {
 public:
  using Request = std::tuple<std::string, std::string>;  // method, code

  explicit RuntimeStats(const Clock& clock) : clock_(clock) {}

  // Returns the one ControllerStats of this name. The reference is valid for the life of the
  // RuntimeStats.
  ControllerStats& Of(std::string_view controller);
  void OnRequest(const std::string& method, const std::string& code);

  SteadyTime Now() const { return clock_.SteadyNow(); }
  std::map<std::string, ControllerStats::Figures> Controllers() const;
  std::map<Request, std::uint64_t> Requests() const;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, ControllerStats, std::less<>> controllers_;
  std::map<Request, std::uint64_t> requests_;
};

}  // namespace berth::kube
