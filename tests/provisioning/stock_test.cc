// Goal: the stock memory: length and growth of rests, their end by a grant, sizes, bounds, joining;
// and its use by Workloads of different queues. Method: outcomes at chosen times; two small worlds
// (world.h) that share one memory.
#include "provisioning/stock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provisioning/policy_steps.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::World;

constexpr char kClass[] = "queued-provisioning.gke.io";
constexpr WallTime kStart{seconds(1'700'000'000)};
constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

class Stock {
 public:
  void Tell(std::int64_t at, const char* reason, std::int32_t size = 1,
            const std::string& flavor = "spot") {
    const bool granted = *reason == '\0';
    memory.Record(
        {.provisioning_class = kClass,
         .key = Key(size, flavor),
         .outcome = {.id = std::to_string(++count_),
                     .asked_at = kStart + seconds(at),
                     .pods = size,
                     .result = granted ? api::StockResult::kGranted
                                       : ResultOf(reason, "ResourcePoolExhausted").value()},
         .reason = reason,
         .at = kStart + seconds(at)});
  }
  // Seconds from `at` to the end of the rest; 0: none.
  std::int64_t Rest(std::int64_t at, std::int32_t size = 1) const {
    const auto* entry = memory.RestOf(kClass, Key(size, "spot"), kStart + seconds(at));
    if (entry == nullptr) return 0;
    return std::chrono::duration_cast<seconds>(entry->rest_until - kStart).count() - at;
  }
  static api::StockKey Key(std::int32_t size, const std::string& flavor) {
    return {.flavor = flavor, .shape = "nvidia.com/gpu=1", .size = size};
  }
  StockMemory memory;

 private:
  int count_ = 0;
};

TEST(StockTest, RestDoublesWithEachFollowingFailure) {
  Stock stock;
  std::int64_t at = 0;
  for (const std::int64_t minutes : {15, 30, 60, 120, 240, 360, 360}) {
    stock.Tell(at, "ResourcePoolExhausted");
    EXPECT_EQ(stock.Rest(at), minutes * kMinute);
    at += minutes * kMinute;
    EXPECT_EQ(stock.Rest(at), 0) << "the end is exact";
    EXPECT_EQ(stock.Rest(at - 1), 1);
  }
}

TEST(StockTest, SimultaneousFailuresCountOnce) {
  Stock stock;
  for (int i = 0; i < 20; ++i) stock.Tell(i, "ResourcePoolExhausted");
  EXPECT_EQ(stock.Rest(20), 15 * kMinute - 20);
  EXPECT_EQ(stock.memory.Of(kClass).front().strikes, 1);
}

TEST(StockTest, ReasonDecidesTheLengthOfARest) {
  const std::vector<std::pair<const char*, std::int64_t>> rows{
      {"ResourcePoolExhausted", 15 * kMinute},
      {"WaitLimitReached", 15 * kMinute},
      {"QueuingInfeasibleNoCapacity", 6 * kHour},
      {"QuotaExceeded", kHour},
      {"ZoneNotSupported", 30 * kDay}};
  for (const auto& [reason, rest] : rows) {
    Stock stock;
    stock.Tell(0, reason);
    EXPECT_EQ(stock.Rest(0), rest) << reason;
  }
  Stock hard;
  for (const std::int64_t hours : {6, 12, 24, 48, 96, 168, 168}) {
    const std::int64_t at = hard.memory.Of(kClass).empty()
                                ? 0
                                : (hard.memory.Of(kClass).front().rest_until - kStart) / seconds(1);
    hard.Tell(at, "QueuingInfeasibleNoCapacity");
    EXPECT_EQ(hard.Rest(at), hours * kHour);
  }
}

TEST(StockTest, SomeReasonsAreNoOutcomeOfTheStock) {
  EXPECT_FALSE(ResultOf("NoQueuedNodepoolAvailable", ""));
  EXPECT_FALSE(ResultOf("InternalError", ""));
  EXPECT_FALSE(ResultOf("NodepoolSizeReached", ""));
  EXPECT_FALSE(ResultOf("WaitLimitReached", "")) << "the class never answered";
  EXPECT_FALSE(ResultOf("WaitTimeExceeded", "NotProvisioned"));
}

TEST(StockTest, AHarderReasonLengthensARest) {
  Stock stock;
  stock.Tell(0, "ResourcePoolExhausted");
  stock.Tell(60, "QueuingInfeasibleNoCapacity");
  EXPECT_EQ(stock.Rest(60), 6 * kHour);
  stock.Tell(120, "ResourcePoolExhausted");
  EXPECT_EQ(stock.Rest(120), 6 * kHour - 60) << "and nothing shortens the rest";
}

TEST(StockTest, AGrantEndsTheRestsOfItsSizeAndOfSmallerOnes) {
  Stock stock;
  for (const std::int32_t size : {1, 5, 17}) stock.Tell(0, "ResourcePoolExhausted", size);
  stock.Tell(60, "", 5);
  EXPECT_EQ(stock.Rest(60, 1), 0);
  EXPECT_EQ(stock.Rest(60, 5), 0);
  EXPECT_EQ(stock.Rest(60, 17), 14 * kMinute);
  stock.Tell(60 * kMinute, "ResourcePoolExhausted", 5);
  EXPECT_EQ(stock.Rest(60 * kMinute, 5), 15 * kMinute) << "the growth begins anew";
}

TEST(StockTest, RestAppliesToLargerSizes) {
  Stock stock;
  stock.Tell(0, "ResourcePoolExhausted", 2);
  EXPECT_EQ(stock.Rest(0, 1), 0);
  EXPECT_EQ(stock.Rest(0, 2), 15 * kMinute);
  EXPECT_EQ(stock.Rest(0, 5), 15 * kMinute);
  EXPECT_EQ(stock.memory.RestOf(kClass, Stock::Key(2, "demand"), kStart), nullptr);
  EXPECT_EQ(stock.memory.RestOf("other.example.com", Stock::Key(2, "spot"), kStart), nullptr);
}

TEST(StockTest, PodCountsFallIntoFiveSizeClasses) {
  const std::vector<std::pair<std::int64_t, std::int32_t>> rows{
      {0, 1}, {1, 1}, {2, 2}, {4, 2}, {5, 5}, {16, 5}, {17, 17}, {64, 17}, {65, 65}, {9000, 65}};
  for (const auto& [pods, size] : rows) EXPECT_EQ(SizeClass(pods), size) << pods;
}

TEST(StockTest, AnOutcomeIsRecordedOnce) {
  StockMemory memory;
  const StockLesson lesson{.provisioning_class = kClass,
                           .key = Stock::Key(1, "spot"),
                           .outcome = {.id = "a", .result = api::StockResult::kStockout},
                           .reason = "ResourcePoolExhausted",
                           .at = kStart};
  EXPECT_FALSE(memory.Knows(lesson));
  memory.Record(lesson);
  memory.Record(lesson);
  EXPECT_TRUE(memory.Knows(lesson));
  EXPECT_THAT(memory.Of(kClass).front().outcomes, SizeIs(1));
}

TEST(StockTest, TheMemoryIsBounded) {
  Stock stock;
  for (int i = 0; i < 300; ++i) stock.Tell(i, "");
  EXPECT_THAT(stock.memory.Of(kClass).front().outcomes, SizeIs(256));
  EXPECT_EQ(stock.memory.Of(kClass).front().outcomes.front().id, "45") << "the oldest go first";
  for (int i = 0; i < 100; ++i) {
    for (int each = 0; each < 60; ++each) {
      stock.Tell(1000 + i * 60 + each, "", 1, "flavor-" + std::to_string(i));
    }
  }
  const api::ClassStock& all = stock.memory.Of(kClass);
  EXPECT_THAT(all, SizeIs(64));
  std::size_t outcomes = 0;
  for (const auto& entry : all) outcomes += entry.outcomes.size();
  EXPECT_LE(outcomes, 4096U);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.key < b.key; }));
}

