// Goal: a sample says how many nodes of each pool are ready, booting and idle.
// Method: nodes and pods in every state; a table of the first reports of a node.
#include "ledger/controller/pool_samples.h"

#include <memory>
#include <optional>

#include <gmock/gmock.h>

#include "api/labels.h"

namespace berth::ledger {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WallTime kNodeCreated{std::chrono::seconds(1'000'000)};

class PoolSamplesTest : public ::testing::Test {
 protected:
  // `since`: the condition's last change after the creation of the node; nullopt: no condition.
  void AddNode(const std::string& name, const std::string& pool, api::ConditionStatus ready,
               std::optional<Duration> since = 0s) {
    auto node = std::make_shared<api::Node>();
    node->meta.name = name;
    node->meta.creation_timestamp = kNodeCreated;
    if (!pool.empty()) node->meta.labels[api::kGkeNodePoolLabel] = pool;
    if (since) {
      node->conditions.push_back(
          {.type = "Ready", .status = ready, .last_transition_time = kNodeCreated + *since});
    }
    nodes_.Put(node);
  }
  void AddPod(const std::string& name, const std::string& node, const char* owner = "Job",
              const char* phase = "Running") {
    auto pod = std::make_shared<api::Pod>();
    pod->meta.name = name;
    pod->meta.owner_references.push_back({.kind = owner, .name = "o", .controller = true});
    pod->spec.node_name = node;
    pod->phase = phase;
    pods_.Put(pod);
  }
  std::vector<PoolSampleRecord> Samples(bool with_pods = true) {
    return PoolSamplesOf(nodes_.objects(), with_pods ? &pods_.objects() : nullptr,
                         kNodeCreated + 1h);
  }

  kube::ObjectStore<api::Node> nodes_;
  kube::ObjectStore<api::Pod> pods_;
};

PoolSampleRecord Sample(const std::string& pool, int ready, int booting, int idle) {
  return {.pool = pool,
          .from = ToSeconds(kNodeCreated + 1h),
          .span = kSampleSeconds,
          .seconds = kSampleSeconds,
          .ready = ready * kSampleSeconds,
          .booting = booting * kSampleSeconds,
          .idle = idle * kSampleSeconds,
          .idle_seconds = kSampleSeconds};
}

TEST_F(PoolSamplesTest, ReadyNodesWithoutWorkAreIdle) {
  for (const char* name : {"works", "daemon", "ended", "empty"}) {
    AddNode(name, "a100", api::ConditionStatus::kTrue, 50s);
  }
  AddNode("single", "", api::ConditionStatus::kTrue);
  AddPod("one", "works");
  AddPod("two", "daemon", "DaemonSet");
  AddPod("three", "ended", "Job", "Succeeded");
  AddPod("waits", "");
  EXPECT_THAT(Samples(), ElementsAre(Sample("a100", 4, 0, 3), Sample("", 1, 0, 1)));
  PoolSampleRecord unknown = Sample("a100", 4, 0, 0);
  unknown.idle_seconds = 0;
  EXPECT_EQ(Samples(false).front(), unknown);
}

TEST_F(PoolSamplesTest, NodeBootsUntilItIsReadyForTheFirstTime) {
  AddNode("registered", "p", api::ConditionStatus::kFalse, std::nullopt);
  AddNode("reported", "p", api::ConditionStatus::kFalse, 10s);
  AddNode("lost", "p", api::ConditionStatus::kUnknown, 30min);
  EXPECT_THAT(Samples(), ElementsAre(Sample("p", 0, 2, 0)));
}

TEST_F(PoolSamplesTest, TheLargestPoolsAreSampled) {
  EXPECT_THAT(Samples(), IsEmpty());
  for (std::size_t i = 0; i <= kMostSampledPools; ++i) {
    AddNode("n" + std::to_string(i), "p" + std::to_string(i), api::ConditionStatus::kTrue);
  }
  AddNode("last", "p64", api::ConditionStatus::kTrue);
  const auto samples = Samples();
  ASSERT_EQ(samples.size(), kMostSampledPools);
  EXPECT_EQ(samples.front().pool, "p64");
}

}  // namespace
}  // namespace berth::ledger
