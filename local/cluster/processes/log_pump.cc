#include "local/cluster/processes/log_pump.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_clock.h"
#include "base/threads/guarded.h"
#include "local/cluster/processes/log_times.h"
#include "local/cluster/processes/wake_file.h"

namespace berth::local::cluster {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::int64_t kBlockBytes = 4096;  // holes are whole blocks
constexpr int kChunksATurn = 16;            // then other programs have their turn

Error SystemError(const std::string& what) {
  return Error{ErrorCode::kUnavailable, what + ": " + std::strerror(errno)};
}

// One log. A plain struct: its owner closes the files.
struct OpenLog {
  int pipe = -1;
  int file = -1;
  std::int64_t most_bytes = 0;
  std::int64_t begin = 0;  // start of the kept part
  std::int64_t end = 0;
  bool is_full = false;  // no holes possible: further output is dropped
  std::map<std::int64_t, LogPump::OnText> taps = {};
  LogTimesWriter times = {};
};

void KeepNewest(OpenLog& log) {
  if (log.most_bytes == 0 || log.end - log.begin <= log.most_bytes + log.most_bytes / 8) return;
  const std::int64_t begin = (log.end - log.most_bytes) / kBlockBytes * kBlockBytes;
  if (begin <= log.begin) return;
  if (fallocate(log.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, begin) == 0) {
    log.begin = begin;
    log.times.Forget(begin);
    return;
  }
  constexpr char kNote[] = "\n[berth: the log has reached its limit; what follows is not kept]\n";
  log.is_full = write(log.file, kNote, sizeof kNote - 1) != 0;
}

void Append(OpenLog& log, const char* data, std::size_t size) {
  log.times.Add(log.end, SystemClock().Now());
  while (size > 0 && !log.is_full) {
    const ssize_t written = write(log.file, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // full disk: drops the output, the program continues
    data += written;
    size -= static_cast<std::size_t>(written);
    log.end += written;
    KeepNewest(log);
  }
}

// Returns whether more output may come.
bool Drain(OpenLog& log, int most_chunks) {
  static thread_local std::array<char, kChunkBytes> chunk;
  for (int round = 0; round < most_chunks; ++round) {
    const ssize_t got = read(log.pipe, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    const std::string_view text(chunk.data(), static_cast<std::size_t>(got));
    for (const auto& each : log.taps) {
      RunGuarded("a reader of a log failed", [&] { each.second(text); });
    }
    Append(log, chunk.data(), static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

class LogPump::Impl {
 public:
  explicit Impl(WakeFile wake) : wake_(std::move(wake)) {
    thread_ = StartThread("the pump of logs failed", [this] { Run(); });
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.Wake();
    thread_.join();
    for (auto& [id, log] : logs_) Close(log);
    logs_.clear();
  }

  Result<Log> Open(const std::string& path, std::int64_t most_bytes) {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("pipe");
    Result<Log> log = OpenFrom(path, most_bytes, ends[0]);
    if (!log) {
      close(ends[1]);
      return log;
    }
    log->write_end = ends[1];
    return log;
  }

  Result<Log> OpenFrom(const std::string& path, std::int64_t most_bytes, int source) {
    OpenLog log{.most_bytes = most_bytes};
    log.file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log.file < 0) {
      const Error error = SystemError(path);
      close(source);
      return error;
    }
    struct stat info {};
    if (fstat(log.file, &info) == 0) log.end = info.st_size;
    log.times = LogTimesWriter(path);
    log.pipe = source;
    fcntl(log.pipe, F_SETFL, fcntl(log.pipe, F_GETFL) | O_NONBLOCK);
    const std::lock_guard lock(mutex_);
    const std::int64_t id = next_id_++;
    logs_[id] = std::move(log);
    wake_.Wake();
    return Log{id, -1};
  }

  // 0: no such log.
  std::int64_t Tap(std::int64_t id, OnText on_text) {
    const std::lock_guard lock(mutex_);
    const auto found = logs_.find(id);
    if (found == logs_.end()) return 0;
    const std::int64_t tap = next_id_++;
    found->second.taps[tap] = std::move(on_text);
    return tap;
  }

  void Untap(std::int64_t id, std::int64_t tap) {
    const std::lock_guard lock(mutex_);
    const auto found = logs_.find(id);
    if (found != logs_.end()) found->second.taps.erase(tap);
  }

  void Finish(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = logs_.find(id);
    if (found == logs_.end()) return;
    // A pipe holds 64 KiB; later output of a descendant is dropped.
    DrainGuarded(found->second);
    Close(found->second);
    logs_.erase(found);
  }

 private:
  static void Close(OpenLog& log) {
    if (log.pipe >= 0) close(log.pipe);
    close(log.file);
  }

  // A log whose copy fails misses a part.
  static bool DrainGuarded(OpenLog& log) {
    bool more = true;
    RunGuarded("the copy of a log failed", [&] { more = Drain(log, kChunksATurn); });
    return more;
  }

  void Run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      std::vector<pollfd> files{{wake_.file(), POLLIN, 0}};
      std::vector<std::int64_t> ids{0};
      for (const auto& [id, log] : logs_) {
        if (log.pipe < 0) continue;
        files.push_back({log.pipe, POLLIN, 0});
        ids.push_back(id);
      }
      lock.unlock();
      const int ready = poll(files.data(), files.size(), -1);
      lock.lock();
      if (ready <= 0) continue;
      if (files[0].revents != 0) wake_.Clear();
      for (std::size_t at = 1; at < files.size(); ++at) {
        const auto log = files[at].revents == 0 ? logs_.end() : logs_.find(ids[at]);
        if (log == logs_.end() || DrainGuarded(log->second)) continue;
        close(log->second.pipe);  // every writer has closed the pipe
        log->second.pipe = -1;
      }
    }
  }

  const WakeFile wake_;
  std::mutex mutex_;
  std::map<std::int64_t, OpenLog> logs_;
  std::int64_t next_id_ = 1;
  bool stopping_ = false;
  std::thread thread_;
};

namespace {

template <typename PumpType>
class TapGuard {
 public:
  TapGuard(std::weak_ptr<PumpType> pump, std::int64_t log, std::int64_t tap)
      : pump_(std::move(pump)), log_(log), tap_(tap) {}
  TapGuard(const TapGuard&) = delete;
  TapGuard& operator=(const TapGuard&) = delete;
  ~TapGuard() {
    if (const auto pump = pump_.lock()) pump->Untap(log_, tap_);
  }

 private:
  const std::weak_ptr<PumpType> pump_;
  const std::int64_t log_;
  const std::int64_t tap_;
};

}  // namespace

LogPump::LogPump(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
LogPump::~LogPump() { impl_->Stop(); }

Result<std::unique_ptr<LogPump>> LogPump::Start() {
  BERTH_TRY(WakeFile wake, WakeFile::Make());
  return std::unique_ptr<LogPump>(new LogPump(std::make_shared<Impl>(std::move(wake))));
}

Result<LogPump::Log> LogPump::Open(const std::string& path, std::int64_t most_bytes) {
  return impl_->Open(path, most_bytes);
}

Result<LogPump::Log> LogPump::OpenFrom(const std::string& path, std::int64_t most_bytes,
                                       int source) {
  return impl_->OpenFrom(path, most_bytes, source);
}

std::shared_ptr<void> LogPump::Tap(std::int64_t id, OnText on_text) {
  const std::int64_t tap = impl_->Tap(id, std::move(on_text));
  if (tap == 0) return nullptr;
  return std::make_shared<TapGuard<Impl>>(impl_, id, tap);
}

void LogPump::Finish(std::int64_t id) { impl_->Finish(id); }

std::uintmax_t LogBegin(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const off_t begin = lseek(file, 0, SEEK_DATA);
  close(file);
  return begin < 0 ? 0 : static_cast<std::uintmax_t>(begin);
}

}  // namespace berth::local::cluster
