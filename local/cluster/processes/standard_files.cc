#include "local/cluster/processes/standard_files.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace berth::local::cluster {
namespace {

Error FilesError(const std::string& what) {
  return Error{ErrorCode::kUnavailable, what + ": " + std::strerror(errno)};
}

Status MakePipe(int& reads, int& writes) {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return FilesError("pipe");
  reads = ends[0];
  writes = ends[1];
  return OkStatus();
}

Status MakeTerminal(StandardFiles& files) {
  files.ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (files.ours < 0) return FilesError("terminal");
  if (grantpt(files.ours) != 0 || unlockpt(files.ours) != 0) return FilesError("terminal");
  files.input = ioctl(files.ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (files.input < 0) return FilesError("terminal");
  files.output = files.error = files.input;
  return OkStatus();
}

}  // namespace

Result<StandardFiles> StandardFiles::Make(bool has_input, bool is_terminal) {
  return MakeFor({.input = has_input, .is_terminal = is_terminal});
}

Result<StandardFiles> StandardFiles::MakeFor(const Wanted& wanted) {
  StandardFiles files;
  if (wanted.is_terminal) {
    BERTH_CHECK_OK(MakeTerminal(files));
    return files;
  }
  if (wanted.input) BERTH_CHECK_OK(MakePipe(files.input, files.ours));
  if (wanted.output) BERTH_CHECK_OK(MakePipe(files.our_output, files.output));
  if (wanted.error) BERTH_CHECK_OK(MakePipe(files.our_error, files.error));
  return files;
}

StandardFiles::StandardFiles(StandardFiles&& other) noexcept { *this = std::move(other); }

StandardFiles& StandardFiles::operator=(StandardFiles&& other) noexcept {
  std::swap(input, other.input);
  std::swap(output, other.output);
  std::swap(error, other.error);
  std::swap(ours, other.ours);
  std::swap(our_output, other.our_output);
  std::swap(our_error, other.our_error);
  return *this;
}

StandardFiles::~StandardFiles() {
  CloseProgramsEnds();
  for (const int file : {ours, our_output, our_error}) {
    if (file >= 0) close(file);
  }
}

void StandardFiles::CloseProgramsEnds() {
  if (error >= 0 && error != output) close(error);
  if (output >= 0 && output != input) close(output);
  if (input >= 0) close(input);
  input = output = error = -1;
}

int StandardFiles::TakeOurs() { return std::exchange(ours, -1); }

}  // namespace berth::local::cluster
