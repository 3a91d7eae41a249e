// Goal: clients of OpenAPI v2 and v3 find every kind with its whole schema.
// Method: documents of a server with a custom kind; the protobuf form is read field by field.
#include <gmock/gmock.h>

#include "local/apiserver/http/openapi_v2.h"
#include "local/apiserver/types/wire.h"
#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

class OpenApiTest : public ServerTest {};

// The message in field `number` whose field 1 is `name`: its field 2.
std::string_view NamedIn(std::string_view message, std::uint32_t number, std::string_view name) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(field) == WireReader::Outcome::kField) {
    if (field.number != number) continue;
    WireReader named(field.bytes);
    WireField part;
    bool is_it = false;
    while (named.Next(part) == WireReader::Outcome::kField) {
      if (part.number == 1) is_it = part.bytes == name;
      if (part.number == 2 && is_it) return part.bytes;
    }
  }
  return {};
}

std::string_view Field(std::string_view message, std::uint32_t number) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(field) == WireReader::Outcome::kField) {
    if (field.number == number) return field.bytes;
  }
  return {};
}

// Every reference of a document leads to a schema in it.
void CheckReferences(const Json& value, const std::string& start, const Json& schemas) {
  if (value.is_object() && value.contains("$ref") && value["$ref"].is_string()) {
    const std::string reference = value["$ref"];
    ASSERT_EQ(reference.substr(0, start.size()), start);
    EXPECT_TRUE(schemas.contains(reference.substr(start.size()))) << reference;
  }
  if (!value.is_structured()) return;
  for (const Json& child : value) CheckReferences(child, start, schemas);
}

TEST_F(OpenApiTest, EveryKindHasASchema) {
  ASSERT_EQ(Post(kCrds, WidgetCrd()).status, 201);
  const Json index = Get("/openapi/v3").json["paths"];
  ASSERT_TRUE(index.contains("apis/batch/v1"));
  for (const auto& [root, entry] : index.items()) {
    const Json document = Get(entry["serverRelativeURL"]).json;
    const Json& schemas = document["components"]["schemas"];
    CheckReferences(document, "#/components/schemas/", schemas);
    for (const auto& [path, item] : document["paths"].items()) {
      const Json kind = item["patch"]["x-kubernetes-group-version-kind"];
      bool found = false;
      for (const Json& schema : schemas) {
        for (const Json& one : schema.value("x-kubernetes-group-version-kind", Json::array())) {
          found = found || one == kind;
        }
      }
      EXPECT_TRUE(found) << path << kind;
    }
  }
  const Json batch = Get("/openapi/v3/apis/batch/v1").json["components"]["schemas"];
  const Json& spec = batch["io.k8s.api.batch.v1.JobSpec"]["properties"];
  EXPECT_EQ(spec["completionMode"]["type"], "string");
  EXPECT_THAT(spec["suspend"]["description"].get<std::string>(), HasSubstr("suspend"));
  EXPECT_EQ(spec["template"]["allOf"][0]["$ref"],
            "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec");
}

TEST_F(OpenApiTest, VersionTwoIsServedAsJson) {
  ASSERT_EQ(Post(kCrds, WidgetCrd()).status, 201);
  const Json document = Get("/openapi/v2").json;
  EXPECT_EQ(document["swagger"], "2.0");
  const Json& definitions = document["definitions"];
  CheckReferences(definitions, "#/definitions/", definitions);
  const Json& quantity = definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"];
  EXPECT_EQ(quantity["type"], "string");
  EXPECT_FALSE(quantity.contains("oneOf"));
  EXPECT_TRUE(definitions.contains("com.example.v1.Widget"));
  const Json& patch =
      document["paths"]["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"]["patch"];
  EXPECT_EQ(patch["consumes"].size(), 4U);
  EXPECT_EQ(patch["x-kubernetes-group-version-kind"]["kind"], "Job");
}

TEST_F(OpenApiTest, VersionTwoHasNoFieldsOfKindsThatKeepUnknownFields) {
  Json crd = WidgetCrd();
  crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-preserve-unknown-fields"] =
      true;
  ASSERT_EQ(Post(kCrds, crd).status, 201);
  const Json widget = Get("/openapi/v2").json["definitions"]["com.example.v1.Widget"];
  EXPECT_EQ(widget["type"], "object");
  EXPECT_FALSE(widget.contains("properties"));
  EXPECT_EQ(widget["x-kubernetes-group-version-kind"][0]["kind"], "Widget");
}

TEST_F(OpenApiTest, VersionTwoIsServedAsProtobuf) {
  ASSERT_EQ(Post(kCrds, WidgetCrd()).status, 201);
  const Answer answer = Get(
      "/openapi/v2", {{"Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}});
  EXPECT_EQ(answer.headers.Find("Content-Type"), kOpenApiV2Media);
  EXPECT_EQ(Field(answer.text, 1), "2.0");
  const std::string_view definitions = Field(answer.text, 9);
  const std::string_view spec = NamedIn(definitions, 1, "io.k8s.api.batch.v1.JobSpec");
  const std::string_view properties = Field(spec, 25);
  EXPECT_EQ(Field(Field(NamedIn(properties, 1, "parallelism"), 22), 1), "integer");
  EXPECT_EQ(Field(NamedIn(properties, 1, "parallelism"), 2), "int32");
  EXPECT_EQ(Field(NamedIn(properties, 1, "template"), 1),
            "#/definitions/io.k8s.api.core.v1.PodTemplateSpec");
  EXPECT_EQ(Field(spec, 19), "template") << "required";
  EXPECT_EQ(Field(NamedIn(NamedIn(definitions, 1, "io.k8s.api.batch.v1.Job"), 31,
                          "x-kubernetes-group-version-kind"),
                  2),
            R"([{"group":"batch","kind":"Job","version":"v1"}])");
  EXPECT_FALSE(NamedIn(definitions, 1, "com.example.v1.Widget").empty());
  const std::string_view path =
      NamedIn(Field(answer.text, 8), 2, "/apis/batch/v1/namespaces/{namespace}/jobs/{name}");
  EXPECT_EQ(Field(Field(path, 8), 5), "patchv1Job");
}

TEST(OpenApiV2Test, SchemaInV2OmitsUnsupportedKeywords) {
  const Json schema = Json::parse(R"({"type": "object", "nullable": true, "properties": {
      "a": {"allOf": [{"$ref": "#/components/schemas/x"}], "default": {}, "description": "d"},
      "b": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
      "c": {"type": "array", "items": {"oneOf": [{"type": "integer"}, {"type": "string"}]}}}})");
  EXPECT_EQ(SchemaInV2(schema), Json::parse(R"({"properties": {
      "a": {"$ref": "#/definitions/x", "description": "d"},
      "b": {"x-kubernetes-int-or-string": true},
      "c": {"type": "array", "items": {"type": "string"}}}})"));
}

}  // namespace
}  // namespace berth::local
