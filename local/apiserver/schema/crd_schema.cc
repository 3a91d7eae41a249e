// Converts openAPIV3Schema to TypeNode and Validation.
#include "local/apiserver/schema/crd_schema.h"

#include <algorithm>
#include <cstddef>

#include <re2/re2.h>

#include "local/apiserver/schema/crd_internal.h"
#include "local/apiserver/schema/crd_rules.h"
#include "local/apiserver/schema/field_path.h"
#include "local/apiserver/schema/formats.h"
#include "local/apiserver/schema/validation.h"

namespace berth::local {
namespace {

std::string Text(const Json& schema, const char* name) {
  const auto at = schema.find(name);
  return at != schema.end() && at->is_string() ? at->get<std::string>() : std::string();
}

bool Flag(const Json& schema, const char* name) {
  const auto at = schema.find(name);
  return at != schema.end() && at->is_boolean() && at->get<bool>();
}

std::optional<double> Number(const Json& schema, const char* name) {
  const auto at = schema.find(name);
  if (at == schema.end() || !at->is_number()) return std::nullopt;
  return at->get<double>();
}

std::optional<std::int64_t> Count(const Json& schema, const char* name) {
  const auto at = schema.find(name);
  if (at == schema.end() || !at->is_number_integer()) return std::nullopt;
  return at->get<std::int64_t>();
}

const Json* Member(const Json& schema, const char* name) {
  const auto at = schema.find(name);
  return at == schema.end() || at->is_null() ? nullptr : &*at;
}

TypeKind ScalarKind(const std::string& type) {
  if (type == "string") return TypeKind::kString;
  if (type == "integer") return TypeKind::kInt64;
  if (type == "number") return TypeKind::kNumber;
  if (type == "boolean") return TypeKind::kBoolean;
  return TypeKind::kAny;
}

class Reader {
 public:
  Reader(TypeArena& arena, const TypeNode* meta) : arena_(arena), meta_(meta) {}

  const std::vector<Cause>& rule_causes() const { return rule_causes_; }

  enum class Position { kRoot, kInside };

  // `path` is that of the schema in the CRD, `list_path` that of the innermost list around it that
  // is no map.
  const TypeNode* Read(const Json& schema, Position position, const std::string& path,
                       const std::string& list_path) {
    TypeNode* node = arena_.New(TypeKind::kAny);
    const std::string type = Text(schema, "type");
    node->nullable = Flag(schema, "nullable");
    node->preserve_unknown = Flag(schema, "x-kubernetes-preserve-unknown-fields");
    node->embedded_resource =
        position == Position::kRoot || Flag(schema, "x-kubernetes-embedded-resource");
    node->atomic = Text(schema, "x-kubernetes-map-type") == "atomic";
    if (const Json* value = Member(schema, "default")) {
      node->default_value = std::make_shared<const Json>(*value);
    }
    if (Flag(schema, "x-kubernetes-int-or-string")) {
      node->kind = TypeKind::kIntOrString;
    } else if (type == "array" || (type.empty() && schema.contains("items"))) {
      ReadList(schema, *node, path, list_path);
    } else if (type == "object" || node->embedded_resource || schema.contains("properties") ||
               schema.contains("additionalProperties")) {
      ReadObject(schema, *node, path, list_path);
    } else {
      node->kind = ScalarKind(type);
    }
    node->validation = ReadValidation(schema, type, path, list_path);
    node->has_rules = node->has_rules || node->validation->rules != nullptr;
    const std::string& format = node->validation->format;
    node->cel_converts =
        node->cel_converts || node->kind == TypeKind::kNumber ||
        (node->kind == TypeKind::kString &&
         (format == "date-time" || format == "date" || format == "duration" || format == "byte"));
    return node;
  }

 private:
  // What is true of a node because of a node below.
  static void TakeFrom(const TypeNode& below, TypeNode& node) {
    node.has_rules = node.has_rules || below.has_rules;
    node.has_unordered = node.has_unordered || below.has_unordered;
    node.cel_converts = node.cel_converts || below.cel_converts;
  }

  void ReadList(const Json& schema, TypeNode& node, const std::string& path,
                const std::string& list_path) {
    node.kind = TypeKind::kList;
    const Json* items = Member(schema, "items");
    const std::string list_type = Text(schema, "x-kubernetes-list-type");
    const std::string& uncorrelated = list_path.empty() && list_type != "map" ? path : list_path;
    node.element = items != nullptr && items->is_object()
                       ? Read(*items, Position::kInside, ChildPath(path, "items"), uncorrelated)
                       : arena_.New(TypeKind::kAny);
    TakeFrom(*node.element, node);
    node.has_unordered = node.has_unordered || list_type == "set" || list_type == "map";
    if (list_type == "set") node.list_type = ListType::kSet;
    if (list_type != "map") return;
    node.list_type = ListType::kMap;
    if (const Json* keys = Member(schema, "x-kubernetes-list-map-keys")) {
      for (const Json& key : *keys) {
        if (key.is_string()) node.list_map_keys.push_back(key.get<std::string>());
      }
    }
    // Kubernetes writes the keys of an item sorted by name.
    std::sort(node.list_map_keys.begin(), node.list_map_keys.end());
  }

