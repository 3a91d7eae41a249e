// Goal: which nodes the budgets of a NodePool let go, and when. Method: a table of budgets at two
// times, a Monday at noon and a Sunday.
#include "provisioning/disruption.h"

#include <gtest/gtest.h>

#include "base/rfc3339.h"

namespace berth::provisioning {
namespace {

constexpr char kMonday[] = "2026-11-23T12:00:00Z";
constexpr char kSunday[] = "2026-11-22T12:00:00Z";

struct BudgetRow {
  const char* name;
  std::vector<api::KarpenterBudget> budgets;
  bool on_monday;  // whether a little used node may go
  bool on_sunday;
  const char* text;  // on Monday
};

TEST(DisruptionTest, BudgetsInForceDecideWhetherNodesMayBeRemoved) {
  const api::KarpenterBudget office{
      .nodes = "0", .schedule = "0 9 * * mon-fri", .duration = std::chrono::hours(8)};
  const BudgetRow rows[] = {
      {"none", {}, true, true, ""},
      {"a share", {{.nodes = "10%"}}, true, true, "10 %"},
      {"a number", {{.nodes = "1"}}, true, true, "1 node"},
      {"no node", {{.nodes = "0"}}, false, false, "0 nodes"},
      {"no share", {{.nodes = "0%"}}, false, false, "0 %"},
      {"the strictest", {{.nodes = "5"}, {.nodes = "0"}}, false, false, "5 nodes, 0 nodes"},
      {"for another cause", {{.nodes = "0", .causes = {"Empty", "Drifted"}}}, true, true, ""},
      {"for this cause", {{.nodes = "0", .causes = {"Underutilized"}}}, false, false, "0 nodes"},
      {"office hours", {office, {.nodes = "10%"}}, false, true, "0 nodes, 10 %"},
      {"unreadable", {{.nodes = "some"}}, false, false, "some nodes"},
      {"no such schedule",
       {{.nodes = "5", .schedule = "daily", .duration = std::chrono::hours(1)}},
       false,
       false,
       "5 nodes"},
  };
  for (const BudgetRow& row : rows) {
    api::KarpenterNodePool pool;
    pool.budgets = row.budgets;
    EXPECT_EQ(BudgetLetsGo(pool, kUnderusedNodes, *ParseTime(kMonday)), row.on_monday) << row.name;
    EXPECT_EQ(BudgetLetsGo(pool, kUnderusedNodes, *ParseTime(kSunday)), row.on_sunday) << row.name;
    EXPECT_EQ(BudgetText(pool, kUnderusedNodes, *ParseTime(kMonday)), row.text) << row.name;
  }
}

TEST(DisruptionTest, OnlyConsolidatingPoolsEmptyNodes) {
  api::KarpenterNodePool pool;
  EXPECT_TRUE(MayEmptyNodes(pool, *ParseTime(kMonday)));
  pool.consolidates = false;
  EXPECT_FALSE(MayEmptyNodes(pool, *ParseTime(kMonday)));
}

}  // namespace
}  // namespace berth::provisioning
