#include "provisioning/check_settings.h"

#include "api/labels.h"

namespace berth::provisioning {

Result<std::string> ConfigNameOf(const api::AdmissionCheck& check) {
  if (!check.parameters) {
    return Error{ErrorCode::kInvalid,
                 std::string("spec.parameters: Required value: name a ") + kConfigKind};
  }
  if (check.parameters->api_group != kConfigGroup || check.parameters->kind != kConfigKind) {
    return Error{ErrorCode::kInvalid, "spec.parameters refers to " + check.parameters->kind + "." +
                                          check.parameters->api_group + ", not to " + kConfigKind +
                                          "." + kConfigGroup};
  }
  return check.parameters->name;
}

std::string PolicyNameOf(const api::AdmissionCheck& check,
                         const api::ProvisioningRequestConfig* config) {
  const std::string* name =
      api::FindValue(check.meta.annotations, api::kProvisioningPolicyAnnotation);
  if (name == nullptr && config != nullptr) {
    name = api::FindValue(config->meta.annotations, api::kProvisioningPolicyAnnotation);
  }
  return name == nullptr ? "" : *name;
}

}  // namespace berth::provisioning
