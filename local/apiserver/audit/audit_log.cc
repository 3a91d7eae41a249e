#include "local/apiserver/audit/audit_log.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/threads/guarded.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxBatchBytes = 1UL << 20U;
constexpr std::chrono::seconds kTellEvery{60};
constexpr mode_t kOwnerOnly = 0600;

Error SystemError(const std::string& path, const char* what) {
  return {ErrorCode::kUnavailable,
          path + ": " + what + ": " + std::strerror(errno) + "; choose another --audit-log"};
}

class AuditFile final : public AuditSink {
 public:
  explicit AuditFile(AuditFileOptions options) : options_(std::move(options)) {}
  ~AuditFile() override { Close(); }

  Status Open() {
    const int file =
        ::open(options_.path.c_str(),
               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kOwnerOnly);
    if (file < 0) return SystemError(options_.path, "cannot be opened");
    struct stat known {};
    if (::fstat(file, &known) != 0 || !S_ISREG(known.st_mode)) {
      ::close(file);
      return Error{ErrorCode::kUnavailable,
                   options_.path + " is no file; choose another --audit-log"};
    }
    if (::fchmod(file, kOwnerOnly) != 0) {
      const Error error = SystemError(options_.path, "its mode cannot be set");
      ::close(file);
      return error;
    }
    file_ = file;
    size_ = static_cast<std::size_t>(known.st_size);
    return OkStatus();
  }

  Status Write(std::string_view lines) override {
    if (size_ > 0 && size_ + lines.size() > options_.max_bytes) Rotate();
    if (file_ < 0) BERTH_CHECK_OK(Open());
    // A write that has failed may have left a part of a line.
    if (torn_) {
      BERTH_CHECK_OK(WriteAll("\n"));
      torn_ = false;
    }
    Status written = WriteAll(lines);
    torn_ = !written;
    return written;
  }

 private:
  Status WriteAll(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return SystemError(options_.path, "cannot be written");
      size_ += static_cast<std::size_t>(count);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return OkStatus();
  }

  void Close() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }

  std::string Numbered(int number) const { return options_.path + "." + std::to_string(number); }

  void Rotate() {
    Close();
    size_ = 0;
    torn_ = false;
    if (options_.kept == 0) {
      ::unlink(options_.path.c_str());
      return;
    }
    ::unlink(Numbered(options_.kept).c_str());
    for (int number = options_.kept - 1; number >= 1; --number) {
      std::rename(Numbered(number).c_str(), Numbered(number + 1).c_str());
    }
    std::rename(options_.path.c_str(), Numbered(1).c_str());
  }

  const AuditFileOptions options_;
  int file_ = -1;
  std::size_t size_ = 0;
  bool torn_ = false;
};

}  // namespace

Result<std::unique_ptr<AuditSink>> OpenAuditFile(AuditFileOptions options) {
  auto file = std::make_unique<AuditFile>(std::move(options));
  BERTH_CHECK_OK(file->Open());
  return std::unique_ptr<AuditSink>(std::move(file));
}

AuditLog::AuditLog(std::unique_ptr<AuditSink> sink, Limits limits)
    : limits_(limits), shared_(std::make_shared<Shared>()) {
  shared_->sink = std::move(sink);
  thread_ = StartThread("the thread of the audit log failed", [shared = shared_] { Run(*shared); });
}

void AuditLog::Add(std::string line) {
  line.push_back('\n');
  {
    const std::lock_guard lock(shared_->mutex);
    const bool full =
        shared_->queue.size() >= limits_.events || shared_->bytes + line.size() > limits_.bytes;
    if (full || shared_->stopping) {
      shared_->lost.fetch_add(1);
      return;
    }
    shared_->bytes += line.size();
    shared_->queue.push_back(std::move(line));
  }
  shared_->changed.notify_one();
}

void AuditLog::Run(Shared& shared) {
  std::uint64_t told = 0;
  auto tell_next = std::chrono::steady_clock::time_point::min();
  std::string why = "the queue is full";
  while (true) {
    std::string batch;
    std::uint64_t count = 0;
    {
      std::unique_lock lock(shared.mutex);
      shared.changed.wait(lock, [&] { return shared.stopping || !shared.queue.empty(); });
      if (shared.queue.empty()) {
        shared.done = true;
        shared.changed.notify_all();
        return;
      }
      while (!shared.queue.empty() && batch.size() < kMaxBatchBytes) {
        batch += shared.queue.front();
        shared.queue.pop_front();
        ++count;
      }
      shared.bytes -= batch.size();
    }
    Status written = Error{ErrorCode::kUnavailable, "a bug of Berth; the log has its error"};
    RunGuarded("a write of the audit log failed", [&] { written = shared.sink->Write(batch); });
    if (!written) {
      shared.lost.fetch_add(count);
      why = written.error().message;
    }
    const auto now = std::chrono::steady_clock::now();
    if (shared.lost.load() == told || now < tell_next) continue;
    told = shared.lost.load();
    tell_next = now + kTellEvery;
    LogWarning("events of the audit log are lost", {{"lost", std::to_string(told)}, {"why", why}});
    why = "the queue is full";
  }
}

void AuditLog::Stop() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  const bool done = shared_->changed.wait_for(lock, kStopTime, [&] { return shared_->done; });
  if (!done) shared_->lost.fetch_add(shared_->queue.size());
  lock.unlock();
  if (done) {
    thread_.join();
  } else {
    LogWarning("the audit log ends while its disk hangs",
               {{"lost", std::to_string(shared_->lost.load())}});
    thread_.detach();
  }
}

}  // namespace berth::local
