// local/apiserver/program_streams.h — the input and output of one program in a container, between
// the component that runs it and the session that serves a client.
//
//     session ──WriteInput, CloseInput, Resize──▶ RunningProgram
//     session ◀──OnOutput, OnEnd───────────────── (ProgramObserver)
//
// Both directions have back-pressure: an observer that returns false gets no output until Resume;
// the next input may come after `written`.
//
// Threads: RunningProgram: any. Observers are called on one thread at a time, outside of all locks,
// and must not block.
#pragma once

#include <functional>
#include <string>

namespace berth::local {

enum class OutputKind { kOutput, kError };

struct ProgramEnd {
  int exit_code = 0;
  std::string failure;  // set: the program did not start, or its end is not known
};

class ProgramObserver {
 public:
  virtual ~ProgramObserver() = default;
  // Returns whether more output may follow at once; if not, output pauses until Resume.
  virtual bool OnOutput(OutputKind kind, std::string bytes) = 0;
  // The last call: the program has ended, or the session has no program any more.
  virtual void OnEnd(const ProgramEnd& end) = 0;
};

// Destruction means that the client is gone: it ends a program that was started for the client; a
// container's own program goes on. No callback begins afterwards; one may be running.
class RunningProgram {
 public:
  virtual ~RunningProgram() = default;
  // Calls `written` once, when the program's input has taken the bytes or can take no more bytes.
  virtual void WriteInput(std::string bytes, std::function<void()> written) = 0;
  virtual void CloseInput() = 0;
  virtual void Resize(int columns, int rows) = 0;
  virtual void Resume() = 0;
};

}  // namespace berth::local
