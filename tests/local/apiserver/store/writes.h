// tests/local/apiserver/store/writes.h — writes that several tests of the store make.
#pragma once

#include <cstddef>
#include <string>

#include "local/apiserver/store/store.h"

namespace berth::local {

inline constexpr std::size_t kSmallMap = 300;

// Creates the ConfigMap default/`name` with a value of `bytes`.
inline Write CreateMap(const std::string& name, std::size_t bytes = kSmallMap) {
  return {Write::Kind::kCreate,
          {"configmaps", "default", name},
          {{"apiVersion", "v1"},
           {"kind", "ConfigMap"},
           {"metadata", {{"name", name}, {"namespace", "default"}}},
           {"data", {{"filler", std::string(bytes, 'x')}}}},
          0};
}

}  // namespace berth::local
