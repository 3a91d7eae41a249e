// Goal: a zone of a step in which no machine of the step is, is refused with the zones that there
// are; what is not known refuses nothing. Method: one row for each state of knowledge.
#include "webhook/policy_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::webhook {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

KnownZones Cluster() {
  return {.flavors = {{"t4", {{"cloud.google.com/gke-nodepool", "t4-pool"}}},
                      {"gone", {{"cloud.google.com/gke-nodepool", "gone-pool"}}},
                      {"fixed", {{"topology.kubernetes.io/zone", "c"}}},
                      {"any", {{"accelerator", "t4"}}}},
          .pools = {{"t4-pool", {"a", "b"}}, {"other-pool", {"d"}}}};
}

api::ProvisioningPolicy PolicyOf(const std::string& flavor, std::vector<std::string> zones) {
  api::ProvisioningPolicy policy;
  policy.steps = {{.name = "first"},
                  {.name = "second", .flavor = flavor, .zones = std::move(zones)}};
  return policy;
}

struct ZoneRow {
  const char* name;
  const char* flavor;
  std::vector<std::string> zones;
  const char* error;  // empty: allowed
};
void PrintTo(const ZoneRow& row, std::ostream* out) { *out << row.name; }

class PolicyZonesTest : public ::testing::TestWithParam<ZoneRow> {};

TEST_P(PolicyZonesTest, AZoneOutsideThePoolsOfItsFlavorIsRefused) {
  const ZoneRow& row = GetParam();
  const FieldErrors errors =
      ValidateProvisioningPolicy(PolicyOf(row.flavor, row.zones), nullptr, Cluster());
  if (*row.error == '\0') {
    EXPECT_THAT(errors, IsEmpty());
    return;
  }
  EXPECT_THAT(errors, ElementsAre(row.error));
}

INSTANTIATE_TEST_SUITE_P(
    Table, PolicyZonesTest,
    ::testing::ValuesIn(std::vector<ZoneRow>{
        {"OfItsPool", "t4", {"b", "a"}, ""},
        {"OfAnotherPool",
         "t4",
         {"a", "d"},
         "spec.steps[1].zones[1]: Invalid value: \"d\": no zone of node pool t4-pool of flavor t4: "
         "name one of a, b, or add the zone to the node pools first"},
        {"OfAPoolThatIsNotThere", "gone", {"d"}, ""},
        {"OfAFlavorThatIsNotThere", "later", {"z"}, ""},
        {"OfTheFlavor", "fixed", {"c"}, ""},
        {"NotOfTheFlavor",
         "fixed",
         {"a"},
         "spec.steps[1].zones[0]: Invalid value: \"a\": no zone of flavor fixed: name one of c, or "
         "add the zone to the node pools first"},
        {"OfAnyPool", "any", {"d", "a"}, ""},
        {"OfNoPool",
         "",
         {"z"},
         "spec.steps[1].zones[0]: Invalid value: \"z\": no zone of a node pool: name one of a, b, "
         "d, or add the zone to the node pools first"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(PolicyZonesTest, WithoutPoolsEveryZoneIsAllowed) {
  KnownZones known = Cluster();
  known.pools.clear();
  EXPECT_THAT(ValidateProvisioningPolicy(PolicyOf("", {"z"}), nullptr, known), IsEmpty());
  EXPECT_THAT(ValidateProvisioningPolicy(PolicyOf("t4", {"z"}), nullptr, known), IsEmpty());
}

TEST(PolicyZonesTest, UnchangedStepIsNotValidatedAgain) {
  const api::ProvisioningPolicy old = PolicyOf("t4", {"z"});
  api::ProvisioningPolicy policy = old;
  policy.max_in_flight = 3;
  EXPECT_THAT(ValidateProvisioningPolicy(policy, &old, Cluster()), IsEmpty());
  policy.steps[1].flavor = "any";
  EXPECT_EQ(ValidateProvisioningPolicy(policy, &old, Cluster()).size(), 1U);
}

}  // namespace
}  // namespace berth::webhook
