// tests/support/virtual_time.h — a clock that stands still and an executor that moves it.
//
// Tasks run in the order {due, posted}; time jumps to each due time. One thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/executor.h"

namespace berth::test {

class FakeClock final : public Clock {
 public:
  // Starts at 2026-11-20T07:00:00Z.
  WallTime Now() const override { return WallTime(std::chrono::seconds(1795158000)) + passed_; }
  SteadyTime SteadyNow() const override { return SteadyTime(passed_); }
  void Advance(Duration step) { passed_ += step; }
  Duration passed() const { return passed_; }

 private:
  Duration passed_{0};
};

class VirtualExecutor final : public Executor {
 public:
  explicit VirtualExecutor(FakeClock& clock) : clock_(clock) {}

  void PostAfter(Duration delay, std::function<void()> task) override {
    const Duration due = clock_.passed() + std::max(delay, Duration::zero());
    tasks_.emplace(std::pair{due, next_sequence_++}, std::move(task));
  }

  // Runs what is due within `span`, and leaves the clock at its end.
  void RunFor(Duration span) {
    const Duration end = clock_.passed() + span;
    while (!tasks_.empty() && tasks_.begin()->first.first <= end) RunFirst();
    clock_.Advance(std::max(end - clock_.passed(), Duration::zero()));
  }
  // Runs what is due now, and what that posts for now.
  void RunReady() { RunFor(Duration::zero()); }
  // Runs until `done`; false if that takes longer than `limit`.
  bool RunUntil(const std::function<bool()>& done, Duration limit) {
    const Duration end = clock_.passed() + limit;
    while (!done()) {
      if (tasks_.empty() || tasks_.begin()->first.first > end) return false;
      RunFirst();
    }
    return true;
  }

 private:
  void RunFirst() {
    const auto first = tasks_.begin();
    if (first->first.first > clock_.passed()) clock_.Advance(first->first.first - clock_.passed());
    const std::function<void()> task = std::move(first->second);
    tasks_.erase(first);
    task();
  }

  FakeClock& clock_;
  std::map<std::pair<Duration, std::uint64_t>, std::function<void()>> tasks_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace berth::test
