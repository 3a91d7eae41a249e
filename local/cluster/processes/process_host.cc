#include "local/cluster/processes/process_host.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/threads/guarded.h"
#include "local/cluster/network/bind_supervisor.h"
#include "local/cluster/processes/log_pump.h"
#include "local/cluster/processes/process_fork.h"
#include "local/cluster/processes/process_guard.h"
#include "local/cluster/processes/standard_files.h"
#include "local/cluster/processes/wake_file.h"

namespace berth::local::cluster {
namespace {

constexpr auto kStopGrace = std::chrono::seconds(2);
constexpr int kKillRounds = 3;  // a process may fork during one

struct SpawnRequest {
  const ProcessSpec* spec = nullptr;
  ProcessRunner::OnExit on_exit;
  std::optional<Result<ProcessId>> answer;
};

struct Child {
  pid_t pid = 0;
  int place = -1;     // comes from OpenPlace; −1: this process'
  int pid_file = -1;  // a pidfd: readable after the process' end
  std::string record_path;
  std::int64_t log = 0;  // the pump's number; 0: none
  int input = -1;        // the writing end of keeps_input, or the terminal
  ProcessRunner::OnExit on_exit;
};

// Descendants that have left the group, in a session of their own.
void KillRest(int place) {
  if (place < 0) return;
  for (int round = 0; round < kKillRounds && KillAt(place) > 0; ++round) {
  }
  close(place);
}

}  // namespace

class ProcessHost::Impl {
 public:
  Impl(std::string mark, ProcessGuard guard, std::unique_ptr<LogPump> pump, WakeFile wake)
      : mark_(std::move(mark)),
        guard_(std::move(guard)),
        pump_(std::move(pump)),
        wake_(std::move(wake)) {
    keeper_ = StartThread("the keeper of processes failed", [this] { Keep(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      for (const auto& [id, child] : children_) kill(-child.pid, SIGTERM);
    }
    wake_.Wake();
    keeper_.join();
  }

  std::shared_ptr<void> Tap(ProcessId id, OnText on_output) {
    const std::lock_guard lock(mutex_);
    const auto child = children_.find(id);
    if (child == children_.end() || child->second.log == 0) return nullptr;
    return pump_->Tap(child->second.log, std::move(on_output));
  }

  int Input(ProcessId id) {
    const std::lock_guard lock(mutex_);
    const auto child = children_.find(id);
    if (child == children_.end() || child->second.input < 0) return -1;
    return fcntl(child->second.input, F_DUPFD_CLOEXEC, 3);
  }

  void CloseInput(ProcessId id) {
    const std::lock_guard lock(mutex_);
    const auto child = children_.find(id);
    if (child == children_.end() || child->second.input < 0) return;
    close(std::exchange(child->second.input, -1));
  }

  int SystemId(ProcessId id) {
    const std::lock_guard lock(mutex_);
    const auto child = children_.find(id);
    return child == children_.end() ? 0 : child->second.pid;
  }

  Result<ProcessId> Spawn(const ProcessSpec& spec, OnExit on_exit) {
    SpawnRequest request{&spec, std::move(on_exit), std::nullopt};
    std::unique_lock lock(mutex_);
    if (stopping_) return Error{ErrorCode::kUnavailable, "shutting down"};
    requests_.push_back(&request);
    wake_.Wake();
    answered_.wait(lock, [&] { return request.answer.has_value(); });
    return *request.answer;
  }

  void Signal(ProcessId id, int signal) {
    const std::lock_guard lock(mutex_);
    const auto child = children_.find(id);
    if (child != children_.end()) kill(-child->second.pid, signal);
  }

 private:
  // The only thread that makes children: PR_SET_PDEATHSIG ends the children with this thread.
  void Keep() {
    std::optional<std::chrono::steady_clock::time_point> kill_at;
    std::unique_lock lock(mutex_);
    while (!stopping_ || !children_.empty()) {
      if (stopping_ && !kill_at) kill_at = std::chrono::steady_clock::now() + kStopGrace;
      if (kill_at && *kill_at <= std::chrono::steady_clock::now()) {
        for (const auto& [id, child] : children_) kill(-child.pid, SIGKILL);
      }
      const std::vector<ProcessId> ended = WaitForSomething(lock, stopping_ ? 50 : -1);
      for (const ProcessId id : ended) Reap(lock, id);
      while (!requests_.empty()) {
        SpawnRequest* request = requests_.front();
        requests_.pop_front();
        Answer(*request);
        answered_.notify_all();
      }
    }
    for (SpawnRequest* request : requests_) {
      request->answer = Error{ErrorCode::kUnavailable, "shutting down"};
    }
    answered_.notify_all();
  }

  void Answer(SpawnRequest& request) {
    Result<ProcessId> answer = Error{ErrorCode::kUnavailable, "shutting down"};
    if (!stopping_) {
      answer = Error{ErrorCode::kUnavailable, "a bug of Berth; the log has its error"};
      RunGuarded("the start of a process failed", [&] { answer = Start(request); });
    }
    request.answer = std::move(answer);
  }

  std::vector<ProcessId> WaitForSomething(std::unique_lock<std::mutex>& lock, int timeout_ms) {
    std::vector<pollfd> files{{wake_.file(), POLLIN, 0}};
    std::vector<ProcessId> ids{0};
    for (const auto& [id, child] : children_) {
      files.push_back({child.pid_file, POLLIN, 0});
      ids.push_back(id);
    }
    lock.unlock();
    const int ready = poll(files.data(), files.size(), timeout_ms);
    lock.lock();
    std::vector<ProcessId> ended;
    if (ready <= 0) return ended;
    if (files[0].revents != 0) wake_.Clear();
    for (std::size_t at = 1; at < files.size(); ++at) {
      if (files[at].revents != 0) ended.push_back(ids[at]);
    }
    return ended;
  }

  // While the leader is a zombie its number is not reused, so its group can be killed safely.
  void Reap(std::unique_lock<std::mutex>& lock, ProcessId id) {
    auto node = children_.extract(id);
    Child& child = node.mapped();
    kill(-child.pid, SIGKILL);
    guard_.Forget(child.pid);
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED) < 0 && errno == EINTR) {
    }
    KillRest(child.place);
    close(child.pid_file);
    if (child.input >= 0) close(child.input);
    if (child.log != 0) pump_->Finish(child.log);  // a log without a record counts as complete
    unlink(child.record_path.c_str());
    ProcessExit exit;
    exit.signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    exit.exit_code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    lock.unlock();
    RunGuarded("the note of a process' end failed", [&] { child.on_exit(exit); });
    lock.lock();
  }

