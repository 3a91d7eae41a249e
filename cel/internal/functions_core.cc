// size, tests of strings, conversions.
#include <algorithm>
#include <cmath>
#include <string>

#include "base/strings.h"
#include "cel/containers.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/internal/numbers.h"
#include "cel/internal/runes.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

Value Size(const Call& call) {
  switch (call[0].kind()) {
    case Kind::kString:
      if (!call.machine.ChargeText(call[0].AsText().size())) return call.machine.Exhausted();
      return Value::Int(static_cast<std::int64_t>(CountRunes(call[0].AsText())));
    case Kind::kBytes: return Value::Int(static_cast<std::int64_t>(call[0].AsText().size()));
    case Kind::kList: return Value::Int(static_cast<std::int64_t>(call[0].AsList().size()));
    case Kind::kMap: return Value::Int(static_cast<std::int64_t>(call[0].AsMap().size()));
    case Kind::kDuration:
    case Kind::kTimestamp: return FailNoOverload();
    default: return Value::Failure("no such overload: size");
  }
}

// Both arguments are strings, and the work to search the first one is paid.
Value CheckSearch(const Call& call) {
  if (!call.Is(0, Kind::kString) || !call.Is(1, Kind::kString)) return FailNoOverload();
  const std::size_t bytes = call[0].AsText().size() + call[1].AsText().size();
  return call.machine.ChargeText(bytes) ? Value() : call.machine.Exhausted();
}

Value Contains(const Call& call) {
  if (Value failure = CheckSearch(call); failure.is(Kind::kError)) return failure;
  return Value(FindText(call[0].AsText(), call[1].AsText()) != std::string_view::npos);
}
Value StartsWith(const Call& call) {
  if (Value failure = CheckSearch(call); failure.is(Kind::kError)) return failure;
  return Value(call[0].AsText().starts_with(call[1].AsText()));
}
Value EndsWith(const Call& call) {
  if (Value failure = CheckSearch(call); failure.is(Kind::kError)) return failure;
  return Value(call[0].AsText().ends_with(call[1].AsText()));
}

Value CannotConvert(const Value& value, std::string_view type) {
  return Value::Failure("type conversion error from '" + std::string(TypeName(value)) + "' to '" +
                        std::string(type) + "'");
}

