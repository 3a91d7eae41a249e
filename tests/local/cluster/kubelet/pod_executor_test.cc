// Goal: pods run as real processes, and their objects report the results.
// Method: the whole Cluster on the embedded API in memory, in real time, with /bin/sh as an image.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/system_clock.h"
#include "base/threads/thread_executor.h"
#include "local/cluster/cluster.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/processes/program_user.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

class PodExecutorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-pods-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    folder_ = base_ + "/data";
    fs::create_directory(folder_);
    StartCluster();
    CreateNode("n1");
  }
  void TearDown() override {
    StopCluster();
    fs::remove_all(base_);
  }

  void StartCluster() {
    executor_ = std::make_unique<ThreadExecutor>();
    ClusterOptions options;
    options.data_folder = folder_;
    options.work_folder = base_ + "/jobs";
    options.job_user = job_user_;
    options.programs = {{"shell", "/bin/sh"}};
    auto cluster = Cluster::Start(api_, clock_, *executor_, options);
    ASSERT_TRUE(cluster) << cluster.error().message;
    cluster_ = *std::move(cluster);
  }
  void StopCluster() {
    executor_->Stop();
    cluster_.reset();
  }

  void CreateNode(const std::string& name, const Json& labels = Json::object()) {
    const Json allocatable = {
        {"cpu", "8"}, {"memory", "8Gi"}, {"pods", "110"}, {"nvidia.com/gpu", "3"}};
    ASSERT_TRUE(api_.CreateWithStatus(
        kNodes, "",
        {{"metadata", {{"name", name}, {"labels", labels}}},
         {"status", {{"allocatable", allocatable}, {"capacity", allocatable}}}}));
  }

  void CreatePod(const std::string& name, const std::string& script,
                 const Json& more = Json::object()) {
    Json pod = {{"metadata", {{"name", name}}}, {"spec", {{"restartPolicy", "Never"}}}};
    pod["spec"]["containers"] = Json::array(
        {{{"name", "main"}, {"image", "shell"}, {"args", Json::array({"-c", script})}}});
    pod.merge_patch(more);
    ASSERT_TRUE(api_.Create(kPods, "default", pod, {}));
  }

  Json Pod(const std::string& name) {
    const auto pod = api_.Get(kPods, "default", name);
    return pod ? **pod : Json();
  }

  bool Eventually(const std::function<bool()>& holds) {
    for (int round = 0; round < 1500; ++round) {
      if (holds()) return true;
      std::this_thread::sleep_for(
          std::chrono::milliseconds(10));  // allow sleep-in-test: another process
    }
    return false;
  }
  bool ReachesPhase(const std::string& name, const std::string& phase) {
    return Eventually([&] { return StringAt(Pod(name), {"status", "phase"}) == phase; });
  }

  std::string Log(const std::string& name) {
    std::ifstream file(cluster_->folders().LogPath(Pod(name), "main", 0));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Json End(const std::string& name) {
    const Json pod = Pod(name);
    const Json& statuses = ArrayAt(pod, {"status", "containerStatuses"});
    const Json* end = statuses.empty() ? nullptr : Find(statuses[0], {"state", "terminated"});
    return end == nullptr ? Json() : *end;
  }

  SystemClock clock_;
  test::TestApi api_{clock_};
  std::string base_;
  std::string folder_;  // the folder of the data, inside of base_
  std::optional<ProcessUser> job_user_;
  std::unique_ptr<ThreadExecutor> executor_;
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(PodExecutorTest, ProgramsSeeNoPathOfTheDataFolder) {
  CreatePod("p", "env; pwd; readlink /proc/self/fd/0 /proc/self/fd/2; ls -l /proc/self/fd");
  ASSERT_TRUE(ReachesPhase("p", "Succeeded")) << Pod("p");
  EXPECT_NE(Log("p").find("HOME=" + base_ + "/jobs/default_p_"), std::string::npos) << Log("p");
  EXPECT_EQ(Log("p").find(folder_), std::string::npos) << Log("p");
}

// Only root can switch users; other users test the refusal.
TEST_F(PodExecutorTest, ProgramsRunAsTheJobUser) {
  const auto user = FindJobUser("nobody");
  if (geteuid() != 0) {
    ASSERT_FALSE(user);
    EXPECT_NE(user.error().message.find("only root"), std::string::npos) << user.error().message;
    return;
  }
  ASSERT_TRUE(user) << user.error().message;
  EXPECT_NE(CheckReachable(base_ + "/jobs", *user).error().message.find(base_ + " is closed"),
            std::string::npos);
  fs::permissions(base_, fs::perms(0711));
  fs::permissions(folder_, fs::perms(0700));
  std::ofstream(folder_ + "/token") << "secret";
  StopCluster();
  job_user_ = *user;
  StartCluster();
  CreatePod("p", "id -un; cat " + folder_ +
                     "/token; echo kept > file; cat $HOME/file; echo ok >/dev/stdout; "
                     "exec sleep 0");
  ASSERT_TRUE(ReachesPhase("p", "Succeeded")) << Pod("p") << Log("p");
  EXPECT_TRUE(Log("p").starts_with("nobody\n")) << Log("p");
  EXPECT_EQ(Log("p").find("secret"), std::string::npos) << Log("p");
  EXPECT_TRUE(Log("p").ends_with("kept\nok\n")) << Log("p");
}

TEST_F(PodExecutorTest, RefusesUnknownUsersAndRoot) {
  EXPECT_NE(FindJobUser("no-such-user").error().message.find("no such user"), std::string::npos);
  EXPECT_NE(FindJobUser("root").error().message.find("other than root"), std::string::npos);
}

TEST_F(PodExecutorTest, RunsToSuccessAndKeepsTheLog) {
  CreatePod("p", "echo $HOSTNAME; echo oops >&2");
  ASSERT_TRUE(ReachesPhase("p", "Succeeded")) << Pod("p");
  EXPECT_EQ(Log("p"), "p\noops\n");
  EXPECT_EQ(End("p")["exitCode"], 0);
  EXPECT_EQ(End("p")["reason"], "Completed");
}

TEST_F(PodExecutorTest, ReportsExitCodesAndSignals) {
  CreatePod("code", "exit 3");
  CreatePod("signal", "kill -9 $$$$");
  ASSERT_TRUE(ReachesPhase("code", "Failed"));
  ASSERT_TRUE(ReachesPhase("signal", "Failed"));
  EXPECT_EQ(End("code")["exitCode"], 3);
  EXPECT_EQ(End("signal")["exitCode"], 137);
  EXPECT_EQ(End("signal")["signal"], 9);
}

TEST_F(PodExecutorTest, NodeOfSharedGpusRefusesAPodWithTwoShares) {
  CreateNode("shared", {{"cloud.berth.dev/one-share-a-pod", "true"}});
  const auto asks = [](const char* gpus) {
    return Json{{"spec",
                 {{"nodeName", "shared"},
                  {"containers",
                   Json::array({{{"name", "main"},
                                 {"image", "shell"},
                                 {"args", Json::array({"-c", "true"})},
                                 {"resources", {{"limits", {{"nvidia.com/gpu", gpus}}}}}}})}}}};
  };
  CreatePod("two", "", asks("2"));
  ASSERT_TRUE(ReachesPhase("two", "Failed"));
  EXPECT_EQ(StringAt(Pod("two"), {"status", "reason"}), "UnexpectedAdmissionError");
  EXPECT_EQ(
      StringAt(Pod("two"), {"status", "message"}),
      "Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = request for "
      "'nvidia.com/gpu: 2' too large: maximum request size for shared resources is 1, which is "
      "unexpected");
  CreatePod("one", "", asks("1"));
  EXPECT_TRUE(ReachesPhase("one", "Succeeded"));
}

TEST_F(PodExecutorTest, LogEndBecomesTheTerminationMessage) {
  const Json containers = Json::parse(R"([{"name": "main", "image": "shell",
      "terminationMessagePolicy": "FallbackToLogsOnError",
      "args": ["-c", "printf 'out of \\377 memory' >&2; exit 1"]}])");
  CreatePod("p", "", {{"spec", {{"containers", containers}}}});
  ASSERT_TRUE(ReachesPhase("p", "Failed"));
  EXPECT_EQ(End("p")["message"], "out of \xEF\xBF\xBD memory");
}