  void ReadObject(const Json& schema, TypeNode& node, const std::string& path,
                  const std::string& list_path) {
    node.kind = TypeKind::kObject;
    const Json* required = Member(schema, "required");
    const Json* properties = Member(schema, "properties");
    if (properties != nullptr && properties->is_object()) {
      for (const auto& [name, property] : properties->items()) {
        if (!property.is_object()) continue;
        if (node.embedded_resource && name == "metadata") continue;
        const std::string at = KeyPath(ChildPath(path, "properties"), name);
        Field field{.name = name, .type = Read(property, Position::kInside, at, list_path)};
        TakeFrom(*field.type, node);
        const bool must = required != nullptr &&
                          std::find(required->begin(), required->end(), name) != required->end();
        if (must) field.flags |= kFieldRequired;
        node.fields.push_back(std::move(field));
      }
    }
    if (node.embedded_resource) AddTypeAndMeta(properties, node, path);
    std::sort(node.fields.begin(), node.fields.end(),
              [](const Field& a, const Field& b) { return a.name < b.name; });

    const Json* additional = Member(schema, "additionalProperties");
    if (additional == nullptr || !node.fields.empty()) return;
    if (additional->is_object()) {
      node.kind = TypeKind::kMap;
      node.element =
          Read(*additional, Position::kInside, ChildPath(path, "additionalProperties"), list_path);
      TakeFrom(*node.element, node);
    } else if (additional->is_boolean() && additional->get<bool>()) {
      node.kind = TypeKind::kMap;
      node.element = arena_.New(TypeKind::kObject);  // items without declared fields
    }
  }

  // metadata is always ObjectMeta; a schema may only restrict name and generateName.
  void AddTypeAndMeta(const Json* properties, TypeNode& node, const std::string& path) {
    for (const char* name : {"apiVersion", "kind"}) {
      const bool declared = std::any_of(node.fields.begin(), node.fields.end(),
                                        [name](const Field& field) { return field.name == name; });
      if (!declared) {
        node.fields.push_back({.name = name, .type = arena_.New(TypeKind::kString)});
      }
    }
    const TypeNode* meta = meta_;
    const Json* narrowed = properties != nullptr && properties->is_object()
                               ? Member(*properties, "metadata")
                               : nullptr;
    if (narrowed != nullptr && narrowed->is_object() && narrowed->contains("properties")) {
      TypeNode* own = arena_.New(TypeKind::kObject);
      *own = *meta_;
      for (Field& field : own->fields) {
        const Json* property = Member((*narrowed)["properties"], field.name.c_str());
        if (property != nullptr && property->is_object() &&
            (field.name == "name" || field.name == "generateName")) {
          field.type = Read(*property, Position::kInside, path, "");
        }
      }
      own->validation = ReadValidation(*narrowed, "object", path, "");
      own->has_rules = own->validation->rules != nullptr;
      for (const Field& field : own->fields) TakeFrom(*field.type, *own);
      TakeFrom(*own, node);
      meta = own;
    }
    node.fields.push_back({.name = "metadata", .type = meta});
  }

  std::vector<const TypeNode*> ReadAll(const Json& schema, const char* name) {
    std::vector<const TypeNode*> nodes;
    const Json* list = Member(schema, name);
    if (list == nullptr || !list->is_array()) return nodes;
    for (const Json& item : *list) {
      if (item.is_object()) nodes.push_back(Read(item, Position::kInside, "", ""));
    }
    return nodes;
  }