TEST(StockTest, MergesTwoMemories) {
  Stock ours;
  ours.Tell(0, "ResourcePoolExhausted");
  Stock theirs;
  theirs.Tell(10, "QueuingInfeasibleNoCapacity");  // the same id, "1"
  theirs.Tell(20, "QueuingInfeasibleNoCapacity", 5);
  theirs.Tell(30, "");
  ours.memory.Merge(kClass, theirs.memory.Of(kClass));
  EXPECT_EQ(ours.Rest(40, 1), 15 * kMinute - 40) << "their grant is older than nothing of ours";
  EXPECT_EQ(ours.Rest(40, 5), 6 * kHour - 20);
  EXPECT_THAT(ours.memory.Of(kClass).front().outcomes, SizeIs(2));
}

TEST(StockTest, TheKeyNamesShapeAndZone) {
  World world;
  world.AddPodSet("cpu-only", 3, {{"cpu", 100}});
  world.workload.spec.pod_sets.front().pod_template.spec.node_selector = {
      {"pool", "a3"}, {"topology.kubernetes.io/zone", "b"}};
  EXPECT_EQ(StockKeyOf(world.workload, world.config, "spot", {}),
            (api::StockKey{"spot", "b", "nvidia.com/gpu=1 pool=a3", 1}));
  EXPECT_EQ(StockKeyOf(world.workload, world.config, "", {"x", "y"})->flavor, "x+y");
  EXPECT_FALSE(StockKeyOf(world.workload, world.config, "", {}));
  world.workload.spec.pod_sets.front().pod_template.spec.node_selector["long"] =
      std::string(500, 'a');
  EXPECT_LE(StockKeyOf(world.workload, world.config, "spot", {})->shape.size(), 140U);
}

