// NormalizeBuiltin: writes a built-in object as Go's structs would.
#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/apiserver/schema/decode.h"
#include "local/apiserver/schema/quantity_text.h"

namespace berth::local {
namespace {

void NormalizeObject(const TypeNode& type, Json& value);

void NormalizeScalar(const TypeNode& type, Json& value) {
  switch (type.kind) {
    case TypeKind::kQuantity: {
      if (!value.is_string() && !value.is_number()) return;
      const std::string text =
          value.is_string() ? value.get<std::string>() : api::FormatJson(value);
      if (auto canonical = CanonicalQuantity(text)) value = *std::move(canonical);
      return;
    }
    case TypeKind::kTime:
    case TypeKind::kMicroTime: {
      if (!value.is_string()) return;
      const auto time = ParseTime(value.get_ref<const std::string&>());
      if (!time) return;
      value = type.kind == TypeKind::kTime ? FormatTime(*time) : FormatMicroTime(*time);
      return;
    }
    case TypeKind::kBytes: {
      if (!value.is_string()) return;
      const auto bytes = Base64Decode(value.get_ref<const std::string&>());
      if (bytes) value = Base64Encode(*bytes);
      return;
    }
    default: return;
  }
}

// The value that Go writes for a null in a map or list.
Json ZeroElement(const TypeNode& type) {
  switch (type.kind) {
    case TypeKind::kString:
    case TypeKind::kBytes: return "";
    case TypeKind::kQuantity: return "0";
    case TypeKind::kObject: return Json::object();
    case TypeKind::kBoolean: return false;
    case TypeKind::kInt32:
    case TypeKind::kInt64: return 0;
    default: return nullptr;
  }
}

void NormalizeValue(const TypeNode& type, Json& value) {
  switch (type.kind) {
    case TypeKind::kObject:
      if (value.is_object()) NormalizeObject(type, value);
      return;
    case TypeKind::kMap:
    case TypeKind::kList:
      if (!value.is_structured()) return;
      for (Json& element : value) {
        if (element.is_null()) element = ZeroElement(*type.element);
        NormalizeValue(*type.element, element);
      }
      return;
    default: NormalizeScalar(type, value);
  }
}

bool IsZero(const Json& value) {
  if (value.is_null()) return true;
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value == 0;
  return value.empty();
}

// Whether Go omits the field.
bool IsOmitted(const Field& field, const Json& value) {
  const TypeKind kind = field.type->kind;
  const bool by_value = kind == TypeKind::kObject || kind == TypeKind::kTime ||
                        kind == TypeKind::kMicroTime || kind == TypeKind::kQuantity ||
                        kind == TypeKind::kIntOrString || kind == TypeKind::kDuration;
  if (field.Has(kFieldPointer)) return false;
  if (by_value) return field.Has(kFieldOmitZero) && IsZero(value);
  return field.Has(kFieldOmitEmpty) && IsZero(value);
}

// Structs held by value are always written: resources: {}, status: {}.
bool IsAlwaysWritten(const Field& field) {
  return field.type->kind == TypeKind::kObject && !field.Has(kFieldPointer) &&
         !field.Has(kFieldOmitZero);
}

// Texts and numbers without omitempty are written although they are zero; clients' models rely on
// them. Null: the field is none of these.
Json ZeroOf(const Field& field) {
  if (field.Has(kFieldPointer) || field.Has(kFieldOmitEmpty) || field.Has(kFieldOmitZero)) {
    return nullptr;
  }
  switch (field.type->kind) {
    case TypeKind::kString:
    case TypeKind::kBoolean:
    case TypeKind::kInt32:
    case TypeKind::kInt64: return ZeroElement(*field.type);
    default: return nullptr;
  }
}

void NormalizeObject(const TypeNode& type, Json& value) {
  for (auto at = value.begin(); at != value.end();) {
    const Field* field = FindField(type, at.key());
    if (field == nullptr) {
      at = type.preserve_unknown ? std::next(at) : value.erase(at);
      continue;
    }
    if (!at->is_null()) NormalizeValue(*field->type, *at);
    at = at->is_null() || IsOmitted(*field, *at) ? value.erase(at) : std::next(at);
  }
  for (const Field& field : type.fields) {
    if (IsAlwaysWritten(field)) {
      if (value.contains(field.name)) continue;
      Json& added = value[field.name] = Json::object();
      NormalizeObject(*field.type, added);
    } else if (Json zero = ZeroOf(field); !zero.is_null() && !value.contains(field.name)) {
      value[field.name] = std::move(zero);
    }
  }
}

}  // namespace

void NormalizeBuiltin(const TypeNode& type, Json& value) { NormalizeValue(type, value); }

}  // namespace berth::local
