// string.format(list): %s %d %f %e %b %o %x %X and %%, in English.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "cel/containers.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

constexpr int kDefaultPrecision = 6;
constexpr int kMaxPrecision = 100;
constexpr int kMaxLevels = 100;

// The text of one argument, or why there is none.
struct Clause {
  std::string text;
  std::string error;
};

Clause Misfit(std::string_view words, const Value& value) {
  return {"", std::string(words) + ", was given " + std::string(TypeName(value))};
}

std::string QuoteForCel(std::string_view text) {
  constexpr std::string_view kPlain = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kLetters = "abfnrtv\\\"";
  std::string result = "\"";
  for (const char c : text) {
    const std::size_t at = kPlain.find(c);
    if (at != std::string_view::npos) result += '\\';
    result += at == std::string_view::npos ? c : kLetters[at];
  }
  return result + "\"";
}

// "1234.500000"; NaN and infinities as Go writes them.
std::string Fixed(double value, int precision) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  std::string text(static_cast<std::size_t>(320 + precision), '\0');
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, precision);
  text.resize(static_cast<std::size_t>(end.ptr - text.data()));
  return text;
}

Clause PartText(const Call& call, const Value& value, int level);

Clause ListText(const Call& call, const Value& list, int level) {
  Clause result{"[", ""};
  list.AsList().ForEach([&](const Value& element) {
    Clause part = PartText(call, element, level + 1);
    result.error = std::move(part.error);
    if (result.text.size() > 1) result.text += ", ";
    result.text += part.text;
    return result.error.empty() && call.machine.Allocate(part.text.size());
  });
  result.text += ']';
  return result;
}

Clause MapText(const Call& call, const Value& map, int level) {
  std::vector<std::string> entries;
  Clause result{"{", ""};
  map.AsMap().ForEach([&](const Value& key, const Value& value) {
    const Clause key_text = PartText(call, key, level + 1);
    const Clause text = PartText(call, value, level + 1);
    result.error = key_text.error + text.error;
    entries.push_back(key_text.text + ":" + text.text);
    return result.error.empty() && call.machine.Allocate(entries.back().size());
  });
  std::sort(entries.begin(), entries.end());
  for (const std::string& entry : entries) {
    if (result.text.size() > 1) result.text += ", ";
    result.text += entry;
  }
  result.text += '}';
  return result;
}

// A value inside a list or a map has the form of a literal.
Clause PartText(const Call& call, const Value& value, int level) {
  if (level > kMaxLevels) return {"", "the argument is nested too deeply"};
  switch (value.kind()) {
    case Kind::kString: return {QuoteForCel(value.AsText()), ""};
    case Kind::kBytes: return {"b" + QuoteForCel(value.AsText()), ""};
    case Kind::kDouble: {
      const std::string text = Fixed(value.AsDouble(), kDefaultPrecision);
      return {std::isfinite(value.AsDouble()) ? text : "\"" + text + "\"", ""};
    }
    case Kind::kTimestamp: return {"timestamp(\"" + ToText(value) + "\")", ""};
    case Kind::kDuration: return {"duration(\"" + ToText(value) + "\")", ""};
    case Kind::kList: return ListText(call, value, level);
    case Kind::kMap: return MapText(call, value, level);
    case Kind::kNull:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kType: return {ToText(value), ""};
    default: return {"", "no formatting function for " + std::string(TypeName(value))};
  }
}

Clause StringText(const Call& call, const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kBytes: return {std::string(value.AsText()), ""};
    case Kind::kList:
    case Kind::kMap: return PartText(call, value, 0);
    case Kind::kObject:
    case Kind::kOptional:
      return Misfit(
          "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
          "types, durations, and timestamps",
          value);
    default: return {ToText(value), ""};
  }
}

// Whether %f and %e take `value`, with the number.
bool TakesDouble(const Value& value, double& number) {
  if (value.is(Kind::kDouble)) {
    number = value.AsDouble();
    return true;
  }
  if (!value.is(Kind::kString)) return false;
  const std::string_view text = value.AsText();
  if (text == "NaN") number = std::nan("");
  if (text == "Infinity") number = HUGE_VAL;
  if (text == "-Infinity") number = -HUGE_VAL;
  return text == "NaN" || text == "Infinity" || text == "-Infinity";
}

std::string EnglishSpecial(double number) {
  if (std::isnan(number)) return "NaN";
  return number < 0 ? "-∞" : "∞";
}

Clause FixedText(const Value& value, int precision) {
  double number = 0;
  if (!TakesDouble(value, number)) {
    return Misfit("fixed-point clause can only be used on doubles", value);
  }
  if (!std::isfinite(number)) return {EnglishSpecial(number), ""};
  std::string text = Fixed(number, precision);
  // A comma between groups of three digits.
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  std::size_t at = std::min(text.find('.'), text.size());
  while (at > first + 3) {
    at -= 3;
    text.insert(at, ",");
  }
  return {text, ""};
}

