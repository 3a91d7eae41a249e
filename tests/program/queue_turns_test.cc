// Goal: the numbers by which the read API sorts follow the scheduler's order, and come again only
// when it changes. Method: one queue of the scheduler, asked between changes.
#include "program/queue_turns.h"

#include <gtest/gtest.h>

#include "api/queue_policy.h"
#include "tests/support/core_fixture.h"
#include "view/screens/items.h"

namespace berth::program {
namespace {

using namespace std::chrono_literals;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

class TurnClock final : public Clock {
 public:
  WallTime Now() const override { return {}; }
  SteadyTime SteadyNow() const override { return steady; }
  SteadyTime steady{};
};

class QueueTurnsTest : public ::testing::Test {
 protected:
  QueueTurnsTest() {
    queue_.meta.annotations[api::kOrderAnnotation] = "ShortestFirst";
    world_.Apply(queue_);
    turns_.Set(std::make_shared<const api::ClusterQueue>(queue_));
    Add("runs", 1h);
    world_.Cycle();
    Add("long", 8h);
    Add("short", 1h);
  }
  void Add(const std::string& name, std::chrono::hours run) {
    world_.Advance(1s);
    api::Workload workload = MakeJob(name, "q", 1, {{"gpu", 1}});
    workload.spec.maximum_execution_time_seconds =
        static_cast<std::int32_t>(std::chrono::seconds(run).count());
    world_.Apply(workload);
  }
  // "short long", in the order of the turns of the queue; "-": nothing new.
  std::string Order() {
    clock_.steady += QueueTurns::kEvery;
    return Now();
  }
  std::string Now() {
    const auto changed = turns_.Changed();
    const auto found = changed.find("q");
    if (found == changed.end()) return "-";
    std::map<std::int64_t, std::string> sorted;
    for (const auto& [key, turn] : found->second) sorted[turn] = key.name;
    EXPECT_EQ(sorted.size(), found->second.size()) << "two workloads have one turn";
    std::string text;
    for (const auto& [turn, name] : sorted) text += (text.empty() ? "" : " ") + name;
    return text;
  }

  api::ClusterQueue queue_ = MakeQueue("q", "", {{"f", {{"gpu", 1}}}});
  TableWorld world_{{"f"}, {queue_}};
  TurnClock clock_;
  QueueTurns turns_{world_.scheduler(), clock_};
};

TEST_F(QueueTurnsTest, TurnsFollowTheOrderOfTheScheduler) {
  EXPECT_EQ(Order(), "short long");
  EXPECT_EQ(Order(), "-") << "nothing has changed";
  Add("shorter", 1h);
  EXPECT_EQ(Order(), "short shorter long");
}

TEST_F(QueueTurnsTest, ChangeWithinASecondIsReportedLater) {
  EXPECT_EQ(Order(), "short long");
  Add("shorter", 1h);
  EXPECT_EQ(Now(), "-");
  EXPECT_TRUE(turns_.AreLate());
  EXPECT_EQ(Order(), "short shorter long");
  EXPECT_FALSE(turns_.AreLate());
}

TEST_F(QueueTurnsTest, QueueWithoutItsOwnOrderHasNoTurns) {
  EXPECT_EQ(Order(), "short long");
  queue_.meta.annotations.clear();
  world_.Apply(queue_);
  turns_.Set(std::make_shared<const api::ClusterQueue>(queue_));
  EXPECT_EQ(Order(), "") << "the turns go";
  EXPECT_EQ(Order(), "-");
}

TEST(TurnNumberTest, PriorityOutranksTime) {
  const auto at = [](std::int64_t seconds) { return WallTime(std::chrono::seconds(seconds)); };
  EXPECT_LT(view::TurnNumber(1, at(200)), view::TurnNumber(0, at(100)));
  EXPECT_LT(view::TurnNumber(0, at(100)), view::TurnNumber(0, at(200)));
  EXPECT_LT(view::TurnNumber(INT64_MAX, at(0)), view::TurnNumber(INT64_MIN, at(0)));
  EXPECT_EQ(view::TurnNumber(0, at(-5)), view::TurnNumber(0, at(0)));
}

}  // namespace
}  // namespace berth::program
