// base/threads/guarded.h — the handling of exceptions on Berth's threads.
//
// An exception that leaves the entry of a thread ends the process, and with it all tasks of all
// threads. A library's exception ends in the file that calls the library; an exception that leaves
// that file is a bug. Such a bug ends one task: RunGuarded logs the exception, and the thread takes
// the next task. Where the program cannot go on after half a task, the process ends with a line in
// the log that says so.
//
//     while (WaitForTask()) RunGuarded("a task of the timer failed", [&] { RunTask(); });
//
// Threads: every function may be called from any thread.
#pragma once

#include <functional>
#include <string_view>
#include <thread>
#include <utility>

namespace berth {

// Logs the exception that is being handled, as an error. `message` says what failed; constant.
void LogThrown(std::string_view message);
// Logs the exception like LogThrown; then ends the process.
[[noreturn]] void AbortThrown(std::string_view message);

// Runs `task`. False: it threw, which is logged. Locks that `task` takes must be its own.
template <typename Task>
bool RunGuarded(std::string_view message, Task&& task) {
  try {
    std::forward<Task>(task)();
    return true;
  } catch (...) {
    LogThrown(message);
    return false;
  }
}

// Runs a task after whose half the program cannot go on: if `task` throws, the exception is logged,
// and the process ends.
template <typename Task>
void RunOrAbort(std::string_view message, Task&& task) {
  try {
    std::forward<Task>(task)();
  } catch (...) {
    AbortThrown(message);
  }
}

// A thread that runs `body`, all of whose tasks are guarded. An exception outside the tasks ends
// the process, because other threads would wait for ever for the missing thread. `message` must
// outlive the thread.
std::thread StartThread(std::string_view message, std::function<void()> body);

}  // namespace berth