TEST_F(PodExecutorTest, OnFailureRestartsInPlace) {
  CreatePod("p", "test -e again && exit 0; touch again; exit 1",
            {{"spec", {{"restartPolicy", "OnFailure"}}}});
  ASSERT_TRUE(ReachesPhase("p", "Succeeded"));
  EXPECT_EQ(Pod("p")["status"]["containerStatuses"][0]["restartCount"], 1);
}

TEST_F(PodExecutorTest, InitContainersRunBeforeTheContainers) {
  const Json init =
      Json::parse(R"([{"name": "i", "image": "shell", "args": ["-c", "echo prepared > file"]}])");
  CreatePod("p", "cat file", {{"spec", {{"initContainers", init}}}});
  ASSERT_TRUE(ReachesPhase("p", "Succeeded"));
  EXPECT_EQ(Log("p"), "prepared\n");
}

TEST_F(PodExecutorTest, UnknownImageWaitsWithAHintHowToMapIt) {
  CreatePod("p", "", {{"spec", {{"containers", {{{"name", "main"}, {"image", "redis:7"}}}}}}});
  ASSERT_TRUE(Eventually([&] {
    const Json pod = Pod("p");
    const Json& statuses = ArrayAt(pod, {"status", "containerStatuses"});
    return !statuses.empty() &&
           StringAt(statuses[0], {"state", "waiting", "reason"}) == "ErrImagePull";
  }));
  EXPECT_EQ(Pod("p")["status"]["containerStatuses"][0]["state"]["waiting"]["message"],
            "no local program stands for image \"redis:7\"; map one with: "
            "berth up --image redis:7=PATH");
  EXPECT_EQ(Pod("p")["status"]["phase"], "Pending");
}

