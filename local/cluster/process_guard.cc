#include "local/cluster/process_guard.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::local::cluster {
namespace {

constexpr int kWatch = 1;
constexpr int kForget = 2;
constexpr std::size_t kMostProcessGroups = 65536;
constexpr std::size_t kMarkBytes = 4096;
constexpr int kGuardSocket = 3;

struct Message {
  std::int32_t operation;
  std::int32_t group;
};

// The record of getdents64, which the C library does not declare.
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[1];
};

pid_t ParsePid(const char* name) {
  pid_t pid = 0;
  for (; *name != '\0'; ++name) {
    if (*name < '0' || *name > '9' || pid > 100'000'000) return 0;
    pid = pid * 10 + (*name - '0');
  }
  return pid;
}

// Searches the whole environment of `pid` for `entry`, a zero-terminated string between zeros.
bool HasEntry(pid_t pid, const char* entry) {
  static std::array<char, 65536> buffer;
  std::array<char, 32> path{"/proc/"};
  std::size_t at = 6;
  std::array<char, 12> digits{};
  std::size_t count = 0;
  for (pid_t rest = pid; rest > 0; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
  while (count > 0) path[at++] = digits[--count];
  std::memcpy(&path[at], "/environ", 9);
  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const std::size_t length = std::strlen(entry) + 1;
  std::size_t kept = 0;
  bool found = false;
  while (!found) {
    const ssize_t got = read(file, buffer.data() + kept, buffer.size() - kept);
    if (got <= 0) break;
    const std::size_t size = kept + static_cast<std::size_t>(got);
    found = memmem(buffer.data(), size, entry, length) != nullptr;
    kept = size < length ? size : length;
    std::memmove(buffer.data(), buffer.data() + size - kept, kept);
  }
  close(file);
  return found;
}

[[noreturn]] void GuardMain(const char* mark) {
  static std::array<std::int32_t, kMostProcessGroups> groups;
  std::size_t count = 0;
  for (;;) {
    Message message{};
    const ssize_t got = recv(kGuardSocket, &message, sizeof message, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof message) break;
    if (message.operation == kWatch && count < kMostProcessGroups) groups[count++] = message.group;
    if (message.operation != kForget) continue;
    for (std::size_t at = 0; at < count; ++at) {
      if (groups[at] == message.group) groups[at--] = groups[--count];
    }
  }
  for (std::size_t at = 0; at < count; ++at) kill(-groups[at], SIGKILL);
  // Descendants may have left their group; two rounds, because one may fork meanwhile.
  KillMarked(mark);
  KillMarked(mark);
  _exit(0);
}

// Runs in the child right after the fork: keeps no file but the socket.
[[noreturn]] void BecomeGuard(int socket, const char* mark) {
  setsid();
  prctl(PR_SET_NAME, "berth-guard");
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaction(signal, &ignore, nullptr);
  if (socket != kGuardSocket) dup2(socket, kGuardSocket);
  const int null_file = open("/dev/null", O_RDWR);
  for (int standard = 0; standard < 3; ++standard) dup2(null_file, standard);
  close_range(kGuardSocket + 1, ~0U, 0);
  if (chdir("/") != 0) _exit(1);
  GuardMain(mark);
}

}  // namespace

Result<ProcessGuard> ProcessGuard::Start(const std::string& mark) {
  static std::array<char, kMarkBytes> kept_mark;  // the guard's copy of the mark
  if (mark.size() >= kMarkBytes) return Error{ErrorCode::kInvalid, "data folder: path too long"};
  std::memcpy(kept_mark.data(), mark.c_str(), mark.size() + 1);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error{ErrorCode::kUnavailable, std::string("socketpair: ") + std::strerror(errno)};
  }
  const pid_t pid = fork();
  if (pid < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return Error{ErrorCode::kUnavailable, std::string("fork: ") + std::strerror(error)};
  }
  if (pid == 0) BecomeGuard(ends[1], kept_mark.data());
  close(ends[1]);
  return ProcessGuard(ends[0], pid);
}

ProcessGuard::ProcessGuard(ProcessGuard&& other) noexcept
    : socket_(other.socket_), pid_(other.pid_) {
  other.socket_ = -1;
}

ProcessGuard::~ProcessGuard() {
  if (socket_ < 0) return;
  close(socket_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ProcessGuard::Watch(pid_t group) { Send(kWatch, group); }
void ProcessGuard::Forget(pid_t group) { Send(kForget, group); }

void ProcessGuard::Send(int operation, pid_t group) {
  const Message message{operation, group};
  while (send(socket_, &message, sizeof message, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

int KillMarked(const char* mark) {
  static std::array<char, kMarkBytes + 32> entry;
  static std::array<char, 32768> buffer;
  constexpr char kName[] = "BERTH_MARK=";
  std::memcpy(entry.data(), kName, sizeof kName);
  std::strncpy(entry.data() + sizeof kName - 1, mark, kMarkBytes);
  const int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 0;
  const pid_t self = getpid();
  int killed = 0;
  for (;;) {
    const long got = syscall(SYS_getdents64, folder, buffer.data(), buffer.size());
    if (got <= 0) break;
    for (long at = 0; at < got;) {
      const auto* one = reinterpret_cast<const DirectoryEntry*>(buffer.data() + at);
      at += one->size;
      const pid_t pid = ParsePid(one->name);
      if (pid <= 1 || pid == self || !HasEntry(pid, entry.data())) continue;
      if (kill(pid, SIGKILL) == 0) ++killed;
    }
  }
  close(folder);
  return killed;
}

}  // namespace berth::local::cluster
