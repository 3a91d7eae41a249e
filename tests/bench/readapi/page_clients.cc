#include "tests/bench/readapi/page_clients.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include <unistd.h>

#include "net/client.h"
#include "net/io_pool.h"
#include "tests/bench/support/load.h"

namespace berth::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLongestMark = 32;
constexpr int kMostTries = 1000;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "page clients: %s\n", what.c_str());
  std::_Exit(1);
}

template <typename T>
void Send(int to, const T& value) {
  if (write(to, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) Fail("pipe");
}
template <typename T>
T Receive(int from) {
  T value{};
  if (read(from, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::_Exit(0);
  return value;
}

struct OpenCommand {
  std::uint16_t port;
  int count;
  int namespaces;
  char ca_pem[8192];
};

// One connection's stream: the marks in its text, also those that pieces cut in two.
struct PageStream {
  std::string rest;
  bool begun = false;
  std::unique_ptr<net::StreamHandle> handle;
};

class Pages {
 public:
  explicit Pages(const OpenCommand& command) : command_(command) {
    net::ClientOptions options;
    options.base_url = "https://localhost:" + std::to_string(command.port);
    options.ca_pem = command.ca_pem;
    options.max_connections = 64;
    client_ = *net::HttpClient::Create(pool_, std::move(options));
    streams_.resize(static_cast<std::size_t>(command.count));
    begun_ = MonotonicNanos();
    for (int i = 0; i < command.count; ++i) Open(i);
    std::unique_lock lock(mutex_);
    const bool all = changed_.wait_for(lock, 60s, [&] { return waiting_ == 0; });
    if (!all) Fail(std::to_string(waiting_) + " answers are missing");
    millis_.clear();
    answers_.clear();
    bytes_ = 0;
  }

  PageTimes Close() {
    std::promise<void> closed;
    executor_->Post([&] {  // on the only thread, so that no callback runs beside it
      for (PageStream& stream : streams_) stream.handle->Cancel();
      client_.reset();
      closed.set_value();
    });
    closed.get_future().wait();
    std::this_thread::sleep_for(500ms);  // the connections close behind the call
    PageTimes times;
    times.changes = static_cast<long>(millis_.size());
    times.p50 = Percentile(millis_, 0.5);
    times.p99 = Percentile(millis_, 0.99);
    times.worst = millis_.empty() ? 0 : millis_.back();
    times.first_view_p50 = Percentile(first_views_, 0.5);
    times.first_view_p99 = Percentile(first_views_, 0.99);
    times.answers = static_cast<long>(answers_.size());
    times.answer_p50 = Percentile(answers_, 0.5);
    times.answer_p99 = Percentile(answers_, 0.99);
    times.megabytes = static_cast<double>(bytes_) / 1e6;
    times.resyncs = resyncs_;
    times.lost = lost_;
    times.tried_again = tried_again_;
    return times;
  }

 private:
  net::Request Get(int number, const std::string& path, const std::string& query) const {
    const bool everything = number % 2 == 0;
    const std::string team = "team-" + std::to_string(number % command_.namespaces);
    net::Request request;
    request.method = "GET";
    request.target = path + (everything ? "?" : "?namespace=" + team + "&") + query;
    request.headers.Add("Authorization", "Bearer " + (everything ? "admin" : team));
    return request;
  }

  // The view "Now" (dashboard/src/now.tsx): what it asks for, and again at most so often while
  // changes come (RELOAD_AFTER_MS, useCounts of dashboard/src/live.ts); zero: once.
  struct Asked {
    const char* path;
    const char* query;
    Duration again;
  };
  static constexpr Asked kView[] = {
      {"/api/v1/workloads", "countBy=state", 2s},
      {"/api/v1/workloads", "countBy=cause", 2s},
      {"/api/v1/workloads", "state=waiting,reserved&sort=waitingSince&limit=10", 700ms},
      {"/api/v1/queues", "limit=1000", 0s},
      {"/api/v1/capacityrequests", "sort=createdAt&limit=10", 0s},
      {"/api/v1/capacityrequests", "countBy=state", 0s}};

  void Open(int number) {
    {
      const std::lock_guard lock(mutex_);
      waiting_ += 1 + static_cast<int>(std::size(kView));
    }
    for (const Asked& asked : kView) Ask(number, asked, true);
    Listen(number);
  }

  void Ask(int number, const Asked& asked, bool is_first) {
    if (client_ == nullptr) return;  // closed
    const std::int64_t sent = MonotonicNanos();
    client_->Send(Get(number, asked.path, asked.query), 60s,
                  [this, number, &asked, is_first, sent](Result<net::Response> answer) {
                    if (!answer) {
                      CountAgain(answer.error());
                      return Ask(number, asked, is_first);
                    }
                    if (answer->status != 200) {
                      Fail(std::to_string(answer->status) + " " + answer->body.substr(0, 200));
                    }
                    if (is_first) {
                      Arrived(true);
                    } else {
                      const std::lock_guard lock(mutex_);
                      answers_.push_back(static_cast<double>(MonotonicNanos() - sent) / 1e6);
                    }
                    if (asked.again == 0s) return;
                    executor_->PostAfter(asked.again,
                                         [this, number, &asked] { Ask(number, asked, false); });
                  });
  }

  void Listen(int number) {
    PageStream& stream = streams_[static_cast<std::size_t>(number)];
    stream.handle = client_->Open(
        Get(number, "/api/v1/events", "resources=workloads,queues,capacityrequests"), 60s,
        {.on_head =
             [this, &stream](int status, const net::Headers&) {
               if (status != 200) Fail("a stream: " + std::to_string(status));
               stream.begun = true;
               Arrived(false);
             },
         .on_data = [this, &stream](std::string_view bytes) { Take(stream, bytes); },
         .on_end =
             [this, &stream, number](const Status& status) {
               if (stream.begun) {
                 const std::lock_guard lock(mutex_);
                 ++lost_;
               } else {
                 if (client_ == nullptr) return;
                 CountAgain(status ? Error{ErrorCode::kUnavailable, "ended"} : status.error());
                 Listen(number);
               }
             }});
  }

  void CountAgain(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (++tried_again_ > kMostTries) Fail(error.message);
  }

  void Arrived(bool is_view) {
    const std::lock_guard lock(mutex_);
    if (is_view) first_views_.push_back(static_cast<double>(MonotonicNanos() - begun_) / 1e6);
    --waiting_;
    changed_.notify_all();
  }

  void Take(PageStream& stream, std::string_view bytes) {
    const std::int64_t now = MonotonicNanos();
    const std::lock_guard lock(mutex_);
    bytes_ += bytes.size();
    stream.rest += bytes;
    const std::string& text = stream.rest;
    if (text.find("event: resync") != std::string::npos) ++resyncs_;
    std::size_t at = 0;
    std::size_t done = text.size() > kLongestMark ? text.size() - kLongestMark : 0;
    while ((at = text.find(kMadeMark, at)) != std::string::npos) {
      const std::size_t end = text.find(';', at);
      if (end == std::string::npos) {
        done = std::min(done, at);
        break;
      }
      const std::int64_t made = std::strtoll(text.c_str() + at + sizeof kMadeMark - 1, nullptr, 10);
      millis_.push_back(static_cast<double>(now - made) / 1e6);
      at = end;
      done = std::max(done, end);
    }
    stream.rest.erase(0, done);
  }

  const OpenCommand command_;
  net::IoPool pool_{1};
  std::unique_ptr<Executor> executor_ = pool_.MakeStrand();
  std::unique_ptr<net::HttpClient> client_;
  std::vector<PageStream> streams_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  std::int64_t begun_ = 0;
  std::vector<double> millis_;
  std::vector<double> first_views_;
  std::vector<double> answers_;
  std::size_t bytes_ = 0;
  int resyncs_ = 0;
  int lost_ = 0;
  int tried_again_ = 0;
};

int Serve(int commands, int answers) {
  while (true) {
    const auto command = Receive<OpenCommand>(commands);
    Pages pages(command);
    Send(answers, 'o');
    Receive<char>(commands);
    Send(answers, pages.Close());
  }
}

}  // namespace

std::int64_t MonotonicNanos() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

PageClients PageClients::Start() {
  int commands[2];
  int answers[2];
  if (pipe(commands) != 0 || pipe(answers) != 0) Fail("pipe");
  auto child = std::make_unique<Child>(Child::Fork([&] {
    close(commands[1]);
    close(answers[0]);
    return Serve(commands[0], answers[1]);
  }));
  close(commands[0]);
  close(answers[1]);
  return {std::move(child), commands[1], answers[0]};
}

void PageClients::Open(std::uint16_t port, const std::string& ca_pem, int count, int namespaces) {
  OpenCommand command{.port = port, .count = count, .namespaces = namespaces, .ca_pem = {}};
  if (ca_pem.size() >= sizeof command.ca_pem) Fail("the certificate is too long");
  std::copy(ca_pem.begin(), ca_pem.end(), command.ca_pem);
  Send(commands_, command);
  Receive<char>(answers_);
}

PageTimes PageClients::Close() {
  Send(commands_, 'c');
  return Receive<PageTimes>(answers_);
}

}  // namespace berth::bench
