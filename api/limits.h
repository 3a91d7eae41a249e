// api/limits.h — what a cluster adds to pods when they are made, or refuses them for: LimitRange
// (v1) and RuntimeClass (node.k8s.io/v1).
#pragma once

#include <string>
#include <vector>

#include "api/object_meta.h"
#include "api/quantity.h"

namespace berth::api {

struct LimitRangeItem {
  std::string type;  // Container, Pod, PersistentVolumeClaim
  ResourceAmounts min;
  ResourceAmounts max;
  ResourceAmounts default_limits;
  ResourceAmounts default_requests;
  friend bool operator==(const LimitRangeItem&, const LimitRangeItem&) = default;
};

struct LimitRange {
  ObjectMeta meta;
  std::vector<LimitRangeItem> items;
};

struct RuntimeClass {
  ObjectMeta meta;
  ResourceAmounts overhead;  // of each pod of the class
};

}  // namespace berth::api
