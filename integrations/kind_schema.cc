#include "integrations/kind_schema.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "integrations/hooks/json_parts.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr int kMostReferences = 8;  // one behind the other

class Schemas {
 public:
  explicit Schemas(const Json& openapi) {
    const Json* components = PartOf(openapi, {"components"});
    if (components != nullptr) schemas_ = PartOf(*components, {"schemas"});
  }

  // Null: the document has no such kind.
  const Json* Of(const JobKind& kind) const {
    if (schemas_ == nullptr || !schemas_->is_object()) return nullptr;
    for (const Json& schema : *schemas_) {
      const Json* names = PartOf(schema, {"x-kubernetes-group-version-kind"});
      if (names == nullptr || !names->is_array()) continue;
      for (const Json& each : *names) {
        if (TextPart(each, {"group"}) == kind.group &&
            TextPart(each, {"version"}) == kind.version && TextPart(each, {"kind"}) == kind.kind) {
          return &schema;
        }
      }
    }
    return nullptr;
  }

  // The schema at the path; null where a part on the way is open. `missing`: the schema has no such
  // field.
  const Json* At(const Json* schema, const FieldPath& path, bool& missing) const {
    for (const std::string& key : path) {
      schema = Field(schema, key, missing);
      if (schema == nullptr) return nullptr;
    }
    return Resolved(schema);
  }

  const Json* Field(const Json* schema, const std::string& key, bool& missing) const {
    schema = Resolved(schema);
    if (schema == nullptr || IsOpen(*schema)) return nullptr;
    const Json* properties = PartOf(*schema, {"properties"});
    const Json* found = properties == nullptr ? nullptr : PartOf(*properties, {key.c_str()});
    if (found != nullptr) return found;
    const Json* others = PartOf(*schema, {"additionalProperties"});
    if (others != nullptr && others->is_object()) return others;
    missing = others == nullptr || *others == false;
    return nullptr;
  }

  // The schema of the items of a list.
  const Json* Items(const Json* schema) const {
    schema = Resolved(schema);
    return schema == nullptr ? nullptr : PartOf(*schema, {"items"});
  }

 private:
  // A schema without properties is taken for an open one.
  static bool IsOpen(const Json& schema) {
    const Json* keeps = PartOf(schema, {"x-kubernetes-preserve-unknown-fields"});
    if (keeps != nullptr && *keeps == true) return true;
    return PartOf(schema, {"properties"}) == nullptr &&
           PartOf(schema, {"additionalProperties"}) == nullptr;
  }

  const Json* Resolved(const Json* schema) const {
    constexpr std::string_view kPrefix = "#/components/schemas/";
    for (int i = 0; i < kMostReferences && schema != nullptr; ++i) {
      const Json* all = PartOf(*schema, {"allOf"});
      const bool one = all != nullptr && all->is_array() && all->size() == 1;
      const std::string reference = TextPart(one ? all->front() : *schema, {"$ref"});
      if (!reference.starts_with(kPrefix)) return schema;
      schema = PartOf(*schemas_, {reference.substr(kPrefix.size()).c_str()});
    }
    return nullptr;
  }

  const Json* schemas_ = nullptr;
};

class PathCheck {
 public:
  PathCheck(const KindDescription& kind, const Json& openapi)
      : kind_(kind), schemas_(openapi), root_(schemas_.Of(kind.kind)) {}

  Result<bool> Run() const {
    if (root_ == nullptr) return false;
    if (!kind_.suspend.empty()) BERTH_CHECK_OK(Scalar("suspend", kind_.suspend, "boolean"));
    if (!kind_.managed_by.empty()) BERTH_CHECK_OK(Scalar("managedBy", kind_.managed_by, "string"));
    for (std::size_t i = 0; i < kind_.pod_sets.size(); ++i) {
      BERTH_CHECK_OK(PodSet("podSets[" + std::to_string(i) + "].", kind_.pod_sets[i]));
    }
    return true;
  }

 private:
  Error Missing(const std::string& field, const std::string& path) const {
    return {ErrorCode::kInvalid, field + ": " + kind_.resource.api_version() + " " +
                                     std::string(kind_.kind.kind) + " has no field " + path};
  }

  Status Scalar(const std::string& field, const FieldPath& path, const char* type) const {
    return ScalarIn(root_, "", field, path, type);
  }

  // `inside`: the path that leads to `parent`, with its last dot.
  Status ScalarIn(const Json* parent, const std::string& inside, const std::string& field,
                  const FieldPath& path, const char* type) const {
    bool missing = false;
    const Json* schema = schemas_.At(parent, path, missing);
    const std::string place = inside + Join(path, ".");
    if (missing) return Missing(field, place);
    const std::string is = schema == nullptr ? "" : TextPart(*schema, {"type"});
    if (is.empty() || is == type) return OkStatus();
    return Error{ErrorCode::kInvalid,
                 field + ": " + place + " is of the type " + is + ", expected " + type};
  }

  // The pod template and the number of pods of an element, or of the object.
  Status PodSetIn(const Json* parent, const std::string& inside, const std::string& at,
                  const PodSetRule& rule) const {
    if (parent == nullptr) return OkStatus();
    bool missing = false;
    schemas_.At(parent, rule.pod_template, missing);
    if (missing) return Missing(at + "template", inside + Join(rule.pod_template, "."));
    if (rule.replicas.empty()) return OkStatus();
    return ScalarIn(parent, inside, at + "replicas", rule.replicas, "integer");
  }

  Status PodSet(const std::string& at, const PodSetRule& rule) const {
    bool missing = false;
    if (rule.each.empty()) return PodSetIn(root_, "", at, rule);
    const std::string list = Join(rule.each, ".");
    const Json* collection = schemas_.At(root_, rule.each, missing);
    if (missing) return Missing(at + "each", list);
    if (rule.keys.empty()) return PodSetIn(schemas_.Items(collection), list + "[].", at, rule);
    for (const std::string& key : rule.keys) {
      const Json* item = schemas_.Field(collection, key, missing);
      if (missing) return Missing(at + "keys", list + "." + key);
      BERTH_CHECK_OK(PodSetIn(item, list + "." + key + ".", at, rule));
    }
    return OkStatus();
  }

  const KindDescription& kind_;
  const Schemas schemas_;
  const Json* root_;
};

}  // namespace

Result<bool> CheckPaths(const KindDescription& kind, const Json& openapi) {
  return PathCheck(kind, openapi).Run();
}

}  // namespace berth::integrations