// A Workload with the policy spot → demand that shares the memory of `other`.
World Chained(World* other = nullptr) {
  World world;
  api::ProvisioningStep spot{.name = "spot", .flavor = "spot"};
  spot.max_wait_seconds = 600;
  const api::ProvisioningStep demand{.name = "demand", .flavor = "demand"};
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}, .steps = {spot, demand}};
  world.stock.emplace();
  if (other != nullptr) {
    world.stock = other->stock;
    world.now = other->now;
  }
  world.GiveQuota("spot");
  return world;
}

// The request of the step waits for stock and is given up.
void WaitInVain(World& world) {
  world.Settle();
  world.Answer("Accepted", testing::kTrue, "SuccessfullyQueued", "queued");
  world.Answer("Provisioned", api::ConditionStatus::kFalse, "ResourcePoolExhausted", "None.");
  world.Pass(600);
  world.Settle();
}

TEST(SharedStockTest, AnotherWorkloadPassesOverAStepThatIsOutOfStock) {
  World first = Chained();
  WaitInVain(first);
  EXPECT_EQ(first.check().message,
            "Going on with step demand after step spot: no capacity within 600 s");
  World second = Chained(&first);
  second.Settle();
  EXPECT_THAT(second.requests, IsEmpty());
  EXPECT_EQ(second.check().state, api::CheckState::kRetry);
  EXPECT_EQ(second.check().message,
            "Going on with step demand; passed over: step spot (OutOfStockRecently): rests until "
            "2023-11-14T22:38:20Z "
            "after 1 failure, the last WaitLimitReached");
  EXPECT_EQ(second.avoided(), "spot");
  second.Evict();
  second.Settle();
  EXPECT_EQ(second.last.next_wake, seconds(15 * kMinute)) << "the flavor is freed again then";
  second.GiveQuota("demand");
  second.Settle();
  EXPECT_THAT(second.requests, SizeIs(1));
  second.Provision();
  second.Settle();
  EXPECT_EQ(second.check().state, api::CheckState::kReady);
  const api::ClassStock& all = second.stock->Of(kClass);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].key.flavor, "demand");
  EXPECT_EQ(all[0].outcomes.front().result, api::StockResult::kGranted);
  EXPECT_EQ(all[1].outcomes.front().result, api::StockResult::kTimeout);
  EXPECT_EQ(all[1].outcomes.front().wait_seconds, 600);
}

// A restart finds nothing to write: the end of the rest wakes no Workload that is not active.
TEST(SharedStockTest, InactiveWorkloadKeepsItsAvoidedFlavors) {
  World first = Chained();
  WaitInVain(first);
  World second = Chained(&first);
  second.Settle();
  second.Evict();
  second.Settle();
  ASSERT_EQ(second.avoided(), "spot");
  second.workload.spec.active = false;
  second.Settle();
  EXPECT_EQ(second.last.next_wake, std::nullopt);
  const int writes = second.memory_writes;
  second.Pass(15 * kMinute);
  second.Settle();
  EXPECT_EQ(second.memory_writes, writes);
  second.workload.spec.active = true;
  second.Settle();
  EXPECT_EQ(second.avoided(), "");
}

