// Targets of the embedded API server's bodies: protobuf, patches, apply, selectors, CRD schemas.
#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "local/apiserver/patch/json_patch.h"
#include "local/apiserver/patch/managed_fields.h"
#include "local/apiserver/patch/strategic_patch.h"
#include "local/apiserver/schema/crd_schema.h"
#include "local/apiserver/schema/decode.h"
#include "local/apiserver/schema/printer_columns.h"
#include "local/apiserver/schema/quantity_text.h"
#include "local/apiserver/schema/selector.h"
#include "local/apiserver/types/protobuf.h"
#include "local/apiserver/types/type_table.h"
#include "tests/fuzz/targets.h"

namespace berth::fuzz {
namespace {

using Json = nlohmann::json;

const local::TypeTable& Types() {
  static const local::TypeTable types = local::TypeTable::Builtin();
  return types;
}
const local::TypeNode& PodType() { return *Types().Find("", "v1", "Pod"); }

std::size_t DepthOf(const Json& value) { return api::MeasureJson(value).depth; }

}  // namespace

void Protobuf(std::string_view text) {
  const auto object = local::DecodeProtobuf(Types(), text, "v1", "Pod");
  if (!object) return;
  Require(DepthOf(*object) < 400, "depth is bounded");
  const auto again = api::ParseJson(object->dump(), {.max_depth = 400});
  Require(again && *again == *object, "an object reads as it is written");
}

void Patches(std::string_view text) {
  const auto [document, patch_text] = SplitParts(text);
  const auto original = local::ParseJson(document);
  const auto patch = local::ParseJson(patch_text);
  if (!original || !patch) return;
  const auto changed = local::ApplyJsonPatch(original->value, patch->value);
  if (changed) {
    Require(DepthOf(*changed) <= 2 * local::kMaxDepth, "a patch is bounded in depth");
    (void)changed->dump();
  }
  const auto merged = local::ApplyMergePatch(original->value, patch->value);
  if (merged && original->value.is_object()) {
    const Json difference = local::CreateMergePatch(original->value, *merged);
    (void)difference.dump();
  }
  const auto strategic = local::ApplyStrategicMergePatch(PodType(), original->value, patch->value);
  if (strategic) (void)strategic->dump();
}

void Apply(std::string_view text) {
  const auto [document, config_text] = SplitParts(text);
  auto live = local::ParseJson(document);
  const auto config = local::ParseYamlBody(config_text);
  if (!config || !config->value.is_object()) return;
  local::ManagerContext context;
  context.type = &PodType();
  context.api_version = "v1";
  context.manager = "m";
  const bool exists = live && live->value.is_object();
  const auto applied = local::ApplyConfiguration(exists ? &live->value : nullptr, config->value,
                                                 context, local::ConflictPolicy::kFail);
  if (applied) (void)applied->object.dump();
  if (exists) {
    Json updated = config->value;
    local::TrackUpdate(&live->value, updated, context);
    (void)updated.dump();
  }
}

void Selectors(std::string_view text) {
  if (const auto labels = local::ParseLabelSelector(text)) {
    const std::string written = local::FormatLabelSelector(*labels);
    const auto again = local::ParseLabelSelector(written);
    Require(again && *again == *labels, "a label selector reads as it is written");
    (void)local::Matches(*labels, Json{{"a", "b"}, {"x", "5"}});
  }
  if (const auto fields = local::ParseFieldSelector(text)) {
    (void)local::Matches(*fields, [](std::string_view field) { return std::string(field); });
    (void)local::CheckFieldSelector(*fields, {"metadata.name"}, "Job", local::KindOrigin::kBuiltin);
  }
  if (const auto json = api::ParseJson(text)) {
    if (const auto labels = local::LabelSelectorFromJson(*json)) {
      (void)local::FormatLabelSelector(*labels);
    }
  }
}

void CrdSchemas(std::string_view text) {
  const auto [schema_text, object_text] = SplitParts(text);
  const auto schema_json = local::ParseYamlBody(schema_text);
  if (!schema_json) return;
  std::vector<local::Cause> causes;
  const auto schema = local::CrdSchema::Parse(schema_json->value, "schema", causes);
  Require((schema == nullptr) == !causes.empty(), "a schema is read, or there is a cause");
  if (schema == nullptr) return;
  const auto object_json = local::ParseYamlBody(object_text);
  if (!object_json || !object_json->value.is_object()) return;
  const Json old_object = object_json->value;
  Json object = object_json->value;
  (void)local::UnknownFields(schema->root(), object);
  (void)schema->Prune(object);
  schema->Default(object);
  (void)schema->Validate(object, nullptr);
  (void)schema->Validate(object, &old_object);
  Require(schema->Prune(object).empty(), "what is pruned stays pruned");
}

void JsonPaths(std::string_view text) {
  const auto [path_text, object_text] = SplitParts(text);
  std::string why;
  const auto path = local::JsonPath::Parse(path_text, &why);
  Require(path.has_value() || !why.empty(), "a path is read, or there is a reason");
  const auto object = api::ParseJson(object_text);
  if (path && object) (void)path->Select(*object);
}

}  // namespace berth::fuzz
