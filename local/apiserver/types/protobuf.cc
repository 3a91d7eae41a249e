// Decodes messages to JSON by the type table, then normalises the object to the form that its JSON
// would have.
#include "local/apiserver/types/protobuf.h"

#include <bit>
#include <chrono>
#include <cmath>

#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/apiserver/schema/decode.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/types/protobuf_internal.h"
#include "local/apiserver/types/wire.h"

namespace berth::local {
namespace {

constexpr int kMaxNesting = 100;

// Go's text of a duration: 1h0m0s, 1.5s, 250ms.
std::string DurationText(std::int64_t nanos) {
  if (nanos == 0) return "0s";
  const bool negative = nanos < 0;
  std::uint64_t rest =
      negative ? ~static_cast<std::uint64_t>(nanos) + 1 : static_cast<std::uint64_t>(nanos);
  const auto fraction = [](std::uint64_t value, std::uint64_t unit) {
    std::string digits = std::to_string(value % unit + unit).substr(1);
    while (!digits.empty() && digits.back() == '0') digits.pop_back();
    return std::to_string(value / unit) + (digits.empty() ? "" : "." + digits);
  };
  std::string text;
  if (rest < 1'000) {
    text = std::to_string(rest) + "ns";
  } else if (rest < 1'000'000) {
    text = fraction(rest, 1'000) + "µs";
  } else if (rest < 1'000'000'000) {
    text = fraction(rest, 1'000'000) + "ms";
  } else {
    const std::uint64_t hours = rest / 3'600'000'000'000;
    rest %= 3'600'000'000'000;
    const std::uint64_t minutes = rest / 60'000'000'000;
    if (hours > 0) text += std::to_string(hours) + "h";
    if (hours > 0 || minutes > 0) text += std::to_string(minutes) + "m";
    text += fraction(rest % 60'000'000'000, 1'000'000'000) + "s";
  }
  return (negative ? "-" : "") + text;
}

// Small messages that are one scalar in JSON: numbered fields, the last of each wins.
struct SmallMessage {
  std::uint64_t number[4] = {0, 0, 0, 0};
  std::string_view bytes[4];
  bool read = true;
};

SmallMessage ReadSmall(std::string_view message) {
  SmallMessage out;
  WireReader reader(message);
  WireField field;
  while (true) {
    const WireReader::Outcome outcome = reader.Next(field);
    if (outcome == WireReader::Outcome::kEnd) return out;
    if (outcome == WireReader::Outcome::kBroken) {
      out.read = false;
      return out;
    }
    if (field.number >= 4) continue;
    out.number[field.number] = field.number_value;
    out.bytes[field.number] = field.bytes;
  }
}

Json TimeValue(TypeKind kind, const SmallMessage& message, bool empty) {
  if (empty) return nullptr;
  const auto seconds = static_cast<std::int64_t>(message.number[1]);
  const auto nanos = static_cast<std::int32_t>(message.number[2]);
  constexpr std::int64_t kLimit = 253'402'300'799;  // 9999-12-31
  if (seconds > kLimit || seconds < -62'135'596'800) return nullptr;
  const WallTime time{std::chrono::seconds(seconds) + std::chrono::microseconds(nanos / 1000)};
  return kind == TypeKind::kTime ? FormatTime(time) : FormatMicroTime(time);
}

class Decoder {
 public:
  // Returns "" on success. Adds members to `out`, which is an object.
  std::string Message(const TypeNode& type, std::string_view message, Json& out, int depth) {
    if (depth > kMaxNesting) return "nested deeper than 100 messages";
    WireReader reader(message);
    WireField wire;
    while (true) {
      const WireReader::Outcome outcome = reader.Next(wire);
      if (outcome == WireReader::Outcome::kEnd) return "";
      if (outcome == WireReader::Outcome::kBroken) return "broken " + type.name;
      const Field* field = ByNumber(type, wire.number);
      if (field == nullptr) continue;  // field of a later version
      std::string why = Member(*field, wire, out, depth);
      if (!why.empty()) return why;
    }
  }

 private:
  static const Field* ByNumber(const TypeNode& type, std::uint32_t number) {
    for (const Field& field : type.proto_fields) {
      if (field.proto_number == number) return &field;
    }
    return nullptr;
  }

  std::string Member(const Field& field, const WireField& wire, Json& out, int depth) {
    const TypeNode& type = *field.type;
    if (field.Has(kFieldInline)) {
      if (wire.type != WireType::kBytes) return "broken " + field.name;
      return Message(type, wire.bytes, out, depth + 1);
    }
    if (type.kind == TypeKind::kList && type.name.empty()) {
      Json& list = out[field.name];
      if (!list.is_array()) list = Json::array();
      return Item(*type.element, wire, list, depth);
    }
    if (type.kind == TypeKind::kMap) {
      Json& map = out[field.name];
      if (!map.is_object()) map = Json::object();
      return Entry(*type.element, wire, map, depth);
    }
    return Value(type, wire, out[field.name], depth);
  }

  std::string Item(const TypeNode& type, const WireField& wire, Json& list, int depth) {
    const bool scalar = type.kind == TypeKind::kInt32 || type.kind == TypeKind::kInt64 ||
                        type.kind == TypeKind::kBoolean;
    if (!scalar || wire.type != WireType::kBytes) {
      list.push_back(nullptr);
      return Value(type, wire, list.back(), depth);
    }
    std::string_view packed = wire.bytes;
    while (!packed.empty()) {
      WireField one{.number = wire.number};
      if (!WireReader::TakeVarint(packed, one.number_value)) return "broken packed list";
      list.push_back(nullptr);
      std::string why = Value(type, one, list.back(), depth);
      if (!why.empty()) return why;
    }
    return "";
  }

  std::string Entry(const TypeNode& type, const WireField& wire, Json& map, int depth) {
    if (wire.type != WireType::kBytes) return "broken map";
    WireReader reader(wire.bytes);
    WireField part;
    std::string key;
    Json value;
    bool has_value = false;
    while (true) {
      const WireReader::Outcome outcome = reader.Next(part);
      if (outcome == WireReader::Outcome::kBroken) return "broken map entry";
      if (outcome == WireReader::Outcome::kEnd) break;
      if (part.number == 1) key = ReplaceInvalidUtf8(part.bytes);
      if (part.number != 2) continue;
      has_value = true;
      std::string why = Value(type, part, value, depth);
      if (!why.empty()) return why;
    }
    if (!has_value) {  // empty values are not encoded
      std::string why = Value(type, {.number = 2, .type = WireType::kBytes}, value, depth);
      if (!why.empty()) return why;
    }
    map[key] = std::move(value);
    return "";
  }

  std::string Value(const TypeNode& type, const WireField& wire, Json& out, int depth) {
    switch (type.kind) {
      case TypeKind::kBoolean: out = wire.number_value != 0; return "";
      case TypeKind::kInt32:
        out = static_cast<std::int64_t>(static_cast<std::int32_t>(wire.number_value));
        return "";
      case TypeKind::kInt64: out = static_cast<std::int64_t>(wire.number_value); return "";
      case TypeKind::kNumber: {
        const auto number = std::bit_cast<double>(wire.number_value);
        if (!std::isfinite(number)) return "a number that JSON does not have";
        out = number;
        return "";
      }
      default: break;
    }
    if (wire.type != WireType::kBytes) return "a number where text or a message is expected";
    switch (type.kind) {
      case TypeKind::kString: out = ReplaceInvalidUtf8(wire.bytes); return "";
      case TypeKind::kBytes: out = Base64Encode(wire.bytes); return "";
      case TypeKind::kObject:
        if (!out.is_object()) out = Json::object();
        return Message(type, wire.bytes, out, depth + 1);
      case TypeKind::kAny: return Any(type, wire.bytes, out, depth);
      default: return Small(type, wire.bytes, out, depth);
    }
  }

  std::string Small(const TypeNode& type, std::string_view bytes, Json& out, int depth) {
    if (type.kind == TypeKind::kList) {  // a list encoded as message {1: repeated items}
      out = Json::array();
      WireReader reader(bytes);
      WireField item;
      while (reader.Next(item) == WireReader::Outcome::kField) {
        if (item.number == 1) {
          std::string why = Item(*type.element, item, out, depth);
          if (!why.empty()) return why;
        }
      }
      return "";
    }
    const SmallMessage message = ReadSmall(bytes);
    if (!message.read) return "broken scalar message";
    switch (type.kind) {
      case TypeKind::kQuantity:
        out = message.bytes[1].empty() ? "0" : ReplaceInvalidUtf8(message.bytes[1]);
        return "";
      case TypeKind::kIntOrString:
        if (message.number[1] == 1) {
          out = ReplaceInvalidUtf8(message.bytes[3]);
        } else {
          out = static_cast<std::int64_t>(static_cast<std::int32_t>(message.number[2]));
        }
        return "";
      case TypeKind::kDuration:
        out = DurationText(static_cast<std::int64_t>(message.number[1]));
        return "";
      case TypeKind::kTime:
      case TypeKind::kMicroTime: out = TimeValue(type.kind, message, bytes.empty()); return "";
      default: return "a type without a protobuf form";
    }
  }

  // RawExtension, JSON and FieldsV1 contain JSON text; unions are structs with one set member.
  std::string Any(const TypeNode& type, std::string_view bytes, Json& out, int depth) {
    if (type.proto_fields.empty()) {
      const SmallMessage message = ReadSmall(bytes);
      if (!message.read) return "broken raw value";
      if (message.bytes[1].empty()) {
        out = nullptr;
        return "";
      }
      ApiResult<DecodedBody> raw = ParseJson(message.bytes[1]);
      if (!raw) return raw.error().message;
      out = std::move(raw->value);
      return "";
    }
    Json members = Json::object();
    std::string why = Message(type, bytes, members, depth + 1);
    if (!why.empty()) return why;
    for (const Field& field : type.proto_fields) {
      const auto at = members.find(field.name);
      if (at == members.end()) continue;
      if (field.type->kind == TypeKind::kBoolean) {
        out = *at;
      } else {
        NormalizeBuiltin(*field.type, *at);
        out = std::move(*at);
        if (field.type->kind == TypeKind::kObject) return "";
      }
    }
    return "";
  }
};

}  // namespace

ApiResult<Json> DecodeMessage(const TypeNode& type, std::string_view message) {
  Json value = Json::object();
  Decoder decoder;
  if (std::string why = decoder.Message(type, message, value, 0); !why.empty()) {
    return BadRequest("couldn't decode the protobuf body: " + why);
  }
  NormalizeBuiltin(type, value);
  return value;
}

}  // namespace berth::local
