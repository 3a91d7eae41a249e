// base/seed.h — derives a seed from a program's name, so that two programs get different sequences.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

// The FNV-1a hash of `name`.
constexpr std::uint64_t SeedFrom(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

}  // namespace berth
