// local/apiserver/registry/policy_types.h — status.typeChecking of a ValidatingAdmissionPolicy.
//
// Pure. Source: k8s.io/apiserver pkg/admission/plugin/policy/validating/typechecking.go, restated.
#pragma once

#include "local/apiserver/api.h"
#include "local/apiserver/registry/catalog.h"

namespace berth::local {

// Checks the expressions of spec.validations with the types of the kinds that spec.matchConstraints
// names without a wildcard, ten at most, as `table` has them, and writes the type errors to
// status.typeChecking. Parameters and variables have no types.
void FillTypeChecking(const ResourceTable& table, Json& policy);

}  // namespace berth::local
