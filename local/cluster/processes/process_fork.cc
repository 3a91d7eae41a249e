#include "local/cluster/processes/process_fork.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strings.h"
#include "local/cluster/processes/process_place.h"

namespace berth::local::cluster {
namespace {

Error SystemError(ErrorCode code, const std::string& what, int error) {
  return Error{code, what + ": " + std::strerror(error)};
}

bool IsProgram(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Searches PATH as execvp does, before the fork.
Result<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (IsProgram(name)) return name;
    return Error{ErrorCode::kInvalid, name + ": no such program"};
  }
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : Split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string candidate = std::string(folder) + "/" + name;
    if (IsProgram(candidate)) return candidate;
  }
  return Error{ErrorCode::kInvalid, name + ": no such program in PATH"};
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

enum class Step { kRecord, kNetwork, kMount, kExecute };

// The failed step of the child, in memory shared by both processes.
struct Failure {
  Step step;
  int error;       // 0: the child has executed the program
  std::size_t at;  // the index of the failed kMount
};

// The child's stack, with the Failure at its low end. It is shared, so that a child with a copy of
// this process' memory can answer too.
class ChildMemory {
 public:
  ChildMemory()
      : start_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ChildMemory(const ChildMemory&) = delete;
  ChildMemory& operator=(const ChildMemory&) = delete;
  ~ChildMemory() {
    if (is_there()) munmap(start_, kBytes);
  }

  bool is_there() const { return start_ != MAP_FAILED; }
  Failure* failure() const { return static_cast<Failure*>(start_); }
  void* stack() const { return static_cast<char*>(start_) + kBytes; }  // it grows downwards

 private:
  static constexpr std::size_t kBytes = 256 * 1024;
  void* const start_;
};

// One of ProcessSpec::mounts.
struct MountCall {
  MountStep::Kind kind;
  const char* from;
  const char* to;
  unsigned long flags;
};

// The child's own view of the machine, made before the clone.
struct ViewPlan {
  int namespaces = 0;               // flags of clone
  const char* hosts = nullptr;      // stands at /etc/hosts; null: the machine's
  const char* host_name = nullptr;  // set for CLONE_NEWUTS; null: the machine's
  const MountCall* mounts = nullptr;
  std::size_t mount_count = 0;
  const char* user_map = nullptr;  // the map of the user namespace; null: there is none
  const char* group_map = nullptr;
};

// The child's data, made before the clone: afterwards the child makes system calls only.
struct ChildPlan {
  const char* program;
  char* const* argv;
  char* const* env;
  const char* working_folder;
  const char* record;
  const char* record_beside;
  const ProcessFiles* files;
  pid_t parent;
  const ProcessUser* user;   // null: this process' user
  const ViewPlan* view;      // null: the machine's
  const ProcessPlace* join;  // null: the machine's, or that of `view`
  int place_end;             // a socket for the file of OpenPlace; −1: the machine's place
  int listener_end;          // a socket for the listener of InstallBindFilter; −1: no filter
  ProcessGuard* guard;
  Failure* failure;
};

[[noreturn]] void Fail(const ChildPlan& plan, Step step) {
  *plan.failure = {step, errno, 0};
  _exit(127);
}

[[noreturn]] void FailMount(const ChildPlan& plan, std::size_t at) {
  *plan.failure = {Step::kMount, errno, at};
  _exit(127);
}

void DieWithParent(const ChildPlan& plan) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);  // the parent ended before prctl
}

// Raw system calls: the C library's wrappers notify threads that do not exist in the child.
bool BecomeUser(const ProcessUser& user) {
  return syscall(SYS_setgroups, user.groups.size(), user.groups.data()) == 0 &&
         syscall(SYS_setresgid, user.group, user.group, user.group) == 0 &&
         syscall(SYS_setresuid, user.user, user.user, user.user) == 0 &&
         prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// Field 22 of /proc/PID/stat; the program's name in field 2 may have blanks and brackets.
std::string_view StartTimeIn(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 > stat.size()) return {};
  stat.remove_prefix(name_end + 2);
  for (int field = 3; field < 22; ++field) {
    const std::size_t blank = stat.find(' ');
    if (blank == std::string_view::npos) return {};
    stat.remove_prefix(blank + 1);
  }
  return stat.substr(0, stat.find(' '));
}

