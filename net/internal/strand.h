// net/internal/strand.h — a strand of the pool, and timers on the strand, hiding Asio.
//
// The state of one connection is used on its strand only and needs no lock.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace berth::net {

class IoPool;

using SteadyInstant = std::chrono::steady_clock::time_point;

// A handle: copies are the same strand. Threads: any. Must not be used after its pool is destroyed.
class Strand {
 public:
  explicit Strand(IoPool& pool);

  void Post(std::function<void()> task) const;      // runs later, never inside this call
  void Dispatch(std::function<void()> task) const;  // runs at once on this strand

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// Calls `expired` on the strand once the instant has come. Moving the instant later costs nothing:
// the timer compares when it fires.
//
// Threads: the strand only; may also be destroyed after the last task of the strand.
class Deadline {
 public:
  Deadline(const Strand& strand, std::function<void()> expired);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  void Set(SteadyInstant at);
  void SetAfter(std::chrono::steady_clock::duration delay);
  void Clear();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::net
