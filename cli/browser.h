// cli/browser.h — opens an address in the browser of the user.
//
//     $BROWSER  commands divided by ':', with words divided by blanks; %s stands for the address,
//               which is the last word where no word has %s
//     none      xdg-open
//
// The command is started without a shell, in a session of its own, so that Ctrl-C does not reach
// it. Nothing waits for it.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "base/threads/thread_executor.h"

namespace berth::cli {

// The commands that may open the address, in the order in which they are tried. `browser`: the
// value of $BROWSER, or empty. Pure.
std::vector<std::vector<std::string>> BrowserCommands(const std::string& browser,
                                                      const std::string& address);

// Starts a browser, and warns in the log if its command fails later.
//
// Threads: one; the end of the command is watched on a thread of this class.
class Browser {
 public:
  // Tries the commands of BrowserCommands. Call once. kNotFound: none of them can be started; the
  // message names each with the cause.
  Status Open(const std::string& address);

 private:
  void Watch();

  std::string command_;
  pid_t process_ = -1;
  ThreadExecutor executor_;  // destroyed first: its task uses the other members
};

}  // namespace berth::cli
