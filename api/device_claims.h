// api/device_claims.h — claims of devices (dynamic resource allocation): the kinds of
// resource.k8s.io/v1: ResourceClaimTemplate, with the devices that each claim of a pod asks for,
// DeviceClass, and ResourceSlice, with devices of a cluster.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/object_meta.h"
#include "api/quantity.h"

namespace berth::api {

struct DeviceRequest {
  bool exactly = false;  // the request has `exactly`
  bool first_available = false;
  std::string device_class;
  std::string allocation_mode;  // empty: ExactCount
  std::int64_t count = 1;
  bool admin_access = false;
  std::vector<std::string> selectors;  // expressions (CEL) over `device`
  friend bool operator==(const DeviceRequest&, const DeviceRequest&) = default;
};

struct ResourceClaimTemplate {
  ObjectMeta meta;
  std::vector<DeviceRequest> requests;
};

struct DeviceClass {
  ObjectMeta meta;
  std::vector<std::string> selectors;
  std::string extended_resource;  // spec.extendedResourceName; empty: none
};

struct DeviceVersion {
  std::string text;
  friend bool operator==(const DeviceVersion&, const DeviceVersion&) = default;
};
using DeviceAttribute = std::variant<bool, std::int64_t, std::string, DeviceVersion>;

struct Device {
  std::string name;
  std::map<std::string, DeviceAttribute> attributes;
  StringMap capacity;        // quantities
  ResourceAmounts counters;  // consumesCounters: the largest value of each counter
  friend bool operator==(const Device&, const Device&) = default;
};

struct ResourceSlice {
  ObjectMeta meta;
  std::string driver;
  std::string pool;
  std::int64_t pool_generation = 0;
  std::int64_t pool_slices = 0;  // the number of slices of the whole pool
  std::vector<Device> devices;
};

}  // namespace berth::api
