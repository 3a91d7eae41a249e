// local/cluster/processes/stream_pump.h — copies between programs' files (pipes, terminals) and the
// observers of streaming sessions.
//
//     program ──pipe or terminal──▶ pump thread ──OnOutput──▶ observer
//     program ◀──pipe or terminal── pump thread ◀──WriteInput── session
//
// One thread serves all sessions and never waits for one of them: output is read while the observer
// takes it, input waits in the session (one piece) until the program reads.
//
// Threads: any. Linux only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "local/apiserver/program_streams.h"

namespace berth::local::cluster {

class StreamPump {
 public:
  // Bytes that may wait for an observer that gets its output by Push.
  static constexpr std::size_t kMostPushedBytes = std::size_t{1024} * 1024;

  // This process' ends; −1: none. The pump owns and closes them. A terminal has one file for all:
  // `output` reads, `input` is a duplicate.
  struct Files {
    int input = -1;
    int output = -1;
    int error = -1;
    bool is_terminal = false;
  };
  struct Hooks {
    std::function<void()> client_gone;   // the RunningProgram was destroyed before the end
    std::function<void()> input_closed;  // CloseInput, or the client has gone; once
  };

  static Result<std::unique_ptr<StreamPump>> Start();
  ~StreamPump();  // calls Stop
  StreamPump(const StreamPump&) = delete;
  StreamPump& operator=(const StreamPump&) = delete;

  // Ends every session and tells its observer that the server stops; later calls have no effect.
  // Idempotent.
  void Stop();

  // A session, which reads nothing until Resume. Hooks and the observer are called on the pump's
  // thread.
  std::int64_t Add(const Files& files, std::shared_ptr<ProgramObserver> observer, Hooks hooks);
  // The client's handle of the session. It may outlive the pump.
  std::unique_ptr<RunningProgram> Handle(std::int64_t id);
  // Passes output on that does not come from a file of the session. If more than kMostPushedBytes
  // wait for the observer, the session ends.
  void Push(std::int64_t id, std::string bytes);
  // Call it when the program has ended. OnEnd is called after the output that its files still hold.
  void End(std::int64_t id, ProgramEnd end);

 private:
  class Impl;
  explicit StreamPump(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::local::cluster
