#include "cel/value_text.h"

#include "base/strings.h"
#include "cel/containers.h"
#include "cel/internal/numbers.h"

namespace berth::cel {
namespace {

constexpr std::size_t kMaxText = 1024;  // the limit of ToText

void AppendText(std::string& text, const Value& value, int depth) {
  if (text.size() > kMaxText || depth > 20) return;
  bool first = true;
  const auto separate = [&] {
    if (!first) text += ", ";
    first = false;
    return text.size() <= kMaxText;
  };
  switch (value.kind()) {
    case Kind::kNull: text += "null"; return;
    case Kind::kBool: text += value.AsBool() ? "true" : "false"; return;
    case Kind::kInt: text += std::to_string(value.AsInt()); return;
    case Kind::kUint: text += std::to_string(value.AsUint()); return;
    case Kind::kDouble: text += FormatDouble(value.AsDouble()); return;
    case Kind::kDuration: text += FormatDuration(value.AsNanoseconds()); return;
    case Kind::kTimestamp: text += FormatInstant(value.AsInstant()); return;
    case Kind::kObject: text += value.AsObject().ToText(); return;
    case Kind::kList:
      text += '[';
      value.AsList().ForEach([&](const Value& element) {
        const bool more = separate();
        AppendText(text, element, depth + 1);
        return more;
      });
      text += ']';
      return;
    case Kind::kMap:
      text += '{';
      value.AsMap().ForEach([&](const Value& key, const Value& entry) {
        const bool more = separate();
        AppendText(text, key, depth + 1);
        text += ": ";
        AppendText(text, entry, depth + 1);
        return more;
      });
      text += '}';
      return;
    case Kind::kOptional:
      if (value.AsOptional() == nullptr) {
        text += "optional.none()";
        return;
      }
      text += "optional(";
      AppendText(text, *value.AsOptional(), depth + 1);
      text += ')';
      return;
    default: text += TruncateUtf8(value.AsText(), kMaxText); return;
  }
}

}  // namespace

std::string_view TypeName(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull: return "null_type";
    case Kind::kBool: return "bool";
    case Kind::kInt: return "int";
    case Kind::kUint: return "uint";
    case Kind::kDouble: return "double";
    case Kind::kString: return "string";
    case Kind::kBytes: return "bytes";
    case Kind::kList: return "list";
    case Kind::kMap: return "map";
    case Kind::kDuration: return "google.protobuf.Duration";
    case Kind::kTimestamp: return "google.protobuf.Timestamp";
    case Kind::kType: return "type";
    case Kind::kOptional: return "optional_type";
    case Kind::kObject: return value.AsObject().type_name();
    case Kind::kError: return "error";
  }
  return "error";
}

std::string ToText(const Value& value) {
  std::string text;
  AppendText(text, value, 0);
  if (text.size() <= kMaxText) return text;
  return std::string(TruncateUtf8(text, kMaxText)) + "…";
}

}  // namespace berth::cel
