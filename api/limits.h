// api/limits.h — LimitRange (v1) and RuntimeClass (node.k8s.io/v1): defaults and overhead that the
// API server adds to pods, and limits for which it refuses pods.
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
  ResourceAmounts overhead;  // the amounts that each pod of the class takes in addition
};

}  // namespace berth::api
