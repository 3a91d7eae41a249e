// expression_bench — the cost of CEL: microseconds of CPU for compiling a rule and for one
// evaluation, median of nine rounds. The rules are those of Kueue's ClusterQueue CRD, over a
// ClusterQueue of 2 resource groups, 8 flavors and 16 quotas, and conditions as job kinds have
// them.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "cel/program.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

using Json = nlohmann::json;

constexpr int kRounds = 9;

Json ClusterQueueSpec() {
  Json groups = Json::array();
  for (int group = 0; group < 2; ++group) {
    Json flavors = Json::array();
    for (int flavor = 0; flavor < 4; ++flavor) {
      Json quotas = Json::array();
      for (const char* resource : {"cpu", "memory"}) {
        quotas.push_back({{"name", resource}, {"nominalQuota", "10"}});
      }
      flavors.push_back({{"name", "f" + std::to_string(flavor)}, {"resources", quotas}});
    }
    groups.push_back({{"coveredResources", {"cpu", "memory"}}, {"flavors", flavors}});
  }
  return {{"resourceGroups", groups},
          {"flavorFungibility", {{"whenCanBorrow", "Borrow"}}},
          {"preemption", {{"reclaimWithinCohort", "Never"}}},
          {"conditions",
           {{{"type", "Ready"}, {"status", "True"}}, {{"type", "Failed"}, {"status", "False"}}}}};
}

struct Measured {
  const char* name;
  const char* rule;
};
constexpr std::array kRules{
    Measured{"borrowing limits need a cohort",
             "has(self.cohort) || !has(self.resourceGroups) || self.resourceGroups.all(group, "
             "group.flavors.all(flavor, flavor.resources.all(quota, !has(quota.borrowingLimit))))"},
    Measured{"flavors have the covered resources",
             "self.resourceGroups.all(group, group.flavors.all(flavor, size(flavor.resources) == "
             "size(group.coveredResources)))"},
    Measured{"borrowing within the cohort",
             "!(self.preemption.reclaimWithinCohort == 'Never' && "
             "has(self.preemption.borrowWithinCohort) && "
             "self.preemption.borrowWithinCohort.policy != 'Never')"},
    Measured{"immutable", "self == oldSelf"},
    Measured{"a job is finished",
             "self.?conditions.orValue([]).exists(c, c.type in ['Complete', 'Failed'] && c.status "
             "== 'True')"},
    Measured{"a name matches", "self.preemption.reclaimWithinCohort.matches('^[A-Z][a-z]+$')"},
};

template <typename Work>
double MicrosecondsOf(int operations, Work work) {
  std::array<double, kRounds> times{};
  for (double& time : times) {
    const double begin = OwnCpuSeconds();
    for (int i = 0; i < operations; ++i) work();
    time = (OwnCpuSeconds() - begin) * 1e6 / operations;
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

int Run() {
  const Json self = ClusterQueueSpec();
  const Json old = self;
  const cel::Environment environment{.variables = {"self", "oldSelf"}};
  std::printf("%-36s %12s %12s\n", "rule", "compile µs", "evaluate µs");
  for (const Measured& measured : kRules) {
    const char* rule = measured.rule;
    const auto program = cel::Compile(rule, environment);
    if (!program) {
      std::printf("%s\n", program.error().message.c_str());
      return 1;
    }
    const auto evaluate = [&] {
      cel::Activation activation;
      activation.Set("self", cel::Value::View(self)).Set("oldSelf", cel::Value::View(old));
      return program->Evaluate(activation).has_value();
    };
    if (!evaluate()) return 1;
    const double compiling = MicrosecondsOf(2000, [&] { (void)cel::Compile(rule, environment); });
    const double evaluating = MicrosecondsOf(20'000, evaluate);
    std::printf("%-36s %12.2f %12.2f\n", measured.name, compiling, evaluating);
  }
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main() { return berth::bench::Run(); }
