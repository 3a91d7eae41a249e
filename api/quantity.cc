#include "api/quantity.h"

#include <array>
#include <optional>
#include <utility>

#include "base/strings.h"

namespace berth::api {
namespace {

__extension__ using Wide = __int128;

constexpr Wide kNanoPerUnit = 1'000'000'000;
constexpr Wide kMaxNano = static_cast<Wide>(INT64_MAX) * kNanoPerUnit;

struct Suffix {
  std::string_view text;
  int exponent = 0;  // exponent of ten, or of two for binary suffixes
};
constexpr std::int64_t kNanoPerMicro = 1000;
constexpr std::array<Suffix, 10> kDecimalSuffixes{{{"n", -9},
                                                   {"u", -6},
                                                   {"m", -3},
                                                   {"", 0},
                                                   {"k", 3},
                                                   {"M", 6},
                                                   {"G", 9},
                                                   {"T", 12},
                                                   {"P", 15},
                                                   {"E", 18}}};
constexpr std::array<Suffix, 6> kBinarySuffixes{
    {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};

// The parsed parts of a quantity's text, before any arithmetic.
struct Parts {
  bool negative = false;
  std::string digits;       // without leading zeros and without the point
  int fraction_digits = 0;  // number of `digits` behind the point
  int ten_exponent = 0;
  int two_exponent = 0;
  Quantity::Format format = Quantity::Format::kDecimalSI;
};

bool ReadNumber(std::string_view& text, Parts& parts) {
  if (text.starts_with('-') || text.starts_with('+')) {
    parts.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  bool any = false;
  bool point = false;
  while (!text.empty()) {
    const char c = text.front();
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      any = true;
      if (!parts.digits.empty() || c != '0') parts.digits += c;
      if (point) ++parts.fraction_digits;
    } else {
      break;
    }
    text.remove_prefix(1);
  }
  return any;
}

bool ReadSuffix(std::string_view text, Parts& parts) {
  for (const Suffix& suffix : kDecimalSuffixes) {
    if (text != suffix.text) continue;
    parts.ten_exponent = suffix.exponent;
    return true;
  }
  for (const Suffix& suffix : kBinarySuffixes) {
    if (text != suffix.text) continue;
    parts.two_exponent = suffix.exponent;
    parts.format = Quantity::Format::kBinarySI;
    return true;
  }
  if (!text.starts_with('e') && !text.starts_with('E')) return false;
  const std::optional<std::int64_t> exponent = ParseInt64(text.substr(1));
  if (!exponent || *exponent > 1000 || *exponent < -1000) return false;
  parts.ten_exponent = static_cast<int>(*exponent);
  parts.format = Quantity::Format::kDecimalExponent;
  return true;
}

// |value| in nano, rounded away from zero, limited to kMaxNano. There are at most 64 digits.
Wide ToNano(const Parts& parts) {
  Wide value = 0;
  const int shift = parts.ten_exponent - parts.fraction_digits + 9;
  bool rest = false;
  std::size_t kept = parts.digits.size();
  if (shift < 0 && parts.two_exponent == 0) {
    const auto dropped = static_cast<std::size_t>(-shift);
    kept = dropped >= kept ? 0 : kept - dropped;
  }
  for (std::size_t i = 0; i < parts.digits.size(); ++i) {
    if (i >= kept) {
      rest = rest || parts.digits[i] != '0';
      continue;
    }
    value = value * 10 + (parts.digits[i] - '0');
    if (value > kMaxNano) return kMaxNano;
  }
  for (int i = 0; i < shift && value != 0; ++i) {
    value *= 10;
    if (value > kMaxNano) return kMaxNano;
  }
  if (parts.two_exponent == 0) return rest && value < kMaxNano ? value + 1 : value;
  const Wide factor = static_cast<Wide>(1) << static_cast<unsigned>(parts.two_exponent);
  // A decimal step down may follow, so the product may exceed kMaxNano; it must stay in the range
  // of the type: kMaxNano is below 2^94, so factors above 2^32 are limited.
  if (factor > (static_cast<Wide>(1) << 32U) && value > kMaxNano / factor) {
    if (shift >= 0 || value > kMaxNano / factor * kNanoPerUnit) return kMaxNano;
  }
  value *= factor;
  for (int i = shift; i < 0; ++i) {
    rest = rest || value % 10 != 0;
    value /= 10;
  }
  if (value > kMaxNano) return kMaxNano;
  return rest && value < kMaxNano ? value + 1 : value;
}

std::string WideText(Wide value) {
  if (value == 0) return "0";
  std::string text;
  const bool negative = value < 0;
  for (Wide rest = negative ? -value : value; rest > 0; rest /= 10) {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  return negative ? "-" + text : text;
}

Wide DivideUp(Wide value, Wide divisor) {  // rounds away from zero
  const Wide quotient = value / divisor;
  if (value % divisor == 0) return quotient;
  return value < 0 ? quotient - 1 : quotient + 1;
}

std::int64_t Saturate(Wide value) {
  if (value > INT64_MAX) return INT64_MAX;
  if (value < INT64_MIN) return INT64_MIN;
  return static_cast<std::int64_t>(value);
}

std::string DecimalText(Wide nano, Quantity::Format format) {
  std::size_t index = 0;  // an index of kDecimalSuffixes, from nano upwards
  Wide value = nano;
  while (index + 1 < kDecimalSuffixes.size() && value % 1000 == 0) {
    value /= 1000;
    ++index;
  }
  const Suffix& suffix = kDecimalSuffixes[index];
  if (format != Quantity::Format::kDecimalExponent || suffix.exponent == 0) {
    return WideText(value) + std::string(suffix.text);
  }
  return WideText(value) + "e" + std::to_string(suffix.exponent);
}

// The name of a device's resource tells it, such as "gpu.memory", together with the amount: other
// resources of such a name count in units of their own.
bool IsMemoryLike(std::string_view resource, Amount amount) {
  constexpr Amount kMebibyte = 1 << 20;
  return resource == "memory" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-") ||
         (resource.ends_with(".memory") && amount % kMebibyte == 0);
}

}  // namespace

Quantity::Quantity(std::int64_t value, Format format)
    : nano_(static_cast<Wide>(value) * kNanoPerUnit), format_(format) {}

Result<Quantity> Quantity::Parse(std::string_view text) {
  Parts parts;
  std::string_view rest = text;
  if (text.size() > 64 || !ReadNumber(rest, parts) || !ReadSuffix(rest, parts)) {
    return Error{ErrorCode::kInvalid,
                 "\"" + std::string(text.substr(0, 64)) +
                     "\" is not a quantity: write a number with an optional suffix such as 500m, "
                     "2, 4Gi or 1e3"};
  }
  Quantity quantity;
  quantity.nano_ = ToNano(parts);
  if (parts.negative) quantity.nano_ = -quantity.nano_;
  quantity.format_ = parts.format;
  return quantity;
}

std::int64_t Quantity::Value() const { return Saturate(DivideUp(nano_, kNanoPerUnit)); }
std::int64_t Quantity::MilliValue() const { return Saturate(DivideUp(nano_, 1'000'000)); }
std::int64_t Quantity::NanoValue() const { return Saturate(nano_); }

std::string Quantity::ToString() const {
  if (nano_ == 0) return "0";
  if (format_ != Format::kBinarySI || nano_ % kNanoPerUnit != 0) {
    return DecimalText(nano_, format_);
  }
  Wide value = nano_ / kNanoPerUnit;
  // Upstream writes less than 1Ki without a binary suffix, in decimal form.
  if (value > -1024 && value < 1024) return DecimalText(nano_, Format::kDecimalSI);
  std::string_view suffix;
  for (const Suffix& candidate : kBinarySuffixes) {
    if (value % 1024 != 0) break;
    value /= 1024;
    suffix = candidate.text;
  }
  return WideText(value) + std::string(suffix);
}

Amount ToAmount(std::string_view resource, const Quantity& quantity) {
  if (resource == "cpu") return quantity.MilliValue();
  return resource == kGpusResource ? quantity.NanoValue() / kNanoPerMicro : quantity.Value();
}

Result<Amount> ParseAmount(std::string_view resource, std::string_view text) {
  BERTH_TRY(const Quantity quantity, Quantity::Parse(text));
  return ToAmount(resource, quantity);
}

Quantity ToQuantity(std::string_view resource, Amount amount) {
  if (resource == "cpu") {
    const Result<Quantity> milli = Quantity::Parse(std::to_string(amount) + "m");
    return milli ? *milli : Quantity();
  }
  if (resource == kGpusResource) {
    const Result<Quantity> micro = Quantity::Parse(std::to_string(amount) + "u");
    return micro ? *micro : Quantity();
  }
  return {amount, IsMemoryLike(resource, amount) ? Quantity::Format::kBinarySI
                                                 : Quantity::Format::kDecimalSI};
}

std::string FormatAmount(std::string_view resource, Amount amount) {
  if (IsMemoryLike(resource, amount)) return ToQuantity(resource, amount).ToString();
  // The same text as ToQuantity(…).ToString(), without 128-bit arithmetic: messages format many
  // amounts.
  if (amount == 0) return "0";
  // An index of kDecimalSuffixes: millionths, milli, whole units.
  std::size_t index = resource == "cpu" ? 2 : resource == kGpusResource ? 1 : 3;
  for (; index + 1 < kDecimalSuffixes.size() && amount % 1000 == 0; ++index) amount /= 1000;
  std::string text = std::to_string(amount);
  text += kDecimalSuffixes[index].text;
  return text;
}

}  // namespace berth::api
