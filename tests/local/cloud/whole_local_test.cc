// Goal: the controllers and the real embedded API agree: the DWS story end to end, in process.
// Method: ApiServer without its HTTP front, the kinds from manifests/, real processes, short times.
#include "tests/local/cloud/whole_local.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace berth::local::cloud {
namespace {

namespace fs = std::filesystem;
using cluster::ConditionIs;
using cluster::Find;
using cluster::kConfigMaps;
using cluster::kEvents;
using cluster::kJobs;
using cluster::kNamespaces;
using cluster::kNodePools;
using cluster::kNodes;
using cluster::kPods;
using cluster::kPodTemplates;
using cluster::kProvisioningRequests;
using cluster::StringAt;

class WholeLocalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-whole-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    local_ = std::make_unique<WholeLocal>(folder_);
    local_->Start();
  }
  void TearDown() override {
    local_.reset();
    fs::remove_all(folder_);
  }

  WholeApi& api() { return local_->api(); }
  Json Read(const ResourceId& resource, const std::string& name,
            const std::string& namespace_name = "default") {
    return local_->Read(resource, name, namespace_name);
  }

  std::string folder_;
  std::unique_ptr<WholeLocal> local_;
};

TEST_F(WholeLocalTest, JobRunsFromItsRequestToTheEmptyPool) {
  local_->ApplyStory();
  ASSERT_TRUE(WholeLocal::Eventually([&] {
    return ConditionIs(Read(kProvisioningRequests, "pr"), "Provisioned", "True");
  })) << Read(kProvisioningRequests, "pr");
  local_->Apply(kJobs, "default", WholeLocal::JobYaml("echo computed"));
  ASSERT_TRUE(WholeLocal::Eventually([&] {
    return ConditionIs(Read(kJobs, "sample-job"), "Complete", "True");
  })) << Read(kJobs, "sample-job").dump(1)
      << api().List(kPods, "", {})->items.size();
  EXPECT_EQ(Read(kJobs, "sample-job")["status"]["succeeded"], 1);
  const auto pods = api().List(kPods, "default", {});
  ASSERT_EQ(pods->items.size(), 1U);
  const Json pod = *pods->items[0];
  EXPECT_EQ(StringAt(pod, {"status", "phase"}), "Succeeded");
  EXPECT_TRUE(cluster::ArrayAt(pod, {"metadata", "finalizers"}).empty());
  LogRequest log;
  log.namespace_name = "default";
  log.pod = cluster::NameOf(pod);
  log.pod_uid = cluster::UidOf(pod);
  log.container = "main";
  EXPECT_EQ(*local_->logs().Read(log), "computed\n");
  ASSERT_TRUE(api().Delete(kProvisioningRequests, "default", "pr", {}));
  EXPECT_TRUE(WholeLocal::Eventually([&] { return api().List(kNodes, "", {})->items.empty(); }));
  EXPECT_TRUE(
      WholeLocal::Eventually([&] { return Read(kNodePools, "t4", "")["status"]["stock"] == 1; }));
  EXPECT_EQ(Read(kNodePools, "t4", "")["status"]["gpu"], "1 x nvidia-tesla-t4");
  std::set<std::string> reasons;
  const auto events = api().List(kEvents, "default", {});
  for (const Object& event : events->items) reasons.insert(StringAt(*event, {"reason"}));
  for (const char* reason : {"SuccessfulCreate", "Scheduled", "Started", "Completed"}) {
    EXPECT_EQ(reasons.count(reason), 1U) << reason;
  }
}

TEST_F(WholeLocalTest, RestartReplacesThePodThatRan) {
  local_->ApplyStory();
  const std::string script =
      "test -e " + folder_ + "/again && exit 0; touch " + folder_ + "/again; sleep 100";
  local_->Apply(kJobs, "default", WholeLocal::JobYaml(script));
  ASSERT_TRUE(WholeLocal::Eventually([&] { return fs::exists(folder_ + "/again"); }));
  local_->Stop();
  local_->Start();
  ASSERT_TRUE(WholeLocal::Eventually([&] {
    return cluster::IntAt(Read(kJobs, "sample-job"), {"status", "failed"}) == 1;
  })) << Read(kJobs, "sample-job").dump(1);
  ASSERT_TRUE(WholeLocal::Eventually([&] {
    return ConditionIs(Read(kJobs, "sample-job"), "Complete", "True");
  })) << Read(kJobs, "sample-job").dump(1);
}

TEST_F(WholeLocalTest, SuspendedJobResumesAndIsDeleted) {
  local_->ApplyStory();
  local_->Apply(kJobs, "default", WholeLocal::JobYaml("sleep 100"));
  const auto phase_is = [&](const std::string& phase) {
    return WholeLocal::Eventually([&] {
      const auto pods = api().List(kPods, "default", {});
      return pods->items.size() == 1 && StringAt(*pods->items[0], {"status", "phase"}) == phase;
    });
  };
  ASSERT_TRUE(phase_is("Running"));
  ASSERT_TRUE(api().Patch(kJobs, "default", "sample-job", PatchType::kMerge,
                          {{"spec", {{"suspend", true}}}}, {}));
  ASSERT_TRUE(
      WholeLocal::Eventually([&] { return api().List(kPods, "default", {})->items.empty(); }));
  ASSERT_TRUE(WholeLocal::Eventually(
      [&] { return ConditionIs(Read(kJobs, "sample-job"), "Suspended", "True"); }));
  EXPECT_EQ(Find(Read(kJobs, "sample-job"), {"status", "startTime"}), nullptr);
  ASSERT_TRUE(api().Patch(kJobs, "default", "sample-job", PatchType::kMerge,
                          {{"spec", {{"suspend", false}}}}, {}));
  ASSERT_TRUE(phase_is("Running"));
  DeleteOptions options;
  options.propagation_policy = "Foreground";
  ASSERT_TRUE(api().Delete(kJobs, "default", "sample-job", options));
  EXPECT_TRUE(WholeLocal::Eventually([&] { return Read(kJobs, "sample-job").is_null(); }));
  EXPECT_TRUE(
      WholeLocal::Eventually([&] { return api().List(kPods, "default", {})->items.empty(); }));
}

TEST_F(WholeLocalTest, NamespaceIsDeletedWithItsContent) {
  local_->Apply(kNamespaces, "", "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n");
  local_->Apply(kConfigMaps, "team", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
  ASSERT_TRUE(api().Delete(kNamespaces, "", "team", {}));
  EXPECT_TRUE(WholeLocal::Eventually([&] { return Read(kNamespaces, "team", "").is_null(); }))
      << Read(kNamespaces, "team", "").dump(1);
}

}  // namespace
}  // namespace berth::local::cloud
