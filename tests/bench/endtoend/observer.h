// tests/bench/endtoend/observer.h — the time when a watch first showed each object in a state.
//
// Threads: WaitFor and TimeOf from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tests/bench/endtoend/cluster.h"

namespace berth::bench {

using Instant = std::chrono::steady_clock::time_point;

class Observer {
 public:
  // The name under which the instant of `object` is kept; nullopt: not yet in the state.
  using Reached = std::function<std::optional<std::string>(const Json& object)>;

  // Starts to watch a collection; returns when the watch is open.
  Observer(Cluster& cluster, const std::string& path, Reached reached);
  ~Observer() { handle_->Cancel(); }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // The instant of `name`; ends the program if it is unknown for two minutes.
  Instant TimeOf(const std::string& name);
  // Returns when `count` objects have been in the state.
  Instant WaitFor(std::size_t count);
  std::size_t count();

 private:
  void OnData(std::string_view bytes);

  const Reached reached_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string rest_;  // an unfinished line
  std::map<std::string, Instant> seen_;
  Instant last_;
  bool open_ = false;
  std::unique_ptr<net::StreamHandle> handle_;
};

}  // namespace berth::bench
