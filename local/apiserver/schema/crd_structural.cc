// StructuralErrors: a schema must declare the type of each value, outside of junctors.
#include <algorithm>
#include <array>

#include <re2/re2.h>

#include "local/apiserver/schema/crd_internal.h"

namespace berth::local {
namespace {

enum class Level { kRoot, kItem, kField };

class StructuralChecker {
 public:
  std::vector<Cause> Take() {
    std::stable_sort(causes_.begin(), causes_.end(), [](const Cause& a, const Cause& b) {
      return a.field + ": " + a.message < b.field + ": " + b.message;
    });
    return std::move(causes_);
  }

  void Check(const Json& schema, Level level, const std::string& path) {
    if (!schema.is_object()) {
      Add(TypeInvalidError(path, schema, "must be a schema object"));
      return;
    }
    CheckKeywords(schema, path);
    CheckTypeKeyword(schema, level, path);
    CheckExtensions(schema, path);
    CheckListType(schema, path);
    CheckJunctors(schema, path);
    const std::string type = Text(schema, "type");
    if (type == "array" && !schema.contains("items")) {
      Add(RequiredError(ChildPath(path, "items"), "must be specified"));
    }
    if (const Json* items = Member(schema, "items")) {
      if (items->is_array()) {
        Add(ForbiddenError(ChildPath(path, "items"),
                           "items must be a schema object and not an array"));
      } else {
        Check(*items, Level::kItem, ChildPath(path, "items"));
      }
    }
    CheckMembers(schema, level, path);
  }

 private:
  void Add(Cause cause) { causes_.push_back(std::move(cause)); }

  static std::string Text(const Json& schema, const char* name) {
    const auto at = schema.find(name);
    return at != schema.end() && at->is_string() ? at->get<std::string>() : std::string();
  }
  static bool Flag(const Json& schema, const char* name) {
    const auto at = schema.find(name);
    return at != schema.end() && at->is_boolean() && at->get<bool>();
  }
  static const Json* Member(const Json& schema, const char* name) {
    const auto at = schema.find(name);
    return at == schema.end() || at->is_null() ? nullptr : &*at;
  }

  void CheckMembers(const Json& schema, Level level, const std::string& path) {
    const Json* properties = Member(schema, "properties");
    if (properties != nullptr && properties->is_object()) {
      for (const auto& [name, property] : properties->items()) {
        const std::string at = KeyPath(ChildPath(path, "properties"), name);
        // metadata of the root is ObjectMeta, whatever the schema declares.
        if (level == Level::kRoot && name == "metadata") {
          CheckMetadata(property, at);
          continue;
        }
        Check(property, Level::kField, at);
      }
    }
    const Json* additional = Member(schema, "additionalProperties");
    if (additional == nullptr) return;
    const std::string at = ChildPath(path, "additionalProperties");
    if (level == Level::kRoot) Add(ForbiddenError(at, "must not be used at the root"));
    if (Flag(schema, "x-kubernetes-embedded-resource")) {
      Add(ForbiddenError(at, "must not be used if x-kubernetes-embedded-resource is set"));
    }
    const bool open = additional->is_boolean() && additional->get<bool>();
    if (properties != nullptr && !properties->empty() && !open) {
      Add(ForbiddenError(at, "additionalProperties and properties are mutual exclusive"));
    }
    if (additional->is_object()) Check(*additional, Level::kField, at);
  }

  void CheckMetadata(const Json& metadata, const std::string& path) {
    if (!metadata.is_object()) return;
    if (Text(metadata, "type") != "object") {
      Add(InvalidError(ChildPath(path, "type"), Text(metadata, "type"), "must be object"));
    }
    for (const auto& [key, value] : metadata.items()) {
      if (key == "type" || key == "description" || key == "title") continue;
      bool narrow = key == "properties" && value.is_object();
      if (narrow) {
        for (const auto& [name, property] : value.items()) {
          narrow = narrow && (name == "name" || name == "generateName");
        }
      }
      if (!narrow) {
        Add(ForbiddenError(path,
                           "must not specify anything other than name and generateName, but "
                           "metadata is implicitly specified"));
        return;
      }
    }
  }

