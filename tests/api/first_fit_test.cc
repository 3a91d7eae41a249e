// Goal: pods are placed on rooms by first fit, the largest first, with the same answer each time.
// Method: a table.
#include "api/first_fit.h"

#include <gtest/gtest.h>

#include "api/node_match.h"

namespace berth::api {
namespace {

using Pods = std::vector<std::int64_t>;

ResourceAmounts Gpus(std::int64_t count) { return {{"gpu", count}}; }

TEST(FirstFitTest, FillsRoomsInTheirOrder) {
  struct FitRow {
    const char* what;
    std::vector<std::int64_t> rooms;                             // GPUs of each
    std::vector<std::pair<std::int64_t, std::int64_t>> demands;  // GPUs of a pod, pods
    std::optional<Pods> pods;
  };
  const std::vector<FitRow> rows = {
      {"no pods", {1}, {}, Pods{0}},
      {"one after the other", {2, 2}, {{1, 3}}, Pods{2, 1}},
      {"too many", {2, 2}, {{1, 5}}, std::nullopt},
      {"a pod is not divided", {2, 2}, {{3, 1}}, std::nullopt},
      {"the largest first", {2, 4}, {{1, 2}, {4, 1}}, Pods{2, 1}},
      {"what is left is used", {4, 2}, {{3, 1}, {1, 3}}, Pods{2, 2}},
      {"no rooms", {}, {{1, 1}}, std::nullopt},
  };
  for (const FitRow& row : rows) {
    SCOPED_TRACE(row.what);
    Rooms rooms;
    for (const std::int64_t gpus : row.rooms) rooms.free.push_back(Gpus(gpus));
    std::vector<Demand> demands;
    for (const auto& [gpus, count] : row.demands) demands.push_back({Gpus(gpus), count});
    EXPECT_EQ(FirstFit(rooms, demands), row.pods);
  }
}

TEST(FirstFitTest, OpensRoomsUpToTheMaximum) {
  EXPECT_EQ(FirstFit({.another = Gpus(2), .most = 3}, {{Gpus(1), 5}}), (Pods{2, 2, 1}));
  EXPECT_EQ(FirstFit({.another = Gpus(2), .most = 2}, {{Gpus(1), 5}}), std::nullopt);
  EXPECT_EQ(FirstFit({.another = Gpus(2), .most = 9}, {{Gpus(3), 1}}), std::nullopt);
}

TEST(FirstFitTest, RoomMayRejectADemand) {
  Rooms rooms{.free = {Gpus(1), Gpus(1)}};
  rooms.allows = [](std::size_t /*demand*/, std::size_t room) { return room == 1; };
  EXPECT_EQ(FirstFit(rooms, {{Gpus(1), 1}}), (Pods{0, 1}));
  EXPECT_EQ(FirstFit(rooms, {{Gpus(1), 2}}), std::nullopt);
}

TEST(NodeMatchTest, TermMatchesLabelsAndNodeName) {
  const StringMap labels{{"zone", "a"}};
  EXPECT_FALSE(Matches(NodeSelectorTerm{}, labels, "n1")) << "an empty term matches nothing";
  NodeSelectorTerm term;
  term.match_expressions = {{"zone", "In", {"a", "b"}}};
  EXPECT_TRUE(Matches(term, labels, "n1"));
  term.match_fields = {{"metadata.name", "In", {"n2"}}};
  EXPECT_FALSE(Matches(term, labels, "n1"));
  EXPECT_TRUE(Matches(term, labels, "n2"));
}

}  // namespace
}  // namespace berth::api
