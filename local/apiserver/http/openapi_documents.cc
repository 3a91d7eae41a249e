#include "local/apiserver/http/openapi_documents.h"

#include <algorithm>
#include <functional>
#include <set>

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/apiserver/http/discovery.h"
#include "local/apiserver/http/openapi_schemas.h"

namespace berth::local {
namespace {

constexpr const char* kSchemas = "#/components/schemas/";
constexpr const char* kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

std::string RootOf(const std::string& group, const std::string& version) {
  return group.empty() ? "api/" + version : "apis/" + group + "/" + version;
}

Json QueryParameter(const char* name, const char* type, const char* description) {
  return {{"name", name},
          {"in", "query"},
          {"description", description},
          {"schema", {{"type", type}, {"uniqueItems", true}}}};
}

Json WriteParameters() {
  return Json::array(
      {QueryParameter("dryRun", "string", "\"All\": nothing is stored"),
       QueryParameter("fieldManager", "string", "who makes the change"),
       QueryParameter("fieldValidation", "string",
                      "what is done about unknown and duplicate fields: Ignore, Warn or Strict"),
       QueryParameter("force", "boolean", "take fields from other managers when applying")});
}

Json Responses(const Json& schema) {
  Json ok{{"description", "OK"}};
  if (!schema.is_null()) ok["content"] = {{"application/json", {{"schema", schema}}}};
  return {{"200", std::move(ok)}};
}

// `schema`: the name of the kind's schema; empty: none.
void AddPaths(Json& paths, const ResourceInfo& resource, std::string_view schema_name) {
  std::string path = "/" + RootOf(resource.id.group, resource.id.version) + "/";
  if (resource.namespaced) path += "namespaces/{namespace}/";
  path += resource.id.resource + "/{name}";
  Json schema;
  if (!schema_name.empty()) {
    schema = {{"$ref", kSchemas + std::string(schema_name)}};
  }
  Json patch{{"description", "change the " + resource.kind},
             {"operationId", "patch" + resource.id.version + resource.kind},
             {"parameters", WriteParameters()},
             {"responses", Responses(schema)},
             {"x-kubernetes-action", "patch"},
             {"x-kubernetes-group-version-kind", GroupVersionKind(resource)}};
  if (!schema_name.empty()) {
    Json content = Json::object();
    for (const char* type : {"application/apply-patch+yaml", "application/json-patch+json",
                             "application/merge-patch+json"}) {
      content[type] = {{"schema", {{"type", "object"}}}};
    }
    if (resource.crd_version == nullptr) {
      content["application/strategic-merge-patch+json"] = {{"schema", {{"type", "object"}}}};
    }
    patch["requestBody"] = {{"content", std::move(content)}, {"required", true}};
  }
  Json item{{"patch", std::move(patch)}};
  item["get"] = {{"description", "read the " + resource.kind},
                 {"operationId", "read" + resource.id.version + resource.kind},
                 {"responses", Responses(schema)},
                 {"x-kubernetes-action", "get"},
                 {"x-kubernetes-group-version-kind", GroupVersionKind(resource)}};
  paths[path] = std::move(item);
}

}  // namespace

std::string SchemaName(const ResourceInfo& resource) {
  std::vector<std::string> parts;
  for (const std::string_view part : Split(resource.id.group, '.')) parts.emplace_back(part);
  std::reverse(parts.begin(), parts.end());
  parts.push_back(resource.id.version);
  parts.push_back(resource.kind);
  return Join(parts, ".");
}

Json GroupVersionKind(const ResourceInfo& resource) {
  return {{"group", resource.id.group}, {"version", resource.id.version}, {"kind", resource.kind}};
}

Json ComponentSchema(const ResourceInfo& resource) {
  Json schema = resource.crd_version->raw_schema;
  Json& properties = schema["properties"];
  if (!properties.is_object()) properties = Json::object();
  const auto describe = [&](const char* name, const char* type, const char* description) {
    Json& property = properties[name];
    if (!property.is_object()) property = Json::object();
    if (!property.contains("type")) property["type"] = type;
    if (!property.contains("description")) property["description"] = description;
  };
  describe("apiVersion", "string",
           "APIVersion defines the versioned schema of this representation of an object.");
  describe("kind", "string", "The kind of this object.");
  describe("metadata", "object", "Name, labels and the other standard metadata.");
  schema["x-kubernetes-group-version-kind"] = Json::array({GroupVersionKind(resource)});
  return schema;
}

Json OpenApiDocument(const ResourceTable& table, const std::string& group,
                     const std::string& version) {
  if (!table.HasGroupVersion(group, version)) return Json();
  const BuiltinSchemas builtin;
  Json paths = Json::object();
  Json schemas = Json::object();
  std::set<std::string_view> names;
  for (const ResourcePtr& resource : table.all()) {
    if (resource->id.group != group || resource->id.version != version) continue;
    std::string name(builtin.NameOf(*resource));
    builtin.AddReachable(name, names);
    if (resource->crd_version != nullptr) {
      name = SchemaName(*resource);
      Json schema = ComponentSchema(*resource);
      // The documents of built-in kinds have the same, whatever the definition says of metadata.
      builtin.AddReachable(kObjectMeta, names);
      schema["properties"]["metadata"] = {
          {"description", "Standard object's metadata."},
          {"allOf", Json::array({{{"$ref", std::string(kSchemas) + kObjectMeta}}})}};
      schemas[name] = std::move(schema);
    }
    AddPaths(paths, *resource, name);
  }
  for (const std::string_view name : names) {
    // allow json-parse: a part of this program
    schemas[std::string(name)] = Json::parse(builtin.TextOf(name));
  }
  Json document{{"openapi", "3.0.0"},
                {"info", {{"title", "Kubernetes"}, {"version", "v1.36.0"}}},
                {"paths", std::move(paths)}};
  document["components"] = {{"schemas", std::move(schemas)}};
  return document;
}

namespace {

// Changes with the document, and needs no document of built-in kinds.
std::size_t DocumentHash(const ResourceTable& table, const std::string& group,
                         const std::string& version) {
  std::string content = std::to_string(BuiltinSchemas::Fingerprint());
  for (const ResourcePtr& resource : table.all()) {
    if (resource->id.group != group || resource->id.version != version) continue;
    content += resource->id.resource + " " + resource->kind;
    if (resource->crd_version != nullptr)
      content += api::FormatJson(resource->crd_version->raw_schema);
  }
  return std::hash<std::string>()(content);
}

}  // namespace

Json OpenApiIndex(const ResourceTable& table) {
  Json paths = Json::object();
  const auto add = [&](const std::string& group, const std::string& version) {
    const std::string root = RootOf(group, version);
    const std::size_t hash = DocumentHash(table, group, version);
    paths[root] = {{"serverRelativeURL", "/openapi/v3/" + root + "?hash=" + std::to_string(hash)}};
  };
  add("", "v1");
  for (const std::string& group : GroupsOf(table)) {
    for (const std::string& version : VersionsOf(table, group)) add(group, version);
  }
  return {{"paths", std::move(paths)}};
}

}  // namespace berth::local
