#include "local/apiserver/schema/field_error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <set>
#include <span>

#include "api/codec/json_write.h"

namespace berth::local {
namespace {

constexpr int kUnprocessable = 422;

// Go's %v of a float64: shortest digits, no ".0", exponent outside [1e-4, 1e21).
std::string GoFloat(double value) {
  std::array<char, 64> buffer{};
  const double magnitude = value < 0 ? -value : value;
  const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e21);
  const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string("NaN");
}

std::string ValueText(const Json& value) {
  if (value.is_string()) return GoQuote(value.get_ref<const std::string&>());
  if (value.is_number_float()) return GoFloat(value.get<double>());
  return GoJson(value);
}

Cause Make(std::string_view reason, std::string field, std::string message,
           std::string_view detail) {
  if (!detail.empty()) message += ": " + std::string(detail);
  if (field.empty()) field = "<nil>";
  return Cause{std::string(reason), std::move(field), std::move(message)};
}

}  // namespace

void AppendGoQuoted(std::string_view text, std::string& out) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '\a': out += "\\a"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\v': out += "\\v"; break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f) {
          out += c;
          break;
        }
        out += "\\x";
        out += kHex[byte >> 4U];
        out += kHex[byte & 0xfU];
      }
    }
  }
}

std::string GoQuote(std::string_view text) {
  std::string out = "\"";
  AppendGoQuoted(text, out);
  return out + "\"";
}

std::string GoJson(const Json& value) {
  const std::string plain = api::FormatJson(value);
  std::string out;
  out.reserve(plain.size());
  for (const char c : plain) {
    switch (c) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  }
  return out;
}

Cause RequiredError(std::string field, std::string_view detail) {
  return Make("FieldValueRequired", std::move(field), "Required value", detail);
}

Cause InvalidError(std::string field, const Json& value, std::string_view detail) {
  return Make("FieldValueInvalid", std::move(field), "Invalid value: " + ValueText(value), detail);
}

Cause InvalidWithoutValue(std::string field, std::string_view detail) {
  return Make("FieldValueInvalid", std::move(field), "Invalid value", detail);
}

Cause TypeInvalidError(std::string field, const Json& value, std::string_view detail) {
  return Make("FieldValueTypeInvalid", std::move(field), "Invalid value: " + ValueText(value),
              detail);
}

Cause NotSupportedError(std::string field, const Json& value,
                        const std::vector<std::string>& supported) {
  std::string detail;
  for (const std::string& text : supported) {
    detail += (detail.empty() ? "supported values: " : ", ") + GoQuote(text);
  }
  return Make("FieldValueNotSupported", std::move(field), "Unsupported value: " + ValueText(value),
              detail);
}

Cause ForbiddenError(std::string field, std::string_view detail) {
  return Make("FieldValueForbidden", std::move(field), "Forbidden", detail);
}

Cause DuplicateError(std::string field, const Json& value) {
  return Make("FieldValueDuplicate", std::move(field), "Duplicate value: " + ValueText(value), "");
}

Cause DuplicateWithoutValue(std::string field) {
  return Make("FieldValueDuplicate", std::move(field), "Duplicate value", "");
}

Cause NotFoundError(std::string field, const Json& value) {
  return Make("FieldValueNotFound", std::move(field), "Not found: " + ValueText(value), "");
}

Cause TooLongError(std::string field, std::int64_t max_bytes) {
  return Make(
      "FieldValueTooLong", std::move(field), "Too long",
      "may not be more than " + std::to_string(max_bytes) + (max_bytes == 1 ? " byte" : " bytes"));
}

Cause TooManyError(std::string field, std::int64_t actual, std::int64_t max_items) {
  return Make(
      "FieldValueTooMany", std::move(field), "Too many: " + std::to_string(actual),
      "must have at most " + std::to_string(max_items) + (max_items == 1 ? " item" : " items"));
}

std::string ChildPath(std::string_view parent, std::string_view field) {
  if (parent.empty()) return std::string(field);
  return std::string(parent) + "." + std::string(field);
}

std::string IndexPath(std::string_view parent, std::size_t index) {
  return std::string(parent) + "[" + std::to_string(index) + "]";
}

std::string KeyPath(std::string_view parent, std::string_view key) {
  return std::string(parent) + "[" + std::string(key) + "]";
}

ApiError InvalidStatus(std::string_view group, std::string_view kind, std::string_view name,
                       const std::vector<Cause>& causes) {
  std::string message(kind);
  if (!group.empty()) message += "." + std::string(group);
  message += " " + GoQuote(name) + " is invalid";

  std::vector<std::string> texts;
  std::set<std::string> seen;
  Json list = Json::array();
  for (const Cause& cause : std::span(causes).first(std::min(causes.size(), kMostCauses))) {
    std::string text = cause.field + ": " + cause.message;
    if (seen.insert(text).second) texts.push_back(std::move(text));
    list.push_back({{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}});
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    message += i == 0 ? (texts.size() > 1 ? ": [" : ": ") : ", ";
    message += texts[i];
  }
  if (texts.size() > 1) message += "]";

  Json details{{"kind", kind}};
  if (!name.empty()) details["name"] = name;
  if (!group.empty()) details["group"] = group;
  if (!list.empty()) details["causes"] = std::move(list);
  return ApiError{kUnprocessable, "Invalid", std::move(message), std::move(details)};
}

ApiError BadRequest(std::string message) {
  return ApiError{400, "BadRequest", std::move(message), nullptr};
}

}  // namespace berth::local
