// Goal: this machine is a node while a cluster has no other one, and yields without losing a pod.
// Method: steps of the cloud on views by hand; control groups as files.
#include "local/cloud/machine_node.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "local/cloud/cloud_step.h"
#include "local/cloud/machine_size.h"
#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::local::cloud {
namespace {

constexpr MachineSize kSize{3500, 8LL << 30};

Object Share(Json object) { return std::make_shared<const Json>(std::move(object)); }

// "create berth, delete berth, cordon, uncordon, resize": the effects on nodes.
std::string Effects(const CloudView& view) {
  std::string text;
  for (const CloudEffect& effect : StepCloud(view, {}, WallTime()).effects) {
    if (const auto* one = std::get_if<CreateNode>(&effect)) {
      text += "create " + one->node["metadata"]["name"].get<std::string>() + " ";
    }
    if (const auto* one = std::get_if<DeleteNode>(&effect)) text += "delete " + one->name + " ";
    if (std::holds_alternative<ResizeNode>(effect)) text += "resize ";
    if (const auto* one = std::get_if<CordonNode>(&effect)) {
      text += one->closed ? "cordon " : "uncordon ";
    }
  }
  return text;
}

CloudView View(const std::vector<Json>& nodes = {}, int pools = 0) {
  CloudView view;
  view.machine = kSize;
  for (const Json& node : nodes) view.nodes.push_back(Share(node));
  for (int i = 0; i < pools; ++i) {
    view.pools.push_back(ReadNodePool(
        Share({{"metadata", {{"name", "pool"}}}, {"spec", {{"machineType", "n1-standard-4"}}}})));
  }
  return view;
}

Json Other() { return {{"metadata", {{"name", "kwok-1"}}}}; }

Json Closed() {
  Json node = MakeMachineNode(kSize);
  EXPECT_TRUE(SetCordon(node, true));
  return node;
}

TEST(MachineNodeTest, NodeOfTheMachineExistsWhileThereIsNoOtherNode) {
  EXPECT_EQ(Effects(View()), "create berth ");
  EXPECT_EQ(Effects(View({MakeMachineNode(kSize)})), "");
  EXPECT_EQ(Effects(View({}, 1)), "") << "a pool brings nodes";
  EXPECT_EQ(Effects(View({Other()})), "");
  CloudView none = View();
  none.machine.reset();
  EXPECT_EQ(Effects(none), "");
}

TEST(MachineNodeTest, NodeOfTheMachineIsCordonedBesideOthersAndDeletedEmpty) {
  EXPECT_EQ(Effects(View({MakeMachineNode(kSize)}, 1)), "cordon ");
  EXPECT_EQ(Effects(View({MakeMachineNode(kSize), Other()})), "cordon ");
  CloudView busy = View({Closed()}, 1);
  busy.pods.push_back(Share({{"spec", {{"nodeName", kMachineNode}}}}));
  EXPECT_EQ(Effects(busy), "");
  busy.pods.clear();
  EXPECT_EQ(Effects(busy), "delete berth ");
  EXPECT_EQ(Effects(View({Closed()})), "uncordon ") << "the pool is gone";
}

TEST(MachineNodeTest, CordonOfAnAdministratorStays) {
  Json node = MakeMachineNode(kSize);
  node["spec"]["unschedulable"] = true;
  EXPECT_FALSE(SetCordon(node, false));
  EXPECT_EQ(Effects(View({node})), "");
}

TEST(MachineNodeTest, ChangedSizeOfTheMachineIsWritten) {
  CloudView view = View({MakeMachineNode(kSize)});
  view.machine = MachineSize{4000, 8LL << 30};
  EXPECT_EQ(Effects(view), "resize ");
  Json written = MakeMachineNode(kSize);
  written["status"]["capacity"]["memory"] = "8Gi";
  EXPECT_EQ(Effects(View({written})), "") << "the same amount in another form";
}

class MachineSizeTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  MachineSize Read() const { return ReadMachineSize(folder_.path()); }

  TempFolder folder_;
};

TEST_F(MachineSizeTest, LowestLimitOfAllParentCgroupsCounts) {
  Write("/proc/self/cgroup", "0::/user/session\n");
  Write("/sys/fs/cgroup/user/session/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/user/session/memory.max", "64000000\n");
  Write("/sys/fs/cgroup/user/cpu.max", "50000 100000\n");
  Write("/sys/fs/cgroup/user/memory.max", "32000000\n");
  EXPECT_EQ(Read().cpu_milli, 500);
  EXPECT_EQ(Read().memory_bytes, 32'000'000);
}

TEST_F(MachineSizeTest, CgroupVersion1HasAFolderForEachController) {
  Write("/proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n");
  Write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "25000\n");
  Write("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "16000000\n");
  EXPECT_EQ(Read().cpu_milli, 250);
  EXPECT_EQ(Read().memory_bytes, 16'000'000) << "the path of the host is not there";
}

TEST_F(MachineSizeTest, SizeIsThatOfTheMachineWithoutLimits) {
  const MachineSize whole = Read();
  EXPECT_GE(whole.cpu_milli, 1000);
  EXPECT_GT(whole.memory_bytes, 64LL << 20);
  Write("/proc/self/cgroup", "0::/\nnonsense\n");
  Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(Read().cpu_milli, whole.cpu_milli);
  EXPECT_EQ(Read().memory_bytes, whole.memory_bytes);
}

}  // namespace
}  // namespace berth::local::cloud