  std::shared_ptr<const Validation> ReadValidation(const Json& schema, const std::string& type,
                                                   const std::string& path,
                                                   const std::string& list_path) {
    auto out = std::make_shared<Validation>();
    if (!type.empty()) out->types = {type};
    if (Flag(schema, "x-kubernetes-int-or-string")) out->types = {"integer", "string"};
    const std::string format = Text(schema, "format");
    if (out->types.size() < 2 && IsKnownFormat(type, format)) out->format = format;
    out->minimum = Number(schema, "minimum");
    out->maximum = Number(schema, "maximum");
    out->multiple_of = Number(schema, "multipleOf");
    out->exclusive_minimum = Flag(schema, "exclusiveMinimum");
    out->exclusive_maximum = Flag(schema, "exclusiveMaximum");
    out->min_length = Count(schema, "minLength");
    out->max_length = Count(schema, "maxLength");
    out->min_items = Count(schema, "minItems");
    out->max_items = Count(schema, "maxItems");
    out->min_properties = Count(schema, "minProperties");
    out->max_properties = Count(schema, "maxProperties");
    out->pattern_text = Text(schema, "pattern");
    if (!out->pattern_text.empty()) {
      re2::RE2::Options options;
      options.set_log_errors(false);
      out->pattern = std::make_shared<const re2::RE2>(out->pattern_text, options);
    }
    if (const Json* allowed = Member(schema, "enum"); allowed != nullptr && allowed->is_array()) {
      out->allowed.assign(allowed->begin(), allowed->end());
    }
    if (const Json* names = Member(schema, "required"); names != nullptr && names->is_array()) {
      for (const Json& name : *names) {
        if (name.is_string()) out->required.push_back(name.get<std::string>());
      }
    }
    out->all_of = ReadAll(schema, "allOf");
    out->any_of = ReadAll(schema, "anyOf");
    out->one_of = ReadAll(schema, "oneOf");
    if (const Json* inner = Member(schema, "not"); inner != nullptr && inner->is_object()) {
      out->not_of = Read(*inner, Position::kInside, "", "");
    }
    out->rules = CrdRules::Compile(schema, path, list_path, rule_causes_);
    return out;
  }

  TypeArena& arena_;
  const TypeNode* meta_;
  std::vector<Cause> rule_causes_;
};

// Every default must satisfy its own schema. `path`: the path in the schema.
void CheckDefaults(const Json& schema, const TypeNode& node, const std::string& path,
                   std::vector<Cause>& causes) {
  if (node.default_value != nullptr) {
    Json value = *node.default_value;
    DefaultValue(node, value);
    ValueErrors errors;
    FieldPaths paths;
    ValidateValue(node, value, nullptr, paths.Root(), errors);
    for (Cause& cause : errors.causes) {
      const std::string at = ChildPath(path, "default");
      cause.field = cause.field == "<nil>" ? at : ChildPath(at, cause.field);
      causes.push_back(std::move(cause));
    }
  }
  if (const Json* properties = Member(schema, "properties");
      properties != nullptr && properties->is_object()) {
    for (const Field& field : node.fields) {
      const auto at = properties->find(field.name);
      if (at == properties->end() || !at->is_object() || field.name == "metadata") continue;
      CheckDefaults(*at, *field.type, KeyPath(ChildPath(path, "properties"), field.name), causes);
    }
  }
  for (const char* name : {"items", "additionalProperties"}) {
    const Json* inner = Member(schema, name);
    if (inner == nullptr || !inner->is_object() || node.element == nullptr) continue;
    CheckDefaults(*inner, *node.element, ChildPath(path, name), causes);
  }
}

bool IsBlocking(const Cause& cause) {
  return cause.reason == "FieldValueNotSupported" || cause.reason == "FieldValueRequired" ||
         cause.reason == "FieldValueTooLong" || cause.reason == "FieldValueTooMany" ||
         cause.reason == "FieldValueTypeInvalid";
}

// Pruning follows the type of the value, not of the schema: an object in place of a number loses
// its fields too, before validation refuses the rest.
class Pruner {
 public:
  // A null `type` declares no field.
  void Prune(const TypeNode* type, Json& value, const FieldPath& path) {
    const bool preserve = type != nullptr && type->preserve_unknown;
    if (value.is_array()) {
      const TypeNode* element = type == nullptr ? nullptr : ElementOf(*type);
      if (element == nullptr && preserve) return;
      for (std::size_t i = 0; i < value.size(); ++i) Prune(element, value[i], path.Index(i));
      return;
    }
    if (!value.is_object()) return;
    const bool is_meta = type != nullptr && type->name == "ObjectMeta";
    for (auto at = value.begin(); at != value.end();) {
      const TypeNode* child = type == nullptr ? nullptr : ChildType(*type, at.key());
      if (child == nullptr && !preserve) {
        removed_.push_back(path.Child(at.key()).Text());
        at = value.erase(at);
        continue;
      }
      if (is_meta && at->is_null()) {  // creationTimestamp: null
        at = value.erase(at);
        continue;
      }
      if (child != nullptr) Prune(child, *at, path.Child(at.key()));
      ++at;
    }
  }
  std::vector<std::string> Take() {
    std::sort(removed_.begin(), removed_.end());
    return std::move(removed_);
  }

