#include "local/cluster/kubelet/pod_logs.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/seconds.h"
#include "base/strings.h"
#include "base/system_clock.h"
#include "base/threads/guarded.h"
#include "local/cluster/processes/log_pump.h"
#include "local/cluster/processes/log_stamps.h"
#include "local/cluster/processes/log_times.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 64 * 1024 * 1024;  // the limit of one answer, with its stamps
constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr auto kPollInterval = std::chrono::milliseconds(100);

ApiError BadRequest(const std::string& message) { return {400, "BadRequest", message, nullptr}; }

// The number of the newest start in a container's folder, or nullopt.
std::optional<std::int64_t> NewestStart(const fs::path& folder) {
  std::optional<std::int64_t> newest;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    if (file.path().extension() != ".log") continue;
    const auto number = ParseInt64(file.path().stem().string());
    if (number && (!newest || *newest < *number)) newest = number;
  }
  return newest;
}

// The start of the last `lines` lines of the file; for a negative number, of the kept part.
std::uintmax_t TailStart(std::ifstream& file, std::uintmax_t kept, std::uintmax_t size,
                         std::int64_t lines) {
  if (lines <= 0) return lines == 0 ? size : kept;
  std::uintmax_t end = size;
  std::string chunk;
  std::int64_t found = 0;
  while (end > kept) {
    const std::uintmax_t begin = end - kept > kChunkBytes ? end - kChunkBytes : kept;
    chunk.resize(end - begin);
    file.seekg(static_cast<std::streamoff>(begin));
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    for (std::size_t at = chunk.size(); at > 0; --at) {
      const bool is_last_byte = begin + at == size;
      if (chunk[at - 1] != '\n' || is_last_byte) continue;
      if (++found == lines) return begin + at;
    }
    end = begin;
  }
  return kept;
}

// The start of the first line that begins at `offset` or behind it.
std::uintmax_t LineStart(std::ifstream& file, std::uintmax_t offset, std::uintmax_t size) {
  if (offset == 0) return 0;
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset - 1));
  std::string chunk(kChunkBytes, '\0');
  for (std::uintmax_t at = offset - 1; at < size;) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    const std::string_view text(chunk.data(), static_cast<std::size_t>(file.gcount()));
    if (text.empty()) break;
    const std::size_t end = text.find('\n');
    if (end != std::string_view::npos) return std::min(at + end + 1, size);
    at += text.size();
  }
  return size;
}

std::optional<WallTime> SinceOf(const LogRequest& request) {
  if (request.since_time) return request.since_time;
  if (request.since_seconds < 0) return std::nullopt;
  return SystemClock().Now() - BoundedSeconds(request.since_seconds);
}

