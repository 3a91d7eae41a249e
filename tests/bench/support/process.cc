#include "tests/bench/support/process.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::bench {
namespace {

std::string ProcFile(pid_t process, const char* name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

// The number after `label` in a file of "Label: number" lines.
double LabelledNumber(const std::string& path, const std::string& label) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(label, 0) == 0) return std::strtod(line.c_str() + label.size(), nullptr);
  }
  return 0;
}

[[noreturn]] void GiveUp(const std::string& what) {
  std::perror(what.c_str());
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): before any thread
}

int StatusOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

double CpuSeconds(pid_t process) {
  std::ifstream file(ProcFile(process, "stat"));
  std::string line;
  std::getline(file, line);
  // After the name in parentheses: state is the 3rd field, utime the 14th, stime the 15th.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(line.substr(name_end + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) rest >> skipped;
  double user = 0;
  double system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double OwnCpuSeconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

double OwnClockTakes() {
  constexpr int kTries = 1000;
  const double begin = OwnCpuSeconds();
  double end = begin;
  for (int i = 0; i < kTries; ++i) end = OwnCpuSeconds();
  return (end - begin) / kTries;
}

double ResidentMegabytes(pid_t process) {
  return LabelledNumber(ProcFile(process, "status"), "VmRSS:") / 1024;
}

double PeakResidentMegabytes(pid_t process) {
  return LabelledNumber(ProcFile(process, "status"), "VmHWM:") / 1024;
}

double WrittenMegabytes(pid_t process) {
  return LabelledNumber(ProcFile(process, "io"), "write_bytes:") / 1e6;
}

ScratchFolder::ScratchFolder() {
  path_ = (std::filesystem::temp_directory_path() / "berth-bench-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) GiveUp("mkdtemp");
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Child Child::Fork(const std::function<int()>& body) {
  std::fflush(stdout);
  const pid_t process = fork();
  if (process < 0) GiveUp("fork");
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(body());
  }
  return Child(process);
}

Child Child::Run(const std::vector<std::string>& command, const std::string& output_path) {
  return Fork([&]() -> int {
    const int output = open(output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (output < 0 || input < 0) return 127;
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    return 127;
  });
}

Child::Child(Child&& other) noexcept : process_(std::exchange(other.process_, -1)) {}

Child::~Child() { Stop(); }

bool Child::IsRunning() {
  if (process_ < 0) return false;
  siginfo_t state{};
  return waitid(P_PID, static_cast<id_t>(process_), &state, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         state.si_pid == 0;
}

int Child::Stop() {
  if (process_ < 0) return 0;
  kill(process_, SIGTERM);
  return Wait();
}

int Child::Wait() {
  if (process_ < 0) return 0;
  int status = 0;
  waitpid(std::exchange(process_, -1), &status, 0);
  return StatusOf(status);
}

}  // namespace berth::bench
