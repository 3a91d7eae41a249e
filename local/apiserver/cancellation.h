// local/apiserver/cancellation.h — whether the request that the calling thread works for is still
// wanted: its client has not left, and its time is not over.
//
//     const Cancellation cancellation([…] { return responder->HasPeerLeft() || …; });
//     … for (…) { if (Cancellation::IsRequested()) return TimeoutStatus(kGivenUp); … }
//
// Code that takes long calls IsRequested repeatedly, as Go code asks its context: before each
// webhook, before a write is committed, between the objects of a list.
//
// Threads: an instance belongs to the thread that made it; instances of a thread nest. Without one
// nothing is cancelled: controllers in the process have no client.
#pragma once

#include <functional>
#include <utility>

namespace berth::local {

class Cancellation {
 public:
  explicit Cancellation(std::function<bool()> is_requested)
      : is_requested_(std::move(is_requested)), outer_(std::exchange(OfThread(), this)) {}
  ~Cancellation() { OfThread() = outer_; }
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  static bool IsRequested() {
    const Cancellation* const current = OfThread();
    return current != nullptr && current->is_requested_();
  }

 private:
  static const Cancellation*& OfThread() {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the thread's own
    thread_local const Cancellation* current = nullptr;
    return current;
  }

  const std::function<bool()> is_requested_;
  const Cancellation* const outer_;
};

}  // namespace berth::local