  void CheckKeywords(const Json& schema, const std::string& path) {
    static constexpr std::array<std::string_view, 5> kUnsupported{
        "id", "additionalItems", "patternProperties", "definitions", "dependencies"};
    for (const std::string_view name : kUnsupported) {
      if (schema.contains(std::string(name))) {
        Add(ForbiddenError(ChildPath(path, name), std::string(name) + " is not supported"));
      }
    }
    if (schema.contains("$ref")) {
      Add(ForbiddenError(ChildPath(path, "$ref"), "$ref is not supported"));
    }
    if (Flag(schema, "uniqueItems")) {
      Add(ForbiddenError(ChildPath(path, "uniqueItems"),
                         "uniqueItems cannot be set to true since the runtime complexity becomes "
                         "quadratic"));
    }
    CheckPattern(schema, path);
  }

  void CheckPattern(const Json& schema, const std::string& path) {
    const std::string pattern = Text(schema, "pattern");
    if (pattern.empty()) return;
    re2::RE2::Options options;
    options.set_log_errors(false);
    const re2::RE2 compiled(pattern, options);
    if (!compiled.ok()) {
      Add(InvalidError(ChildPath(path, "pattern"), pattern,
                       "must be a valid regular expression, but isn't: " + compiled.error()));
    }
  }

  void CheckTypeKeyword(const Json& schema, Level level, const std::string& path) {
    static const std::vector<std::string> kTypes{"array",  "boolean", "integer",
                                                 "number", "object",  "string"};
    const std::string type = Text(schema, "type");
    const std::string at = ChildPath(path, "type");
    if (!type.empty() && std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) {
      Add(type == "null"
              ? ForbiddenError(at, "type cannot be set to null, use nullable as an alternative")
              : NotSupportedError(at, type, kTypes));
      return;
    }
    if (Flag(schema, "x-kubernetes-embedded-resource") && type != "object") {
      const char* rule = "must be object if x-kubernetes-embedded-resource is true";
      Add(type.empty() ? RequiredError(at, rule) : InvalidError(at, type, rule));
      return;
    }
    const bool open = Flag(schema, "x-kubernetes-int-or-string") ||
                      Flag(schema, "x-kubernetes-preserve-unknown-fields");
    if (type.empty() && !open) {
      Add(RequiredError(at, level == Level::kRoot   ? "must not be empty at the root"
                            : level == Level::kItem ? "must not be empty for specified array items"
                                                    : "must not be empty for specified object "
                                                      "fields"));
    }
    if (level == Level::kRoot && !type.empty() && type != "object") {
      Add(InvalidError(at, type, "must be object at the root"));
    }
  }

  void CheckExtensions(const Json& schema, const std::string& path) {
    const bool preserve = Flag(schema, "x-kubernetes-preserve-unknown-fields");
    const bool embedded = Flag(schema, "x-kubernetes-embedded-resource");
    const std::string preserve_at = ChildPath(path, "x-kubernetes-preserve-unknown-fields");
    if (const Json* value = Member(schema, "x-kubernetes-preserve-unknown-fields");
        value != nullptr && !preserve) {
      Add(InvalidError(preserve_at, *value, "must be true or undefined"));
    }
    if (Flag(schema, "x-kubernetes-int-or-string")) {
      if (preserve) {
        Add(InvalidError(preserve_at, true, "must be false if x-kubernetes-int-or-string is true"));
      }
      if (embedded) {
        Add(InvalidError(ChildPath(path, "x-kubernetes-embedded-resource"), true,
                         "must be false if x-kubernetes-int-or-string is true"));
      }
    }
    const Json* properties = Member(schema, "properties");
    if (embedded && !preserve && (properties == nullptr || properties->empty())) {
      Add(RequiredError(ChildPath(path, "properties"),
                        "must not be empty if x-kubernetes-embedded-resource is true without "
                        "x-kubernetes-preserve-unknown-fields"));
    }
    const std::string map_type = Text(schema, "x-kubernetes-map-type");
    if (!map_type.empty() && map_type != "atomic" && map_type != "granular") {
      Add(NotSupportedError(ChildPath(path, "x-kubernetes-map-type"), map_type,
                            {"atomic", "granular"}));
    }
  }

