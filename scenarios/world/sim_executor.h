// scenarios/world/sim_executor.h — an Executor in virtual time, and the clock that it advances.
//
//     FakeClock clock;
//     SimExecutor executor(clock);
//     … things under test post to `executor` and read `clock` …
//     executor.RunFor(std::chrono::seconds(5));
//
// Tasks run in the order of (due, posted): a total order, so a test runs the same way every time;
// trace_hash() shows whether two runs were equal. Time passes only between tasks.
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/executor.h"

namespace berth {

class FakeClock final : public Clock {
 public:
  // 2026-01-01T00:00:00Z, an arbitrary instant on a whole second.
  static constexpr WallTime kStart{std::chrono::seconds(1'767'225'600)};

  WallTime Now() const override { return wall_; }
  SteadyTime SteadyNow() const override { return steady_; }

  void Advance(Duration by) {
    wall_ += by;
    steady_ += by;
  }
  // Acts as an administrator or NTP: wall time jumps, steady time does not.
  void JumpWall(Duration by) { wall_ += by; }

 private:
  WallTime wall_ = kStart;
  SteadyTime steady_{};
};

class SimExecutor final : public Executor {
 public:
  explicit SimExecutor(FakeClock& clock) : clock_(clock) {}

  void PostAfter(Duration delay, std::function<void()> task) override {
    if (delay < Duration::zero()) delay = Duration::zero();
    tasks_.emplace(std::pair(clock_.SteadyNow() + delay, next_sequence_++), std::move(task));
  }

  // Runs the next task, after advancing the clock to its due time. False: no task.
  bool RunOne() {
    if (tasks_.empty()) return false;
    auto node = tasks_.extract(tasks_.begin());
    const auto [due, sequence] = node.key();
    if (due > clock_.SteadyNow()) clock_.Advance(due - clock_.SteadyNow());
    trace_hash_ = (trace_hash_ ^ sequence) * 0x100000001B3U;
    node.mapped()();
    return true;
  }

  // Runs due tasks, and tasks that they post for the same instant. At most `limit` tasks, against
  // loops. Returns their number.
  std::size_t RunReady(std::size_t limit = 1'000'000) {
    std::size_t count = 0;
    while (count < limit && !tasks_.empty() && tasks_.begin()->first.first <= clock_.SteadyNow()) {
      RunOne();
      ++count;
    }
    return count;
  }

  // Advances virtual time by `span`, running all tasks that fall due.
  void RunFor(Duration span) {
    const SteadyTime end = clock_.SteadyNow() + span;
    while (!tasks_.empty() && tasks_.begin()->first.first <= end) RunOne();
    if (clock_.SteadyNow() < end) clock_.Advance(end - clock_.SteadyNow());
  }

  // Runs until `holds`, for at most `limit` of virtual time. Returns `holds()`.
  bool RunUntil(const std::function<bool()>& holds, Duration limit = std::chrono::hours(1)) {
    const SteadyTime end = clock_.SteadyNow() + limit;
    while (!holds()) {
      if (tasks_.empty() || tasks_.begin()->first.first > end) return false;
      RunOne();
    }
    return true;
  }

  std::size_t task_count() const { return tasks_.size(); }
  std::uint64_t trace_hash() const { return trace_hash_; }

 private:
  FakeClock& clock_;
  std::map<std::pair<SteadyTime, std::uint64_t>, std::function<void()>> tasks_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t trace_hash_ = 0xCBF29CE484222325U;
};

}  // namespace berth
