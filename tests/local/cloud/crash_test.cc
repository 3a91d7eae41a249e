// Goal: kill -9 at any instant loses no Job, runs no index twice at once, leaves no process.
// Method: the whole local cluster in a child process, killed after a random time and started again,
// until the Job is complete; every pod holds a lock that only one run can hold.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "local/cluster/processes/process_host.h"
#include "tests/local/cloud/whole_local.h"

namespace berth::local::cloud {
namespace {

namespace fs = std::filesystem;

constexpr int kKills = 12;
constexpr std::uint64_t kSeed = 20261120;

const char* JobText() {
  return R"(
apiVersion: batch/v1
kind: Job
metadata: {name: crashing}
spec:
  completionMode: Indexed
  completions: 6
  parallelism: 3
  backoffLimit: 1000
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: shell
        command: [/usr/bin/flock]
        args: [-n, $(FOLDER)/lock-$(JOB_COMPLETION_INDEX), sh, -c,
               "sleep 0.3 & wait; echo $JOB_COMPLETION_INDEX >> $(FOLDER)/done"]
        env: [{name: FOLDER, value: FOLDER_VALUE}]
        resources: {requests: {cpu: 100m}}
)";
}

// One run of the cluster: creates the Job if missing, and runs until it is killed.
[[noreturn]] void Live(const std::string& folder) {
  WholeLocal local(folder);
  local.Start();
  if (local.Read(cluster::kNodes, "big", "").is_null()) {
    local.Apply(cluster::kNodes, "", R"(
apiVersion: v1
kind: Node
metadata: {name: big}
status: {allocatable: {cpu: "10", memory: 10Gi, pods: "100"}}
)");
  }
  if (local.Read(cluster::kJobs, "crashing").is_null()) {
    std::string text = JobText();
    const std::string placeholder = "FOLDER_VALUE";
    text.replace(text.find(placeholder), placeholder.size(), folder);
    local.Apply(cluster::kJobs, "default", text);
  }
  for (;;) pause();
}

class CrashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-crash-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    cluster::SweepProcesses(folder_);
    fs::remove_all(folder_);
  }
  std::string folder_;
};

TEST_F(CrashTest, JobCompletesAfterKillsAtRandomInstants) {
  Random random(kSeed);
  for (int round = 0; round < kKills; ++round) {
    const pid_t life = fork();
    if (life == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Live(folder_);
    }
    const auto wait = std::chrono::milliseconds(20 + random.Below(900));
    std::this_thread::sleep_for(wait);  // allow sleep-in-test: the instant of the kill is the test
    ASSERT_EQ(kill(life, SIGKILL), 0);
    ASSERT_EQ(waitpid(life, nullptr, 0), life);
  }
  WholeLocal local(folder_);
  local.Start();
  ASSERT_FALSE(local.Read(cluster::kJobs, "crashing").is_null());
  EXPECT_TRUE(WholeLocal::Eventually([&] {
    return cluster::ConditionIs(local.Read(cluster::kJobs, "crashing"), "Complete", "True");
  })) << local.Read(cluster::kJobs, "crashing").dump(1);
  EXPECT_EQ(local.Read(cluster::kJobs, "crashing")["status"]["completedIndexes"], "0-5");
  // flock -n exits with 1 while an earlier run of the index holds the lock.
  const auto pods = local.api().List(cluster::kPods, "default", {});
  for (const Object& pod : pods->items) {
    for (const Json& status : cluster::ArrayAt(*pod, {"status", "containerStatuses"})) {
      const auto code = cluster::IntAt(status, {"state", "terminated", "exitCode"});
      EXPECT_TRUE(code == 0 || code == 137) << pod->dump(1);
    }
  }
  local.Stop();
  EXPECT_EQ(cluster::SweepProcesses(folder_), 0);
}

}  // namespace
}  // namespace berth::local::cloud
