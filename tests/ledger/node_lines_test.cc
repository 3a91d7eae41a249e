// Goal: a node is charged to the line of its Workload's latest attempt, else to the line that the
// node's own record names. Method: one node and its attempts, for each grouping.
#include "ledger/node_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ledger/records.h"

namespace berth::ledger {
namespace {

using test::Admitted;
using test::Pending;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Period kPeriod{1000, 9000};

NodeTimeRecord NodeFor(const std::string& uid, Seconds from = 2000, Seconds until = 3000) {
  NodeTimeRecord node{.id = "m", .node = "n", .pool = "spot", .namespace_name = "team-b"};
  node.local_queue = "other";
  node.cluster_queue = "cpus";
  node.workload_uid = uid;
  node.from = from;
  node.until = until;
  return node;
}

TEST(NodeLinesTest, NodeBelongsToTheLatestAttemptOfItsWorkload) {
  const struct {
    ReportBy by;
    std::string label;
    std::string with_attempt;
    std::string without;
  } rows[] = {{ReportBy::kQueue, "", "team-a/main", "team-b/other"},
              {ReportBy::kClusterQueue, "", "gpus", "cpus"},
              {ReportBy::kNamespace, "", "team-a", "team-b"},
              {ReportBy::kPriority, "", "10", ""},
              {ReportBy::kLabel, "team", "vision", ""},
              {ReportBy::kUser, "", "ann", ""},
              {ReportBy::kPool, "", "spot", "spot"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.with_attempt);
    NodeLines lines({NodeFor("a"), NodeFor("b"), NodeFor("")}, row.by, row.label, kPeriod);
    AttemptRecord earlier = Pending("a");
    earlier.cluster_queue = "earlier";
    AttemptRecord latest = Admitted("a", 1500, 2000, 2);
    latest.user = "ann";
    lines.Add(earlier);
    lines.Add(latest);
    lines.Add(Pending("c"));
    EXPECT_EQ(lines.LineOf(NodeFor("a")), row.with_attempt);
    EXPECT_EQ(lines.LineOf(NodeFor("b")), row.without) << "its Workload has no attempt";
    EXPECT_EQ(lines.LineOf(NodeFor("")), row.without) << "its Workload is gone";
  }
}

TEST(NodeLinesTest, OnlyNodesOfThePeriodCount) {
  const std::vector<NodeTimeRecord> nodes{NodeFor("before", 0, 1000), NodeFor("first", 0, 1001),
                                          NodeFor("", 2000, 3000), NodeFor("after", 9000, 9500)};
  const NodeLines lines(nodes, ReportBy::kQueue, "", kPeriod);
  EXPECT_THAT(lines.nodes(), ElementsAre(nodes[1], nodes[2]));
  EXPECT_TRUE(lines.IsMeasured("first"));
  for (const char* uid : {"before", "after", "other", ""}) {
    EXPECT_FALSE(lines.IsMeasured(uid)) << uid;
  }
}

TEST(NodeLinesTest, NodesDoNotCountByCauseAndByPreemptor) {
  for (const ReportBy by : {ReportBy::kCause, ReportBy::kPreemptor}) {
    const NodeLines lines({NodeFor("a")}, by, "", kPeriod);
    EXPECT_THAT(lines.nodes(), IsEmpty());
    EXPECT_FALSE(lines.IsMeasured("a"));
  }
}

TEST(NodeLinesTest, HoursAreThoseOfTheNodeAndOfItsGpus) {
  std::map<std::string, double> hours;
  NodeTimeRecord node = NodeFor("a");
  AddNodeHours(node, kHour, hours);
  EXPECT_EQ(hours, (std::map<std::string, double>{{kNodes, 1}}));
  node.gpus = 8;
  AddNodeHours(node, 2 * kHour, hours);
  EXPECT_EQ(hours, (std::map<std::string, double>{{kNodes, 3}, {api::kGpusResource, 16}}));
}

}  // namespace
}  // namespace berth::ledger