TEST_F(PodExecutorTest, DeletionSendsTermAndRemovesTheFolder) {
  CreatePod("p", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done");
  ASSERT_TRUE(Eventually([&] { return Log("p") == "up\n"; }));
  const std::string log = cluster_->folders().LogPath(Pod("p"), "main", 0);
  ASSERT_TRUE(api_.Delete(kPods, "default", "p", {}));
  EXPECT_TRUE(Eventually([&] { return Pod("p").is_null(); }));
  EXPECT_TRUE(Eventually([&] { return !fs::exists(log); })) << "its folder goes with it";
}

// `exec`: the test looks for the pod's one process. A child of it would be killed at the same time,
// but no process waits for that child's end.
TEST_F(PodExecutorTest, DeletionKillsProgramsThatIgnoreTerm) {
  CreatePod("p", "trap '' TERM; echo up; exec sleep 100");
  ASSERT_TRUE(Eventually([&] { return Log("p") == "up\n"; }));
  DeleteOptions options;
  options.grace_period_seconds = 1;
  ASSERT_TRUE(api_.Delete(kPods, "default", "p", options));
  EXPECT_TRUE(Eventually([&] { return Pod("p").is_null(); }));
  EXPECT_EQ(SweepProcesses(folder_), 0);
}

TEST_F(PodExecutorTest, ForcedDeletionStillEndsTheProcess) {
  CreatePod("p", "echo up; exec sleep 100");
  ASSERT_TRUE(Eventually([&] { return Log("p") == "up\n"; }));
  DeleteOptions options;
  options.grace_period_seconds = 0;
  ASSERT_TRUE(api_.Delete(kPods, "default", "p", options));
  EXPECT_TRUE(Eventually([&] { return fs::is_empty(folder_ + "/pods"); }));
  EXPECT_EQ(SweepProcesses(folder_), 0);
}

TEST_F(PodExecutorTest, PodRunsOnANodeBeforeTheWatchReportsIt) {
  api_.Silence(kNodes);
  CreateNode("late");
  CreatePod("p", "echo up", {{"spec", {{"nodeName", "late"}}}});
  ASSERT_TRUE(Eventually([&] { return HasEnded(Pod("p")); }));
  EXPECT_EQ(Pod("p")["status"]["phase"], "Succeeded") << Pod("p")["status"];
}

TEST_F(PodExecutorTest, VanishedNodeFailsItsPods) {
  CreatePod("p", "echo up; exec sleep 100");
  ASSERT_TRUE(ReachesPhase("p", "Running"));
  ASSERT_TRUE(api_.Delete(kNodes, "", "n1", {}));
  ASSERT_TRUE(ReachesPhase("p", "Failed"));
  EXPECT_EQ(Pod("p")["status"]["reason"], "DeletionByPodGC");
  EXPECT_EQ(SweepProcesses(folder_), 0) << "it ended before the pod was called failed";
}

TEST_F(PodExecutorTest, PodsRunningBeforeARestartFail) {
  CreatePod("p", "echo up; sleep 100");
  ASSERT_TRUE(ReachesPhase("p", "Running"));
  StopCluster();
  StartCluster();
  ASSERT_TRUE(ReachesPhase("p", "Failed"));
  EXPECT_EQ(Pod("p")["status"]["reason"], "NodeLost");
  EXPECT_EQ(Log("p"), "up\n");
}

// Where the machine refuses namespaces, the volumes are in a folder that a variable names.
constexpr char kAt[] =
    "at() { if [ -n \"$BERTH_VOLUMES\" ]; then echo $BERTH_VOLUMES/$1; else echo $2; fi; }; ";

TEST_F(PodExecutorTest, VolumesAreMountedAsFilesAndFolders) {
  ASSERT_TRUE(api_.Create(kConfigMaps, "default",
                          {{"metadata", {{"name", "m"}}},
                           {"data", {{"a", "from the map\n"}}},
                           {"binaryData", {{"b", "/w=="}}}},
                          {}));
  ASSERT_TRUE(api_.Create(kSecrets, "default",
                          {{"metadata", {{"name", "s"}}}, {"data", {{"key", "a2V5Cg=="}}}}, {}));
  const Json volumes = Json::parse(R"([{"name": "map", "configMap": {"name": "m"}},
      {"name": "key", "secret": {"secretName": "s", "defaultMode": 256}},
      {"name": "about", "downwardAPI": {"items": [
        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
      {"name": "shared", "emptyDir": {}}])");
  Json init = Json::parse(R"([{"name": "i", "image": "shell",
      "volumeMounts": [{"name": "shared", "mountPath": "/berth-shared/deep"}]}])");
  init[0]["args"] = {"-c",
                     kAt + std::string("echo left by init > $(at shared /berth-shared/deep)/file")};
  Json main = Json::parse(R"([{"name": "main", "image": "shell", "volumeMounts": [
      {"name": "map", "mountPath": "/etc/berth-test"},
      {"name": "key", "mountPath": "/var/run/berth/secret"},
      {"name": "about", "mountPath": "/berth-about"},
      {"name": "shared", "mountPath": "/mnt"},
      {"name": "about", "mountPath": "/mnt/about"}]}])");
  main[0]["args"] = {
      "-c", kAt + std::string("cat $(at map /etc/berth-test)/a $(at key /var/run/berth/secret)/key "
                              "$(at about /berth-about)/name; echo; cat $(at shared /mnt)/file; "
                              "wc -c < $(at map /etc/berth-test)/b; "
                              "ls /etc/passwd; if [ -z \"$BERTH_VOLUMES\" ]; then "
                              "cat /mnt/about/name; echo; "
                              "echo x 2>/dev/null > /etc/berth-test/a || echo read-only; else "
                              "echo p; echo read-only; fi")};
  CreatePod("p", "",
            {{"spec", {{"volumes", volumes}, {"initContainers", init}, {"containers", main}}}});
  ASSERT_TRUE(ReachesPhase("p", "Succeeded")) << Pod("p") << Log("p");
  EXPECT_EQ(Log("p"), "from the map\nkey\np\nleft by init\n1\n/etc/passwd\np\nread-only\n");
  EXPECT_FALSE(fs::exists("/berth-shared")) << "the machine stays as it is";
  EXPECT_FALSE(fs::exists("/etc/berth-test"));
  const std::string folder = cluster_->folders().VolumesFolder(Pod("p"));
  EXPECT_TRUE(fs::exists(folder + "/shared/file"));
  ASSERT_TRUE(api_.Delete(kPods, "default", "p", {}));
  EXPECT_TRUE(Eventually([&] { return !fs::exists(folder); })) << "its volumes go with it";
}

