// checks/controller_names.h — the names of Berth's controllers of admission checks, once each: the
// value of spec.controllerName, and the field manager of the controller's writes.
//
// Only the folder of a check and the table of checks include this header
// (tools/checks/layering.py). Every other folder asks the table (checks/check_kinds.h).
#pragma once

namespace berth::checks {

inline constexpr char kProvisioningCheckController[] = "kueue.x-k8s.io/provisioning-request";
inline constexpr char kReactiveCheckController[] = "berth.dev/reactive-capacity";

}  // namespace berth::checks
