// Quantities are decimal numbers of any length; arithmetic is on a vector of base-1e9 digits, so
// that 1000000000Gi and 0.1Ei are exact.
#include "local/apiserver/schema/quantity_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/strings.h"

namespace berth::local {
namespace {

constexpr std::uint64_t kBase = 1'000'000'000;
constexpr std::size_t kMaxDigits = 400;
constexpr std::int64_t kMaxExponent = 300;

class BigNumber {  // not negative; least significant digit first
 public:
  static BigNumber FromDecimal(std::string_view digits) {
    BigNumber out;
    for (const char c : digits) {
      out.Multiply(10);
      out.Add(static_cast<std::uint64_t>(c - '0'));
    }
    return out;
  }
  bool IsZero() const { return digits_.empty(); }
  void Multiply(std::uint64_t factor) {
    std::uint64_t carry = 0;
    for (std::uint64_t& digit : digits_) {
      carry += digit * factor;
      digit = carry % kBase;
      carry /= kBase;
    }
    while (carry > 0) {
      digits_.push_back(carry % kBase);
      carry /= kBase;
    }
  }
  void Add(std::uint64_t small) {
    for (std::size_t i = 0; small > 0; ++i) {
      if (i == digits_.size()) digits_.push_back(0);
      small += digits_[i];
      digits_[i] = small % kBase;
      small /= kBase;
    }
  }
  std::uint64_t Remainder(std::uint64_t divisor) const {
    std::uint64_t rest = 0;
    for (auto at = digits_.rbegin(); at != digits_.rend(); ++at) {
      rest = (rest * kBase + *at) % divisor;
    }
    return rest;
  }
  void Divide(std::uint64_t divisor) {
    std::uint64_t rest = 0;
    for (auto at = digits_.rbegin(); at != digits_.rend(); ++at) {
      rest = rest * kBase + *at;
      *at = rest / divisor;
      rest %= divisor;
    }
    while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
  }
  std::string Text() const {
    if (digits_.empty()) return "0";
    std::string text = std::to_string(digits_.back());
    for (std::size_t i = digits_.size() - 1; i-- > 0;) {
      const std::string part = std::to_string(digits_[i]);
      text += std::string(9 - part.size(), '0') + part;
    }
    return text;
  }
  bool Above(const BigNumber& other) const {
    if (digits_.size() != other.digits_.size()) return digits_.size() > other.digits_.size();
    return std::lexicographical_compare(other.digits_.rbegin(), other.digits_.rend(),
                                        digits_.rbegin(), digits_.rend());
  }

