// provisioning/check_settings.h — the objects that an AdmissionCheck of provisioning names.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "api/queues.h"
#include "base/result.h"

namespace berth::provisioning {

inline constexpr char kConfigKind[] = "ProvisioningRequestConfig";
inline constexpr char kConfigGroup[] = "kueue.x-k8s.io";

// The name of the ProvisioningRequestConfig that `check` refers to. kInvalid: the reference is
// missing, or is to another kind.
Result<std::string> ConfigNameOf(const api::AdmissionCheck& check);

// The name of the ProvisioningPolicy of `check`: the annotation of the check comes before the
// annotation of its config, which may be null. Empty: neither names one.
std::string PolicyNameOf(const api::AdmissionCheck& check,
                         const api::ProvisioningRequestConfig* config);

}  // namespace berth::provisioning
