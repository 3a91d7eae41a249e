// quantity() and its methods, and the methods that compare objects. Quantities are exact to a
// billionth, limited as Kubernetes' quantities are.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "api/quantity.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

__extension__ using Nano = __int128;

constexpr Nano kNanoPerUnit = 1'000'000'000;
constexpr Nano kMaxNano = static_cast<Nano>(INT64_MAX) * kNanoPerUnit;

class QuantityObject final : public Object {
 public:
  QuantityObject(Nano nano, bool whole, std::string text)
      : nano_(nano), whole_(whole), text_(std::move(text)) {}

  Nano nano() const { return nano_; }
  // Whether the quantity is an integer by its notation: Kubernetes says no of 2000m.
  bool whole() const { return whole_; }
  std::string_view type_name() const override { return "kubernetes.Quantity"; }
  bool Equals(const Object& other) const override {
    return nano_ == static_cast<const QuantityObject&>(other).nano_;
  }
  std::optional<int> Compare(const Object& other) const override {
    const Nano nano = static_cast<const QuantityObject&>(other).nano_;
    return nano_ < nano ? -1 : (nano_ > nano ? 1 : 0);
  }
  std::string ToText() const override { return text_; }

 private:
  Nano nano_;
  bool whole_;
  std::string text_;
};

const QuantityObject* AsQuantity(const Value& value) {
  if (!value.is(Kind::kObject) || TypeName(value) != "kubernetes.Quantity") return nullptr;
  return static_cast<const QuantityObject*>(&value.AsObject());
}

// Billionths of a canonical text: an integer, and a suffix.
Nano NanoOfCanonical(std::string_view text) {
  Nano value = 0;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
    value = value * 10 + (text.front() - '0');
  }
  int tens = 9;
  int twos = 0;
  constexpr std::string_view kDecimal = "num kMGTPE";
  if (text.ends_with('i')) {
    twos = 10 * static_cast<int>(std::string_view("KMGTPE").find(text.front()) + 1);
  } else if (text.starts_with('e')) {
    int exponent = 0;
    std::from_chars(text.data() + 1, text.data() + text.size(), exponent);
    tens += exponent;
  } else if (!text.empty()) {
    tens = 3 * static_cast<int>(kDecimal.find(text.front()));
  }
  for (int i = 0; i < tens; ++i) value *= 10;
  for (int i = 0; i < twos; ++i) value *= 2;
  return negative ? -value : value;
}

