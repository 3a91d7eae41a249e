#include "tests/bench/support/load.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

namespace berth::bench {
namespace {

using Instant = std::chrono::steady_clock::time_point;

constexpr std::chrono::seconds kTimeout{60};

double Since(Instant start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Load {
 public:
  Load(net::HttpClient& client, const LoadOptions& options,
       std::function<net::Request(int, int)> make)
      : client_(client), options_(options), make_(std::move(make)) {}

  LoadResult Run() {
    start_ = std::chrono::steady_clock::now();
    running_ = options_.writers;
    for (int writer = 0; writer < options_.writers; ++writer) Next(writer, 0);
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return running_ == 0; });
    result_.seconds = Since(start_);
    return std::move(result_);
  }

 private:
  // Whether one more request may be sent. The caller holds the lock.
  bool Claim() {
    if (options_.seconds > 0 && Since(start_) >= options_.seconds) return false;
    if (options_.requests > 0 && sent_ >= options_.requests) return false;
    ++sent_;
    return true;
  }

  void Next(int writer, int number) {
    {
      const std::lock_guard lock(mutex_);
      if (!Claim()) {
        if (--running_ == 0) idle_.notify_all();
        return;
      }
    }
    const Instant sent = std::chrono::steady_clock::now();
    client_.Send(make_(writer, number), kTimeout,
                 [this, writer, number, sent](const Result<net::Response>& answer) {
                   Record(answer, Since(sent) * 1000);
                   Next(writer, number + 1);
                 });
  }

  void Record(const Result<net::Response>& answer, double milliseconds) {
    const std::lock_guard lock(mutex_);
    result_.milliseconds.push_back(milliseconds);
    if (answer && (answer->status == 200 || answer->status == 201)) {
      ++result_.done;
      return;
    }
    if (++result_.failed == 1) {
      result_.first_failure =
          answer ? std::to_string(answer->status) + " " + answer->body : answer.error().message;
    }
  }

  net::HttpClient& client_;
  const LoadOptions options_;
  const std::function<net::Request(int, int)> make_;
  Instant start_;
  std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;
  int sent_ = 0;
  LoadResult result_;
};

}  // namespace

double Percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

LoadResult RunLoad(net::HttpClient& client, const LoadOptions& options,
                   std::function<net::Request(int, int)> make) {
  return Load(client, options, std::move(make)).Run();
}

net::Request JsonRequest(std::string method, std::string target, std::string body) {
  net::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.body = std::move(body);
  if (!request.body.empty()) request.headers.Add("Content-Type", "application/json");
  return request;
}

}  // namespace berth::bench
