#include "net/internal/duplex_connection.h"

#include <algorithm>
#include <utility>

namespace berth::net {
namespace {

class DuplexHandle final : public Duplex {
 public:
  explicit DuplexHandle(std::shared_ptr<DuplexConnection> connection)
      : connection_(std::move(connection)) {}
  ~DuplexHandle() override { connection_->Close(); }
  void Read(OnMessage on_message) override { connection_->Read(std::move(on_message)); }
  bool Write(std::string message) override { return connection_->Write(std::move(message)); }
  std::size_t Backlog() const override { return connection_->Backlog(); }
  void WhenBelow(std::size_t bytes, std::function<void()> below) override {
    connection_->WhenBelow(bytes, std::move(below));
  }
  void Close() override { connection_->Close(); }
  void OnGone(std::function<void()> gone) override { connection_->OnGone(std::move(gone)); }

 private:
  const std::shared_ptr<DuplexConnection> connection_;
};

}  // namespace

std::unique_ptr<Duplex> DuplexConnection::MakeHandle() {
  return std::make_unique<DuplexHandle>(shared_from_this());
}

bool DuplexConnection::Write(std::string message) {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_closing_) return false;
  const bool too_much_in_all = waiting_bytes_ > 0 && *limits_.total > limits_.max_total_bytes;
  if (waiting_bytes_ > limits_.max_backlog_bytes || too_much_in_all) {
    is_closing_ = true;
    strand_.Post([self = shared_from_this()] { self->Finish(); });
    return false;
  }
  waiting_bytes_ += message.size();
  *limits_.total += message.size();
  queue_.push_back(std::move(message));
  PostFlush();
  return true;
}

std::size_t DuplexConnection::Backlog() const {
  const std::lock_guard lock(mutex_);
  return waiting_bytes_;
}

void DuplexConnection::WhenBelow(std::size_t bytes, std::function<void()> below) {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_closing_) return;
  if (waiting_bytes_ <= bytes) {
    on_below_ = nullptr;
    strand_.Post(std::move(below));
    return;
  }
  below_ = bytes;
  on_below_.swap(below);  // the caller destroys the replaced one
}

void DuplexConnection::Close() {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_closing_) return;
  is_closing_ = true;
  PostFlush();
}

void DuplexConnection::OnGone(std::function<void()> gone) {
  const std::lock_guard lock(mutex_);
  if (is_gone_) {
    strand_.Post(std::move(gone));
  } else {
    on_gone_ = std::move(gone);
  }
}

void DuplexConnection::PostFlush() {
  if (std::exchange(is_flush_posted_, true)) return;
  strand_.Post([self = shared_from_this()] { self->Flush(); });
}

DuplexConnection::Output DuplexConnection::TakeOutput() {
  const std::lock_guard lock(mutex_);
  is_flush_posted_ = false;
  Output output;
  output.is_closing = is_closing_;
  if (!queue_.empty()) {
    output.message = std::move(queue_.front());
    queue_.pop_front();
  }
  return output;
}

void DuplexConnection::Sent(std::size_t bytes) {
  std::function<void()> below;
  {
    const std::lock_guard lock(mutex_);
    const std::size_t sent = std::min(bytes, waiting_bytes_);
    waiting_bytes_ -= sent;
    *limits_.total -= sent;
    if (waiting_bytes_ <= below_) below = std::exchange(on_below_, nullptr);
  }
  if (below) below();
}

void DuplexConnection::MarkGone() {
  OnOver();
  std::function<void()> gone;
  std::function<void()> below;  // destroyed outside the lock: it may hold the last reference
  {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
    *limits_.total -= waiting_bytes_;
    waiting_bytes_ = 0;
    queue_.clear();
    below = std::exchange(on_below_, nullptr);
    gone = std::exchange(on_gone_, nullptr);
  }
  if (gone) gone();
}

}  // namespace berth::net