// Writes "PID START-TIME" of the process that calls it, atomically; the start time distinguishes
// the process from a later one with the same number. System calls only.
bool WriteRecord(const char* path, const char* path_beside) {
  std::array<char, 1024> buffer;
  const int stat_file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (stat_file < 0) return false;
  const ssize_t got = read(stat_file, buffer.data(), buffer.size());
  close(stat_file);
  if (got <= 0) return false;
  const std::string_view stat(buffer.data(), static_cast<std::size_t>(got));
  const auto part = [](std::string_view text) {
    return iovec{const_cast<char*>(text.data()), text.size()};
  };
  const std::array<iovec, 4> parts{part(stat.substr(0, stat.find(' '))), part(" "),
                                   part(StartTimeIn(stat)), part("\n")};
  std::size_t bytes = 0;
  for (const iovec& one : parts) bytes += one.iov_len;
  const int file = open(path_beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const ssize_t written = writev(file, parts.data(), parts.size());
  if (written >= 0 && static_cast<std::size_t>(written) != bytes) errno = ENOSPC;
  close(file);
  return written >= 0 && static_cast<std::size_t>(written) == bytes &&
         rename(path_beside, path) == 0;
}

// Handlers of this process must not run in the child, which may have this process' memory.
void ResetSignals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool WriteFile(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto size = static_cast<ssize_t>(std::strlen(text));
  const bool written = write(file, text, static_cast<std::size_t>(size)) == size;
  close(file);
  return written;
}

// System calls only. In a user namespace the child keeps the numbers of its user and group.
bool EnterView(const ViewPlan& view) {
  if (view.user_map != nullptr && !(WriteFile("/proc/self/setgroups", "deny") &&
                                    WriteFile("/proc/self/uid_map", view.user_map) &&
                                    WriteFile("/proc/self/gid_map", view.group_map))) {
    return false;
  }
  if (view.host_name != nullptr && sethostname(view.host_name, std::strlen(view.host_name)) != 0) {
    return false;
  }
  return mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
         (view.hosts == nullptr || mount(view.hosts, "/etc/hosts", nullptr, MS_BIND, nullptr) == 0);
}

bool MakeEmptyFile(const char* path) {
  const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return false;
  close(file);
  return true;
}

// For later steps, which may show what has its place now.
bool MakeBindable(const char* path) {
  return mount(nullptr, path, nullptr, MS_PRIVATE, nullptr) == 0;
}

// System calls only.
bool Perform(const MountCall& call) {
  switch (call.kind) {
    case MountStep::Kind::kFolder: return mkdir(call.to, 0755) == 0 || errno == EEXIST;
    case MountStep::Kind::kFile: return MakeEmptyFile(call.to);
    case MountStep::Kind::kLink: return symlink(call.from, call.to) == 0;
    case MountStep::Kind::kEmpty:
      // Unbindable: the folder that has it is shown in it.
      return mount("none", call.to, "tmpfs", 0, "mode=0755") == 0 &&
             mount(nullptr, call.to, nullptr, MS_UNBINDABLE, nullptr) == 0;
    case MountStep::Kind::kBind:
      return mount(call.from, call.to, nullptr, MS_BIND | MS_REC, nullptr) == 0;
    case MountStep::Kind::kShow:
      return mount(call.from, call.to, nullptr, MS_BIND | MS_REC, nullptr) == 0 || errno == ENOENT;
    case MountStep::Kind::kMove:
      return mount(call.from, call.to, nullptr, MS_MOVE, nullptr) == 0 && MakeBindable(call.to);
    case MountStep::Kind::kReadOnly:
      return mount(nullptr, call.to, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | call.flags,
                   nullptr) == 0;
    case MountStep::Kind::kRoot:
      return MakeBindable(call.to) && chroot(call.to) == 0 && chdir("/") == 0;
    case MountStep::Kind::kOverlay: return mount("overlay", call.to, "overlay", 0, call.from) == 0;
    case MountStep::Kind::kOpen: return chmod(call.to, 01777) == 0;
    case MountStep::Kind::kPivot:
      // The earlier root lies upon the new one until it is taken away.
      return chdir(call.to) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
             umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
  }
  return false;
}

bool FilterBinds(int listener_end) {
  const int listener = InstallBindFilter();
  if (listener < 0) return false;
  const bool sent = SendFile(listener_end, listener);
  close(listener);
  return sent;
}

// The program's standard files; those that it lacks are empty.
bool TakeFiles(const ProcessFiles& files) {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  const auto take = [&](int file, int standard) {
    return dup2(file >= 0 ? file : nothing, standard) >= 0;
  };
  if (nothing < 0 || !take(files.input, 0) || !take(files.output, 1) || !take(files.error, 2)) {
    return false;
  }
  return !files.is_terminal || ioctl(0, TIOCSCTTY, 0) == 0;
}

[[noreturn]] void ChildMain(const ChildPlan& plan) {
  setsid();
  DieWithParent(plan);
  const int place = plan.place_end >= 0 ? OpenPlace() : -1;
  plan.guard->Watch(getpid(), place);
  if (!WriteRecord(plan.record, plan.record_beside)) Fail(plan, Step::kRecord);
  if (plan.place_end >= 0 && (place < 0 || !SendFile(plan.place_end, place))) {
    Fail(plan, Step::kNetwork);
  }
  ResetSignals();
  umask(022);  // this process' umask is 077
  if (plan.view != nullptr) {
    if (!EnterView(*plan.view)) Fail(plan, Step::kNetwork);
    for (std::size_t at = 0; at < plan.view->mount_count; ++at) {
      if (!Perform(plan.view->mounts[at])) FailMount(plan, at);
    }
  }
  if (plan.join != nullptr && !plan.join->Enter()) Fail(plan, Step::kNetwork);
  if (plan.user != nullptr) {
    if (!BecomeUser(*plan.user)) Fail(plan, Step::kExecute);
    DieWithParent(plan);  // setuid clears PR_SET_PDEATHSIG
  }
  if (plan.listener_end >= 0 && !FilterBinds(plan.listener_end)) Fail(plan, Step::kNetwork);
  if (chdir(plan.working_folder) != 0) Fail(plan, Step::kExecute);
  if (!TakeFiles(*plan.files)) Fail(plan, Step::kExecute);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  execve(plan.program, plan.argv, plan.env);
  Fail(plan, Step::kExecute);
}

int ChildEntry(void* plan) { ChildMain(*static_cast<const ChildPlan*>(plan)); }

// Ends when the child has executed its program or has ended. A child with this process' own user
// has this process' memory until then: a copy would make each page that this process writes next a
// page fault. A child that becomes another user gets a copy, since that user may not see the
// memory.
pid_t Clone(ChildPlan& plan, const ChildMemory& memory) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int namespaces = plan.view == nullptr ? 0 : plan.view->namespaces;
  // To join a user namespace would make shared memory undumpable.
  const bool needs_copy = plan.user != nullptr || (plan.join != nullptr && plan.join->has_user());
  const int shares = (needs_copy ? 0 : CLONE_VM) | namespaces;
  const pid_t pid = clone(ChildEntry, memory.stack(), shares | CLONE_VFORK | SIGCHLD, &plan);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

std::string StartTime(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  return std::string(StartTimeIn(text));
}

Status GiveFilesToUser(const ProcessSpec& spec) {
  if (!spec.user) return OkStatus();
  for (const int file : {spec.files->input, spec.files->output, spec.files->error}) {
    if (file < 0 || fchown(file, spec.user->user, spec.user->group) == 0) continue;
    return SystemError(ErrorCode::kUnavailable, "files of " + spec.user->name, errno);
  }
  return OkStatus();
}

// Where a program runs.
struct Place {
  const ViewPlan* view = nullptr;
  const ProcessPlace* join = nullptr;
  int place_end = -1;
  int listener_end = -1;
};

Result<StartedProcess> Execute(const ProcessSpec& spec, ProcessGuard& guard, const Place& place) {
  const ViewPlan* view = place.view;
  if (spec.argv.empty() || spec.argv[0].empty()) return Error{ErrorCode::kInvalid, "no command"};
  // A path in another view is found there.
  const bool is_elsewhere = place.join != nullptr && spec.argv[0].find('/') != std::string::npos;
  std::string program = spec.program.empty() ? spec.argv[0] : spec.program;
  if (!is_elsewhere && spec.program.empty()) {
    BERTH_TRY(program, FindProgram(spec.argv[0]));
  }
  BERTH_CHECK_OK(GiveFilesToUser(spec));
  const ChildMemory memory;
  if (!memory.is_there()) return SystemError(ErrorCode::kUnavailable, "mmap", errno);
  const std::vector<char*> argv = Pointers(spec.argv);
  const std::vector<char*> env = Pointers(spec.env);
  const std::string record_beside = spec.record_path + ".new";
  const std::string& folder = spec.start_folder.empty() ? spec.working_folder : spec.start_folder;
  ChildPlan plan{.program = program.c_str(),
                 .argv = argv.data(),
                 .env = env.data(),
                 .working_folder = folder.c_str(),
                 .record = spec.record_path.c_str(),
                 .record_beside = record_beside.c_str(),
                 .files = &*spec.files,
                 .parent = getpid(),
                 .user = spec.user ? &*spec.user : nullptr,
                 .view = view,
                 .join = place.join,
                 .place_end = place.place_end,
                 .listener_end = place.listener_end,
                 .guard = &guard,
                 .failure = memory.failure()};
  const pid_t pid = Clone(plan, memory);
  if (pid < 0) {
    const bool refused = view != nullptr && errno != EAGAIN && errno != ENOMEM;
    return SystemError(refused ? ErrorCode::kForbidden : ErrorCode::kUnavailable, "clone", errno);
  }
  const Failure failure = *memory.failure();
  if (failure.error == 0) return StartedProcess{pid, -1};
  Abandon(pid, spec, guard);
  if (failure.step == Step::kRecord) {
    return SystemError(ErrorCode::kUnavailable, record_beside, failure.error);
  }
  if (failure.step == Step::kNetwork) {
    return SystemError(ErrorCode::kForbidden, "namespaces and filters of programs", failure.error);
  }
  if (failure.step == Step::kMount) {
    return SystemError(ErrorCode::kUnavailable, "mount at " + spec.mounts[failure.at].to,
                       failure.error);
  }
  return SystemError(ErrorCode::kInvalid, "cannot execute", failure.error);
}

bool HasAddress(const ProcessSpec& spec) { return spec.network && !spec.network->address.empty(); }

// Root needs no user namespace, unless a container refuses what root may do.
std::vector<int> NamespacesToTry(const ProcessSpec& spec) {
  if (geteuid() != 0) return {CLONE_NEWUSER | CLONE_NEWNS};
  if (spec.user) return {CLONE_NEWNS};
  return {CLONE_NEWNS, CLONE_NEWUSER | CLONE_NEWNS};
}

}  // namespace