std::string ReadBetween(std::ifstream& file, std::uintmax_t begin, std::uintmax_t end) {
  std::string text(end - begin, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

}  // namespace

struct PodLogs::Found {
  fs::path folder;
  std::int64_t start = 0;   // the number of the run
  std::string record_path;  // exists while the process writes
  bool is_newest = true;

  std::string path() const { return folder / (std::to_string(start) + ".log"); }
};

namespace {

// Where the reading begins: at the last lines, none of them older than asked. nullopt: nothing is
// so new.
std::optional<std::uintmax_t> BeginOf(std::ifstream& file, const std::string& path,
                                      std::uintmax_t size, const LogRequest& request,
                                      const std::optional<WallTime>& since) {
  std::uintmax_t begin = TailStart(file, LogBegin(path), size, request.tail_lines);
  if (!since) return begin;
  const auto offset = LogTimes(path).OffsetAt(*since);
  if (!offset) return std::nullopt;
  const auto fresh = static_cast<std::uintmax_t>(*offset);
  if (fresh <= begin) return begin;
  return LineStart(file, fresh, size);
}

// The times of a log, with text in the form that the request asks for.
class LogText {
 public:
  LogText(const std::string& path, bool with_stamps) {
    if (!with_stamps) return;
    times_ = std::make_unique<LogTimes>(path);
    stamps_.emplace([times = times_.get()](std::int64_t offset) { return times->At(offset); });
  }
  // What the form adds to each line.
  std::size_t bytes_of_a_line() const { return stamps_ ? LogStamp({}).size() + 1 : 0; }
  std::string Make(std::string text, std::uintmax_t offset) {
    if (!stamps_) return text;
    times_->Renew();  // the times of `text` were written before it
    return stamps_->Add(text, static_cast<std::int64_t>(offset));
  }

 private:
  std::unique_ptr<LogTimes> times_;
  std::optional<LogStamps> stamps_;
};

// The first line from `begin` on whose text up to `end`, with `line_bytes` more for each line, has
// at most `most` bytes. A last line that is longer is cut at its front.
std::uintmax_t FittingStart(std::ifstream& file, std::uintmax_t begin, std::uintmax_t end,
                            std::uintmax_t most, std::size_t line_bytes) {
  if (line_bytes == 0) return std::max(begin, end - std::min(end, most));
  std::uintmax_t fits = end - std::min(end - begin, most - line_bytes);
  std::uintmax_t lines = 0;
  const auto is_too_long = [&](std::uintmax_t start) {
    ++lines;
    return end - start + line_bytes * lines > most;
  };
  for (std::uintmax_t chunk_end = end; chunk_end > begin && end - chunk_end <= most;) {
    const std::uintmax_t at = chunk_end - std::min<std::uintmax_t>(chunk_end - begin, kChunkBytes);
    const std::string chunk = ReadBetween(file, at, chunk_end);
    for (std::size_t i = chunk.size(); i > 0; --i) {
      // Begins a line, where the byte before is the end of one.
      const std::uintmax_t start = at + i;
      if (chunk[i - 1] != '\n' || start >= end) continue;
      if (is_too_long(start)) return fits;
      fits = start;
    }
    chunk_end = at;
  }
  return is_too_long(begin) ? fits : begin;
}

// The text between two places in the form of the answer; at most `most` bytes of it.
std::string ReadText(std::ifstream& file, LogText& text, std::uintmax_t begin, std::uintmax_t end,
                     std::uintmax_t most) {
  std::string answer;
  while (begin < end && answer.size() < most) {
    std::string piece =
        ReadBetween(file, begin, std::min<std::uintmax_t>(end, begin + kChunkBytes));
    if (piece.empty()) break;
    const std::uintmax_t offset = begin;
    begin += piece.size();
    answer += text.Make(std::move(piece), offset);
  }
  if (answer.size() > most) answer.resize(most);
  return answer;
}

}  // namespace

// The files that clients follow.
class PodLogs::Followers {
 public:
  struct One {
    Found found;
    std::uintmax_t at = 0;
    std::int64_t bytes_left = -1;
    bool with_stamps = false;
    std::optional<WallTime> since;  // not applied yet: nothing was so new
    std::unique_ptr<LogText> text;
    std::function<bool()> may_restart;  // null: no
    std::function<bool(std::string_view)> on_text;
    std::function<void()> on_end;
    std::recursive_mutex mutex;  // held during a callback, which may end the following
    bool is_over = false;
  };

  Followers() : thread_(StartThread("the followers of logs failed", [this] { Run(); })) {}
  ~Followers() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void Add(std::shared_ptr<One> one) {
    {
      const std::lock_guard lock(mutex_);
      all_.push_back(std::move(one));
    }
    wake_.notify_one();
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (all_.empty()) {
        wake_.wait(lock, [this] { return stopping_ || !all_.empty(); });
        continue;
      }
      const std::vector<std::shared_ptr<One>> round = all_;
      lock.unlock();
      for (const auto& one : round) TellGuarded(*one);
      lock.lock();
      std::erase_if(all_, [](const auto& one) {
        const std::lock_guard one_lock(one->mutex);
        return one->is_over;
      });
      wake_.wait_for(lock, kPollInterval, [this] { return stopping_; });
    }
  }

  // A following that fails has a gap: it ends.
  static void TellGuarded(One& one) {
    constexpr std::string_view kFailed = "a follower of a log failed";
    if (RunGuarded(kFailed, [&] { Tell(one); })) return;
    const std::lock_guard lock(one.mutex);
    if (!std::exchange(one.is_over, true)) RunGuarded(kFailed, one.on_end);
  }

  static void Tell(One& one) {
    const std::lock_guard lock(one.mutex);
    if (one.is_over) return;
    std::error_code error;
    // Tests for the end before reading: nothing is written after the end.
    const bool has_ended = !one.found.is_newest || !fs::exists(one.found.record_path, error);
    if (!TellText(one)) {
      one.is_over = true;
      return;
    }
    if (one.bytes_left != 0 && (!has_ended || GoesOn(one))) return;
    one.is_over = true;
    one.on_end();
  }

  // The log of the next run, if there is one or will be one.
  static bool GoesOn(One& one) {
    if (!one.may_restart) return false;
    const auto newest = NewestStart(one.found.folder);
    if (!newest) return false;  // the pod was deleted
    if (*newest == one.found.start) return one.may_restart();
    one.found.start += 1;
    one.found.is_newest = *newest == one.found.start;
    one.at = 0;
    one.text = std::make_unique<LogText>(one.found.path(), one.with_stamps);
    return true;
  }

  static bool TellText(One& one) {
    std::error_code error;
    const std::string path = one.found.path();
    const std::uintmax_t size = fs::file_size(path, error);
    std::ifstream file(path, std::ios::binary);
    if (one.since) {
      const auto fresh = LogTimes(path).OffsetAt(*one.since);
      if (!fresh) return true;
      one.at = LineStart(file, static_cast<std::uintmax_t>(*fresh), size);
      one.since.reset();
    }
    one.at = std::max(one.at, LogBegin(path));  // a slow reader misses the removed part
    while (!error && one.at < size && one.bytes_left != 0) {
      const std::uintmax_t end = std::min<std::uintmax_t>(size, one.at + kChunkBytes);
      std::string text = ReadBetween(file, one.at, end);
      if (text.empty()) break;
      const std::uintmax_t offset = one.at;
      one.at += text.size();
      text = one.text->Make(std::move(text), offset);
      if (one.bytes_left > 0) {
        text.resize(std::min(text.size(), static_cast<std::size_t>(one.bytes_left)));
        one.bytes_left -= static_cast<std::int64_t>(text.size());
      }
      if (!one.on_text(text)) return false;
    }
    return true;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<One>> all_;
  bool stopping_ = false;
  std::thread thread_;
};

namespace {

// Ends one following; waits for its running callback.
template <typename One>
class Handle final : public LogFollow {
 public:
  explicit Handle(std::shared_ptr<One> one) : one_(std::move(one)) {}
  ~Handle() override {
    const std::lock_guard lock(one_->mutex);
    one_->is_over = true;
  }

 private:
  std::shared_ptr<One> one_;
};

}  // namespace

PodLogs::PodLogs(const std::string& data_folder)
    : root_(data_folder + "/pods"), followers_(std::make_shared<Followers>()) {}

PodLogs::~PodLogs() = default;

ApiResult<PodLogs::Found> PodLogs::Find(const LogRequest& request) const {
  for (const std::string& part : {request.namespace_name, request.pod, request.container}) {
    if (part.empty() || part[0] == '.' || part.find('/') != std::string::npos) {
      return BadRequest("invalid name: \"" + part + "\"");
    }
  }
  const fs::path folder =
      fs::path(root_) /
      fmt::format("{}_{}_{}", request.namespace_name, request.pod, request.pod_uid) /
      request.container;
  const auto newest = NewestStart(folder);
  if (!newest) {
    return BadRequest(
        fmt::format("container \"{}\" in pod \"{}\" is waiting to start: "
                    "ContainerCreating",
                    request.container, request.pod));
  }
  if (request.previous && *newest == 0) {
    return BadRequest(fmt::format("previous terminated container \"{}\" in pod \"{}\" not found",
                                  request.container, request.pod));
  }
  const std::int64_t start = request.previous ? *newest - 1 : *newest;
  Found found{folder, start, folder / "process", !request.previous};
  std::error_code error;
  const bool needs_times = request.timestamps || request.since_time || request.since_seconds >= 0;
  if (needs_times && !LogTimes(found.path()).is_there() && fs::file_size(found.path(), error) > 0) {
    return BadRequest(
        "this log was written by a version of berth that kept no times: ask without --timestamps, "
        "--since and --since-time");
  }
  return found;
}

ApiResult<std::string> PodLogs::Read(const LogRequest& request) {
  const auto found = Find(request);
  if (!found) return found.error();
  const std::string path = found->path();
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return ApiError{500, "InternalError", "the log cannot be read", nullptr};
  const std::uintmax_t kept = LogBegin(path);
  const auto first = BeginOf(file, path, size, request, SinceOf(request));
  if (!first) return std::string();
  std::uintmax_t begin = *first;
  std::string note;
  if (kept > 0 && begin == kept) {
    note = fmt::format("[berth: {} bytes before this are not kept]\n", kept);
  }
  LogText form(path, request.timestamps);
  std::uintmax_t most = kMostBytes;
  std::uintmax_t end = size;
  if (request.limit_bytes >= 0) {
    most = std::min(most, static_cast<std::uintmax_t>(request.limit_bytes));
    end = std::min(end, begin + static_cast<std::uintmax_t>(request.limit_bytes));
  }
  const bool is_tail = request.limit_bytes < 0 || most == kMostBytes;
  if (is_tail) {
    const auto fits = FittingStart(file, begin, end, kMostBytes, form.bytes_of_a_line());
    if (fits > begin) {
      note = fmt::format("[berth: {} bytes before this are left out]\n", fits - begin);
    }
    begin = fits;
  }
  std::string text = note + ReadText(file, form, begin, end, most);
  if (request.limit_bytes >= 0) {
    text.resize(std::min(text.size(), static_cast<std::size_t>(request.limit_bytes)));
  }
  return text;
}

ApiResult<std::unique_ptr<LogFollow>> PodLogs::Follow(
    const LogRequest& request, std::function<bool(std::string_view text)> on_text,
    std::function<void()> on_end) {
  auto found = Find(request);
  if (!found) return found.error();
  const std::string path = found->path();
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  auto one = std::make_shared<Followers::One>();
  if (!error) {
    const auto since = SinceOf(request);
    const auto begin = BeginOf(file, path, size, request, since);
    one->at = begin.value_or(size);
    if (!begin) one->since = since;
  }
  one->with_stamps = request.timestamps;
  one->text = std::make_unique<LogText>(path, request.timestamps);
  one->may_restart = request.previous ? nullptr : request.may_restart;
  one->found = std::move(*found);
  one->bytes_left = request.limit_bytes;
  one->on_text = std::move(on_text);
  one->on_end = std::move(on_end);
  followers_->Add(one);
  return std::unique_ptr<LogFollow>(std::make_unique<Handle<Followers::One>>(std::move(one)));
}

}  // namespace berth::local::cluster
