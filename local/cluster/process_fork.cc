#include "local/cluster/process_fork.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strings.h"

namespace berth::local::cluster {
namespace {

Error SystemError(ErrorCode code, const std::string& what, int error) {
  return Error{code, what + ": " + std::strerror(error)};
}

void CloseFile(int& file) {
  if (file >= 0) close(file);
  file = -1;
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

// The child's data, made before the fork: afterwards the child makes system calls only.
struct ChildPlan {
  const char* program;
  char* const* argv;
  char* const* env;
  const char* working_folder;
  int output;
  int gate;
  int errors;
  pid_t parent;
  const ProcessUser* user;  // null: this process' user
};

[[noreturn]] void Fail(const ChildPlan& plan) {
  const int error = errno;
  if (write(plan.errors, &error, sizeof error) < 0) _exit(126);
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

[[noreturn]] void ChildMain(const ChildPlan& plan) {
  setsid();
  DieWithParent(plan);
  char go = 0;
  ssize_t got = 0;
  while ((got = read(plan.gate, &go, 1)) < 0 && errno == EINTR) {
  }
  if (got != 1) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
  umask(022);  // this process' umask is 077
  if (plan.user != nullptr) {
    if (!BecomeUser(*plan.user)) Fail(plan);
    DieWithParent(plan);  // setuid clears PR_SET_PDEATHSIG
  }
  if (chdir(plan.working_folder) != 0) Fail(plan);
  const int input = open("/dev/null", O_RDONLY);
  if (input < 0 || dup2(input, 0) < 0) Fail(plan);
  if (dup2(plan.output, 1) < 0 || dup2(plan.output, 2) < 0) Fail(plan);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  execve(plan.program, plan.argv, plan.env);
  Fail(plan);
}

// Field 22 of /proc/PID/stat; the name before it may hold blanks and brackets.
std::string StartTime(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream rest(text.substr(name_end + 1));
  std::string field;
  for (int at = 3; at <= 22; ++at) rest >> field;
  return field;
}

}  // namespace

ForkedProcess::ForkedProcess(ForkedProcess&& other) noexcept
    : pid_(other.pid_), gate_(other.gate_), errors_(other.errors_) {
  other.gate_ = -1;
  other.errors_ = -1;
}

ForkedProcess::~ForkedProcess() {
  CloseFile(gate_);
  CloseFile(errors_);
}

Status ForkedProcess::OpenGate() {
  const char go = 1;
  if (write(gate_, &go, 1) != 1) return SystemError(ErrorCode::kUnavailable, "gate", errno);
  CloseFile(gate_);
  int error = 0;
  ssize_t got = 0;
  while ((got = read(errors_, &error, sizeof error)) < 0 && errno == EINTR) {
  }
  CloseFile(errors_);
  if (got == 0) return OkStatus();  // exec has closed the pipe
  return SystemError(ErrorCode::kInvalid, "cannot execute", error);
}

void ForkedProcess::Abandon() {
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<ForkedProcess> ForkBehindGate(const ProcessSpec& spec, int output) {
  if (spec.argv.empty()) return Error{ErrorCode::kInvalid, "no command"};
  BERTH_TRY(const std::string program, FindProgram(spec.argv[0]));
  if (spec.user && fchown(output, spec.user->user, spec.user->group) != 0) {
    return SystemError(ErrorCode::kUnavailable, "output of " + spec.user->name, errno);
  }
  std::array<int, 2> gate{-1, -1};
  std::array<int, 2> errors{-1, -1};
  if (pipe2(gate.data(), O_CLOEXEC) != 0 || pipe2(errors.data(), O_CLOEXEC) != 0) {
    const int error = errno;
    for (int& file : gate) CloseFile(file);
    return SystemError(ErrorCode::kUnavailable, "pipe", error);
  }
  const std::vector<char*> argv = Pointers(spec.argv);
  const std::vector<char*> env = Pointers(spec.env);
  const ChildPlan plan{
      program.c_str(), argv.data(), env.data(), spec.working_folder.c_str(),      output,
      gate[0],         errors[1],   getpid(),   spec.user ? &*spec.user : nullptr};
  const pid_t pid = fork();
  if (pid == 0) {
    close(gate[1]);  // else the child's copy would keep the gate open
    ChildMain(plan);
  }
  const int error = errno;
  CloseFile(gate[0]);
  CloseFile(errors[1]);
  ForkedProcess forked(pid, gate[1], errors[0]);
  if (pid < 0) return SystemError(ErrorCode::kUnavailable, "fork", error);
  return forked;
}

Status WriteRecord(const std::string& path, pid_t pid) {
  const std::string beside = path + ".new";
  {
    std::ofstream file(beside, std::ios::trunc);
    file << pid << ' ' << StartTime(pid) << '\n';
    if (!file.flush()) return SystemError(ErrorCode::kUnavailable, beside, errno);
  }
  if (rename(beside.c_str(), path.c_str()) != 0) {
    return SystemError(ErrorCode::kUnavailable, path, errno);
  }
  return OkStatus();
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
