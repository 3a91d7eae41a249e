// base/threads/guarded.h — what becomes of an exception on a thread of Berth's.
//
// An exception that leaves the entry of a thread ends the process, and with it everybody's jobs. A
// library's exception ends in the file that calls the library; what comes through all the same is a
// bug. Such a bug ends one task: RunGuarded logs the exception, and the thread takes the next task.
// Where nobody can go on after half a task, the process ends with a line that says so.
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
// The same; then the process ends.
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

// Runs `task`, after whose half nobody can go on: if it throws, that is logged, and the process
// ends.
template <typename Task>
void RunOrAbort(std::string_view message, Task&& task) {
  try {
    std::forward<Task>(task)();
  } catch (...) {
    AbortThrown(message);
  }
}

// A thread that runs `body`, all of whose tasks are guarded. An exception of the rest ends the
// process: others would wait for the missing thread for ever. `message` must outlive the thread.
std::thread StartThread(std::string_view message, std::function<void()> body);

}  // namespace berth
