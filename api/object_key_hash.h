// api/object_key_hash.h — the hash of an ObjectKey, for tables that are looked up and never walked.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "api/object_meta.h"

namespace berth::api {

struct ObjectKeyHash {
  static std::size_t Of(const std::string& namespace_name, const std::string& name) {
    return std::hash<std::string>()(name) * 31 + std::hash<std::string>()(namespace_name);
  }
  std::size_t operator()(const ObjectKey& key) const { return Of(key.namespace_name, key.name); }
};

}  // namespace berth::api
