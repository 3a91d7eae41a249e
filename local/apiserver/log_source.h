// local/apiserver/log_source.h — the interface to containers' logs: implemented by the component
// that runs the pods, read by GET …/pods/NAME/log.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local {

struct LogRequest {
  std::string namespace_name;
  std::string pod;
  std::string pod_uid;
  std::string container;
  bool previous = false;         // logs of the run before the last restart
  bool timestamps = false;       // RFC 3339 before each line
  std::int64_t tail_lines = -1;  // −1: all lines
  std::int64_t limit_bytes = -1;
  std::int64_t since_seconds = -1;
  std::optional<WallTime> since_time;
  // For Follow: returns whether a container that has ended will run again, so that its next log
  // follows. Null: the container will not run again.
  std::function<bool()> may_restart;
};

// Destruction ends the callbacks; none runs after the destructor has returned.
class LogFollow {
 public:
  virtual ~LogFollow() = default;
};

// Threads: every function may be called from any thread; callbacks run on any thread, one at a
// time.
class LogSource {
 public:
  virtual ~LogSource() = default;
  // The present log. 400 BadRequest where the container has not started:
  // `container "c" in pod "p" is waiting to start: ContainerCreating`.
  virtual ApiResult<std::string> Read(const LogRequest& request) = 0;
  // Delivers the present log, then new text, also that of later runs. `on_text` returns false when
  // the client is gone; `on_end` is called once, when the container has ended and all text is
  // delivered.
  virtual ApiResult<std::unique_ptr<LogFollow>> Follow(
      const LogRequest& request, std::function<bool(std::string_view text)> on_text,
      std::function<void()> on_end) = 0;
};

}  // namespace berth::local