// A folder that the machine lacks, below the container's /tmp.
TEST_F(PodExecutorTest, EachContainerHasItsOwnTmpFolder) {
  ASSERT_TRUE(api_.Create(kSecrets, "default",
                          {{"metadata", {{"name", "s"}}}, {"data", {{"key", "a2V5Cg=="}}}}, {}));
  const std::string file = fs::path(base_).filename().string() + ".file";
  Json main = Json::parse(R"([{"name": "main", "image": "shell"}])");
  main[0]["volumeMounts"] = {{{"name", "key"}, {"mountPath", "/tmp/berth-server/certs"}}};
  main[0]["args"] = {"-c",
                     "[ -z \"$BERTH_VOLUMES\" ] || exit 0; echo \"TMPDIR=$TMPDIR\"; "
                     "cd /tmp && ls " +
                         file + " 2>/dev/null; echo mine > " + file + "; cat " + file +
                         " berth-server/certs/key; stat -c %a .; "
                         "cd \"$HOME\" && echo home"};
  CreatePod("p", "",
            {{"spec",
              {{"volumes", Json::parse(R"([{"name": "key", "secret": {"secretName": "s"}}])")},
               {"containers", main}}}});
  ASSERT_TRUE(ReachesPhase("p", "Succeeded")) << Pod("p") << Log("p");
  const std::string expected = "TMPDIR=\nmine\nkey\n1777\nhome\n";
  EXPECT_TRUE(Log("p").empty() || Log("p") == expected) << Log("p");
  EXPECT_FALSE(fs::exists("/tmp/" + file)) << "the machine stays as it is";
  EXPECT_FALSE(fs::exists("/tmp/berth-server"));
}

