// The methods of an authorizer and of what it gives (Kubernetes' authz library). The values are
// MethodObjects of the program that evaluates; without one, no expression reaches these methods.
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"

namespace berth::cel {
namespace {

// The cost of one question to the authorizer, in steps. Kubernetes charges the same.
constexpr std::uint64_t kCheckCost = 350'000;

Value CallMethod(const Call& call) {
  if (!call.Is(0, Kind::kObject)) return call.NoOverload();
  const auto* object = dynamic_cast<const MethodObject*>(&call[0].AsObject());
  if (object == nullptr) return call.NoOverload();
  for (std::size_t i = 1; i < call.size(); ++i) {
    if (!call.Is(i, Kind::kString)) return call.NoOverload();
    if (!call.machine.Allocate(call[i].AsText().size())) return call.machine.Exhausted();
  }
  if (!call.machine.Charge(call.name == "check" ? kCheckCost : 1)) return call.machine.Exhausted();
  auto value = object->CallMethod(call.name, call.arguments.subspan(1));
  return value ? *std::move(value) : call.NoOverload();
}

constexpr FunctionEntry kAuthorizer[] = {
    {"path", Style::kMethod, 2, 2, CallMethod},
    {"group", Style::kMethod, 2, 2, CallMethod},
    {"serviceAccount", Style::kMethod, 3, 3, CallMethod},
    {"resource", Style::kMethod, 2, 2, CallMethod},
    {"subresource", Style::kMethod, 2, 2, CallMethod},
    {"namespace", Style::kMethod, 2, 2, CallMethod},
    {"name", Style::kMethod, 2, 2, CallMethod},
    {"fieldSelector", Style::kMethod, 2, 2, CallMethod},
    {"labelSelector", Style::kMethod, 2, 2, CallMethod},
    {"check", Style::kMethod, 2, 2, CallMethod},
    {"allowed", Style::kMethod, 1, 1, CallMethod},
    {"reason", Style::kMethod, 1, 1, CallMethod},
    {"errored", Style::kMethod, 1, 1, CallMethod},
    {"error", Style::kMethod, 1, 1, CallMethod},
};

}  // namespace

std::span<const FunctionEntry> AuthorizerFunctions() { return kAuthorizer; }

}  // namespace berth::cel
