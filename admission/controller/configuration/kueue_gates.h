// admission/controller/configuration/kueue_gates.h — every feature gate of Kueue by name, with
// Berth's treatment of each gate that admission/feature_gates.h does not have.
//
// Threads: pure functions. Errors: none.
// Source: Kueue pkg/features/kube_features.go (0.20). docs/reference/configuration.md lists
// warnings and refusals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::admission {

struct GateVerdict {
  enum class Kind {
    kFine,     // Berth behaves as the gate says
    kWarn,     // the gate is without effect; `why` names Berth's behaviour
    kRefuse,   // the program does not start; `why` names Berth's behaviour
    kUnknown,  // Kueue has no such gate
  };
  Kind kind = Kind::kFine;
  std::string why;
};

GateVerdict JudgeGate(std::string_view name, bool enabled);

// The gates that JudgeGate knows.
std::vector<std::string_view> KueueGateNames();

// The gate that `name` needs to have an effect; empty: none.
std::string_view NeededGate(std::string_view name);

}  // namespace berth::admission
