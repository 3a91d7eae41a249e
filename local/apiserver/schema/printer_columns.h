// local/apiserver/schema/printer_columns.h — converts additionalPrinterColumns of a CRD to Table
// columns and cells, with the JSONPath subset that they use.
//
// Source: Kubernetes CRD additionalPrinterColumns; kubectl JSONPath.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

// `.a.b`, `.a['k.x']`, `.a\.b`, `[n]`, `[*]`, `[?(@.type=="Admitted")].status`.
class JsonPath {
 public:
  // nullopt: `text` is outside of the subset; `why` gets the position.
  static std::optional<JsonPath> Parse(std::string_view text, std::string* why = nullptr);
  // The values that the path selects, in document order; absent fields select none.
  std::vector<const Json*> Select(const Json& object) const;

 private:
  struct Field {
    std::string name;
  };
  struct Index {
    int first = 0;
    int past = 0;  // first + 1 for a single index
  };
  struct Wildcard {};
  struct Filter {
    std::vector<std::string> path;
    std::string op;  // "==", "!=", or "" for "is present"
    Json value;
  };
  using Step = std::variant<Field, Index, Wildcard, Filter>;
  friend class JsonPathParser;
  std::vector<Step> steps_;
};

struct PrinterColumn {
  std::string name;
  std::string type;    // string, integer, number, boolean, date
  std::string format;  // "name", "int32", … or ""
  std::string description;
  int priority = 0;
  JsonPath path;
};

// The columns after Name; the CRD's additionalPrinterColumns, or Age alone when there are none.
// Bad paths become causes under `path`.
std::vector<PrinterColumn> ParsePrinterColumns(const Json& columns, std::string_view path,
                                               std::vector<Cause>& causes);

// Table.columnDefinitions, Name first.
Json ColumnDefinitions(const std::vector<PrinterColumn>& columns);

// Table.rows[].cells, name first; a missing value is null, a date a span up to `now`.
Json Cells(const std::vector<PrinterColumn>& columns, const Json& object, WallTime now);

// "5m" since `timestamp` (RFC 3339 text); "<unknown>" if absent, "<invalid>" if no time.
std::string AgeText(const Json& timestamp, WallTime now);

}  // namespace berth::local
