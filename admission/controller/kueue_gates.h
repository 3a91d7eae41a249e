// admission/controller/kueue_gates.h — every feature gate of Kueue by name: what Berth does about
// it where it is not one that Berth honours (admission/feature_gates.h).
//
// Threads: pure functions. Errors: none.
// Source: Kueue pkg/features/kube_features.go (0.20).
#pragma once

#include <string>
#include <string_view>

namespace berth::admission {

struct GateVerdict {
  enum class Kind {
    kFine,     // as Berth behaves anyway
    kWarn,     // no decision differs; `why` says what does
    kRefuse,   // decisions would differ; `why`
    kUnknown,  // Kueue has no such gate
  };
  Kind kind = Kind::kFine;
  std::string why;
};

GateVerdict JudgeGate(std::string_view name, bool enabled);

// Another gate without which `name` does nothing; empty: none.
std::string_view NeededGate(std::string_view name);

}  // namespace berth::admission
