// local/apiserver/blocking.h — marks code that is about to wait, so that the worker pool of its
// thread runs another thread meanwhile.
//
// Threads: a scope belongs to the thread that made it. Outside of worker pools a scope does
// nothing.
#pragma once

namespace berth::local {

class BlockingObserver {
 public:
  virtual ~BlockingObserver() = default;
  virtual void OnBlock() = 0;
  virtual void OnUnblock() = 0;

  // The observer of the calling thread; null: none.
  static BlockingObserver*& OfThread() {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the thread's own
    thread_local BlockingObserver* observer = nullptr;
    return observer;
  }
};

// Marks its scope as a wait for a disk, a peer or another thread.
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