 private:
  std::vector<std::uint64_t> digits_;
};

enum class Format { kDecimal, kExponent, kBinary };

struct Parts {
  bool negative = false;
  std::string whole;  // without leading zeros; "0" if none
  std::string fraction;
  std::int64_t exponent = 0;  // the power of 10, or of 2 for kBinary
  Format format = Format::kDecimal;
};

struct Suffix {
  std::string_view text;
  int exponent;
};
constexpr std::array kDecimalSuffixes{
    Suffix{"n", -9}, Suffix{"u", -6}, Suffix{"m", -3}, Suffix{"", 0},   Suffix{"k", 3},
    Suffix{"M", 6},  Suffix{"G", 9},  Suffix{"T", 12}, Suffix{"P", 15}, Suffix{"E", 18}};
constexpr std::array kBinarySuffixes{Suffix{"Ki", 10}, Suffix{"Mi", 20}, Suffix{"Gi", 30},
                                     Suffix{"Ti", 40}, Suffix{"Pi", 50}, Suffix{"Ei", 60}};

bool ReadSuffix(std::string_view text, Parts& parts) {
  for (const Suffix& suffix : kDecimalSuffixes) {
    if (suffix.text != text) continue;
    parts.exponent = suffix.exponent;
    return true;
  }
  for (const Suffix& suffix : kBinarySuffixes) {
    if (suffix.text != text) continue;
    parts.exponent = suffix.exponent;
    parts.format = Format::kBinary;
    return true;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return false;
  const auto exponent = ParseInt64(text.substr(1));
  if (!exponent || *exponent > kMaxExponent || *exponent < -kMaxExponent) return false;
  parts.exponent = *exponent;
  parts.format = Format::kExponent;
  return true;
}

std::string_view TakeDigits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

std::optional<Parts> Read(std::string_view text) {
  Parts parts;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const std::string_view whole = TakeDigits(text);
  std::string_view fraction;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    fraction = TakeDigits(text);
  }
  if (whole.size() + fraction.size() == 0 || whole.size() + fraction.size() > kMaxDigits) {
    return std::nullopt;
  }
  const std::size_t first = std::min(whole.find_first_not_of('0'), whole.size());
  parts.whole = first == whole.size() ? "0" : std::string(whole.substr(first));
  parts.fraction = fraction;
  if (!ReadSuffix(text, parts)) return std::nullopt;
  return parts;
}

bool EndsInThousand(std::string_view digits) {
  return digits.size() >= 3 && digits.substr(digits.size() - 3) == "000";
}

// Kubernetes keeps the text unchanged where a shallow check finds nothing to shorten; clients
// depend on that ("1.500" stays).
bool IsKept(const Parts& parts) {
  const std::string digits = parts.whole + parts.fraction;
  if (parts.format == Format::kBinary) {
    const auto precision =
        15 - static_cast<std::int64_t>(parts.whole.size()) - parts.exponent * 3 / 10 - 1;
    return parts.fraction.empty() && precision >= 0 &&
           BigNumber::FromDecimal(parts.whole).Remainder(8) != 0;
  }
  const std::int64_t scale = parts.exponent - static_cast<std::int64_t>(parts.fraction.size());
  return digits.size() <= 18 && scale >= -9 && scale % 3 == 0 && !EndsInThousand(digits) &&
         digits[0] != '0';
}

// `value` × 10^exponent in decimal form; exponent is a multiple of three.
std::string DecimalText(BigNumber value, std::int64_t exponent, Format format) {
  while (value.Remainder(10) == 0) {
    value.Divide(10);
    ++exponent;
  }
  while (exponent % 3 != 0) {
    value.Multiply(10);
    --exponent;
  }
  if (format == Format::kDecimal) {
    for (const Suffix& suffix : kDecimalSuffixes) {
      if (suffix.exponent == exponent) return value.Text() + std::string(suffix.text);
    }
  }
  return exponent == 0 ? value.Text() : value.Text() + "e" + std::to_string(exponent);
}

std::string BinaryText(BigNumber value) {
  std::size_t steps = 0;
  while (steps < kBinarySuffixes.size() && value.Remainder(1024) == 0) {
    value.Divide(1024);
    ++steps;
  }
  return value.Text() + (steps == 0 ? "" : std::string(kBinarySuffixes[steps - 1].text));
}

std::string Canonical(const Parts& parts) {
  BigNumber value = BigNumber::FromDecimal(parts.whole + parts.fraction);
  std::int64_t exponent = -static_cast<std::int64_t>(parts.fraction.size());
  Format format = parts.format;
  if (format == Format::kBinary) {
    for (std::int64_t i = 0; i < parts.exponent; ++i) value.Multiply(2);
  } else {
    exponent += parts.exponent;
  }
  if (value.IsZero()) return "0";
  bool inexact = false;
  for (; exponent < -9; ++exponent) {  // finer than nano: rounded up
    inexact = inexact || value.Remainder(10) != 0;
    value.Divide(10);
  }
  if (inexact) value.Add(1);

  if (format == Format::kBinary) {
    while (exponent < 0 && value.Remainder(10) == 0) {
      value.Divide(10);
      ++exponent;
    }
    const BigNumber limit = BigNumber::FromDecimal("9223372036854775807");
    BigNumber scaled_limit = limit;
    for (std::int64_t i = exponent; i < 0; ++i) scaled_limit.Multiply(10);
    if (value.Above(scaled_limit)) {
      value = limit;
      exponent = 0;
    }
    const bool large = exponent == 0 && value.Above(BigNumber::FromDecimal("1023"));
    if (!large) format = Format::kDecimal;
  }
  const std::string text =
      format == Format::kBinary ? BinaryText(value) : DecimalText(value, exponent, format);
  return (parts.negative ? "-" : "") + text;
}

}  // namespace

std::optional<std::string> CanonicalQuantity(std::string_view text) {
  // Longer input is refused, so that every canonical text can be parsed again.
  constexpr std::size_t kMaxText = 256;
  const std::optional<Parts> parts = text.size() > kMaxText ? std::nullopt : Read(text);
  if (!parts) return std::nullopt;
  if (IsKept(*parts)) return std::string(text);
  std::string canonical = Canonical(*parts);
  if (canonical.size() > kMaxText || !Read(canonical)) return std::nullopt;
  return canonical;
}

}  // namespace berth::local
