// Goal: processes start, report their end, take signals, and never outlive their host, not even a
// killed one. Method: real processes of /bin/sh; the killed host runs in a forked child of the
// test.
#include "local/cluster/processes/process_host.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/cluster/processes/log_pump.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

class ProcessHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-host-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    SweepProcesses(folder_);
    fs::remove_all(folder_);
  }

  ProcessSpec Shell(const std::string& script) const {
    ProcessSpec spec;
    spec.argv = {"/bin/sh", "-c", script};
    spec.env = {"PATH=/usr/bin:/bin", "GREETING=hello"};
    spec.working_folder = folder_;
    spec.output_path = folder_ + "/log";
    spec.record_path = folder_ + "/process";
    return spec;
  }

  // Leaves a daemon, and its number in the file "child".
  ProcessSpec WithDaemon(const std::string& then) const {
    ProcessSpec spec = Shell(
        "[ -z \"$BERTH_VOLUMES\" ] || { echo no namespaces; exit 1; }; "
        "setsid env -i sh -c 'echo $$ >new; mv new child; sleep 100; :' & "
        "until [ -e child ]; do sleep 0.01; done; " +
        then);
    spec.mounts = {{MountStep::Kind::kFolder, "", folder_ + "/made"}};
    spec.volumes_folder = folder_;
    return spec;
  }

  std::string Output() const {
    std::ifstream file(folder_ + "/log");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // The number that a script of `Shell` has left in the file "child".
  std::string Child() const {
    std::string child;
    std::ifstream(folder_ + "/child") >> child;
    return child;
  }

  // A killed process may take a moment more to end.
  static bool HasEnded(const std::string& process) {
    std::error_code gone;
    return fs::read_symlink("/proc/" + process + "/exe", gone).empty();
  }

  // Waits for a condition that another process brings about.
  static bool Eventually(const std::function<bool()>& holds) {
    for (int round = 0; round < 1000; ++round) {
      if (holds()) return true;
      std::this_thread::sleep_for(
          std::chrono::milliseconds(10));  // allow sleep-in-test: another process
    }
    return false;
  }

  std::string folder_;
};

struct Ending {
  std::promise<ProcessExit> promise;
  std::future<ProcessExit> exit = promise.get_future();
  ProcessRunner::OnExit callback() {
    return [this](ProcessExit end) { promise.set_value(end); };
  }
};

TEST_F(ProcessHostTest, RunsAProgramAndReportsItsExit) {
  auto host = ProcessHost::Start(folder_);
  ASSERT_TRUE(host);
  Ending run;
  ASSERT_TRUE((*host)->Spawn(Shell("echo $GREETING; pwd; exit 7"), run.callback()));
  const ProcessExit exit = run.exit.get();
  EXPECT_EQ(exit.exit_code, 7);
  EXPECT_EQ(exit.signal, 0);
  EXPECT_EQ(Output(), "hello\n" + folder_ + "\n");
  EXPECT_FALSE(fs::exists(folder_ + "/process")) << "the record goes with the process";
}

TEST_F(ProcessHostTest, SignalsReachTheWholeGroup) {
  auto host = ProcessHost::Start(folder_);
  ASSERT_TRUE(host);
  Ending run;
  const auto id =
      (*host)->Spawn(Shell("sleep 100 & echo $! >new; mv new child; wait"), run.callback());
  ASSERT_TRUE(id);
  ASSERT_TRUE(Eventually([&] { return fs::exists(folder_ + "/child"); }));
  const std::string child = Child();
  (*host)->Signal(*id, SIGKILL);
  const ProcessExit exit = run.exit.get();
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_EQ(exit.exit_code, 137);
  EXPECT_TRUE(Eventually([&] { return HasEnded(child); }));
}

TEST_F(ProcessHostTest, ProgramThatCannotRunIsReported) {
  auto host = ProcessHost::Start(folder_);
  ASSERT_TRUE(host);
  ProcessSpec spec = Shell("");
  spec.argv = {"/no/such/program"};
  auto spawned = (*host)->Spawn(spec, [](ProcessExit) { FAIL(); });
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(spawned.error().message, "/no/such/program: no such program");
  std::ofstream(folder_ + "/broken") << "neither script nor program";
  fs::permissions(folder_ + "/broken", fs::perms::owner_all);
  spec.argv = {folder_ + "/broken"};
  spawned = (*host)->Spawn(spec, [](ProcessExit) { FAIL(); });
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().message, "cannot execute: Exec format error");
  EXPECT_FALSE(fs::exists(folder_ + "/process"));
}

