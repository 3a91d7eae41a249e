#include "local/cluster/processes/log_times.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local::cluster {
namespace {

constexpr std::int64_t kRecordBytes = 16;
constexpr std::int64_t kIndexBlockBytes = 4096;  // holes are whole blocks
constexpr std::size_t kPieceRecords = 1024;
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

struct RawRecord {
  std::int64_t offset;
  std::int64_t time;
};
static_assert(sizeof(RawRecord) == kRecordBytes);

// The number of the first record for which `is_behind` is false; records up to it have it true.
template <typename Predicate>
std::int64_t FirstNot(std::int64_t count, const Predicate& is_behind) {
  std::int64_t low = 0;
  std::int64_t high = count;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (is_behind(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::int64_t RecordCount(int file) {
  struct stat info {};
  return fstat(file, &info) == 0 ? info.st_size / kRecordBytes : 0;
}

bool ReadRecord(int file, std::int64_t number, RawRecord& record) {
  return pread(file, &record, sizeof record, number * kRecordBytes) == kRecordBytes;
}

}  // namespace

std::string LogTimesPath(const std::string& log_path) {
  const std::size_t dot = log_path.rfind('.');
  return (dot == std::string::npos ? log_path : log_path.substr(0, dot)) + ".times";
}

LogTimesWriter::LogTimesWriter(const std::string& log_path)
    : file_(open(LogTimesPath(log_path).c_str(),
                 O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  if (file_ >= 0) end_ = RecordCount(file_) * kRecordBytes;
}

LogTimesWriter::LogTimesWriter(LogTimesWriter&& other) noexcept { *this = std::move(other); }

LogTimesWriter& LogTimesWriter::operator=(LogTimesWriter&& other) noexcept {
  std::swap(file_, other.file_);
  is_first_ = other.is_first_;
  last_offset_ = other.last_offset_;
  last_time_ = other.last_time_;
  end_ = other.end_;
  return *this;
}

LogTimesWriter::~LogTimesWriter() {
  if (file_ >= 0) close(file_);
}

void LogTimesWriter::Add(std::int64_t offset, WallTime now) {
  if (file_ < 0) return;
  // A wall clock that is set back must not make times fall.
  const std::int64_t time = std::max<std::int64_t>(now.time_since_epoch().count(), last_time_);
  const Duration since{time - last_time_};
  const bool is_due =
      is_first_ || since >= kFresh || (since >= kShort && offset - last_offset_ >= kFewBytes);
  if (!is_due) return;
  const RawRecord record{offset, time};
  if (write(file_, &record, sizeof record) != kRecordBytes) {
    close(std::exchange(file_, -1));
    return;
  }
  is_first_ = false;
  last_offset_ = offset;
  last_time_ = time;
  end_ += kRecordBytes;
}

void LogTimesWriter::Forget(std::int64_t begin) {
  if (file_ < 0) return;
  const std::int64_t first = FirstNot(end_ / kRecordBytes, [&](std::int64_t number) {
    RawRecord record{};
    return ReadRecord(file_, number, record) && record.offset <= begin;
  });
  // The record before the first one is that of `begin` itself.
  const std::int64_t bytes =
      std::max<std::int64_t>(first - 1, 0) * kRecordBytes / kIndexBlockBytes * kIndexBlockBytes;
  if (bytes > 0) fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, bytes);
}

LogTimes::LogTimes(const std::string& log_path)
    : file_(open(LogTimesPath(log_path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {}

LogTimes::~LogTimes() {
  if (file_ >= 0) close(file_);
}

std::optional<LogTimes::Record> LogTimes::Read(std::int64_t number) const {
  RawRecord record{};
  if (file_ < 0 || !ReadRecord(file_, number, record)) return std::nullopt;
  return Record{record.offset, record.time};
}

const LogTimes::Record* LogTimes::Peek(std::int64_t number) {
  const bool is_here =
      number >= piece_begin_ && number < piece_begin_ + static_cast<std::int64_t>(piece_.size());
  if (!is_here) {
    piece_.resize(kPieceRecords);
    const ssize_t got =
        pread(file_, piece_.data(), kPieceRecords * sizeof(Record), number * kRecordBytes);
    piece_.resize(got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof(Record));
    piece_begin_ = number;
    if (piece_.empty()) return nullptr;
  }
  return &piece_[static_cast<std::size_t>(number - piece_begin_)];
}

std::optional<std::int64_t> LogTimes::OffsetAt(WallTime time) const {
  if (file_ < 0) return std::nullopt;
  const std::int64_t wanted = time.time_since_epoch().count();
  const std::int64_t number = FirstNot(RecordCount(file_), [&](std::int64_t at) {
    const auto record = Read(at);
    return record && record->time < wanted;
  });
  const auto record = Read(number);
  if (!record) return std::nullopt;
  return record->offset;
}

void LogTimes::Renew() {
  if (known_end_ == kNoEnd) known_end_ = known_begin_;
}

WallTime LogTimes::At(std::int64_t offset) {
  if (file_ < 0) return {};
  if (offset >= known_begin_ && offset < known_end_) return known_time_;
  const Record* now = Peek(current_);
  if (now == nullptr || now->offset > offset || current_ == 0) {
    const std::int64_t after = FirstNot(RecordCount(file_), [&](std::int64_t at) {
      const auto record = Read(at);
      return record && record->offset <= offset;
    });
    current_ = std::max<std::int64_t>(after - 1, 0);
  }
  std::int64_t end = kNoEnd;
  while (const Record* next = Peek(current_ + 1)) {
    if (next->offset > offset) {
      end = next->offset;
      break;
    }
    ++current_;
  }
  now = Peek(current_);
  if (now == nullptr) return {};
  known_time_ = WallTime{Duration{now->time}};
  known_begin_ = now->offset;
  known_end_ = end;
  return known_time_;
}

}  // namespace berth::local::cluster
