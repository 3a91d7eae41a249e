// local/apiserver/blocking.h — how code that is about to wait tells the pool on whose thread it
// runs, so that the pool lets another thread work meanwhile.
//
// Threads: a scope belongs to the thread that made it. On threads of no pool it does nothing.
#pragma once

namespace berth::local {

class BlockingObserver {
 public:
  virtual ~BlockingObserver() = default;
  virtual void OnBlock() = 0;
  virtual void OnUnblock() = 0;

  // Of the calling thread; null where nobody wants to know.
  static BlockingObserver*& OfThread() {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the thread's own
    thread_local BlockingObserver* observer = nullptr;
    return observer;
  }
};

// Stands around a wait for a disk, a peer, another thread.
class BlockingScope {
 public:
  BlockingScope() : observer_(BlockingObserver::OfThread()) {
    if (observer_ != nullptr) observer_->OnBlock();
  }
  ~BlockingScope() {
    if (observer_ != nullptr) observer_->OnUnblock();
  }
  BlockingScope(const BlockingScope&) = delete;
  BlockingScope& operator=(const BlockingScope&) = delete;

 private:
  BlockingObserver* const observer_;
};

}  // namespace berth::local
