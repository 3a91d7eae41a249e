// api/quantity.h — "1500m", "4Gi" to numbers and back, as Kubernetes' resource.Quantity does it.
//
// Units: decisions work on Amounts, int64 counts of a resource's smallest unit: cpu in milli-CPU,
// berth.dev/gpus in millionths, every other resource in whole items (memory in bytes). No quantity
// passes through floating point. A value out of range saturates ("1000000000Ti" is
// 9223372036854775807 bytes), as upstream's does. Source: k8s.io/apimachinery pkg/api/resource;
// Kueue pkg/resources.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::api {

using Amount = std::int64_t;

// Saturating: the sum, difference or product, cut to the range of Amount.
constexpr Amount AddAmounts(Amount a, Amount b) {
  Amount sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? INT64_MAX : INT64_MIN;
}
constexpr Amount SubtractAmounts(Amount a, Amount b) {
  Amount difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? INT64_MAX : INT64_MIN;
}
constexpr Amount MultiplyAmounts(Amount a, Amount b) {
  Amount product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

using ResourceName = std::string;                          // "cpu", "memory", "nvidia.com/gpu"
inline constexpr char kGpusResource[] = "berth.dev/gpus";  // api/gpu_shares.h
inline constexpr Amount kUnitsPerGpu = 1'000'000;
using ResourceAmounts = std::map<ResourceName, Amount>;  // ordered: iteration order is visible

class Quantity {
 public:
  enum class Format : std::uint8_t { kDecimalSI, kBinarySI, kDecimalExponent };

  Quantity() = default;
  Quantity(std::int64_t value, Format format);

  // Decimal with a sign and fraction, suffix n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or e<exponent>.
  // kInvalid on anything else. More than nine fractional digits round away from zero.
  static Result<Quantity> Parse(std::string_view text);

  std::int64_t Value() const;       // whole units, rounded away from zero, saturating
  std::int64_t MilliValue() const;  // thousandths, likewise
  std::int64_t NanoValue() const;   // billionths, saturating
  bool negative() const { return nano_ < 0; }
  bool zero() const { return nano_ == 0; }
  Format format() const { return format_; }

  // The canonical text: no fraction, the largest suffix that leaves an integer: "500m", "1Gi".
  std::string ToString() const;

  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nano_ == b.nano_; }
  friend auto operator<=>(const Quantity& a, const Quantity& b) { return a.nano_ <=> b.nano_; }

 private:
  __extension__ using Nano = __int128;
  Nano nano_ = 0;
  Format format_ = Format::kDecimalSI;
};

// `quantity` in the smallest unit of `resource`.
Amount ToAmount(std::string_view resource, const Quantity& quantity);
// Parse, then ToAmount.
Result<Amount> ParseAmount(std::string_view resource, std::string_view text);

// `amount` of `resource` as a Quantity: cpu in milli, memory-like resources with binary suffixes.
Quantity ToQuantity(std::string_view resource, Amount amount);
std::string FormatAmount(std::string_view resource, Amount amount);  // ToQuantity(…).ToString()

}  // namespace berth::api