  void CheckListType(const Json& schema, const std::string& path) {
    const std::string list_type = Text(schema, "x-kubernetes-list-type");
    const std::string type_at = ChildPath(path, "x-kubernetes-list-type");
    const std::string keys_at = ChildPath(path, "x-kubernetes-list-map-keys");
    const Json* keys = Member(schema, "x-kubernetes-list-map-keys");
    const bool has_keys = keys != nullptr && keys->is_array() && !keys->empty();
    if (!list_type.empty() && Text(schema, "type") != "array") {
      const char* rule = "must be array if x-kubernetes-list-type is specified";
      const std::string type = Text(schema, "type");
      Add(type.empty() ? RequiredError(ChildPath(path, "type"), rule)
                       : InvalidError(ChildPath(path, "type"), type, rule));
    }
    if (!list_type.empty() && list_type != "atomic" && list_type != "set" && list_type != "map") {
      Add(NotSupportedError(type_at, list_type, {"atomic", "set", "map"}));
    }
    if (has_keys && list_type != "map") {
      const char* rule = "must be map if x-kubernetes-list-map-keys is non-empty";
      Add(list_type.empty() ? RequiredError(type_at, rule)
                            : InvalidError(type_at, list_type, rule));
    }
    if (list_type != "map") return;
    if (!has_keys) {
      Add(RequiredError(keys_at, "must not be empty if x-kubernetes-list-type is map"));
      return;
    }
    CheckMapKeys(schema, *keys, path);
  }

  void CheckMapKeys(const Json& schema, const Json& keys, const std::string& path) {
    const Json* items = Member(schema, "items");
    const std::string at = ChildPath(path, "items");
    if (items == nullptr || !items->is_object()) {
      Add(RequiredError(at, "must have a schema if x-kubernetes-list-type is map"));
      return;
    }
    if (Text(*items, "type") != "object") {
      Add(InvalidError(ChildPath(at, "type"), Text(*items, "type"),
                       "must be object if parent array's x-kubernetes-list-type is map"));
    }
    const Json* properties = Member(*items, "properties");
    const Json* required = Member(*items, "required");
    for (const Json& key : keys) {
      const std::string name = key.is_string() ? key.get<std::string>() : std::string();
      if (properties == nullptr || !properties->contains(name)) {
        Add(InvalidError(ChildPath(path, "x-kubernetes-list-map-keys"), keys,
                         "entries must all be names of item properties"));
        continue;
      }
      const Json& property = (*properties)[name];
      const std::string key_at = KeyPath(ChildPath(at, "properties"), name);
      const std::string type = Text(property, "type");
      if (type == "object" || type == "array") {
        Add(InvalidError(ChildPath(key_at, "type"), Text(*items, "type"),
                         "must be a scalar type if parent array's x-kubernetes-list-type is map"));
      }
      const bool is_required = required != nullptr && std::find(required->begin(), required->end(),
                                                                name) != required->end();
      if (!is_required && !property.contains("default")) {
        Add(RequiredError(ChildPath(key_at, "default"),
                          "this property is in x-kubernetes-list-map-keys, so it must have a "
                          "default or be a required property"));
      }
    }
  }

  static bool IsIntOrStringPair(const Json& list) {
    static const Json kPair = {{{"type", "integer"}}, {{"type", "string"}}};
    return list == kPair;
  }

