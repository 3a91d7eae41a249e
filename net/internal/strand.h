// net/internal/strand.h — a strand of the pool and timers on it, without showing Asio.
//
// Everything that belongs to one connection runs on its strand, so its state needs no lock.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace berth::net {

class IoPool;

using SteadyInstant = std::chrono::steady_clock::time_point;

// A handle: copies are the same strand. Threads: any. Not used after its pool is destroyed.
class Strand {
 public:
  explicit Strand(IoPool& pool);

  void Post(std::function<void()> task) const;      // later, never inside this call
  void Dispatch(std::function<void()> task) const;  // at once where the caller is on this strand

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// Calls `expired` on the strand once the instant has come. Moving the instant later costs nothing:
// the timer looks at it when it fires.
//
// Threads: the strand only; may also be destroyed where nothing runs on the strand any more.
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
