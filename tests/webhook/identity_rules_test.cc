// Goal: immutable fields cannot be changed; all other fields of these kinds can.
// Method: one row for each change.
#include "webhook/identity_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::webhook {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LocalQueueRulesTest, ClusterQueueIsImmutable) {
  api::LocalQueue queue;
  queue.cluster_queue = "team-a";
  EXPECT_THAT(ValidateLocalQueue(queue, nullptr), IsEmpty());
  api::LocalQueue changed = queue;
  changed.stop_policy = api::StopPolicy::kHold;
  EXPECT_THAT(ValidateLocalQueue(changed, &queue), IsEmpty());
  changed.cluster_queue = "team-b";
  EXPECT_THAT(ValidateLocalQueue(changed, &queue),
              ElementsAre("spec.clusterQueue: Invalid value: \"team-b\": field is immutable"));
  // A LocalQueue without a ClusterQueue may get one.
  api::LocalQueue empty;
  EXPECT_THAT(ValidateLocalQueue(queue, &empty), IsEmpty());
}

TEST(AdmissionCheckRulesTest, ControllerNameIsImmutable) {
  api::AdmissionCheck check;
  check.controller_name = "kueue.x-k8s.io/provisioning-request";
  api::AdmissionCheck changed = check;
  changed.parameters = api::ParametersReference{"kueue.x-k8s.io", "ProvisioningRequestConfig", "b"};
  EXPECT_THAT(ValidateAdmissionCheck(changed, &check), IsEmpty());
  changed.controller_name = "example.com/other";
  EXPECT_THAT(ValidateAdmissionCheck(changed, nullptr), IsEmpty());
  EXPECT_THAT(
      ValidateAdmissionCheck(changed, &check),
      ElementsAre("spec.controllerName: Invalid value: \"example.com/other\": field is immutable"));
}

using Levels = std::vector<std::string>;
const char* const kHost = "kubernetes.io/hostname";

struct TopologyRow {
  const char* name;
  Levels before;  // empty: on create
  Levels after;
  const char* error;  // a part of it; empty: allowed
};

class TopologyLevelsTest : public testing::TestWithParam<TopologyRow> {};

TEST_P(TopologyLevelsTest, LevelsAreUniqueAndChangeOnlyAboveTheHosts) {
  const TopologyRow& row = GetParam();
  api::Topology topology;
  topology.meta.name = "dc";
  topology.levels = row.after;
  api::Topology old = topology;
  old.levels = row.before;
  const FieldErrors errors = ValidateTopology(topology, row.before.empty() ? nullptr : &old);
  if (std::string_view(row.error).empty()) {
    EXPECT_THAT(errors, IsEmpty());
  } else {
    EXPECT_THAT(errors, ElementsAre(HasSubstr(row.error)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, TopologyLevelsTest,
    testing::Values(
        TopologyRow{"New", {}, {"block", "rack"}, ""},
        TopologyRow{"NewWithHosts", {}, {"b", kHost}, ""},
        TopologyRow{
            "Twice", {}, {"rack", "rack"}, "levels[1].nodeLabel: Duplicate value: \"rack\""},
        TopologyRow{"HostsAbove", {}, {kHost, "rack"}, "can only be used at the lowest level"},
        TopologyRow{"Same", {"block", "rack"}, {"block", "rack"}, ""},
        TopologyRow{"Longer", {"block"}, {"block", "rack"}, "spec.levels: Invalid value: \"dc\""},
        TopologyRow{"Reordered", {"a", "b"}, {"b", "a"}, "levels can only change when"},
        TopologyRow{"HostsStay", {"block", kHost}, {"block", "rack", kHost}, ""},
        TopologyRow{"HostsGo", {"block", kHost}, {"block"}, "levels can only change when"},
        TopologyRow{"HostsCome", {"block"}, {"block", kHost}, "levels can only change when"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace berth::webhook
