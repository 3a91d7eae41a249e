// Goal: words of flags become teams, amounts and pools; the quotas of the teams are all that the
// machines have; what cannot be is refused, with the field and the form.
// Method: tables of words and of set-ups.
#include "view/screens/setup_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::view {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr api::Amount kGiB = 1LL << 30;

TEST(SetupWords, ReadsATeamWithItsQuotas) {
  EXPECT_EQ(*ParseSetupTeam("red"), (SetupTeam{"red", {}}));
  EXPECT_EQ(*ParseSetupTeam("red=cpu=1500m,memory=32Gi,gpu=2"),
            (SetupTeam{"red", {{"cpu", 1500}, {"memory", 32 * kGiB}, {"gpu", 2}}}));
}

TEST(SetupWords, RefusesWrongTeamsWithAMessage) {
  struct TeamRow {
    std::string word;
    const char* message;
  };
  const TeamRow rows[] = {
      {"", "\"\" is no name of a team"},
      {"Red", "\"Red\" is no name of a team: write at most 63 lower-case letters"},
      {std::string(64, 'a'), "\"aaaa"},
      {"kube-system", "\"kube-system\" is a namespace of the system"},
      {"red=", "red: \"\" is no quota: write RESOURCE=AMOUNT"},
      {"red=cpu", "red: \"cpu\" is no quota"},
      {"red=disk=1", "red: \"disk=1\" is no quota: write RESOURCE=AMOUNT with cpu, memory or gpu"},
      {"red=cpu=many", "red: cpu: \"many\" is no amount above 0: write a quantity such as 8"},
      {"red=cpu=0", "red: cpu: \"0\" is no amount above 0"},
      {"red=memory=-1Gi",
       "red: memory: \"-1Gi\" is no amount above 0: write a quantity such as 32Gi"},
      {"red=gpu=1.5", "red: gpu: \"1.5\" is no number of GPUs: write a whole number"},
      {"red=gpu=-1", "red: gpu: \"-1\" is no number of GPUs"},
      {"red=cpu=1,cpu=2", "red: cpu comes twice"}};
  for (const TeamRow& row : rows) {
    const auto team = ParseSetupTeam(row.word);
    ASSERT_FALSE(team) << row.word;
    EXPECT_THAT(team.error().message, StartsWith(row.message));
  }
}

TEST(SetupWords, ReadsGpusAndPools) {
  EXPECT_EQ(ParseSetupGpus("16")->resource, "nvidia.com/gpu");
  EXPECT_EQ(ParseSetupGpus("16")->count, 16);
  EXPECT_EQ(ParseSetupGpus("amd.com/gpu=4")->resource, "amd.com/gpu");
  for (const char* word : {"t4=4", "nvidia.com/gpu=", "nvidia.com/gpu", "/gpu=1", "a_b/gpu=1"}) {
    EXPECT_FALSE(ParseSetupGpus(word)) << word;
  }
  EXPECT_EQ(*ParseSetupPool("t4-pool"), (SetupPool{"", "t4-pool"}));
  EXPECT_EQ(*ParseSetupPool("a.b/pool=T4_pool"), (SetupPool{"a.b/pool", "T4_pool"}));
  for (const char* word : {"", "a=", "=a", "a b", "a/b/c=d", "x=\"", "-a"}) {
    EXPECT_FALSE(ParseSetupPool(word)) << word;
  }
}

// "red: cpu, memory in GiB, gpu" of each team.
std::string QuotasOf(const FirstSetup& setup) {
  std::string text;
  for (const SetupTeam& team : setup.teams) {
    text += (text.empty() ? "" : "; ") + team.name;
    for (const char* resource : {"cpu", "memory", "gpu"}) {
      text += " " + AmountText(resource, team.quota.at(resource));
    }
  }
  return text;
}