  Result<ProcessId> Start(SpawnRequest& request) {
    ProcessSpec spec = *request.spec;
    spec.env.push_back("BERTH_MARK=" + mark_);
    if (spec.files) return StartWith(request, spec, {}, -1);
    BERTH_TRY(StandardFiles files, StandardFiles::Make(spec.keeps_input, spec.is_terminal));
    BERTH_TRY(const LogPump::Log log, OpenLog(spec, files));
    spec.files = ProcessFiles{.input = files.input,
                              .output = log.write_end >= 0 ? log.write_end : files.output,
                              .error = log.write_end >= 0 ? log.write_end : files.output,
                              .is_terminal = spec.is_terminal};
    Result<ProcessId> started = StartWith(request, spec, log, files.TakeOurs());
    if (log.write_end >= 0) close(log.write_end);
    if (!started) pump_->Finish(log.id);
    return started;
  }

  // The log of a terminal is written by this process alone, so that it has no end for the program.
  Result<LogPump::Log> OpenLog(const ProcessSpec& spec, const StandardFiles& files) {
    if (!spec.is_terminal) return pump_->Open(spec.output_path, spec.most_output_bytes);
    return pump_->OpenFrom(spec.output_path, spec.most_output_bytes,
                           fcntl(files.ours, F_DUPFD_CLOEXEC, 3));
  }

  Result<ProcessId> StartWith(SpawnRequest& request, const ProcessSpec& spec,
                              const LogPump::Log& log, int input) {
    Result<ProcessId> started = StartProcess(request, spec, log, input);
    if (!started && input >= 0) close(input);
    return started;
  }

  Result<ProcessId> StartProcess(SpawnRequest& request, const ProcessSpec& spec,
                                 const LogPump::Log& log, int input) {
    BERTH_TRY(const StartedProcess started, Execute(spec));
    const pid_t pid = started.pid;
    const int pid_file = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (pid_file < 0) {
      const int error = errno;
      Abandon(pid, spec, guard_);
      KillRest(started.place);
      return Error{ErrorCode::kUnavailable, std::string("pidfd_open: ") + std::strerror(error)};
    }
    const ProcessId id = next_id_++;
    children_[id] = Child{
        pid, started.place, pid_file, spec.record_path, log.id, input, std::move(request.on_exit)};
    return id;
  }

