#include "tests/fuzz/targets.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace berth::fuzz {
namespace {

constexpr std::array kTargets{
    Target{"apply", Apply},
    Target{"audit", AuditPolicies},
    Target{"configuration", Configurations},
    Target{"cel", Expressions},
    Target{"conversion", Conversion},
    Target{"crd", CrdSchemas},
    Target{"eta", EtaFiles},
    Target{"http", Http},
    Target{"image", ImageDocuments},
    Target{"jobkind", JobKinds},
    Target{"json", JsonText},
    Target{"jsonpath", JsonPaths},
    Target{"kubeconfig", KubeConfigs},
    Target{"layer", ImageLayers},
    Target{"objects", Objects},
    Target{"patch", Patches},
    Target{"plan", Plans},
    Target{"protobuf", Protobuf},
    Target{"quantity", Quantities},
    Target{"readquery", ReadQueries},
    Target{"review", Reviews},
    Target{"scenario", Scenarios},
    Target{"selector", Selectors},
    Target{"time", Times},
    Target{"schedule", Schedules},
    Target{"stream", Streams},
    Target{"url", Urls},
    Target{"workload", Workloads},
    Target{"yaml", Yaml},
};

}  // namespace

std::span<const Target> Targets() { return kTargets; }

const Target* FindTarget(std::string_view name) {
  for (const Target& target : kTargets) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

void Require(bool holds, const char* words) {
  if (holds) return;
  std::fprintf(stderr, "a promise is broken: %s\n", words);
  std::abort();
}

Parts SplitParts(std::string_view text) {
  constexpr std::string_view kBetween = "\n--\n";
  const std::size_t at = text.find(kBetween);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + kBetween.size())};
}

}  // namespace berth::fuzz
