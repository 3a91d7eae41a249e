// tests/bench/endtoend/observer.h — when each object first was in a state, as a watch tells it.
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
  // Of an object: the name under which its instant is kept, or nothing where it is not there yet.
  using Reached = std::function<std::optional<std::string>(const Json& object)>;

  // Watches a collection from now on; returns when the watch stands.
  Observer(Cluster& cluster, const std::string& path, Reached reached);
  ~Observer() { handle_->Cancel(); }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // When it was seen; ends the program where that does not happen within two minutes.
  Instant TimeOf(const std::string& name);
  // Returns when `count` objects have been there.
  Instant WaitFor(std::size_t count);
  std::size_t count();

 private:
  void OnData(std::string_view bytes);

  const Reached reached_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string rest_;  // of a line that has not ended
  std::map<std::string, Instant> seen_;
  Instant last_;
  bool open_ = false;
  std::unique_ptr<net::StreamHandle> handle_;
};

}  // namespace berth::bench
