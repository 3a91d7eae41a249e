// local/apiserver/types/defaults.h — the defaults of built-in kinds that depend on the object alone
// (not on other objects, the clock or the user).
//
// Generated selectors and labels of Jobs, service accounts and priority of pods, names and
// timestamps are set by the registry's strategies.
// Source: Kubernetes API defaults (v1, batch/v1, admissionregistration), restated.
#pragma once

#include <string_view>

#include "local/apiserver/api.h"

namespace berth::local {

// Fills defaults into `object`, in place. Kinds without defaults do not change. Idempotent. Call
// after NormalizeBuiltin.
void ApplyStaticDefaults(std::string_view group, std::string_view version, std::string_view kind,
                         Json& object);

// Defaults of parts, for kinds that embed pods.
void DefaultPodSpec(Json& spec);  // for templates and pods
void DefaultPodTemplate(Json& pod_template);

}  // namespace berth::local