TEST(SetupPlan, TeamsWithoutAQuotaShareTheRest) {
  struct ShareRow {
    std::vector<const char*> teams;
    const char* cpu;
    const char* memory;
    const char* gpu;
    const char* quotas;
  };
  const ShareRow rows[] = {
      {{"a"}, "", "", "", "a 8 32Gi 0"},
      {{"a=cpu=500m"}, "", "", "", "a 500m 4Gi 0"},
      {{"a", "b"}, "64", "256Gi", "16", "a 32 128Gi 8; b 32 128Gi 8"},
      {{"a", "b", "c"}, "64", "100Gi", "2", "a 22 34Gi 1; b 21 33Gi 1; c 21 33Gi 0"},
      {{"a", "b=cpu=48,gpu=3"}, "64", "", "4", "a 16 64Gi 1; b 48 192Gi 3"},
      {{"a", "b"}, "1500m", "1Gi", "", "a 750m 512Mi 0; b 750m 512Mi 0"},
      {{"a=cpu=8,memory=1Gi,gpu=1"}, "8", "1Gi", "1", "a 8 1Gi 1"}};
  for (const ShareRow& row : rows) {
    SetupOptions options;
    for (const char* team : row.teams) options.teams.push_back(*ParseSetupTeam(team));
    if (*row.cpu != '\0') options.cpu = *ParseSetupAmount("cpu", row.cpu);
    if (*row.memory != '\0') options.memory = *ParseSetupAmount("memory", row.memory);
    if (*row.gpu != '\0') options.gpus = *ParseSetupGpus(row.gpu);
    const auto setup = PlanSetup(options);
    ASSERT_TRUE(setup) << setup.error().message;
    EXPECT_EQ(QuotasOf(*setup), row.quotas);
  }
}

TEST(SetupPlan, RefusesOptionsThatCannotBePlanned) {
  struct RefusedRow {
    SetupOptions options;
    const char* message;
  };
  const SetupTeam whole = *ParseSetupTeam("a=cpu=8,memory=1Gi,gpu=2");
  const std::vector<SetupTeam> one{whole};
  std::vector<SetupTeam> many;
  for (std::size_t i = 0; i <= kMostSetupTeams; ++i) many.push_back({"t" + std::to_string(i), {}});
  const RefusedRow rows[] = {
      {{}, "--team: name a team"},
      {{.teams = {whole, whole}}, "--team: the team a comes twice"},
      {{.teams = many}, "--team: at most 100 teams"},
      {{.teams = one, .cpu = 4000},
       "--cpu: the quotas of --team are 8 cpu, the machines have 4 cpu"},
      {{.teams = one, .cpu = 9000}, "--cpu: no team has 1 cpu of 9 cpu"},
      {{.teams = one, .gpus = {.count = 3}}, "--gpu: no team has 1 gpu of 3 gpu"},
      {{.teams = {{"a", {}}, {"b", {}}}, .cpu = 150},
       "--team a: the quota is 75m cpu: at least 100m"},
      {{.teams = one, .pools = {{"", "p"}, {"", "q"}}},
       "--pool: capacity fixed has at most one pool"},
      {{.teams = one, .capacity = SetupCapacity::kSpot, .pools = {{"", "p"}}},
       "--pool: spot needs two pools"}};
  for (const RefusedRow& row : rows) {
    const auto setup = PlanSetup(row.options);
    ASSERT_FALSE(setup) << row.message;
    EXPECT_THAT(setup.error().message, HasSubstr(row.message));
  }
}

TEST(SetupPlan, CommandGivesTheSameSetup) {
  SetupOptions options{.teams = {*ParseSetupTeam("a"), *ParseSetupTeam("b=gpu=0")},
                       .cpu = 9000,
                       .gpus = *ParseSetupGpus("amd.com/gpu=3"),
                       .borrow = false,
                       .capacity = SetupCapacity::kSpot,
                       .namespace_name = "jobs"};
  EXPECT_EQ(CommandOf(*PlanSetup(options)),
            "berth init --team a=cpu=5,memory=20Gi,gpu=3 --team b=cpu=4,memory=16Gi,gpu=0 "
            "--gpu amd.com/gpu=3 --no-borrow --capacity spot "
            "--pool cloud.google.com/gke-nodepool=spot-pool "
            "--pool cloud.google.com/gke-nodepool=on-demand-pool --namespace jobs");
  options = {.teams = {*ParseSetupTeam("a")}};
  EXPECT_EQ(CommandOf(*PlanSetup(options)), "berth init --team a=cpu=8,memory=32Gi");
  EXPECT_FALSE(PlanSetup(options)->borrow) << "one team has no lender";
}

}  // namespace
}  // namespace berth::view