TEST_F(PodExecutorTest, VolumeAtTmpKeepsOtherMountsAndTheWorkingFolder) {
  ASSERT_TRUE(api_.Create(kSecrets, "default",
                          {{"metadata", {{"name", "s"}}}, {"data", {{"key", "a2V5Cg=="}}}}, {}));
  Json main =
      Json::parse(R"([{"name": "main", "image": "shell", "workingDir": "/tmp/deep/work"}])");
  main[0]["volumeMounts"] = {{{"name", "shared"}, {"mountPath", "/tmp"}},
                             {{"name", "key"}, {"mountPath", "/berth-top/key"}},
                             {{"name", "key"}, {"mountPath", "/tmp/key"}}};
  main[0]["args"] = {"-c",
                     "[ -z \"$BERTH_VOLUMES\" ] || exit 0; pwd; cat /tmp/key/key "
                     "/berth-top/key/key; cd \"$HOME\" && echo home; echo left > /tmp/left"};
  CreatePod("p", "",
            {{"spec",
              {{"volumes", Json::parse(R"([{"name": "shared", "emptyDir": {}},
                   {"name": "key", "secret": {"secretName": "s"}}])")},
               {"initContainers", Json::parse(R"([{"name": "i", "image": "shell",
                   "args": ["-c", "mkdir -p /tmp/deep/work"],
                   "volumeMounts": [{"name": "shared", "mountPath": "/tmp"}]}])")},
               {"containers", main}}}});
  ASSERT_TRUE(ReachesPhase("p", "Succeeded")) << Pod("p") << Log("p");
  EXPECT_TRUE(Log("p").empty() || Log("p") == "/tmp/deep/work\nkey\nkey\nhome\n") << Log("p");
  EXPECT_TRUE(Log("p").empty() ||
              fs::exists(cluster_->folders().VolumesFolder(Pod("p")) + "/shared/left"));
}

