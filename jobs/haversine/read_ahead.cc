#include "jobs/haversine/read_ahead.h"

#include <algorithm>

namespace berth::haversine {

ReadAhead::ReadAhead(std::unique_ptr<RangeReader> reader, int parallel, std::size_t piece_bytes)
    : reader_(std::move(reader)),
      piece_bytes_(piece_bytes),
      piece_count_((reader_->size() + piece_bytes - 1) / piece_bytes),
      window_(2 * static_cast<std::uint64_t>(parallel)) {
  for (int thread = 0; thread < parallel; ++thread) {
    threads_.emplace_back([this] { Work(); });
  }
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  reader_->Cancel();
  for (auto& thread : threads_) thread.join();
}

Result<std::optional<std::string>> ReadAhead::Next(std::string spare) {
  std::unique_lock lock(mutex_);
  if (spare.capacity() >= piece_bytes_ && spares_.size() < window_) {
    spares_.push_back(std::move(spare));
  }
  if (next_to_give_ == piece_count_) return std::optional<std::string>();
  changed_.wait(lock, [this] { return ready_.contains(next_to_give_); });
  const auto found = ready_.find(next_to_give_);
  if (!found->second) return found->second.error();  // all later calls return it too
  std::string piece = *std::move(found->second);
  ready_.erase(found);
  ++next_to_give_;
  changed_.notify_all();
  return std::optional<std::string>(std::move(piece));
}

void ReadAhead::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] {
      return stopping_ || next_to_read_ == piece_count_ || next_to_read_ < next_to_give_ + window_;
    });
    if (stopping_ || next_to_read_ == piece_count_) return;
    const std::uint64_t piece = next_to_read_++;
    std::string bytes;
    if (!spares_.empty()) {
      bytes = std::move(spares_.back());
      spares_.pop_back();
    }
    lock.unlock();

    const std::uint64_t offset = piece * piece_bytes_;
    bytes.resize(
        static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes_, reader_->size() - offset)));
    const Status status = reader_->ReadAt(offset, {bytes.data(), bytes.size()});

    lock.lock();
    if (status) {
      ready_.emplace(piece, std::move(bytes));
    } else {
      ready_.emplace(piece, status.error());
    }
    changed_.notify_all();
  }
}

}  // namespace berth::haversine