TEST(SharedStockTest, StepIsRequestedAgainAfterItsRest) {
  World first = Chained();
  WaitInVain(first);
  World second = Chained(&first);
  second.Pass(15 * kMinute);
  second.Settle();
  EXPECT_THAT(second.requests, SizeIs(1));
  EXPECT_EQ(second.avoided(), "");
}

TEST(SharedStockTest, RestKeepsAnExistingRequest) {
  World patient = Chained();
  patient.Settle();
  ASSERT_THAT(patient.requests, SizeIs(1));
  World other = Chained();
  WaitInVain(other);
  patient.stock = other.stock;
  const int writes = patient.memory_writes;
  patient.Settle();
  EXPECT_THAT(patient.requests, SizeIs(1));
  EXPECT_EQ(patient.check().state, api::CheckState::kPending);
  EXPECT_EQ(patient.memory_writes, writes) << "nothing is written for a rest of others";
}

TEST(SharedStockTest, RestOfAllStepsReleasesTheQuota) {
  World first = Chained();
  first.policy->steps.pop_back();
  WaitInVain(first);
  World second = Chained(&first);
  second.policy = first.policy;
  second.Settle();
  EXPECT_EQ(second.check().state, api::CheckState::kRetry);
  EXPECT_EQ(second.check().requeue_after_seconds, 15 * kMinute + 1);
  EXPECT_THAT(
      second.check().message,
      HasSubstr("No step may request capacity: step spot (OutOfStockRecently): rests until"));
}

TEST(SharedStockTest, APolicyMayIgnoreTheStock) {
  World first = Chained();
  WaitInVain(first);
  World second = Chained(&first);
  second.policy->stock = api::ProvisioningPolicy::Stock::kIgnored;
  second.Settle();
  EXPECT_THAT(second.requests, SizeIs(1));
}

TEST(SharedStockTest, OvertakenRequestIsReplacedWithTheHeldQuota) {
  World world = Chained();
  world.policy->steps[0].max_wait_seconds = 7200;
  world.policy->stuck_after_seconds = 3600;
  world.Settle();
  world.Answer("Accepted", testing::kTrue, "SuccessfullyQueued", "queued");
  world.Pass(3599);
  world.Settle();
  EXPECT_THAT(world.last.next_wake, seconds(1));
  world.Pass(1);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre("job-sample-job-e80e2-dws-prov-1"))
      << "without evidence a place in the queue is kept";
  World other = Chained(&world);
  other.workload.meta.uid = "other";
  other.workload.meta.name = "job-other-e80e2";
  other.Settle();
  other.Provision();
  other.Settle();
  world.stock = other.stock;
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre("job-sample-job-e80e2-dws-prov-2"));
  EXPECT_EQ(world.check().state, api::CheckState::kPending);
  EXPECT_EQ(world.check().retry_count.value_or(0), 0) << "the quota was never released";
  EXPECT_EQ(world.check().message,
            "Asking again in step spot: a later request was granted within 3600 s");
  EXPECT_EQ(world.requests.front().parameters.at("ValidUntilSeconds"), "3660")
      << "the waiting time goes on";
  EXPECT_EQ(world.memory.at("dws-prov").steps.at("spot").attempts, 0) << "no failure";
}

TEST(SharedStockTest, WithoutALimitAnOvertakenRequestIsKept) {
  World world = Chained();
  world.policy->steps[0].max_wait_seconds = 7200;
  world.Settle();
  world.Answer("Accepted", testing::kTrue, "SuccessfullyQueued", "queued");
  world.Pass(3600);
  World other = Chained(&world);
  other.workload.meta.uid = "other";
  other.workload.meta.name = "job-other-e80e2";
  other.Settle();
  other.Provision();
  other.Settle();
  world.stock = other.stock;
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre("job-sample-job-e80e2-dws-prov-1"));
}

}  // namespace
}  // namespace berth::provisioning