std::string DecimalText(Nano nano) {
  std::string text;
  for (Nano rest = nano < 0 ? -nano : nano; rest > 0; rest /= 10) {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  return (nano < 0 ? "-" : "") + (text.empty() ? "0" : text) + "n";
}

// Whether a valid `text` has no digit below one, fewer than 18 digits, and its value fits an int64.
bool IsWholeText(std::string_view text, Nano nano) {
  std::string_view number = text.substr(text.find_first_not_of("+-"));
  const std::size_t end = number.find_first_not_of("0123456789.");
  std::string_view suffix = end == std::string_view::npos ? "" : number.substr(end);
  number = number.substr(0, end);
  const std::size_t point = std::min(number.find('.'), number.size());
  const std::size_t points = point < number.size() ? 1 : 0;
  const std::size_t fraction = number.size() - point - points;
  std::size_t zeros = 0;
  while (zeros < point && number[zeros] == '0') ++zeros;
  int scale = -static_cast<int>(fraction);
  constexpr std::string_view kTens = "num kMGTPE";
  if (suffix.size() > 1 && suffix.back() != 'i') {
    suffix.remove_prefix(suffix[1] == '+' ? 2 : 1);
    int exponent = 0;
    std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
    scale += exponent;
  } else if (suffix.size() == 1) {
    scale += 3 * static_cast<int>(kTens.find(suffix.front())) - 9;
  }
  const std::size_t digits = number.size() - zeros - points;
  return scale >= 0 && digits < 18 && nano < kMaxNano && nano > -kMaxNano;
}

Value MakeQuantity(Nano nano, bool whole) {
  if (nano > kMaxNano) nano = kMaxNano;
  if (nano < -kMaxNano) nano = -kMaxNano;
  const auto quantity = api::Quantity::Parse(DecimalText(nano));
  return Value(
      std::make_shared<const QuantityObject>(nano, whole && nano < kMaxNano && nano > -kMaxNano,
                                             quantity ? quantity->ToString() : DecimalText(nano)));
}

Value ToQuantity(const Call& call) {
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  const auto quantity = api::Quantity::Parse(call[0].AsText());
  if (!quantity) {
    return Value::Failure(
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  std::string text = quantity->ToString();
  const Nano nano = NanoOfCanonical(text);
  const bool whole = IsWholeText(call[0].AsText(), nano);
  return Value(std::make_shared<const QuantityObject>(nano, whole, std::move(text)));
}

Value IsQuantity(const Call& call) {
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  return Value(api::Quantity::Parse(call[0].AsText()).has_value());
}

Value SignOf(const Call& call) {
  const QuantityObject* quantity = AsQuantity(call[0]);
  if (quantity == nullptr) return call.NoOverload();
  return Value::Int(quantity->nano() > 0 ? 1 : (quantity->nano() < 0 ? -1 : 0));
}

Value IsInteger(const Call& call) {
  const QuantityObject* quantity = AsQuantity(call[0]);
  return quantity == nullptr ? call.NoOverload() : Value(quantity->whole());
}

Value AsInteger(const Call& call) {
  const QuantityObject* quantity = AsQuantity(call[0]);
  if (quantity == nullptr) return call.NoOverload();
  if (!quantity->whole()) return Value::Failure("cannot convert value to integer");
  return Value::Int(static_cast<std::int64_t>(quantity->nano() / kNanoPerUnit));
}

Value AsApproximateFloat(const Call& call) {
  const QuantityObject* quantity = AsQuantity(call[0]);
  if (quantity == nullptr) return call.NoOverload();
  const Nano whole = quantity->nano() / kNanoPerUnit;
  const Nano rest = quantity->nano() % kNanoPerUnit;
  return Value(static_cast<double>(whole) + static_cast<double>(rest) / 1e9);
}

// The order of the arguments, two objects of one type: -1, 0, 1; none if they have no order.
std::optional<int> CompareArguments(const Call& call) {
  if (!call.Is(0, Kind::kObject) || TypeName(call[0]) != TypeName(call[1])) return std::nullopt;
  return call[0].AsObject().Compare(call[1].AsObject());
}

Value IsLessThan(const Call& call) {
  const auto order = CompareArguments(call);
  return order ? Value(*order < 0) : call.NoOverload();
}
Value IsGreaterThan(const Call& call) {
  const auto order = CompareArguments(call);
  return order ? Value(*order > 0) : call.NoOverload();
}
Value CompareTo(const Call& call) {
  const auto order = CompareArguments(call);
  return order ? Value::Int(*order) : call.NoOverload();
}

// Argument 1 as a quantity or an int, times `factor`, added to argument 0.
Value AddTo(const Call& call, int factor) {
  const QuantityObject* a = AsQuantity(call[0]);
  if (a == nullptr) return call.NoOverload();
  if (const QuantityObject* b = AsQuantity(call[1])) {
    return MakeQuantity(a->nano() + factor * b->nano(), a->whole() && b->whole());
  }
  if (!call.Is(1, Kind::kInt)) return call.NoOverload();
  const Nano other = static_cast<Nano>(call[1].AsInt()) * kNanoPerUnit;
  return MakeQuantity(a->nano() + factor * other, a->whole());
}
Value AddQuantity(const Call& call) { return AddTo(call, 1); }
Value SubtractQuantity(const Call& call) { return AddTo(call, -1); }

constexpr FunctionEntry kQuantity[] = {
    {"quantity", Style::kGlobal, 1, 1, ToQuantity},
    {"isQuantity", Style::kGlobal, 1, 1, IsQuantity},
    {"sign", Style::kGlobal, 1, 1, SignOf},
    {"isInteger", Style::kMethod, 1, 1, IsInteger},
    {"asInteger", Style::kMethod, 1, 1, AsInteger},
    {"asApproximateFloat", Style::kMethod, 1, 1, AsApproximateFloat},
    {"isLessThan", Style::kMethod, 2, 2, IsLessThan},
    {"isGreaterThan", Style::kMethod, 2, 2, IsGreaterThan},
    {"compareTo", Style::kMethod, 2, 2, CompareTo},
    {"add", Style::kMethod, 2, 2, AddQuantity},
    {"sub", Style::kMethod, 2, 2, SubtractQuantity},
};

}  // namespace

std::span<const FunctionEntry> QuantityFunctions() { return kQuantity; }

}  // namespace berth::cel
