// Goal: annotations of a pod template become the topology request of its pod set.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "api/labels.h"
#include "integrations/template_topology.h"

namespace berth::integrations {
namespace {

using api::TopologyRequest;

struct RequestRow {
  const char* name;
  api::StringMap annotations;
  std::function<void(TopologyRequest&)> expected;  // null: nothing is asked for
};

class TopologyRequestTest : public ::testing::TestWithParam<RequestRow> {};

TEST_P(TopologyRequestTest, FollowsTheAnnotations) {
  const auto request = TopologyRequestOf(GetParam().annotations);
  if (GetParam().expected == nullptr) {
    EXPECT_FALSE(request);
    return;
  }
  TopologyRequest expected;
  GetParam().expected(expected);
  ASSERT_TRUE(request);
  EXPECT_EQ(*request, expected);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, TopologyRequestTest,
    ::testing::ValuesIn(std::vector<RequestRow>{
        {"Nothing", {{"other", "rack"}}, nullptr},
        {"Required",
         {{api::kRequiredTopologyAnnotation, "rack"}},
         [](auto& r) { r.required = "rack"; }},
        {"Preferred",
         {{api::kPreferredTopologyAnnotation, "rack"}},
         [](auto& r) { r.preferred = "rack"; }},
        {"Unconstrained",
         {{api::kUnconstrainedTopologyAnnotation, "true"}},
         [](auto& r) { r.unconstrained = true; }},
        {"UnconstrainedAsGoWritesIt",
         {{api::kUnconstrainedTopologyAnnotation, "T"}},
         [](auto& r) { r.unconstrained = true; }},
        {"NotUnconstrained", {{api::kUnconstrainedTopologyAnnotation, "false"}}, nullptr},
        {"RequiredIsStronger",
         {{api::kRequiredTopologyAnnotation, "rack"}, {api::kPreferredTopologyAnnotation, "block"}},
         [](auto& r) { r.required = "rack"; }},
        {"Slices",
         {{api::kPreferredTopologyAnnotation, "block"},
          {api::kSliceRequiredTopologyAnnotation, "rack"},
          {api::kSliceSizeAnnotation, "4"}},
         [](auto& r) {
           r.preferred = "block";
           r.slice_required_topology = "rack";
           r.slice_size = 4;
         }},
        {"SlicesAlone",
         {{api::kSliceRequiredTopologyAnnotation, "rack"}, {api::kSliceSizeAnnotation, "2"}},
         [](auto& r) {
           r.slice_required_topology = "rack";
           r.slice_size = 2;
         }},
        {"Layers",
         {{api::kRequiredTopologyAnnotation, "block"},
          {api::kSliceConstraintsAnnotation,
           R"([{"topology":"rack","size":8},{"topology":"kubernetes.io/hostname","size":2}])"}},
         [](auto& r) {
           r.required = "block";
           r.slice_constraints = {{"rack", 8}, {"kubernetes.io/hostname", 2}};
         }},
        {"LayersThatCannotBeRead", {{api::kSliceConstraintsAnnotation, "{"}}, nullptr},
        {"Group",
         {{api::kRequiredTopologyAnnotation, "rack"}, {api::kPodSetGroupNameAnnotation, "g"}},
         [](auto& r) {
           r.required = "rack";
           r.pod_set_group_name = "g";
         }},
        {"AGroupAloneAsksForNothing", {{api::kPodSetGroupNameAnnotation, "g"}}, nullptr},
    }),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace berth::integrations