  // Without the pod's network and volumes where the machine refuses namespaces or filters.
  Result<StartedProcess> Execute(const ProcessSpec& given) {
    if (given.beside) return ExecuteBeside(given);
    const bool has_view = given.network || !given.mounts.empty();
    if (!has_view) return ExecuteInChild(given, guard_);
    if (no_view_.empty()) {
      if (binds_ == nullptr) {
        BERTH_TRY(binds_, BindSupervisor::Start());
      }
      Result<StartedProcess> started = ExecuteInChild(given, guard_, *binds_);
      if (started || started.error().code != ErrorCode::kForbidden) return started;
      no_view_ = started.error().message;
      LogWarning("programs run without addresses, names and mounted volumes of their own",
                 {{"because", no_view_}});
    }
    if (given.has_own_root) {
      return Error{ErrorCode::kUnavailable, "an image folder needs a root of its own: " + no_view_};
    }
    ProcessSpec spec = given;
    if (given.network) spec.env.push_back("BERTH_NETWORK=that of the machine: " + no_view_);
    if (!given.mounts.empty()) spec.env.push_back("BERTH_VOLUMES=" + given.volumes_folder);
    const auto is_temporary = [](const std::string& one) { return one.starts_with("TMPDIR="); };
    if (!given.temporary_folder.empty() &&
        std::none_of(spec.env.begin(), spec.env.end(), is_temporary)) {
      spec.env.push_back("TMPDIR=" + given.temporary_folder);
    }
    spec.network.reset();
    spec.mounts.clear();
    spec.start_folder.clear();
    return ExecuteInChild(spec, guard_);
  }

  Result<StartedProcess> ExecuteBeside(const ProcessSpec& given) {
    const auto child = children_.find(*given.beside);
    if (child == children_.end()) return Error{ErrorCode::kNotFound, "the container has ended"};
    ProcessSpec spec = given;
    if (!no_view_.empty()) {
      spec.network.reset();
      spec.start_folder.clear();
    }
    if (binds_ == nullptr) {
      BERTH_TRY(binds_, BindSupervisor::Start());
    }
    return ExecuteBesideProcess(spec, child->second.pid, guard_, *binds_);
  }

  const std::string mark_;
  ProcessGuard guard_;
  std::unique_ptr<BindSupervisor> binds_;  // serves pods with a network
  std::string no_view_;                    // the machine's refusal
  std::unique_ptr<LogPump> pump_;
  const WakeFile wake_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::deque<SpawnRequest*> requests_;
  std::map<ProcessId, Child> children_;
  ProcessId next_id_ = 1;
  bool stopping_ = false;
  std::thread keeper_;
};

ProcessHost::ProcessHost(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProcessHost::~ProcessHost() = default;

Result<std::unique_ptr<ProcessHost>> ProcessHost::Start(const std::string& mark) {
  BERTH_TRY(ProcessGuard guard, ProcessGuard::Start(mark));
  BERTH_TRY(std::unique_ptr<LogPump> pump, LogPump::Start());
  BERTH_TRY(WakeFile wake, WakeFile::Make());
  return std::unique_ptr<ProcessHost>(new ProcessHost(
      std::make_unique<Impl>(mark, std::move(guard), std::move(pump), std::move(wake))));
}

Result<ProcessId> ProcessHost::Spawn(const ProcessSpec& spec, OnExit on_exit) {
  return impl_->Spawn(spec, std::move(on_exit));
}

void ProcessHost::Signal(ProcessId id, int signal) { impl_->Signal(id, signal); }

std::shared_ptr<void> ProcessHost::Tap(ProcessId id, OnText on_output) {
  return impl_->Tap(id, std::move(on_output));
}
int ProcessHost::Input(ProcessId id) { return impl_->Input(id); }
void ProcessHost::CloseInput(ProcessId id) { impl_->CloseInput(id); }
int ProcessHost::SystemId(ProcessId id) { return impl_->SystemId(id); }

int SweepProcesses(const std::string& mark) {
  int killed = 0;
  // Repeats until none is left: a process may fork during the scan.
  for (int round = 0; round < 200; ++round) {
    const int found = KillMarked(mark.c_str());
    if (found == 0) return killed;
    killed += found;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  LogWarning("processes of an earlier life do not end", {{"mark", mark}});
  return killed;
}

}  // namespace berth::local::cluster