Result<StartedProcess> ExecuteInChild(const ProcessSpec& spec, ProcessGuard& guard) {
  return Execute(spec, guard, {});
}

Result<StartedProcess> ExecuteInChild(const ProcessSpec& spec, ProcessGuard& guard,
                                      BindSupervisor& binds) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return SystemError(ErrorCode::kUnavailable, "socketpair", errno);
  }
  const auto map = [](unsigned inside, unsigned id) {
    return std::to_string(inside) + " " + std::to_string(id) + " 1\n";
  };
  const auto [user, group] = spec.seen_as.value_or(std::pair(geteuid(), getegid()));
  const std::string user_map = map(user, geteuid());
  const std::string group_map = map(group, getegid());
  std::vector<MountCall> mounts;
  mounts.reserve(spec.mounts.size());
  for (const MountStep& step : spec.mounts) {
    mounts.push_back({step.kind, step.from.c_str(), step.to.c_str(), step.flags});
  }
  Result<StartedProcess> started = Error{ErrorCode::kForbidden, "no namespaces"};
  const bool has_name = spec.network && !spec.network->host_name.empty();
  for (const int mounts_alone : NamespacesToTry(spec)) {
    const int namespaces = mounts_alone | (has_name ? CLONE_NEWUTS : 0);
    const bool is_user = (namespaces & CLONE_NEWUSER) != 0;
    const ViewPlan view{.namespaces = namespaces,
                        .hosts = spec.network ? spec.network->hosts_path.c_str() : nullptr,
                        .host_name = has_name ? spec.network->host_name.c_str() : nullptr,
                        .mounts = mounts.data(),
                        .mount_count = mounts.size(),
                        .user_map = is_user ? user_map.c_str() : nullptr,
                        .group_map = group_map.c_str()};
    started = Execute(
        spec, guard,
        {.view = &view, .place_end = ends[1], .listener_end = HasAddress(spec) ? ends[1] : -1});
    if (started || started.error().code != ErrorCode::kForbidden) break;
    for (int sent = ReceiveFile(ends[0]); sent >= 0; sent = ReceiveFile(ends[0])) close(sent);
  }
  if (started) started->place = ReceiveFile(ends[0]);
  if (started && HasAddress(spec)) {
    const int listener = ReceiveFile(ends[0]);
    if (listener >= 0) binds.Add(listener, spec.network->address);
  }
  close(ends[0]);
  close(ends[1]);
  return started;
}

