// local/apiserver/audit/audit_log.h — writes the audit log behind the requests.
//
//   request ─Add─▶ queue (bounded) ─▶ thread ─▶ AuditSink (a file that is rotated by size)
//
// No request waits for the log. Where the disk is slower than the requests, the queue fills, and
// the newest events are lost; where a write fails, the events of that write are lost. Lost events
// are counted (lost()), and the program's log reports them. Nothing is lost at a regular end unless
// the disk needs longer than kStopTime. The file is not synchronised with the disk: a crash of the
// machine loses the last seconds.
//
// Threads: Add and lost by any thread; Stop by the owner.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"

namespace berth::local {

class AuditSink {
 public:
  virtual ~AuditSink() = default;
  // Appends whole lines. After an error the log may have none of the lines, or some of them, or a
  // part of a line.
  virtual Status Write(std::string_view lines) = 0;
};

struct AuditFileOptions {
  std::string path;
  std::size_t max_bytes =
      100UL << 20U;  // at this size the file becomes PATH.1, PATH.1 becomes PATH.2, …
  int kept = 10;     // files beside the newest; older ones are removed
};
// The file has the mode 0600. Errors: kUnavailable with the path: it cannot be opened, or is a
// symbolic link or no file.
Result<std::unique_ptr<AuditSink>> OpenAuditFile(AuditFileOptions options);

class AuditLog {
 public:
  struct Limits {
    std::size_t events = 10'000;
    std::size_t bytes = 64UL << 20U;
  };
  static constexpr std::chrono::seconds kStopTime{5};

  explicit AuditLog(std::unique_ptr<AuditSink> sink) : AuditLog(std::move(sink), Limits()) {}
  AuditLog(std::unique_ptr<AuditSink> sink, Limits limits);
  ~AuditLog() { Stop(); }
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // `line`: one event as JSON, without a line end.
  void Add(std::string line);
  std::uint64_t lost() const { return shared_->lost.load(); }
  // Writes the waiting events, for kStopTime at most. Idempotent.
  void Stop();

 private:
  // Lives as long as the thread, which a disk that hangs may hold longer than the log lives.
  struct Shared {
    std::unique_ptr<AuditSink> sink;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::string> queue;
    std::size_t bytes = 0;
    bool stopping = false;
    bool done = false;
    std::atomic<std::uint64_t> lost{0};
  };
  static void Run(Shared& shared);

  const Limits limits_;
  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace berth::local
