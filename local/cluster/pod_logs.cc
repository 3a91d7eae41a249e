#include "local/cluster/pod_logs.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "local/cluster/log_pump.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 64 * 1024 * 1024;  // of one answer
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
  std::string path;
  std::string record_path;  // exists while the process writes
  bool is_newest = true;
};

// The files that clients follow.
class PodLogs::Followers {
 public:
  struct One {
    Found found;
    std::uintmax_t at = 0;
    std::int64_t bytes_left = -1;
    std::function<bool(std::string_view)> on_text;
    std::function<void()> on_end;
    std::recursive_mutex mutex;  // held during a callback, which may end the following
    bool is_over = false;
  };

  Followers() : thread_([this] { Run(); }) {}
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
      for (const auto& one : round) Tell(*one);
      lock.lock();
      std::erase_if(all_, [](const auto& one) {
        const std::lock_guard one_lock(one->mutex);
        return one->is_over;
      });
      wake_.wait_for(lock, kPollInterval, [this] { return stopping_; });
    }
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
    if (!has_ended && one.bytes_left != 0) return;
    one.is_over = true;
    one.on_end();
  }

  static bool TellText(One& one) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(one.found.path, error);
    std::ifstream file(one.found.path, std::ios::binary);
    one.at = std::max(one.at, LogBegin(one.found.path));  // a slow reader misses the removed part
    while (!error && one.at < size && one.bytes_left != 0) {
      std::uintmax_t end = std::min<std::uintmax_t>(size, one.at + kChunkBytes);
      if (one.bytes_left > 0) {
        end = std::min(end, one.at + static_cast<std::uintmax_t>(one.bytes_left));
      }
      const std::string text = ReadBetween(file, one.at, end);
      if (text.empty()) break;
      one.at += text.size();
      if (one.bytes_left > 0) one.bytes_left -= static_cast<std::int64_t>(text.size());
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
  if (request.timestamps) {
    return BadRequest("timestamps are not known: local programs write their logs themselves");
  }
  if (request.since_seconds >= 0 || !request.since_time.empty()) {
    return BadRequest("the times of log lines are not known: use --tail instead of --since");
  }
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
  return Found{folder / (std::to_string(start) + ".log"), folder / "process", !request.previous};
}

ApiResult<std::string> PodLogs::Read(const LogRequest& request) {
  const auto found = Find(request);
  if (!found) return found.error();
  std::error_code error;
  const std::uintmax_t size = fs::file_size(found->path, error);
  std::ifstream file(found->path, std::ios::binary);
  if (error || !file) return ApiError{500, "InternalError", "the log cannot be read", nullptr};
  const std::uintmax_t kept = LogBegin(found->path);
  std::uintmax_t begin = TailStart(file, kept, size, request.tail_lines);
  std::uintmax_t end = size;
  if (request.limit_bytes >= 0) {
    end = std::min(end, begin + static_cast<std::uintmax_t>(request.limit_bytes));
  }
  std::string note;
  if (kept > 0 && begin == kept) {
    note = fmt::format("[berth: {} bytes before this are not kept]\n", kept);
  }
  if (end - begin > kMostBytes) {
    note = fmt::format("[berth: {} bytes before this are left out]\n", end - kMostBytes - begin);
    begin = end - kMostBytes;
  }
  return note + ReadBetween(file, begin, end);
}

ApiResult<std::unique_ptr<LogFollow>> PodLogs::Follow(
    const LogRequest& request, std::function<bool(std::string_view text)> on_text,
    std::function<void()> on_end) {
  auto found = Find(request);
  if (!found) return found.error();
  std::error_code error;
  const std::uintmax_t size = fs::file_size(found->path, error);
  std::ifstream file(found->path, std::ios::binary);
  auto one = std::make_shared<Followers::One>();
  one->at = error ? 0 : TailStart(file, LogBegin(found->path), size, request.tail_lines);
  one->found = std::move(*found);
  one->bytes_left = request.limit_bytes;
  one->on_text = std::move(on_text);
  one->on_end = std::move(on_end);
  followers_->Add(one);
  return std::unique_ptr<LogFollow>(std::make_unique<Handle<Followers::One>>(std::move(one)));
}

}  // namespace berth::local::cluster