  void CheckJunctors(const Json& schema, const std::string& path) {
    const bool int_or_string = Flag(schema, "x-kubernetes-int-or-string");
    for (const char* name : {"anyOf", "oneOf", "allOf"}) {
      const Json* list = Member(schema, name);
      if (list == nullptr || !list->is_array()) continue;
      if (int_or_string && std::string_view(name) == "anyOf" && IsIntOrStringPair(*list)) continue;
      for (std::size_t i = 0; i < list->size(); ++i) {
        const Json& inner = (*list)[i];
        const bool first_pair = int_or_string && i == 0 && std::string_view(name) == "allOf" &&
                                inner.is_object() && inner.contains("anyOf") &&
                                IsIntOrStringPair(inner["anyOf"]);
        CheckNested(inner, IndexPath(ChildPath(path, name), i),
                    first_pair ? AnyOf::kIsThePair : AnyOf::kChecked);
      }
    }
    if (const Json* inner = Member(schema, "not")) {
      CheckNested(*inner, ChildPath(path, "not"), AnyOf::kChecked);
    }
  }

  // Inside junctors a schema only restricts: types and defaults are forbidden there.
  enum class AnyOf { kChecked, kIsThePair };
  void CheckNested(const Json& schema, const std::string& path, AnyOf any_of) {
    if (!schema.is_object()) return;
    struct Rule {
      const char* name;
      const char* text;
    };
    static constexpr std::array kRules{
        Rule{"type", "must be empty to be structural"},
        Rule{"additionalProperties", "must be undefined to be structural"},
        Rule{"default", "must be undefined to be structural"},
        Rule{"title", "must be empty to be structural"},
        Rule{"description", "must be empty to be structural"},
        Rule{"nullable", "must be false to be structural"},
        Rule{"x-kubernetes-preserve-unknown-fields", "must be false to be structural"},
        Rule{"x-kubernetes-embedded-resource", "must be false to be structural"},
        Rule{"x-kubernetes-int-or-string", "must be false to be structural"},
        Rule{"x-kubernetes-list-map-keys", "must be empty to be structural"},
        Rule{"x-kubernetes-list-type", "must be undefined to be structural"},
        Rule{"x-kubernetes-map-type", "must be undefined to be structural"},
        Rule{"x-kubernetes-validations", "must be empty to be structural"},
    };
    for (const Rule& rule : kRules) {
      const Json* value = Member(schema, rule.name);
      const bool set = value != nullptr && *value != Json(false) && *value != Json("");
      if (set) Add(ForbiddenError(ChildPath(path, rule.name), rule.text));
    }
    CheckPattern(schema, path);
    for (const char* name : {"anyOf", "oneOf", "allOf"}) {
      const Json* list = Member(schema, name);
      if (list == nullptr || !list->is_array()) continue;
      if (any_of == AnyOf::kIsThePair && std::string_view(name) == "anyOf") continue;
      for (std::size_t i = 0; i < list->size(); ++i) {
        CheckNested((*list)[i], IndexPath(ChildPath(path, name), i), AnyOf::kChecked);
      }
    }
    for (const char* name : {"not", "items"}) {
      if (const Json* inner = Member(schema, name)) {
        CheckNested(*inner, ChildPath(path, name), AnyOf::kChecked);
      }
    }
    const Json* properties = Member(schema, "properties");
    if (properties == nullptr || !properties->is_object()) return;
    for (const auto& [name, property] : properties->items()) {
      const std::string at = KeyPath(ChildPath(path, "properties"), name);
      if (name == "metadata") Add(ForbiddenError(at, "must not be specified in a nested context"));
      CheckNested(property, at, AnyOf::kChecked);
    }
  }

  std::vector<Cause> causes_;
};

}  // namespace

std::vector<Cause> StructuralErrors(const Json& schema, std::string_view path) {
  StructuralChecker checker;
  checker.Check(schema, Level::kRoot, std::string(path));
  return checker.Take();
}

}  // namespace berth::local
