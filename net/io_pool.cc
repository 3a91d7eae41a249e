#include "net/io_pool.h"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <pthread.h>

#include "base/assert.h"
#include "base/threads/guarded.h"
#include "net/internal/asio.h"
#include "net/internal/strand.h"

namespace berth::net {
namespace {

namespace asio = boost::asio;

// Adding a longer delay would overflow a steady clock's instant.
constexpr Duration kLongestDelay = std::chrono::hours(24 * 365);

class StrandExecutor final : public Executor {
 public:
  explicit StrandExecutor(IoPool::Impl& pool) : executor_(asio::make_strand(pool.context)) {}

  void PostAfter(Duration delay, std::function<void()> task) override {
    if (delay <= Duration::zero()) {
      asio::post(executor_, std::move(task));
      return;
    }
    auto timer = std::make_shared<asio::steady_timer>(executor_, std::min(delay, kLongestDelay));
    timer->async_wait([timer, task = std::move(task)](const boost::system::error_code& error) {
      if (!error) task();
    });
  }

 private:
  asio::strand<asio::io_context::executor_type> executor_;
};

// A task that throws ends itself, not the process: the thread takes the next one.
void RunUntilStopped(asio::io_context& context) {
  while (!RunGuarded("a task of an I/O thread failed", [&] { context.run(); })) {
  }
}

}  // namespace

IoPool::IoPool(int thread_count) : impl_(std::make_unique<Impl>(std::max(thread_count, 1))) {
  for (int index = 0; index < std::max(thread_count, 1); ++index) {
    impl_->threads.emplace_back([context = &impl_->context] { RunUntilStopped(*context); });
    const std::string name = "berth-io-" + std::to_string(index);
    pthread_setname_np(impl_->threads.back().native_handle(), name.substr(0, 15).c_str());
  }
}

IoPool::~IoPool() { Stop(); }

std::unique_ptr<Executor> IoPool::MakeStrand() { return std::make_unique<StrandExecutor>(*impl_); }

bool IoPool::RunsHere() const { return impl_->context.get_executor().running_in_this_thread(); }

bool IoPool::stopped() const { return impl_->stopped; }

void IoPool::Stop() {
  BERTH_ASSERT(!RunsHere());
  impl_->context.stop();
  for (std::thread& thread : impl_->threads) {
    if (thread.joinable()) thread.join();
  }
  impl_->stopped = true;
}

Strand::Strand(IoPool& pool) : impl_(std::make_shared<Impl>(pool.impl())) {}

void Strand::Post(std::function<void()> task) const {
  asio::post(impl_->executor, std::move(task));
}

void Strand::Dispatch(std::function<void()> task) const {
  asio::dispatch(impl_->executor, std::move(task));
}

struct Deadline::State : std::enable_shared_from_this<Deadline::State> {
  State(const Strand& strand, std::function<void()> task)
      : timer(strand.impl().executor), expired(std::move(task)) {}

  void Arm() {
    is_waiting = true;
    armed_for = at;
    timer.expires_at(at);
    // A replaced wait may be queued as fired already: the generation identifies it.
    timer.async_wait([self = shared_from_this(), mine = ++generation](const auto& error) {
      if (!error && mine == self->generation) self->OnFired();
    });
  }

  void OnFired() {
    is_waiting = false;
    if (at == SteadyInstant::max() || !expired) return;
    if (std::chrono::steady_clock::now() < at) {
      Arm();
      return;
    }
    at = SteadyInstant::max();
    const std::function<void()> task = expired;  // a copy: it may destroy this deadline
    task();
  }

  asio::steady_timer timer;
  std::function<void()> expired;
  SteadyInstant at = SteadyInstant::max();
  SteadyInstant armed_for = SteadyInstant::max();
  std::uint64_t generation = 0;
  bool is_waiting = false;
};

Deadline::Deadline(const Strand& strand, std::function<void()> expired)
    : state_(std::make_shared<State>(strand, std::move(expired))) {}

Deadline::~Deadline() {
  state_->at = SteadyInstant::max();
  state_->expired = nullptr;
  ++state_->generation;
  state_->timer.cancel();
}

void Deadline::Set(SteadyInstant at) {
  state_->at = at;
  if (at != SteadyInstant::max() && (!state_->is_waiting || at < state_->armed_for)) state_->Arm();
}

void Deadline::SetAfter(std::chrono::steady_clock::duration delay) {
  const auto longest =
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(kLongestDelay);
  Set(std::chrono::steady_clock::now() + std::min(delay, longest));
}

void Deadline::Clear() { state_->at = SteadyInstant::max(); }

}  // namespace berth::net
