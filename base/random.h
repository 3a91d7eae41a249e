// base/random.h — seeded pseudo-random numbers (SplitMix64), for name suffixes, jitter and tests.
//
// Never default-seeded: the same seed gives the same sequence on every machine. Not for secrets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  // Uniform in [0, bound); `bound` must not be 0. The bias of the remainder is below 2^-32 for
  // bounds of up to 2^32.
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }

  // Uniform in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11U) * 0x1.0p-53; }

  // `length` characters of the alphabet that Kubernetes uses for generated names.
  std::string NameSuffix(std::size_t length) {
    constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
    std::string suffix(length, ' ');
    for (char& c : suffix) c = kAlphabet[Below(kAlphabet.size())];
    return suffix;
  }

 private:
  std::uint64_t state_;
};

}  // namespace berth