Clause ScientificText(const Value& value) {
  double number = 0;
  if (!TakesDouble(value, number)) {
    return Misfit("scientific clause can only be used on doubles", value);
  }
  if (!std::isfinite(number)) return {EnglishSpecial(number), ""};
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                 std::chars_format::scientific, kDefaultPrecision);
  const std::string text(buffer.data(), end.ptr);
  const std::size_t at = text.find('e');
  constexpr std::array<std::string_view, 10> kSuperscripts{"⁰", "¹", "²", "³", "⁴",
                                                           "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string result = text.substr(0, at) + "×10";
  for (const char c : text.substr(at + 1)) {
    if (c == '-') result += "⁻";
    if (c >= '0' && c <= '9') result += kSuperscripts[static_cast<std::size_t>(c - '0')];
  }
  return {result, ""};
}

// An integer in `base`.
Clause IntegerText(const Value& value, int base, bool upper, std::string_view misfit) {
  std::array<char, 72> buffer{};
  char* const begin = buffer.data();
  char* const limit = begin + buffer.size();
  std::to_chars_result end{};
  if (value.is(Kind::kInt)) {
    end = std::to_chars(begin, limit, value.AsInt(), base);
  } else if (value.is(Kind::kUint)) {
    end = std::to_chars(begin, limit, value.AsUint(), base);
  } else {
    return Misfit(misfit, value);
  }
  std::string text(begin, end.ptr);
  if (upper) {
    for (char& c : text) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return {text, ""};
}

Clause HexText(const Value& value, bool upper) {
  if (!value.is(Kind::kString) && !value.is(Kind::kBytes)) {
    return IntegerText(value, 16, upper,
                       "only integers, byte buffers, and strings can be formatted as hex");
  }
  const std::string_view digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string text;
  for (const char c : value.AsText()) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return {text, ""};
}

Clause ClauseText(const Call& call, char letter, int precision, const Value& value) {
  switch (letter) {
    case 's': return StringText(call, value);
    case 'd': return IntegerText(value, 10, false, "decimal clause can only be used on integers");
    case 'f': return FixedText(value, precision);
    case 'e': return ScientificText(value);
    case 'b':
      if (value.is(Kind::kBool)) return {value.AsBool() ? "1" : "0", ""};
      return IntegerText(value, 2, false, "only integers and bools can be formatted as binary");
    case 'o': return IntegerText(value, 8, false, "octal clause can only be used on integers");
    default: return HexText(value, letter == 'X');
  }
}

Value BadClause(const std::string& why) {
  return Value::Failure("could not parse formatting clause: " + why);
}

// The precision at the start of `rest`, which is removed: -1 with `failure` set if there is none.
int TakePrecision(std::string_view& rest, Value& failure) {
  if (!rest.starts_with('.')) return kDefaultPrecision;
  rest.remove_prefix(1);
  int precision = 0;
  const auto end = std::from_chars(rest.data(), rest.data() + rest.size(), precision);
  rest.remove_prefix(static_cast<std::size_t>(end.ptr - rest.data()));
  if (end.ec == std::errc::invalid_argument && !rest.empty()) {
    failure = BadClause(
        "error while parsing precision: error while converting precision to integer: strconv.Atoi: "
        "parsing \"\": invalid syntax");
  } else if (rest.empty()) {
    failure = BadClause("error while parsing precision: could not find end of precision specifier");
  } else if (end.ec != std::errc() || precision < 0 || precision > kMaxPrecision) {
    failure = BadClause("error while parsing precision: write a number from 0 to " +
                        std::to_string(kMaxPrecision));
  }
  return precision;
}

Value FormatText(const Call& call) {
  if (!call.Is(0, Kind::kString) || !call.Is(1, Kind::kList)) return call.NoOverload();
  std::string_view rest = call[0].AsText();
  std::string result;
  std::size_t index = 0;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c != '%' || rest.starts_with('%')) {
      if (c == '%') rest.remove_prefix(1);
      result += c;
      continue;
    }
    if (index >= call[1].AsList().size()) {
      return Value::Failure("index " + std::to_string(index) + " out of range");
    }
    if (rest.empty()) return Value::Failure("unexpected end of string");
    Value failure;
    const int precision = TakePrecision(rest, failure);
    if (failure.is(Kind::kError)) return failure;
    const char letter = rest.front();
    if (std::string_view("sdfebxXo").find(letter) == std::string_view::npos) {
      return BadClause(std::string("unrecognized formatting clause \"") + letter + "\"");
    }
    rest.remove_prefix(1);
    const Clause clause = ClauseText(call, letter, precision, call[1].AsList().At(index++));
    if (!clause.error.empty()) return Value::Failure("error during formatting: " + clause.error);
    if (!call.machine.Allocate(clause.text.size() + 1)) return call.machine.Exhausted();
    result += clause.text;
  }
  return call.machine.MakeString(std::move(result));
}

constexpr FunctionEntry kFormat[] = {{"format", Style::kMethod, 2, 2, FormatText}};

}  // namespace

std::span<const FunctionEntry> FormatFunctions() { return kFormat; }

}  // namespace berth::cel
