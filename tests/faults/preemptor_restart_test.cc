// Goal: a preemptor gets its freed quota wherever its preemption is interrupted: the victim is
// stopped once, and the preemptor runs with the count of its preemption. Method: one story; the
// controllers die at each of the writes around the victim's end, with and without the last of them,
// and restart.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/log/log.h"
#include "tests/faults/episode.h"

namespace berth::sim {
namespace {

using std::chrono::seconds;

constexpr int kWrites = 8;

TEST(PreemptorRestart, VictimIsStoppedOnce) {
  for (int count = 1; count <= kWrites; ++count) {
    for (const bool happens : {false, true}) {
      Story story;
      story.seed = 1;
      story.setup = {"node n cpu=64 label=pool=f",
                     "flavor f label=pool=f",
                     "cluster-queue a cohort=org reclaim=Any f/cpu=2",
                     "cluster-queue b cohort=org f/cpu=2",
                     "local-queue a -> a",
                     "local-queue b -> b"};
      story.events = {{seconds(1), "job victim queue=b cpu=4 priority=5 runs=100s stops=20s"},
                      {seconds(10),
                       "job wide queue=a cpu=1 parallelism=4 completions=4 runs=30s "
                       "annotate=kueue.x-k8s.io/job-min-parallelism=2"}};
      story.blows = {{.kind = Blow::Kind::kCrash,
                      .at = seconds(29),
                      .span = seconds(5),
                      .count = count,
                      .write_happens = happens}};
      story.length = seconds(60);
      const Outcome outcome = Play(story, {.chronicle = true});
      std::string text;
      for (const std::string& line : outcome.chronicle) text += line + "\n";
      ASSERT_FALSE(outcome.violation) << outcome.violation->text << "\n" << text;
      const auto lines_with = [&outcome](const char* part) {
        return std::count_if(
            outcome.chronicle.begin(), outcome.chronicle.end(),
            [part](const std::string& line) { return line.find(part) != std::string::npos; });
      };
      SCOPED_TRACE("write " + std::to_string(count) + (happens ? ", written" : ""));
      EXPECT_EQ(lines_with("has crashed"), 1) << text;
      EXPECT_EQ(lines_with("Preempted=True"), 1) << text;
      EXPECT_GE(lines_with("jobs/default/wide: active=2 ready=2"), 1) << text;
      EXPECT_EQ(lines_with("jobs/default/wide: active=4"), 0) << text;
    }
  }
}

}  // namespace
}  // namespace berth::sim

int main(int argc, char** argv) {
  berth::ConfigureLog(berth::LogLevel::kError);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
