#include "local/apiserver/schema/declared_type.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace berth::local {
namespace {

using CelKind = cel::Type::Kind;

// Bytes.
constexpr std::int64_t kMaxRequest = 3 * 1024 * 1024;
constexpr std::int64_t kMaxText = kMaxRequest - 2;
constexpr std::int64_t kMaxTime = 32;
constexpr std::int64_t kDate = 12;
constexpr std::int64_t kBytesPerCharacter = 4;

bool IsSet(const Json& schema, const char* flag) {
  const auto found = schema.find(flag);
  return found != schema.end() && found->is_boolean() && found->get<bool>();
}

std::string TextOf(const Json& schema, const char* name) {
  const auto found = schema.find(name);
  return found != schema.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::int64_t> CountOf(const Json& schema, const char* name) {
  const auto found = schema.find(name);
  if (found == schema.end() || !found->is_number_integer()) return std::nullopt;
  return std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, INT32_MAX);
}

const Json* ObjectOf(const Json& schema, const char* name) {
  const auto found = schema.find(name);
  return found != schema.end() && found->is_object() ? &*found : nullptr;
}

// Every object may have these at its root.
bool IsOfEveryObject(std::string_view name) {
  return name == "metadata" || name == "apiVersion" || name == "kind";
}

const Json& PlainTextSchema() {
  static const Json kText{{"type", "string"}};
  return kText;
}
// What a rule may read of the metadata of an object.
const Json& MetadataSchema() {
  static const Json kMetadata{
      {"type", "object"},
      {"properties", {{"name", PlainTextSchema()}, {"generateName", PlainTextSchema()}}}};
  return kMetadata;
}

// The schema of a property of a whole object, in place of a declared one; null: the declared one.
const Json* FixedProperty(std::string_view name) {
  if (name == "metadata") return &MetadataSchema();
  return IsOfEveryObject(name) ? &PlainTextSchema() : nullptr;
}

// Whether the declared properties of a whole object have all that rules may read of every object.
bool DeclaresMetadata(const Json& properties) {
  const auto has = [](const Json* object, const char* name, const char* type) {
    const Json* property = object == nullptr ? nullptr : ObjectOf(*object, name);
    return property != nullptr && TextOf(*property, "type") == type;
  };
  const Json* metadata = ObjectOf(properties, "metadata");
  const Json* inside = metadata == nullptr ? nullptr : ObjectOf(*metadata, "properties");
  return has(&properties, "kind", "string") && has(&properties, "apiVersion", "string") &&
         has(&properties, "metadata", "object") && has(inside, "name", "string") &&
         has(inside, "generateName", "string");
}

std::uint64_t Elements(std::int64_t count) { return static_cast<std::uint64_t>(count); }

std::uint64_t MostTextBytes(const Json& schema) {
  const std::string format = TextOf(schema, "format");
  const auto most = CountOf(schema, "maxLength");
  if (format == "byte") return Elements(most.value_or(kMaxText));
  if (format == "duration" || format == "date-time") return Elements(kMaxTime);
  if (format == "date") return Elements(kDate);
  if (most) return Elements(*most * kBytesPerCharacter);
  const auto allowed = schema.find("enum");
  if (allowed == schema.end() || !allowed->is_array() || allowed->empty()) {
    return Elements(kMaxText);
  }
  std::size_t longest = 0;
  for (const Json& value : *allowed) {
    if (value.is_string()) longest = std::max(longest, value.get_ref<const std::string&>().size());
  }
  return longest;
}

std::int64_t LeastTextBytes(const std::string& format) {
  if (format == "duration") return 3;
  if (format == "date") return kDate;
  return format == "date-time" ? 21 : 2;
}

std::int64_t LeastObjectBytes(const Json& schema, bool is_root) {
  std::int64_t bytes = 2;
  const Json* properties = ObjectOf(schema, "properties");
  const auto required = schema.find("required");
  if (required == schema.end() || !required->is_array()) return bytes;
  const bool fixes = is_root && (properties == nullptr || !DeclaresMetadata(*properties));
  for (const Json& name : *required) {
    if (!name.is_string()) continue;
    const std::string& text = name.get_ref<const std::string&>();
    const Json* property = fixes ? FixedProperty(text) : nullptr;
    if (property == nullptr && properties != nullptr)
      property = ObjectOf(*properties, text.c_str());
    if (property == nullptr || property->contains("default")) continue;
    constexpr std::int64_t kMarks = 4;
    bytes += static_cast<std::int64_t>(text.size()) + LeastBytes(*property, false) + kMarks;
  }
  return bytes;
}

cel::TypePtr Sized(CelKind kind, std::uint64_t most, cel::TypePtr element = nullptr) {
  auto type = std::make_shared<cel::Type>();
  type->kind = kind;
  type->element = std::move(element);
  type->max_elements = most;
  return type;
}

cel::TypePtr TypeOfText(const Json& schema) {
  const std::string format = TextOf(schema, "format");
  const bool is_time = format == "date" || format == "date-time";
  const CelKind kind = format == "byte"       ? CelKind::kBytes
                       : format == "duration" ? CelKind::kDuration
                       : is_time              ? CelKind::kTimestamp
                                              : CelKind::kString;
  return Sized(kind, MostTextBytes(schema));
}

// Which objects have apiVersion, kind and metadata whose schemas are those of every object.
enum class Whole { kAny, kThis, kEmbedded };

Whole Inside(const Json& schema, Whole outside) {
  if (outside == Whole::kAny) return Whole::kAny;
  return IsSet(schema, "x-kubernetes-embedded-resource") ? Whole::kThis : Whole::kEmbedded;
}

cel::TypePtr TypeOfSchema(const Json& schema, const std::string& name, Whole whole);

// `name` is Kubernetes' name for the types of inner objects in errors.
cel::TypePtr TypeOfObject(const Json& schema, const std::string& name, Whole whole) {
  const Json* properties = ObjectOf(schema, "properties");
  const bool has_properties = properties != nullptr && !properties->empty();
  if (!has_properties && whole != Whole::kThis) {
    const Json* values = ObjectOf(schema, "additionalProperties");
    if (values == nullptr) return cel::TypeOf(CelKind::kDyn);
    constexpr std::int64_t kPairMarks = 6;
    const std::int64_t fitting = kMaxText / (LeastBytes(*values, false) + kPairMarks);
    return Sized(CelKind::kMap, Elements(CountOf(schema, "maxProperties").value_or(fitting)),
                 TypeOfSchema(*values, name + ".@elem", Inside(*values, whole)));
  }
  auto type = std::make_shared<cel::Type>();
  type->kind = CelKind::kObject;
  type->name = name;
  const bool is_open = IsSet(schema, "x-kubernetes-preserve-unknown-fields");
  const bool fixes = whole == Whole::kThis && (!has_properties || !DeclaresMetadata(*properties));
  type->field = [properties, is_open, name, whole,
                 fixes](std::string_view property) -> cel::TypePtr {
    const std::string path = name + "." + std::string(property);
    const Json* fixed = fixes ? FixedProperty(property) : nullptr;
    if (fixed != nullptr) return TypeOfSchema(*fixed, path, Whole::kEmbedded);
    const Json* found =
        properties == nullptr ? nullptr : ObjectOf(*properties, std::string(property).c_str());
    const bool is_any = whole == Whole::kAny && IsOfEveryObject(property);
    if (found != nullptr && !is_any) return TypeOfSchema(*found, path, Inside(*found, whole));
    return is_open || is_any ? cel::TypeOf(CelKind::kDyn) : nullptr;
  };
  return type;
}

cel::TypePtr TypeOfSchema(const Json& schema, const std::string& name, Whole whole) {
  if (!schema.is_object()) return cel::TypeOf(CelKind::kDyn);
  if (IsSet(schema, "x-kubernetes-int-or-string")) {
    const auto most = CountOf(schema, "maxLength");
    return Sized(CelKind::kDyn, Elements(most ? *most * kBytesPerCharacter : kMaxText));
  }
  const std::string type = TextOf(schema, "type");
  if (type == "boolean") return cel::TypeOf(CelKind::kBool);
  if (type == "integer") return cel::TypeOf(CelKind::kInt);
  if (type == "number") return cel::TypeOf(CelKind::kDouble);
  if (type == "string") return TypeOfText(schema);
  if (type == "object") return TypeOfObject(schema, name, whole);
  const Json* items = ObjectOf(schema, "items");
  if (type == "array" && items != nullptr) {
    const std::int64_t fitting = kMaxText / (LeastBytes(*items, false) + 1);
    return Sized(CelKind::kList, Elements(CountOf(schema, "maxItems").value_or(fitting)),
                 TypeOfSchema(*items, name + ".@idx", Inside(*items, whole)));
  }
  return cel::TypeOf(CelKind::kDyn);
}

}  // namespace

cel::TypePtr DeclaredType(const Json& schema) {
  return TypeOfSchema(schema, "object", Whole::kAny);
}

cel::TypePtr DeclaredType(const Json& schema, bool is_root) {
  return TypeOfSchema(schema, "object", is_root ? Whole::kThis : Whole::kEmbedded);
}

std::int64_t LeastBytes(const Json& schema, bool is_root) {
  if (!schema.is_object() || IsSet(schema, "x-kubernetes-int-or-string")) return 1;
  const std::string type = TextOf(schema, "type");
  if (type == "boolean") return 4;
  if (type == "integer" || type == "number") return 1;
  if (type == "string") return LeastTextBytes(TextOf(schema, "format"));
  if (type != "object" || ObjectOf(schema, "additionalProperties") != nullptr) return 2;
  return LeastObjectBytes(schema, is_root || IsSet(schema, "x-kubernetes-embedded-resource"));
}

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
