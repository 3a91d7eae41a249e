// admission/controller/kueue_gates.h — every feature gate of Kueue by name, with Berth's treatment
// of each gate that admission/feature_gates.h does not have.
//
// Threads: pure functions. Errors: none.
// Source: Kueue pkg/features/kube_features.go (0.20).
#pragma once

#include <string>
#include <string_view>

namespace berth::admission {

struct GateVerdict {
  enum class Kind {
    kFine,     // Berth behaves as the gate says
    kWarn,     // no decision differs; `why` names the difference
    kRefuse,   // decisions would differ; `why` names the difference
    kUnknown,  // Kueue has no such gate
  };
  Kind kind = Kind::kFine;
  std::string why;
};

GateVerdict JudgeGate(std::string_view name, bool enabled);

// The gate that `name` needs to have an effect; empty: none.
std::string_view NeededGate(std::string_view name);

}  // namespace berth::admission
