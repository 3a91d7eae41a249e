// Goal: contradictory topology annotations are refused, with the way out.
#include "webhook/topology_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"

namespace berth::webhook {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct AnnotationRow {
  const char* name;
  api::StringMap annotations;
  const char* wanted;  // null: nothing is wrong
};

class TopologyRulesTest : public ::testing::TestWithParam<AnnotationRow> {};

TEST_P(TopologyRulesTest, AnnotationsAreAllowedOrTheirMistakeIsNamed) {
  const FieldErrors errors =
      ValidateTopologyAnnotations(Path("annotations"), GetParam().annotations, 8);
  if (GetParam().wanted == nullptr) {
    EXPECT_THAT(errors, IsEmpty());
  } else {
    EXPECT_THAT(errors, Contains(HasSubstr(GetParam().wanted)));
  }
}

constexpr char kRequired[] = "kueue.x-k8s.io/podset-required-topology";
constexpr char kPreferred[] = "kueue.x-k8s.io/podset-preferred-topology";
constexpr char kUnconstrained[] = "kueue.x-k8s.io/podset-unconstrained-topology";
constexpr char kSlice[] = "kueue.x-k8s.io/podset-slice-required-topology";
constexpr char kSize[] = "kueue.x-k8s.io/podset-slice-size";
constexpr char kLayers[] = "kueue.x-k8s.io/podset-slice-required-topology-constraints";
constexpr char kGroupAnnotation[] = "kueue.x-k8s.io/podset-group-name";

INSTANTIATE_TEST_SUITE_P(
    Rows, TopologyRulesTest,
    ::testing::ValuesIn(std::vector<AnnotationRow>{
        {"Nothing", {}, nullptr},
        {"Required", {{kRequired, "cloud.com/rack"}}, nullptr},
        {"Unconstrained", {{kUnconstrained, "true"}}, nullptr},
        {"TwoOfThem",
         {{kRequired, "rack"}, {kUnconstrained, "true"}},
         "annotations: Invalid value: must not contain more than one topology annotation: "
         "[\"kueue.x-k8s.io/podset-required-topology\", "
         "\"kueue.x-k8s.io/podset-preferred-topology\", "
         "\"kueue.x-k8s.io/podset-unconstrained-topology\"]"},
        {"NoLabel", {{kRequired, "-rack"}}, "podset-required-topology]: Invalid value: \"-rack\""},
        {"NoBoolean", {{kUnconstrained, "yes"}}, "\"yes\": must be a boolean value"},
        {"Slices", {{kPreferred, "block"}, {kSlice, "rack"}, {kSize, "4"}}, nullptr},
        {"SlicesAlone", {{kSlice, "rack"}, {kSize, "8"}}, nullptr},
        {"SizeWithoutLevel",
         {{kSize, "4"}},
         "may not be set when 'kueue.x-k8s.io/podset-slice-required-topology' is not specified"},
        {"LevelWithoutSize",
         {{kSlice, "rack"}},
         "Required value: must be set when 'kueue.x-k8s.io/podset-slice-required-topology' is"},
        {"SizeOfNothing", {{kSlice, "rack"}, {kSize, "0"}}, "must be greater than or equal to 1"},
        {"SizeInWords", {{kSlice, "rack"}, {kSize, "two"}}, "must be a numeric value"},
        {"SizeBeyondThePods",
         {{kSlice, "rack"}, {kSize, "9"}},
         "\"9\": must not be greater than pod set count 8"},
        {"Layers",
         {{kLayers, R"([{"topology":"rack","size":4},{"topology":"host","size":2}])"}},
         nullptr},
        {"LayersThatAreNoList", {{kLayers, "rack:4"}}, "must be a valid JSON array"},
        {"NoLayer", {{kLayers, "[]"}}, "must have between 1 and 3 layers"},
        {"LayersThatDoNotDivide",
         {{kLayers, R"([{"topology":"rack","size":4},{"topology":"host","size":3}])"}},
         "constraints][1].size: Invalid value: 3: must evenly divide the parent layer size 4"},
        {"OneLevelTwice",
         {{kLayers, R"([{"topology":"rack","size":4},{"topology":"rack","size":2}])"}},
         "Duplicate value: \"rack (also at index 0)\""},
        {"LayerWithoutSize", {{kLayers, R"([{"topology":"rack"}])"}}, "[0].size: Invalid value: 0"},
        {"LayerBeyondThePods",
         {{kLayers, R"([{"topology":"rack","size":16}])"}},
         "16: must not be greater than pod set count 8"},
        {"LayersAndSlices",
         {{kLayers, R"([{"topology":"rack","size":4}])"}, {kSlice, "rack"}, {kSize, "4"}},
         "may not be set when 'kueue.x-k8s.io/podset-slice-required-topology' is specified"},
        {"Group", {{kRequired, "rack"}, {kGroupAnnotation, "g"}}, nullptr},
        {"GroupOfDigits",
         {{kRequired, "rack"}, {kGroupAnnotation, "7"}},
         "\"7\": must not be a number"},
        {"GroupWithoutTopology", {{kGroupAnnotation, "g"}}, "may not be set when neither"},
        {"GroupWithSlices",
         {{kRequired, "block"}, {kGroupAnnotation, "g"}, {kSlice, "rack"}, {kSize, "2"}},
         "may not be set when 'kueue.x-k8s.io/podset-slice-size' is specified"},
    }),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace berth::webhook
