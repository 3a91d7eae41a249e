// Goal: every input that can make a waiting workload fit wakes the workload.
// Method: the table of wakes_by_*.cc. In each row the workload `w` waits, and goes on waiting while
// nothing happens; then one change follows, and `w` gets quota without any other event. Each row is
// played with and without Kueue's gate SchedulingEquivalenceHashing, which parks equal workloads
// together. docs/guide/queues.md has the same rows.
#include <algorithm>
#include <fstream>
#include <set>
#include <tuple>

#include "tests/admission/controller/wakes_nodes.h"

namespace berth::admission {

void PrintTo(Waits waits, std::ostream* out) {
  constexpr const char* kWords[] = {"parked", "active", "outside"};
  *out << kWords[static_cast<std::size_t>(waits)];
}
void PrintTo(const WakeRow& row, std::ostream* out) { *out << row.name; }

namespace {

std::vector<WakeRow> AllWakes() {
  std::vector<WakeRow> rows = WakesByWorkloads();
  for (const auto& more : {WakesByQueues(), WakesByNodes()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

using WakeCase = std::tuple<WakeRow, bool>;  // the bool: equivalence hashing

class WakesTest : public WakesWorld, public ::testing::WithParamInterface<WakeCase> {
 protected:
  // Plays the job controller of `a`.
  void StopEvicted() {
    if (Is("a", api::kEvicted) && HasQuota("a")) Release("a");
  }
};

TEST_P(WakesTest, ChangeWakesTheWaitingWorkload) {
  const auto& [row, hashing] = GetParam();
  Crash();
  options_.driver.scheduler.gates.scheduling_equivalence_hashing = hashing;
  if (row.configure != nullptr) row.configure(options_);
  Boot();
  row.set_up(*this);
  Run(12s);
  ASSERT_FALSE(HasQuota("w"));
  ASSERT_EQ(HowItWaits("w"), row.waits);
  row.change(*this);
  for (int second = 0; second < 8 && !HasQuota("w"); ++second) {
    Run(1s);
    StopEvicted();
  }
  EXPECT_TRUE(HasQuota("w")) << MessageOf("w", api::kQuotaReserved);
}

INSTANTIATE_TEST_SUITE_P(Table, WakesTest,
                         ::testing::Combine(::testing::ValuesIn(AllWakes()), ::testing::Bool()),
                         [](const auto& row) {
                           std::string name = std::get<0>(row.param).name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + (std::get<1>(row.param) ? "" : "_each_alone");
                         });

// `b` has no candidates to preempt, and its cycle keeps n1 for it; then `b` is parked. Nothing
// changes later that would wake `w`, which came in the same cycle.
class KeptNodesTest : public WakesWorld, public ::testing::WithParamInterface<bool> {};

TEST_P(KeptNodesTest, NodesKeptForAParkedHeadGoToTheNextWorkloadOnlyWithTheRule) {
  Crash();
  options_.driver.scheduler.own_rules.wake_the_flavor = GetParam();
  Boot();
  PutNode(*this, "n2");
  PutQueues(100);
  PutTopology(*this);
  PutClusterQueue("other", 4, Preempting());
  PutLocalQueue("other", "other");
  PutWorkload("v", 4, {{"queueName", "other"}, {"priority", 5}});
  Run(3s);
  ASSERT_TRUE(HasQuota("v"));
  PutNode(*this, "n1");
  Run(3s);
  PutWorkload("b", 4, {{"queueName", "other"}, {"priority", 5}});
  PutWorkload("w", 4);
  Run(12s);
  EXPECT_EQ(HowItWaits("b"), Waits::kParked);
  EXPECT_EQ(HasQuota("w"), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Switched, KeptNodesTest, ::testing::Bool(),
                         [](const auto& row) { return std::string(row.param ? "On" : "Off"); });

TEST(WakesPageTest, PageListsEveryWake) {
  std::ifstream file(BERTH_QUEUES_PAGE);
  ASSERT_TRUE(file.good());
  std::set<std::string> told;
  bool in_section = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) in_section = line == "## What wakes a waiting workload";
    if (!in_section || !line.starts_with("| `")) continue;
    told.insert(line.substr(3, line.find('`', 3) - 3));
  }
  std::set<std::string> rows;
  for (const WakeRow& row : AllWakes()) EXPECT_TRUE(rows.insert(row.name).second) << row.name;
  EXPECT_EQ(told, rows);
}

}  // namespace
}  // namespace berth::admission