Result<StartedProcess> ExecuteBesideProcess(const ProcessSpec& spec, pid_t beside,
                                            ProcessGuard& guard, BindSupervisor& binds) {
  BERTH_TRY(const ProcessPlace join, ProcessPlace::Of(beside));
  std::array<int, 2> ends{-1, -1};
  if (HasAddress(spec) && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return SystemError(ErrorCode::kUnavailable, "socketpair", errno);
  }
  Result<StartedProcess> started = Execute(spec, guard, {.join = &join, .listener_end = ends[1]});
  if (started && HasAddress(spec)) {
    const int listener = ReceiveFile(ends[0]);
    if (listener >= 0) binds.Add(listener, spec.network->address);
  }
  for (const int end : ends) {
    if (end >= 0) close(end);
  }
  return started;
}

void Abandon(pid_t pid, const ProcessSpec& spec, ProcessGuard& guard) {
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  guard.Forget(pid);
  unlink(spec.record_path.c_str());
}

bool SweepRecord(const std::string& record_path) {
  std::ifstream file(record_path);
  pid_t pid = 0;
  std::string started;
  if (!(file >> pid >> started) || pid <= 1) return false;
  if (StartTime(pid) != started) return false;
  return kill(-pid, SIGKILL) == 0;
}

}  // namespace berth::local::cluster
