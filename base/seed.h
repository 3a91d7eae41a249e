// base/seed.h — seeds for what must differ between programs of different names.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

// FNV-1a.
constexpr std::uint64_t SeedFrom(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

}  // namespace berth
