#include "local/apiserver/schema/declared_type.h"

namespace berth::local {
namespace {

using CelKind = cel::Type::Kind;

bool IsSet(const Json& schema, const char* flag) {
  const auto found = schema.find(flag);
  return found != schema.end() && found->is_boolean() && found->get<bool>();
}

std::string TextOf(const Json& schema, const char* name) {
  const auto found = schema.find(name);
  return found != schema.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Every object may have these at its root.
bool IsOfEveryObject(std::string_view name) {
  return name == "metadata" || name == "apiVersion" || name == "kind";
}

cel::TypePtr TypeOfText(const std::string& format) {
  if (format == "byte") return cel::TypeOf(CelKind::kBytes);
  if (format == "duration") return cel::TypeOf(CelKind::kDuration);
  const bool is_time = format == "date" || format == "date-time";
  return cel::TypeOf(is_time ? CelKind::kTimestamp : CelKind::kString);
}

cel::TypePtr TypeOfSchema(const Json& schema, const std::string& name);

// `name`: as Kubernetes names the types of inner objects in errors.
cel::TypePtr TypeOfObject(const Json& schema, const std::string& name) {
  const auto properties = schema.find("properties");
  const bool has_properties =
      properties != schema.end() && properties->is_object() && !properties->empty();
  if (!has_properties) {
    const auto values = schema.find("additionalProperties");
    if (values == schema.end() || !values->is_object()) return cel::TypeOf(CelKind::kDyn);
    return cel::TypeOf(CelKind::kMap, TypeOfSchema(*values, name + ".@elem"));
  }
  auto type = std::make_shared<cel::Type>();
  type->kind = CelKind::kObject;
  type->name = name;
  const bool is_open = IsSet(schema, "x-kubernetes-preserve-unknown-fields");
  type->field = [fields = &*properties, is_open, name](std::string_view property) -> cel::TypePtr {
    const auto found = fields->find(std::string(property));
    if (found != fields->end()) {
      return IsOfEveryObject(property) ? cel::TypeOf(CelKind::kDyn)
                                       : TypeOfSchema(*found, name + "." + std::string(property));
    }
    return is_open || IsOfEveryObject(property) ? cel::TypeOf(CelKind::kDyn) : nullptr;
  };
  return type;
}

cel::TypePtr TypeOfSchema(const Json& schema, const std::string& name) {
  if (!schema.is_object() || IsSet(schema, "x-kubernetes-int-or-string")) {
    return cel::TypeOf(CelKind::kDyn);
  }
  const std::string type = TextOf(schema, "type");
  if (type == "boolean") return cel::TypeOf(CelKind::kBool);
  if (type == "integer") return cel::TypeOf(CelKind::kInt);
  if (type == "number") return cel::TypeOf(CelKind::kDouble);
  if (type == "string") return TypeOfText(TextOf(schema, "format"));
  if (type == "object") return TypeOfObject(schema, name);
  const auto items = schema.find("items");
  if (type == "array" && items != schema.end()) {
    return cel::TypeOf(CelKind::kList, TypeOfSchema(*items, name + ".@idx"));
  }
  return cel::TypeOf(CelKind::kDyn);
}

}  // namespace

cel::TypePtr DeclaredType(const Json& schema) { return TypeOfSchema(schema, "object"); }

cel::TypePtr DeclaredType(const TypeNode& type) {
  switch (type.kind) {
    case TypeKind::kString: return cel::TypeOf(CelKind::kString);
    case TypeKind::kBoolean: return cel::TypeOf(CelKind::kBool);
    case TypeKind::kInt32:
    case TypeKind::kInt64: return cel::TypeOf(CelKind::kInt);
    case TypeKind::kNumber: return cel::TypeOf(CelKind::kDouble);
    case TypeKind::kTime:
    case TypeKind::kMicroTime: return cel::TypeOf(CelKind::kTimestamp);
    case TypeKind::kBytes: return cel::TypeOf(CelKind::kBytes);
    case TypeKind::kList: return cel::TypeOf(CelKind::kList, DeclaredType(*type.element));
    case TypeKind::kMap: return cel::TypeOf(CelKind::kMap, DeclaredType(*type.element));
    case TypeKind::kObject: break;
    default: return cel::TypeOf(CelKind::kDyn);
  }
  if (type.fields.empty()) return cel::TypeOf(CelKind::kDyn);
  auto object = std::make_shared<cel::Type>();
  object->kind = CelKind::kObject;
  object->name = type.name.empty() ? "object" : type.name;
  object->field = [&type](std::string_view name) -> cel::TypePtr {
    if (const TypeNode* child = ChildType(type, name)) return DeclaredType(*child);
    const bool is_open = type.preserve_unknown || IsOfEveryObject(name);
    return is_open ? cel::TypeOf(CelKind::kDyn) : nullptr;
  };
  return object;
}

}  // namespace berth::local
