// local/cluster/processes/standard_files.h — the pipes or the terminal between this process and a
// program.
//
// Threads: none.
#pragma once

#include "base/result.h"

namespace berth::local::cluster {

// Each file has two ends: the program's, and this process'. The destructor closes the ends that
// nobody has taken.
struct StandardFiles {
  // Without a terminal: a pipe for the input if `has_input`, none for the output.
  static Result<StandardFiles> Make(bool has_input, bool is_terminal);
  // Makes a pipe for each wanted file, or one terminal for all.
  struct Wanted {
    bool input = false;
    bool output = false;
    bool error = false;
    bool is_terminal = false;
  };
  static Result<StandardFiles> MakeFor(const Wanted& wanted);

  StandardFiles() = default;
  StandardFiles(StandardFiles&& other) noexcept;
  StandardFiles& operator=(StandardFiles&& other) noexcept;
  ~StandardFiles();

  void CloseProgramsEnds();
  int TakeOurs();  // `ours`, for the caller to close

  // The program's ends; −1: none. If there is a terminal, all three are its slave.
  int input = -1;
  int output = -1;
  int error = -1;
  // This process' ends. `ours`: the terminal, or the writing end of the input.
  int ours = -1;
  int our_output = -1;
  int our_error = -1;
};

}  // namespace berth::local::cluster