TEST_F(ProcessHostTest, DestroyedHostKillsEveryProcess) {
  auto host = ProcessHost::Start(folder_);
  ASSERT_TRUE(host);
  Ending deaf;
  ASSERT_TRUE((*host)->Spawn(Shell("trap '' TERM; sleep 100 & echo $! >new; mv new child; wait"),
                             deaf.callback()));
  ASSERT_TRUE(Eventually([&] { return fs::exists(folder_ + "/child"); }));
  const std::string child = Child();
  host->reset();
  EXPECT_EQ(deaf.exit.get().signal, SIGKILL);
  EXPECT_TRUE(Eventually([&] { return HasEnded(child); }));
}

TEST_F(ProcessHostTest, KilledHostKillsEveryProcess) {
  const pid_t doomed = fork();
  if (doomed == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto host = ProcessHost::Start(folder_);
    // A child, a grandchild in its group, and one that left the group.
    const std::string script =
        "sleep 101 & setsid sh -c 'touch away; sleep 102' & touch here; wait";
    if (!host || !(*host)->Spawn(Shell(script), [](ProcessExit) {})) _exit(1);
    for (;;) pause();
  }
  ASSERT_TRUE(
      Eventually([&] { return fs::exists(folder_ + "/here") && fs::exists(folder_ + "/away"); }));
  ASSERT_EQ(kill(doomed, SIGKILL), 0);
  ASSERT_EQ(waitpid(doomed, nullptr, 0), doomed);
  const auto count_marked = [&] {
    int count = 0;
    for (const auto& process : fs::directory_iterator("/proc")) {
      std::ifstream file(process.path() / "environ");
      const std::string environment{std::istreambuf_iterator<char>(file), {}};
      if (environment.find("BERTH_MARK=" + folder_) != std::string::npos) ++count;
    }
    return count;
  };
  EXPECT_TRUE(Eventually([&] { return count_marked() == 0; }));
}

// A daemon has neither the session nor the environment of its program.
TEST_F(ProcessHostTest, DaemonsEndWithTheirProgram) {
  const auto host = ProcessHost::Start(folder_);
  ASSERT_TRUE(host);
  Ending run;
  ASSERT_TRUE((*host)->Spawn(WithDaemon("exit 3"), run.callback()));
  EXPECT_EQ(run.exit.get().exit_code, 3);
  if (Output() == "no namespaces\n") GTEST_SKIP() << "this machine has no namespaces";
  const std::string daemon = Child();
  ASSERT_FALSE(daemon.empty());
  EXPECT_TRUE(Eventually([&] { return HasEnded(daemon); })) << daemon;
}

TEST_F(ProcessHostTest, DaemonsEndWithAKilledHost) {
  const pid_t doomed = fork();
  if (doomed == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto host = ProcessHost::Start(folder_);
    if (!host || !(*host)->Spawn(WithDaemon("touch here; sleep 100"), [](ProcessExit) {})) {
      _exit(1);
    }
    for (;;) pause();
  }
  ASSERT_TRUE(
      Eventually([&] { return fs::exists(folder_ + "/here") || Output() == "no namespaces\n"; }));
  ASSERT_EQ(kill(doomed, SIGKILL), 0);
  ASSERT_EQ(waitpid(doomed, nullptr, 0), doomed);
  if (Output() == "no namespaces\n") GTEST_SKIP() << "this machine has no namespaces";
  const std::string daemon = Child();
  EXPECT_TRUE(Eventually([&] { return HasEnded(daemon); })) << daemon;
}

TEST_F(ProcessHostTest, KeepsTheNewestOfALongLog) {
  constexpr std::int64_t kMost = 1024 * 1024;
  const auto host = ProcessHost::Start(folder_);
  ASSERT_TRUE(host);
  ProcessSpec spec = Shell("yes 0123456789abcde | head -c 16000000; echo the end");
  spec.most_output_bytes = kMost;
  Ending ending;
  ASSERT_TRUE((*host)->Spawn(spec, ending.callback()));
  EXPECT_EQ(ending.exit.get().exit_code, 0);
  struct stat info {};
  ASSERT_EQ(stat((folder_ + "/log").c_str(), &info), 0);
  EXPECT_LE(info.st_blocks * 512, kMost + kMost / 4);
  const std::string log = Output();
  EXPECT_EQ(log.size(), 16000000 + 8);
  const std::uintmax_t begin = LogBegin(folder_ + "/log");
  EXPECT_GE(log.size() - begin, static_cast<std::size_t>(kMost));
  EXPECT_EQ(log.substr(begin).find('\0'), std::string::npos);
  EXPECT_EQ(log.substr(log.size() - 10), "e\nthe end\n");
}