// Go's ParseInt takes a + sign.
std::optional<std::int64_t> ParseSigned(std::string_view text) {
  if (text.empty() || text.find_first_not_of("+-0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return ParseInt64(text);
}

Value ToInt(const Call& call) {
  const Value& value = call[0];
  switch (value.kind()) {
    case Kind::kInt: return value;
    case Kind::kUint:
      if (value.AsUint() > static_cast<std::uint64_t>(INT64_MAX)) {
        return Value::Failure("integer overflow");
      }
      return Value::Int(static_cast<std::int64_t>(value.AsUint()));
    case Kind::kDouble: {
      const double number = value.AsDouble();
      if (!(number > -9223372036854775808.0 && number < 9223372036854775808.0)) {
        return Value::Failure("integer overflow");
      }
      return Value::Int(static_cast<std::int64_t>(number));
    }
    case Kind::kString: {
      const auto number = ParseSigned(value.AsText());
      return number ? Value::Int(*number) : CannotConvert(value, "int");
    }
    case Kind::kTimestamp: return Value::Int(value.AsInstant().seconds);
    case Kind::kDuration: return Value::Int(value.AsNanoseconds());
    default: return call.NoOverload();
  }
}

Value ToUint(const Call& call) {
  const Value& value = call[0];
  switch (value.kind()) {
    case Kind::kUint: return value;
    case Kind::kInt:
      if (value.AsInt() < 0) return Value::Failure("unsigned integer overflow");
      return Value::Uint(static_cast<std::uint64_t>(value.AsInt()));
    case Kind::kDouble: {
      const double number = value.AsDouble();
      if (!(number >= 0 && number < 18446744073709551616.0)) {
        return Value::Failure("unsigned integer overflow");
      }
      return Value::Uint(static_cast<std::uint64_t>(number));
    }
    case Kind::kString: {
      const auto number = ParseUint64(value.AsText());
      return number ? Value::Uint(*number) : CannotConvert(value, "uint");
    }
    default: return call.NoOverload();
  }
}

Value ToDouble(const Call& call) {
  const Value& value = call[0];
  switch (value.kind()) {
    case Kind::kDouble: return value;
    case Kind::kInt: return Value(static_cast<double>(value.AsInt()));
    case Kind::kUint: return Value(static_cast<double>(value.AsUint()));
    case Kind::kString: {
      const auto number = ParseDouble(value.AsText());
      return number ? Value(*number) : CannotConvert(value, "double");
    }
    default: return call.NoOverload();
  }
}

Value ToString(const Call& call) {
  const Value& value = call[0];
  switch (value.kind()) {
    case Kind::kString: return value;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
    case Kind::kDuration:
    case Kind::kTimestamp: return call.machine.MakeString(ToText(value));
    case Kind::kObject:
      // Addresses and networks alone have a text in CEL.
      if (!TypeName(value).starts_with("net.")) return call.NoOverload();
      return call.machine.MakeString(ToText(value));
    case Kind::kBytes:
      if (!call.machine.ChargeText(value.AsText().size())) return call.machine.Exhausted();
      if (!IsValidUtf8(value.AsText())) {
        return Value::Failure("invalid UTF-8 in bytes, cannot convert to string");
      }
      return call.machine.MakeString(std::string(value.AsText()));
    default: return call.NoOverload();
  }
}

Value ToBytes(const Call& call) {
  if (call.Is(0, Kind::kBytes)) return call[0];
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  if (!call.machine.Allocate(call[0].AsText().size())) return call.machine.Exhausted();
  return Value::Bytes(std::string(call[0].AsText()));
}

Value ToBool(const Call& call) {
  if (call.Is(0, Kind::kBool)) return call[0];
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  const std::string_view text = call[0].AsText();
  for (const std::string_view word : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == word) return Value(true);
  }
  for (const std::string_view word : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == word) return Value(false);
  }
  return CannotConvert(call[0], "bool");
}

Value ToDuration(const Call& call) {
  if (call.Is(0, Kind::kDuration)) return call[0];
  if (call.Is(0, Kind::kInt)) return CannotConvert(call[0], "google.protobuf.Duration");
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  if (!call.machine.ChargeText(call[0].AsText().size())) return call.machine.Exhausted();
  const auto span = ParseDuration(call[0].AsText());
  return span ? Value(std::chrono::nanoseconds(*span))
              : CannotConvert(call[0], "google.protobuf.Duration");
}

Value ToTimestamp(const Call& call) {
  if (call.Is(0, Kind::kTimestamp)) return call[0];
  if (call.Is(0, Kind::kInt)) {
    const Instant instant{call[0].AsInt(), 0};
    if (!IsInstantInRange(instant)) return Value::Failure("timestamp overflow");
    return Value(instant);
  }
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  const auto instant = ParseInstant(call[0].AsText());
  return instant ? Value(*instant) : CannotConvert(call[0], "google.protobuf.Timestamp");
}

Value TypeOf(const Call& call) { return Value::Type(std::string(TypeName(call[0]))); }

constexpr FunctionEntry kCore[] = {
    {"size", Style::kGlobal, 1, 1, Size},
    {"size", Style::kMethod, 1, 1, Size},
    {"contains", Style::kMethod, 2, 2, Contains},
    {"startsWith", Style::kMethod, 2, 2, StartsWith},
    {"endsWith", Style::kMethod, 2, 2, EndsWith},
    {"int", Style::kGlobal, 1, 1, ToInt},
    {"uint", Style::kGlobal, 1, 1, ToUint},
    {"double", Style::kGlobal, 1, 1, ToDouble},
    {"string", Style::kGlobal, 1, 1, ToString},
    {"bytes", Style::kGlobal, 1, 1, ToBytes},
    {"bool", Style::kGlobal, 1, 1, ToBool},
    {"duration", Style::kGlobal, 1, 1, ToDuration},
    {"timestamp", Style::kGlobal, 1, 1, ToTimestamp},
    {"type", Style::kGlobal, 1, 1, TypeOf},
};

}  // namespace

std::span<const FunctionEntry> CoreFunctions() { return kCore; }

}  // namespace berth::cel
