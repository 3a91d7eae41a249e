// api/provisioning_request.h — ProvisioningRequest (autoscaling.x-k8s.io/v1): asks for capacity.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/object_meta.h"

namespace berth::api {

struct ProvisioningPodSet {
  std::string pod_template_name;  // a core/v1 PodTemplate in the same namespace
  std::int32_t count = 0;
  friend bool operator==(const ProvisioningPodSet&, const ProvisioningPodSet&) = default;
};

struct ProvisioningRequest {
  ObjectMeta meta;
  std::string provisioning_class_name;
  std::vector<ProvisioningPodSet> pod_sets;
  StringMap parameters;
  std::vector<Condition> conditions;
  StringMap provisioning_class_details;
};

}  // namespace berth::api