TEST_F(ProcessHostTest, ProgramsInheritNoUmaskOrFileOfTheHost) {
  const auto host = ProcessHost::Start("mark");
  ASSERT_TRUE(host);
  Ending ending;
  ASSERT_TRUE(
      (*host)->Spawn(Shell("umask; readlink /proc/$$/fd/1; echo $BERTH_MARK"), ending.callback()));
  EXPECT_EQ(ending.exit.get().exit_code, 0);
  EXPECT_EQ(Output().find(folder_), std::string::npos) << Output();
  EXPECT_TRUE(Output().starts_with("0022\npipe:[")) << Output();
  EXPECT_TRUE(Output().ends_with("]\nmark\n")) << Output();
}

TEST_F(ProcessHostTest, RecordIsWrittenBeforeTheProgramRuns) {
  auto host = ProcessHost::Start(folder_);
  ASSERT_TRUE(host);
  Ending run;
  ASSERT_TRUE((*host)->Spawn(
      Shell(
          "read pid start <process; read -r stat </proc/$$/stat; echo $pid $$ $start; echo $stat"),
      run.callback()));
  EXPECT_EQ(run.exit.get().exit_code, 0);
  std::istringstream output(Output());
  std::string recorded;
  std::string own;
  std::string start;
  output >> recorded >> own >> start;
  EXPECT_EQ(recorded, own);
  EXPECT_NE(Output().find(" " + start + " "), std::string::npos) << Output();
}

TEST_F(ProcessHostTest, NoProgramRunsWithoutARecord) {
  auto host = ProcessHost::Start(folder_);
  ASSERT_TRUE(host);
  ProcessSpec spec = Shell("touch ran");
  spec.record_path = folder_ + "/missing/process";
  const auto spawned = (*host)->Spawn(spec, [](ProcessExit) { FAIL(); });
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(spawned.error().message, spec.record_path + ".new: No such file or directory");
  EXPECT_FALSE(fs::exists(folder_ + "/ran"));
}

TEST_F(ProcessHostTest, ProgramRunsAsAnotherUser) {
  auto host = ProcessHost::Start(folder_);
  ASSERT_TRUE(host);
  Ending run;
  ProcessSpec spec = Shell("id -u; id -g; id -G");
  spec.working_folder = "/";
  spec.user = ProcessUser{"nobody", 65534, 65534, {65534}};
  const auto spawned = (*host)->Spawn(spec, run.callback());
  if (geteuid() != 0) {  // an ordinary user cannot become another
    ASSERT_FALSE(spawned);
    EXPECT_EQ(spawned.error().message, "output of nobody: Operation not permitted");
    return;
  }
  ASSERT_TRUE(spawned) << spawned.error().message;
  EXPECT_EQ(run.exit.get().exit_code, 0);
  EXPECT_EQ(Output(), "65534\n65534\n65534\n");
  spec.working_folder = folder_;  // which is not that user's
  const auto refused = (*host)->Spawn(spec, [](ProcessExit) { FAIL(); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cannot execute: Permission denied");
}

TEST_F(ProcessHostTest, SpawnCostsTheHostNoPageFaults) {
  constexpr std::size_t kPages = 8192;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  const auto write_to_each_page = [&] {
    for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * page] = 'x';
  };
  auto host = ProcessHost::Start(folder_);  // forks the guard
  ASSERT_TRUE(host);
  write_to_each_page();
  Ending run;
  ASSERT_TRUE((*host)->Spawn(Shell("exit 0"), run.callback()));
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  write_to_each_page();
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  run.exit.get();
  munmap(memory, kPages * page);
  EXPECT_LT(after.ru_minflt - before.ru_minflt, static_cast<long>(kPages / 4));
}

TEST_F(ProcessHostTest, ManyProgramsRunAtOnce) {
  auto host = ProcessHost::Start(folder_);
  ASSERT_TRUE(host);
  std::atomic<int> ended = 0;
  for (int at = 0; at < 50; ++at) {
    ProcessSpec spec = Shell("exit 0");
    spec.record_path += std::to_string(at);
    ASSERT_TRUE((*host)->Spawn(spec, [&](ProcessExit) { ++ended; }));
  }
  EXPECT_TRUE(Eventually([&] { return ended == 50; }));
}

}  // namespace
}  // namespace berth::local::cluster
