// simulation/streams.h — seeds of the streams of random numbers that belong to names.
//
// Threads: pure functions. Errors: none. Source: FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv.
#pragma once

#include <cstdint>
#include <string_view>

namespace berth::simulation {

// The same number for the same name on every machine.
inline std::uint64_t StreamOf(std::string_view name) {
  constexpr std::uint64_t kStart = 14695981039346656037U;
  constexpr std::uint64_t kPrime = 1099511628211U;
  std::uint64_t hash = kStart;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

}  // namespace berth::simulation
