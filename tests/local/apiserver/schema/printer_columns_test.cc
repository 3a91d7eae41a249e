// Goal: columns of custom kinds show the same cells as kubectl. Method: rows of path, object, cell.
#include "local/apiserver/schema/printer_columns.h"

#include <gmock/gmock.h>

#include "base/rfc3339.h"

namespace berth::local {
namespace {

const WallTime kNow = *ParseTime("2026-11-20T12:00:00Z");

const Json kObject = Json::parse(R"({
    "metadata": {"name": "w", "creationTimestamp": "2026-11-20T11:55:00Z",
                 "labels": {"a.b/c": "dotted"}},
    "spec": {"n": 3, "f": 2.5, "on": true, "list": ["x", "y"], "map": {"k": [1]}},
    "status": {"conditions": [{"type": "QuotaReserved", "status": "True"},
                              {"type": "Admitted", "status": "False"}]}})");

struct ColumnCase {
  std::string type;
  std::string path;
  std::string want;
};
class PrinterColumnTest : public ::testing::TestWithParam<ColumnCase> {};
TEST_P(PrinterColumnTest, CellShowsTheValueOfItsPathAsItsType) {
  std::vector<Cause> causes;
  const auto columns = ParsePrinterColumns(
      Json::array({{{"name", "C"}, {"type", GetParam().type}, {"jsonPath", GetParam().path}}}), "p",
      causes);
  ASSERT_TRUE(causes.empty()) << causes[0].message;
  EXPECT_EQ(Cells(columns, kObject, kNow)[1].dump(), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Table, PrinterColumnTest,
    ::testing::Values(
        ColumnCase{"string", ".metadata.name", "\"w\""},
        ColumnCase{"date", ".metadata.creationTimestamp", "\"5m\""},
        ColumnCase{"date", ".metadata.name", "\"<invalid>\""},
        ColumnCase{"string", ".spec.missing.deeper", "null"}, ColumnCase{"integer", ".spec.n", "3"},
        ColumnCase{"string", ".spec.n", "\"3\""}, ColumnCase{"integer", ".spec.f", "2"},
        ColumnCase{"number", ".spec.n", "3.0"}, ColumnCase{"boolean", ".spec.on", "true"},
        ColumnCase{"boolean", ".spec.n", "null"},
        ColumnCase{"string", ".spec.list", R"("[\"x\",\"y\"]")"},
        ColumnCase{"string", ".spec.list[1]", "\"y\""},
        ColumnCase{"string", ".spec.list[-1]", "\"y\""},
        ColumnCase{"string", ".spec.list[-1:]", "\"y\""},
        ColumnCase{"string", ".spec.list[:1]", "\"x\""},
        ColumnCase{"string", ".spec.list[1:2]", "\"y\""},
        ColumnCase{"string", ".spec.list[5:]", "null"},
        ColumnCase{"string", ".spec.list[7]", "null"},
        ColumnCase{"string", ".spec.map", R"("{\"k\":[1]}")"},
        ColumnCase{"string", R"(.metadata.labels.a\.b/c)", "\"dotted\""},
        ColumnCase{"string", R"(.metadata.labels['a.b/c'])", "\"dotted\""},
        ColumnCase{"string", R"(.status.conditions[?(@.type=="Admitted")].status)", "\"False\""},
        ColumnCase{"string", R"(.status.conditions[?(@.type=='None')].status)", "null"},
        ColumnCase{"string", R"(.status.conditions[*].type)", "\"QuotaReserved\""}));

TEST(PrinterColumnTest, ShowsNameAndAgeByDefault) {
  std::vector<Cause> causes;
  const auto columns = ParsePrinterColumns(nullptr, "p", causes);
  const Json definitions = ColumnDefinitions(columns);
  ASSERT_EQ(definitions.size(), 2U);
  EXPECT_EQ(definitions[0]["format"], "name");
  EXPECT_EQ(definitions[1]["name"], "Age");
  EXPECT_EQ(Cells(columns, kObject, kNow), Json::parse(R"(["w", "5m"])"));
}

TEST(PrinterColumnTest, RefusesInvalidPaths) {
  for (const std::string path : {"", "spec.a", ".a..b", ".a[", ".a[x]", ".a[?(x==1)]", ".a."}) {
    std::vector<Cause> causes;
    ParsePrinterColumns(Json::array({{{"name", "C"}, {"type", "string"}, {"jsonPath", path}}}), "p",
                        causes);
    ASSERT_EQ(causes.size(), 1U) << path;
    EXPECT_EQ(causes[0].field, "p[0].jsonPath");
  }
}

}  // namespace
}  // namespace berth::local