 private:
  static const TypeNode* ElementOf(const TypeNode& type) {
    return type.kind == TypeKind::kList ? type.element : nullptr;
  }
  std::vector<std::string> removed_;
};

bool IsUnwantedNull(const TypeNode* type, const Json& value) {
  return value.is_null() && type != nullptr && !type->nullable;
}

void DropNulls(const TypeNode* type, Json& value) {
  if (type == nullptr || type->name == "ObjectMeta") return;
  if (value.is_object()) {
    for (auto at = value.begin(); at != value.end();) {
      const TypeNode* child = ChildType(*type, at.key());
      if (IsUnwantedNull(child, *at) && child->default_value == nullptr &&
          child->kind != TypeKind::kAny) {
        at = value.erase(at);
        continue;
      }
      DropNulls(child, *at);
      ++at;
    }
  } else if (value.is_array() && type->kind == TypeKind::kList) {
    for (Json& item : value) DropNulls(type->element, item);
  }
}

void FillElement(const TypeNode* type, Json& value) {
  if (type == nullptr) return;
  if (IsUnwantedNull(type, value) && type->default_value != nullptr) value = *type->default_value;
  DefaultValue(*type, value);
}

}  // namespace

std::shared_ptr<const CrdSchema> CrdSchema::Parse(const Json& schema, std::string_view path,
                                                  std::vector<Cause>& causes) {
  if (!schema.is_object()) {
    causes.push_back(RequiredError(std::string(path), "schemas are required"));
    return nullptr;
  }
  std::vector<Cause> errors = StructuralErrors(schema, path);
  if (!errors.empty()) {
    std::move(errors.begin(), errors.end(), std::back_inserter(causes));
    return nullptr;
  }
  std::shared_ptr<CrdSchema> out(new CrdSchema());
  Reader reader(out->arena_, NewObjectMetaType(out->arena_));
  out->root_ = reader.Read(schema, Reader::Position::kRoot, std::string(path), "");
  errors = reader.rule_causes();
  CheckDefaults(schema, *out->root_, std::string(path), errors);
  if (!errors.empty()) {
    std::move(errors.begin(), errors.end(), std::back_inserter(causes));
    return nullptr;
  }
  return out;
}

std::vector<Cause> CrdSchema::Validate(const Json& object, const Json* old_object,
                                       std::vector<Cause>* ratcheted) const {
  ValueErrors errors;
  FieldPaths paths;
  ValidateValue(*root_, object, old_object, paths.Root(), errors);
  std::vector<Cause> causes = std::move(errors.causes);
  std::vector<Cause> embedded = EmbeddedErrors(*root_, object, "");
  std::move(embedded.begin(), embedded.end(), std::back_inserter(causes));
  if (ratcheted != nullptr) {
    std::move(errors.ratcheted.begin(), errors.ratcheted.end(), std::back_inserter(*ratcheted));
  }
  std::vector<Cause> lists = ListTypeErrors(*root_, object, "");
  const bool was_so =
      !lists.empty() && old_object != nullptr && !ListTypeErrors(*root_, *old_object, "").empty();
  if (!was_so) std::move(lists.begin(), lists.end(), std::back_inserter(causes));
  if (!root_->has_rules) return causes;
  if (std::any_of(causes.begin(), causes.end(), IsBlocking)) {
    causes.push_back(InvalidError("", nullptr,
                                  "some validation rules were not checked because the object was "
                                  "invalid; correct the existing errors to complete validation"));
    return causes;
  }
  std::vector<Cause> unchanged;
  RuleErrors(*root_, object, old_object, causes, ratcheted == nullptr ? unchanged : *ratcheted);
  return causes;
}

// Prune removes undeclared fields; Default adds missing ones.

void DefaultValue(const TypeNode& type, Json& value) {
  if (value.is_array()) {
    if (type.kind != TypeKind::kList) return;
    for (Json& item : value) FillElement(type.element, item);
    return;
  }
  if (!value.is_object()) return;
  for (const Field& field : type.fields) {
    if (field.type->default_value != nullptr) {
      const auto at = value.find(field.name);
      if (at == value.end() || IsUnwantedNull(field.type, *at)) {
        value[field.name] = *field.type->default_value;
      }
    }
  }
  for (auto& [key, member] : value.items()) {
    const Field* field = FindField(type, key);
    if (field != nullptr) {
      DefaultValue(*field->type, member);
    } else if (type.kind == TypeKind::kMap) {
      FillElement(type.element, member);
    }
  }
}

std::vector<std::string> CrdSchema::Prune(Json& object) const {
  Pruner pruner;
  FieldPaths paths;
  pruner.Prune(root_, object, paths.Root());
  return pruner.Take();
}

void CrdSchema::Default(Json& object) const {
  DropNulls(root_, object);
  DefaultValue(*root_, object);
}

}  // namespace berth::local
