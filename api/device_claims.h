// api/device_claims.h — claims of devices (dynamic resource allocation): what a pod template
// claims, and ResourceClaimTemplate (resource.k8s.io/v1) with the devices that each claim asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/object_meta.h"

namespace berth::api {

// An item of a pod's spec.resourceClaims.
struct PodClaim {
  std::string template_name;  // resourceClaimTemplateName
  std::string claim_name;     // resourceClaimName: a claim that exists, shared by pods
};

struct DeviceRequest {
  bool exactly = false;  // else firstAvailable, or neither
  bool first_available = false;
  std::string device_class;
  std::string allocation_mode;  // empty: ExactCount
  std::int64_t count = 1;
  bool admin_access = false;
};

struct ResourceClaimTemplate {
  ObjectMeta meta;
  std::vector<DeviceRequest> requests;
};

}  // namespace berth::api