// The files of kubelet: a program that opens them again reads the new content, all of it.
TEST_F(PodExecutorTest, MountedObjectsChangeWhileTheProgramRuns) {
  const auto map = [](const char* text) {
    return Json{{"metadata", {{"name", "m"}}}, {"data", {{"a", text}, {"b", text}}}};
  };
  ASSERT_TRUE(api_.Create(kConfigMaps, "default", map("one\n"), {}));
  ASSERT_TRUE(api_.Create(kSecrets, "default", {{"metadata", {{"name", "s"}}}}, {}));
  const Json volumes = Json::parse(R"([{"name": "all", "projected": {"sources": [
        {"configMap": {"name": "m"}}, {"secret": {"name": "s"}},
        {"downwardAPI": {"items": [
          {"path": "about/labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}},
      {"name": "map", "configMap": {"name": "m"}}])");
  Json main = Json::parse(R"([{"name": "main", "image": "shell", "volumeMounts": [
      {"name": "all", "mountPath": "/etc/berth-test"},
      {"name": "map", "mountPath": "/etc/berth-part", "subPath": "a"}]}])");
  main[0]["args"] = {
      "-c",
      kAt +
          std::string(
              "d=$(at all /etc/berth-test); cat $d/a; [ ! -e $d/key ] && echo no key; readlink "
              "$d/a; "
              "echo; until [ \"$(cat $d/a $d/b)\" = \"$(printf 'two\ntwo')\" ] && [ -s $d/key ] && "
              "grep -q team $d/about/labels; do sleep 0.02; done; cat $d/key $d/about/labels; "
              "echo; "
              "[ -n \"$BERTH_VOLUMES\" ] && echo one || cat /etc/berth-part")};
  CreatePod("p", "", {{"spec", {{"volumes", volumes}, {"containers", main}}}});
  ASSERT_TRUE(Eventually([&] { return Log("p").ends_with("\n\n"); })) << Pod("p") << Log("p");
  EXPECT_EQ(Log("p"), "one\nno key\n..data/a\n\n");
  const auto change = [&](const ResourceId& resource, const char* name, const Json& by) {
    Json object = **api_.Get(resource, "default", name);
    object.merge_patch(by);
    ASSERT_TRUE(api_.Update(resource, "default", name, object, {}));
  };
  change(kConfigMaps, "m", map("two\n"));
  change(kSecrets, "s", {{"data", {{"key", "a2V5Cg=="}}}});
  change(kPods, "p", {{"metadata", {{"labels", {{"team", "a"}}}}}});
  ASSERT_TRUE(ReachesPhase("p", "Succeeded")) << Pod("p") << Log("p");
  EXPECT_EQ(Log("p"), "one\nno key\n..data/a\n\nkey\nteam=\"a\"\none\n");
}

TEST_F(PodExecutorTest, ProbesByCommandSeeTheVolumes) {
  Json main = Json::parse(R"([{"name": "main", "image": "shell",
      "readinessProbe": {"exec": {"command": []}, "periodSeconds": 1},
      "volumeMounts": [{"name": "v", "mountPath": "/etc/berth-probe"}]}])");
  main[0]["args"] = {"-c", kAt + std::string("touch $(at v /etc/berth-probe)/up; sleep 60")};
  main[0]["readinessProbe"]["exec"]["command"] = {
      "/bin/sh", "-c", kAt + std::string("cat $(at v /etc/berth-probe)/up")};
  const Json volumes = Json::parse(R"([{"name": "v", "emptyDir": {}}])");
  CreatePod("p", "", {{"spec", {{"volumes", volumes}, {"containers", main}}}});
  EXPECT_TRUE(Eventually([&] { return ConditionIs(Pod("p"), "Ready", "True"); })) << Pod("p");
}

