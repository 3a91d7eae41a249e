// Unknown fields of a value, and values that do not fit their type.
#include "local/apiserver/schema/decode.h"

#include <cstdint>
#include <limits>

#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/schema/field_path.h"
#include "local/apiserver/schema/quantity_text.h"

namespace berth::local {
namespace {

void CollectUnknown(const TypeNode& type, const Json& value, const FieldPath& path,
                    std::vector<std::string>& out) {
  if (value.is_array()) {
    if (type.kind != TypeKind::kList) return;
    for (std::size_t i = 0; i < value.size(); ++i) {
      CollectUnknown(*type.element, value[i], path.Index(i), out);
    }
    return;
  }
  if (!value.is_object()) return;
  if (type.kind != TypeKind::kObject && type.kind != TypeKind::kMap) return;
  for (const auto& [key, member] : value.items()) {
    const TypeNode* child = ChildType(type, key);
    if (child != nullptr) {
      CollectUnknown(*child, member, path.Child(key), out);
    } else if (!type.preserve_unknown) {
      out.push_back("unknown field " + GoQuote(path.Child(key).Text()));
    }
  }
}

std::string_view JsonKind(const Json& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "bool";
  return "number";
}

std::string GoTypeName(const TypeNode& type) {
  switch (type.kind) {
    case TypeKind::kString: return "string";
    case TypeKind::kBoolean: return "bool";
    case TypeKind::kInt32: return "int32";
    case TypeKind::kInt64: return "int64";
    case TypeKind::kNumber: return "float64";
    case TypeKind::kBytes: return "[]uint8";
    case TypeKind::kMap: return "map[string]" + GoTypeName(*type.element);
    case TypeKind::kList: return "[]" + GoTypeName(*type.element);
    case TypeKind::kObject: return "v1." + (type.name.empty() ? "Object" : type.name);
    case TypeKind::kTime: return "v1.Time";
    case TypeKind::kMicroTime: return "v1.MicroTime";
    case TypeKind::kDuration: return "v1.Duration";
    case TypeKind::kQuantity: return "resource.Quantity";
    case TypeKind::kIntOrString: return "intstr.IntOrString";
    case TypeKind::kAny: return "interface {}";
  }
  return "interface {}";
}

bool FitsInteger(const Json& value, std::int64_t low, std::int64_t high) {
  if (value.is_number_unsigned()) {
    return value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high);
  }
  if (!value.is_number_integer()) return false;
  const auto number = value.get<std::int64_t>();
  return number >= low && number <= high;
}

bool FitsScalar(const TypeNode& type, const Json& value) {
  switch (type.kind) {
    case TypeKind::kString:
    case TypeKind::kTime:
    case TypeKind::kMicroTime:
    case TypeKind::kDuration:
    case TypeKind::kBytes: return value.is_string();
    case TypeKind::kBoolean: return value.is_boolean();
    case TypeKind::kInt32:
      return FitsInteger(value, std::numeric_limits<std::int32_t>::min(),
                         std::numeric_limits<std::int32_t>::max());
    case TypeKind::kInt64:
      return FitsInteger(value, std::numeric_limits<std::int64_t>::min(),
                         std::numeric_limits<std::int64_t>::max());
    case TypeKind::kNumber: return value.is_number();
    case TypeKind::kQuantity: return value.is_string() || value.is_number();
    case TypeKind::kIntOrString: return value.is_string() || value.is_number_integer();
    default: return true;
  }
}

// Text of the right JSON type in the wrong form.
std::string BadForm(const TypeNode& type, const Json& value) {
  if (type.kind == TypeKind::kQuantity) {
    const std::string text = value.is_string() ? value.get<std::string>() : api::FormatJson(value);
    if (CanonicalQuantity(text)) return "";
    return "quantities must match the regular expression "
           "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  }
  if (type.kind == TypeKind::kTime || type.kind == TypeKind::kMicroTime) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.empty() || ParseTime(text)) return "";
    const std::string layout = type.kind == TypeKind::kTime ? "2006-01-02T15:04:05Z07:00"
                                                            : "2006-01-02T15:04:05.000000Z07:00";
    return "parsing time " + GoQuote(text) + " as " + GoQuote(layout) + ": cannot parse " +
           GoQuote(text);
  }
  if (type.kind == TypeKind::kBytes && !Base64Decode(value.get_ref<const std::string&>())) {
    return "illegal base64 data";
  }
  return "";
}

struct FieldLocation {
  std::string_view owner;  // the innermost struct's name
  std::string path;        // from the root, without indexes, in Go's notation
};

std::string Misfit(const TypeNode& type, const Json& value, const FieldLocation& place) {
  std::string kind(JsonKind(value));
  if (value.is_number() && (type.kind == TypeKind::kInt32 || type.kind == TypeKind::kInt64)) {
    kind += " " + api::FormatJson(value);
  }
  if (place.path.empty()) {
    return "json: cannot unmarshal " + kind + " into Go value of type v1." +
           std::string(place.owner);
  }
  return "json: cannot unmarshal " + kind + " into Go struct field " + std::string(place.owner) +
         "." + place.path + " of type " + GoTypeName(type);
}

std::string FirstMisfit(const TypeNode& type, const Json& value, const FieldLocation& place) {
  if (value.is_null() || type.kind == TypeKind::kAny) return "";
  switch (type.kind) {
    case TypeKind::kObject:
    case TypeKind::kMap: {
      if (!value.is_object()) return Misfit(type, value, place);
      for (const auto& [key, member] : value.items()) {
        const TypeNode* child = ChildType(type, key);
        if (child == nullptr) continue;
        const bool declared = type.kind == TypeKind::kObject;
        const std::string_view owner = declared && !type.name.empty() ? type.name : place.owner;
        std::string why = FirstMisfit(*child, member,
                                      {owner, declared ? ChildPath(place.path, key) : place.path});
        if (!why.empty()) return why;
      }
      return "";
    }
    case TypeKind::kList: {
      if (!value.is_array()) return Misfit(type, value, place);
      for (const Json& item : value) {
        std::string why = FirstMisfit(*type.element, item, place);
        if (!why.empty()) return why;
      }
      return "";
    }
    default:
      if (!FitsScalar(type, value)) return Misfit(type, value, place);
      return BadForm(type, value);
  }
}

}  // namespace

std::vector<std::string> UnknownFields(const TypeNode& type, const Json& value) {
  std::vector<std::string> out;
  FieldPaths paths;
  CollectUnknown(type, value, paths.Root(), out);
  return out;
}

std::string TypeMismatch(const TypeNode& type, std::string_view kind, const Json& value) {
  return FirstMisfit(type, value, {kind, ""});
}

}  // namespace berth::local
