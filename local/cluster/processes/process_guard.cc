#include "local/cluster/processes/process_guard.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

// "/proc/PID" and `rest`, which is short.
std::array<char, 48> ProcessPath(pid_t pid, const char* rest) {
  std::array<char, 48> path{"/proc/"};
  std::size_t at = 6;
  std::array<char, 12> digits{};
  std::size_t count = 0;
  for (; pid > 0; pid /= 10) digits[count++] = static_cast<char>('0' + pid % 10);
  while (count > 0) path[at++] = digits[--count];
  std::memcpy(&path[at], rest, std::strlen(rest) + 1);
  return path;
}

// Searches the whole environment of `pid` for `entry`, a zero-terminated string between zeros.
bool HasEntry(pid_t pid, const char* entry) {
  static std::array<char, 65536> buffer;
  const int file = open(ProcessPath(pid, "/environ").data(), O_RDONLY | O_CLOEXEC);
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

// SIGKILLs every other process for which `is_one` holds.
template <typename Predicate>
int KillEach(const Predicate& is_one) {
  alignas(DirectoryEntry) std::array<char, 8192> buffer;
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
      if (pid <= 1 || pid == self || !is_one(pid)) continue;
      if (kill(pid, SIGKILL) == 0) ++killed;
    }
  }
  close(folder);
  return killed;
}

ino_t NumberOf(int place) {
  struct stat info {};
  return fstat(place, &info) == 0 ? info.st_ino : 0;
}

int KillInPlaces(const ino_t* numbers, std::size_t count) {
  if (count == 0) return 0;
  return KillEach([&](pid_t pid) {
    struct stat info {};
    if (stat(ProcessPath(pid, "/ns/mnt").data(), &info) != 0) return false;
    return std::find(numbers, numbers + count, info.st_ino) != numbers + count;
  });
}

struct Watched {
  std::int32_t group;
  int place;  // −1: none
};

// The message, and the file that came with it; −1: none.
ssize_t Receive(Message& message, int& file) {
  iovec data{&message, sizeof message};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  file = -1;
  const ssize_t got = recvmsg(kGuardSocket, &header, MSG_CMSG_CLOEXEC);
  const cmsghdr* part = got < 0 ? nullptr : CMSG_FIRSTHDR(&header);
  if (part != nullptr && part->cmsg_type == SCM_RIGHTS) {
    std::memcpy(&file, CMSG_DATA(part), sizeof file);
  }
  return got;
}

[[noreturn]] void GuardMain(const char* mark) {
  static std::array<Watched, kMostProcessGroups> watched;
  std::size_t count = 0;
  for (;;) {
    Message message{};
    int place = -1;
    const ssize_t got = Receive(message, place);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof message) break;
    if (message.operation == kWatch && count < kMostProcessGroups) {
      watched[count++] = {message.group, place};
    }
    if (message.operation != kForget) continue;
    for (std::size_t at = 0; at < count; ++at) {
      if (watched[at].group != message.group) continue;
      if (watched[at].place >= 0) close(watched[at].place);
      watched[at--] = watched[--count];
    }
  }
  static std::array<ino_t, kMostProcessGroups> places;
  std::size_t place_count = 0;
  for (std::size_t at = 0; at < count; ++at) {
    kill(-watched[at].group, SIGKILL);
    if (watched[at].place >= 0) places[place_count++] = NumberOf(watched[at].place);
  }
  // Descendants may have left their group; two rounds, because one may fork meanwhile.
  for (int round = 0; round < 2; ++round) {
    KillMarked(mark);
    KillInPlaces(places.data(), place_count);
  }
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

void ProcessGuard::Watch(pid_t group, int place) { Send(kWatch, group, place); }
void ProcessGuard::Forget(pid_t group) { Send(kForget, group, -1); }

void ProcessGuard::Send(int operation, pid_t group, int place) {
  Message message{operation, group};
  iovec data{&message, sizeof message};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (place >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof place);
    std::memcpy(CMSG_DATA(part), &place, sizeof place);
  }
  while (sendmsg(socket_, &header, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

int OpenPlace() { return open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC); }

int KillAt(int place) {
  const ino_t number = NumberOf(place);
  return KillInPlaces(&number, 1);
}

int KillMarked(const char* mark) {
  static std::array<char, kMarkBytes + 32> entry;
  constexpr char kName[] = "BERTH_MARK=";
  std::memcpy(entry.data(), kName, sizeof kName);
  std::strncpy(entry.data() + sizeof kName - 1, mark, kMarkBytes);
  return KillEach([](pid_t pid) { return HasEntry(pid, entry.data()); });
}

}  // namespace berth::local::cluster
