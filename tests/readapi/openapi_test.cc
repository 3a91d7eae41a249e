// Goal: the OpenAPI document and docs/reference/read-api.md say what the table of resources says.
//
// Method: the document against the table; the page has the generated tables, word for word.
#include "readapi/openapi.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "readapi/query.h"

namespace berth::readapi {
namespace {

using Json = nlohmann::json;

// "#/components/schemas/X" names that the document uses.
void CollectReferences(const Json& value, std::vector<std::string>& names) {
  for (const auto& [key, member] : value.items()) {
    if (key == "$ref") names.push_back(member.get<std::string>().substr(1));
    if (member.is_structured()) CollectReferences(member, names);
  }
}

TEST(OpenApiTest, DocumentHasEveryFieldAndOnlyAcceptedParameters) {
  const Json document = Json::parse(OpenApiDocument("0.1.0"));
  EXPECT_EQ(document.at("openapi"), "3.1.0");
  for (const Resource& resource : Resources()) {
    const Json& list = document.at("paths").at(std::string(kRoot) + "/" + resource.name).at("get");
    const std::string page =
        list["responses"]["200"]["content"]["application/json"]["schema"].at("$ref");
    const Json& rows =
        document.at(Json::json_pointer(page.substr(1))).at("properties").at("items").at("items");
    const Json& schema =
        document.at(Json::json_pointer(rows.at("$ref").get<std::string>().substr(1)));
    EXPECT_EQ(schema.at("properties").size(), resource.fields.size() + 1);
    // Each parameter of the document is accepted.
    for (const Json& parameter : list.at("parameters")) {
      std::string value = "1";
      if (parameter["schema"].contains("enum")) value = parameter["schema"]["enum"][0];
      if (parameter["schema"].contains("items") && parameter["schema"]["items"].contains("enum")) {
        value = parameter["schema"]["items"]["enum"][0];
      }
      if (parameter["name"] == "cursor") value = EncodePageCursor({"", 0, "a"});
      const auto query = ParseQuery(resource, {{parameter["name"].get<std::string>(), value}});
      EXPECT_TRUE(query.has_value()) << parameter["name"] << ": " << query.error().message;
    }
  }
  std::vector<std::string> references;
  CollectReferences(document, references);
  EXPECT_GE(references.size(), Resources().size() * 2);
  for (const std::string& each : references) {
    EXPECT_TRUE(document.contains(Json::json_pointer(each))) << each;
  }
}

TEST(OpenApiTest, ReadApiDocumentHasTheFieldTables) {
  std::ifstream file(std::string(BERTH_SOURCE_FOLDER) + "/docs/reference/read-api.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(FieldTables()), std::string::npos)
      << "docs/reference/read-api.md lacks these tables; write them there:\n\n"
      << FieldTables();
}

}  // namespace
}  // namespace berth::readapi