// The rest of the machine is where it was.
TEST_F(PodExecutorTest, VolumeBesideFilesOfTheMachineKeepsThoseFiles) {
  ASSERT_TRUE(api_.Create(kSecrets, "default",
                          {{"metadata", {{"name", "s"}}}, {"data", {{"key", "a2V5Cg=="}}}}, {}));
  const std::string place = base_ + "/place";
  fs::create_directories(place + "/beside");
  std::ofstream(place + "/file") << "file\n";
  struct stat root {};
  ASSERT_EQ(stat("/", &root), 0);
  Json main = Json::parse(R"([{"name": "main", "image": "shell"}])");
  main[0]["volumeMounts"] = {{{"name", "key"}, {"mountPath", place + "/new/deep"}}};
  main[0]["args"] = {"-c", "cd " + place + "; [ -n \"$BERTH_VOLUMES\" ] || ls; cat file; " + kAt +
                               "cat $(at key " + place +
                               "/new/deep)/key; echo kept > beside/kept; stat -c %i /"};
  CreatePod("p", "",
            {{"spec",
              {{"volumes", Json::parse(R"([{"name": "key", "secret": {"secretName": "s"}}])")},
               {"containers", main}}}});
  ASSERT_TRUE(ReachesPhase("p", "Succeeded")) << Pod("p") << Log("p");
  const std::string rest = "file\nkey\n" + std::to_string(root.st_ino) + "\n";
  EXPECT_TRUE(Log("p") == "beside\nfile\nnew\n" + rest || Log("p") == rest) << Log("p");
  EXPECT_TRUE(fs::exists(place + "/beside/kept"));
  EXPECT_FALSE(fs::exists(place + "/new"));
}

TEST_F(PodExecutorTest, HostPathVolumesAreCheckedAndMounted) {
  const std::string path = base_ + "/machine/folder";
  const Json source = {{"path", path + "/"}, {"type", "DirectoryOrCreate"}};
  Json main = Json::parse(R"([{"name": "main", "image": "shell"}])");
  main[0]["volumeMounts"] = {{{"name", "host"}, {"mountPath", "/mnt"}}};
  main[0]["args"] = {"-c", "[ -n \"$BERTH_VOLUMES\" ] && echo none || echo left > /mnt/file"};
  const auto spec = [&](const Json& host) {
    return Json{{"spec",
                 {{"volumes", Json::array({{{"name", "host"}, {"hostPath", host}}})},
                  {"containers", main}}}};
  };
  CreatePod("p", "", spec(source));
  ASSERT_TRUE(ReachesPhase("p", "Succeeded")) << Pod("p");
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(fs::exists(path + "/file"), Log("p").empty()) << Log("p");
  CreatePod("none", "", spec({{"path", base_ + "/none"}, {"type", "File"}}));
  const auto waits = [&] {
    const Json pod = Pod("none");
    const Json& statuses = ArrayAt(pod, {"status", "containerStatuses"});
    return statuses.empty() ? "" : StringAt(statuses[0], {"state", "waiting", "message"});
  };
  EXPECT_TRUE(Eventually([&] { return !waits().empty(); }));
  EXPECT_EQ(waits(), "MountVolume.SetUp failed for volume \"host\" : hostPath type check failed: " +
                         base_ + "/none is not a file");
}

