#include "local/apiserver/http/openapi_v2.h"

#include <bit>
#include <cstdint>
#include <functional>

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/apiserver/http/openapi_documents.h"
#include "local/apiserver/http/openapi_schemas.h"

namespace berth::local {
namespace {

constexpr std::string_view kReferenceV3 = "#/components/schemas/";
constexpr std::string_view kReferenceV2 = "#/definitions/";
constexpr int kDeepest = 64;  // the depth of a schema in itself

std::string ReferenceInV2(const Json& reference) {
  std::string text = reference.is_string() ? reference.get<std::string>() : "";
  if (text.starts_with(kReferenceV3)) {
    text.replace(0, kReferenceV3.size(), kReferenceV2);
  }
  return text;
}

// A message of protobuf that grows.
class Message {
 public:
  void Text(int field, std::string_view text) {
    Tag(field, 2);
    Varint(text.size());
    bytes_ += text;
  }
  void Number(int field, std::uint64_t number) {
    Tag(field, 0);
    Varint(number);
  }
  void Double(int field, double number) {
    Tag(field, 1);
    auto bits = std::bit_cast<std::uint64_t>(number);
    for (int i = 0; i < 8; ++i, bits >>= 8U) bytes_.push_back(static_cast<char>(bits & 0xFFU));
  }
  void Add(int field, const Message& message) { Text(field, message.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void Tag(int field, unsigned type) { Varint((static_cast<std::uint64_t>(field) << 3U) | type); }
  void Varint(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7U) {
      bytes_.push_back(static_cast<char>((number & 0x7FU) | 0x80U));
    }
    bytes_.push_back(static_cast<char>(number));
  }
  std::string bytes_;
};

// Any {yaml}: JSON is YAML.
Message AnyOf(const Json& value) {
  Message any;
  any.Text(2, api::FormatJson(value));
  return any;
}

Message Named(std::string_view name, const Message& value) {
  Message named;
  named.Text(1, name);
  named.Add(2, value);
  return named;
}

Message SchemaMessage(const Json& schema, int depth);

Message PropertiesMessage(const Json& properties, int depth) {
  Message message;
  for (const auto& [name, property] : properties.items()) {
    message.Add(1, Named(name, SchemaMessage(property, depth)));
  }
  return message;
}

void AddBound(Message& message, const std::string& key, const Json& value) {
  static const std::map<std::string, int> kDoubles = {
      {"multipleOf", 6}, {"maximum", 7}, {"minimum", 9}};
  static const std::map<std::string, int> kCounts = {
      {"exclusiveMaximum", 8}, {"exclusiveMinimum", 10}, {"maxLength", 11},
      {"minLength", 12},       {"maxItems", 14},         {"minItems", 15},
      {"uniqueItems", 16},     {"maxProperties", 17},    {"minProperties", 18}};
  if (const auto at = kDoubles.find(key); at != kDoubles.end() && value.is_number()) {
    message.Double(at->second, value.get<double>());
  } else if (const auto count = kCounts.find(key); count != kCounts.end()) {
    if (value.is_boolean()) message.Number(count->second, value.get<bool>() ? 1 : 0);
    if (value.is_number_integer()) message.Number(count->second, value.get<std::uint64_t>());
  }
}

void AddType(Message& message, const Json& type) {
  Message types;
  if (type.is_string()) types.Text(1, type.get<std::string>());
  message.Add(22, types);
}

void AddMember(Message& message, const std::string& key, const Json& value, int depth) {
  static const std::map<std::string, int> kTexts = {
      {"$ref", 1}, {"format", 2}, {"title", 3}, {"description", 4}, {"pattern", 13}};
  if (const auto text = kTexts.find(key); text != kTexts.end()) {
    if (value.is_string()) message.Text(text->second, value.get<std::string>());
  } else if (key == "required") {
    for (const Json& name : value) {
      if (name.is_string()) message.Text(19, name.get<std::string>());
    }
  } else if (key == "enum") {
    for (const Json& one : value) message.Add(20, AnyOf(one));
  } else if (key == "additionalProperties") {
    Message item;
    if (value.is_boolean()) item.Number(2, value.get<bool>() ? 1 : 0);
    if (value.is_object()) item.Add(1, SchemaMessage(value, depth));
    message.Add(21, item);
  } else if (key == "type") {
    AddType(message, value);
  } else if (key == "items") {
    Message items;
    items.Add(1, SchemaMessage(value, depth));
    message.Add(23, items);
  } else if (key == "properties") {
    message.Add(25, PropertiesMessage(value, depth));
  } else if (key.starts_with("x-")) {
    message.Add(31, Named(key, AnyOf(value)));
  } else {
    AddBound(message, key, value);
  }
}

Message SchemaMessage(const Json& schema, int depth) {
  Message message;
  if (depth >= kDeepest || !schema.is_object()) return message;
  for (const auto& [key, value] : schema.items()) AddMember(message, key, value, depth + 1);
  return message;
}

constexpr std::string_view kParameters[] = {"dryRun", "fieldManager", "fieldValidation", "force"};
constexpr std::string_view kPatches[] = {
    "application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml",
    "application/strategic-merge-patch+json"};

std::string PatchPath(const ResourceInfo& resource) {
  std::string path = resource.id.group.empty() ? "/api/" : "/apis/" + resource.id.group + "/";
  path += resource.id.version + "/";
  if (resource.namespaced) path += "namespaces/{namespace}/";
  return path + resource.id.resource + "/{name}";
}

std::string_view TypeOf(std::string_view parameter) {
  return parameter == "force" ? "boolean" : "string";
}

// The media types of patches that the kind takes: custom kinds take no strategic ones.
std::size_t PatchCount(const ResourceInfo& resource) {
  return resource.crd_version == nullptr ? 4 : 3;
}

Json PatchJson(const ResourceInfo& resource) {
  Json parameters = Json::array();
  for (const std::string_view name : kParameters) {
    parameters.push_back(
        {{"name", name}, {"in", "query"}, {"type", TypeOf(name)}, {"uniqueItems", true}});
  }
  Json consumes = Json::array();
  for (std::size_t i = 0; i < PatchCount(resource); ++i) consumes.push_back(kPatches[i]);
  return {{"consumes", std::move(consumes)},
          {"operationId", "patch" + resource.id.version + resource.kind},
          {"parameters", std::move(parameters)},
          {"responses", {{"200", {{"description", "OK"}}}}},
          {"x-kubernetes-action", "patch"},
          {"x-kubernetes-group-version-kind", GroupVersionKind(resource)}};
}

Message PatchMessage(const ResourceInfo& resource) {
  Message operation;
  operation.Text(5, "patch" + resource.id.version + resource.kind);
  for (std::size_t i = 0; i < PatchCount(resource); ++i) operation.Text(7, kPatches[i]);
  for (const std::string_view name : kParameters) {
    Message query;
    query.Text(2, "query");
    query.Text(4, name);
    query.Text(6, TypeOf(name));
    query.Number(20, 1);
    Message of_kind;
    of_kind.Add(3, query);
    Message parameter;
    parameter.Add(2, of_kind);
    Message item;
    item.Add(1, parameter);
    operation.Add(8, item);
  }
  Message ok;
  ok.Text(1, "OK");
  Message value;
  value.Add(1, ok);
  Message responses;
  responses.Add(1, Named("200", value));
  operation.Add(9, responses);
  operation.Add(13, Named("x-kubernetes-action", AnyOf("patch")));
  operation.Add(13, Named("x-kubernetes-group-version-kind", AnyOf(GroupVersionKind(resource))));
  return operation;
}

Json CustomSchemaInV2(const ResourceInfo& resource) {
  const Json schema = ComponentSchema(resource);
  if (schema.value("x-kubernetes-preserve-unknown-fields", Json()) != true) {
    return SchemaInV2(schema);
  }
  // If there were any property, kubectl would complain of all others.
  const char* kinds = "x-kubernetes-group-version-kind";
  return {{"type", "object"}, {kinds, schema.at(kinds)}};
}

// Calls `visit` with the name and the schema of every kind, and of what they refer to, one by one.
void ForEachSchema(const ResourceTable& table,
                   const std::function<void(std::string_view, const Json&)>& visit) {
  const BuiltinSchemas builtin;
  std::set<std::string_view> names;
  for (const ResourcePtr& resource : table.all()) {
    builtin.AddReachable(builtin.NameOf(*resource), names);
  }
  for (const std::string_view name : names) {
    // allow json-parse: a part of this program
    visit(name, SchemaInV2(Json::parse(builtin.TextOf(name))));
  }
  for (const ResourcePtr& resource : table.all()) {
    if (resource->crd_version == nullptr) continue;
    visit(SchemaName(*resource), CustomSchemaInV2(*resource));
  }
}

Json InV2(const Json& schema, int depth) {
  Json out = Json::object();
  if (depth >= kDeepest || !schema.is_object()) return out;
  const bool is_nullable = schema.value("nullable", Json()) == true;
  for (const auto& [key, value] : schema.items()) {
    if (key == "properties") {
      for (const auto& [name, property] : value.items()) {
        out[key][name] = InV2(property, depth + 1);
      }
    } else if ((key == "items" || key == "additionalProperties") && value.is_object()) {
      out[key] = InV2(value, depth + 1);
    } else if (key == "$ref") {
      out[key] = ReferenceInV2(value);
    } else if (key == "allOf") {
      if (value.size() == 1 && value[0].contains("$ref")) {
        out["$ref"] = ReferenceInV2(value[0]["$ref"]);
      }
    } else if (key == "oneOf") {
      // Quantities and int-or-string are texts in v2.
      if (!schema.contains("x-kubernetes-int-or-string")) out["type"] = "string";
    } else if (key != "default" && key != "anyOf" && key != "not" && key != "nullable") {
      out[key] = value;
    }
  }
  if (is_nullable) out.erase("type");
  return out;
}

}  // namespace

Json SchemaInV2(const Json& schema) { return InV2(schema, 0); }

std::string OpenApiV2Json(const ResourceTable& table) {
  Json paths = Json::object();
  for (const ResourcePtr& resource : table.all()) {
    if (resource->Allows('p')) paths[PatchPath(*resource)] = {{"patch", PatchJson(*resource)}};
  }
  std::string text =
      R"({"swagger":"2.0","info":{"title":"Kubernetes","version":"v1.36.0"},"paths":)";
  text += api::FormatJson(paths) + R"(,"definitions":{)";
  bool is_first = true;
  ForEachSchema(table, [&](std::string_view name, const Json& schema) {
    text += (is_first ? "\"" : ",\"") + std::string(name) + "\":" + api::FormatJson(schema);
    is_first = false;
  });
  return text + "}}";
}

std::string OpenApiV2Protobuf(const ResourceTable& table) {
  Message document;
  document.Text(1, "2.0");
  Message info;
  info.Text(1, "Kubernetes");
  info.Text(2, "v1.36.0");
  document.Add(2, info);
  Message paths;
  for (const ResourcePtr& resource : table.all()) {
    if (!resource->Allows('p')) continue;
    Message item;
    item.Add(8, PatchMessage(*resource));
    paths.Add(2, Named(PatchPath(*resource), item));
  }
  document.Add(8, paths);
  Message definitions;
  ForEachSchema(table, [&](std::string_view name, const Json& schema) {
    definitions.Add(1, Named(name, SchemaMessage(schema, 0)));
  });
  document.Add(9, definitions);
  return document.bytes();
}

}  // namespace berth::local