// Only root can switch users. A symbolic link in a folder that programs write must not lead a mount
// to files that they may not read.
TEST_F(PodExecutorTest, SymbolicLinksCannotRedirectVolumesOfAnotherUser) {
  const auto user = FindJobUser("nobody");
  if (geteuid() != 0) return;
  ASSERT_TRUE(user) << user.error().message;
  fs::permissions(base_, fs::perms(0711));
  StopCluster();
  job_user_ = *user;
  StartCluster();
  ASSERT_TRUE(api_.Create(kSecrets, "default",
                          {{"metadata", {{"name", "s"}}}, {"data", {{"key", "a2V5Cg=="}}}}, {}));
  const auto create = [&](const char* name, const Json& mount) {
    Json main = Json::parse(R"([{"name": "main", "image": "shell"}])");
    main[0]["args"] = {"-c", kAt + std::string("cat $(at key /key)/key; cd $(at shared /shared) && "
                                               "echo kept > file && cat file")};
    main[0]["volumeMounts"] = Json::array({{{"name", "key"}, {"mountPath", "/key"}}, mount});
    CreatePod(name, "",
              {{"spec",
                {{"volumes", Json::parse(R"([{"name": "shared", "emptyDir": {}},
                     {"name": "key", "secret": {"secretName": "s", "defaultMode": 256}}])")},
                 {"containers", main}}}});
  };
  create("whole", {{"name", "shared"}, {"mountPath", "/shared"}});
  create("part", {{"name", "shared"}, {"mountPath", "/shared"}, {"subPath", "link"}});
  ASSERT_TRUE(ReachesPhase("whole", "Succeeded")) << Pod("whole") << Log("whole");
  EXPECT_EQ(Log("whole"), "key\nkept\n");
  EXPECT_TRUE(Eventually([&] {
    const Json pod = Pod("part");
    const Json& statuses = ArrayAt(pod, {"status", "containerStatuses"});
    return !statuses.empty() && StringAt(statuses[0], {"state", "waiting", "message"}) ==
                                    "subPath \"link\" of a volume that programs write is not "
                                    "served with berth up --job-user";
  }));
}

TEST_F(PodExecutorTest, PodWaitsForAMissingVolume) {
  CreatePod("p", "", {{"spec", {{"volumes", Json::parse(R"([{"name": "map", "configMap":
      {"name": "m"}}])")}}}});
  ASSERT_TRUE(Eventually([&] {
    const Json pod = Pod("p");
    const Json& statuses = ArrayAt(pod, {"status", "containerStatuses"});
    return !statuses.empty() && StringAt(statuses[0], {"state", "waiting", "message"}) ==
                                    "MountVolume.SetUp failed for volume \"map\" : configmap "
                                    "\"m\" not found";
  }));
  EXPECT_EQ(StringAt(Pod("p"), {"status", "phase"}), "Pending");
}

TEST_F(PodExecutorTest, ContainerRunsInItsWorkingDirectory) {
  const auto create = [&](const char* name, const char* folder) {
    Json main = Json::parse(R"([{"name": "main", "image": "shell",
        "args": ["-c", "[ -n \"$BERTH_VOLUMES\" ] || pwd; echo x > file && cat file"]}])");
    main[0]["workingDir"] = folder;
    CreatePod(name, "", {{"spec", {{"containers", main}}}});
  };
  create("there", base_.c_str());
  create("new", "/berth/work/");
  create("relative", "work");
  ASSERT_TRUE(ReachesPhase("there", "Succeeded")) << Pod("there");
  EXPECT_EQ(Log("there"), base_ + "\nx\n");
  ASSERT_TRUE(ReachesPhase("new", "Succeeded")) << Pod("new") << Log("new");
  EXPECT_TRUE(Log("new") == "/berth/work\nx\n" || Log("new") == "x\n") << Log("new");
  EXPECT_FALSE(fs::exists("/berth"));
  EXPECT_TRUE(Eventually([&] {
    const Json pod = Pod("relative");
    const Json& statuses = ArrayAt(pod, {"status", "containerStatuses"});
    return !statuses.empty() && StringAt(statuses[0], {"state", "waiting", "message"}) ==
                                    "workingDir \"work\": write an absolute path";
  }));
}

TEST_F(PodExecutorTest, JobRunsToItsEnd) {
  Json job = Json::parse(R"({"metadata": {"name": "j"}, "spec": {"completions": 3,
      "parallelism": 2, "completionMode": "Indexed", "template": {"spec": {
      "restartPolicy": "Never", "containers": [{"name": "main", "image": "shell",
      "args": ["-c", "echo index $JOB_COMPLETION_INDEX"]}]}}}})");
  ASSERT_TRUE(api_.Create(kJobs, "default", job, {}));
  ASSERT_TRUE(Eventually(
      [&] { return ConditionIs(**api_.Get(kJobs, "default", "j"), "Complete", "True"); }));
  EXPECT_EQ((**api_.Get(kJobs, "default", "j"))["status"]["completedIndexes"], "0-2");
}

}  // namespace
}  // namespace berth::local::cluster
