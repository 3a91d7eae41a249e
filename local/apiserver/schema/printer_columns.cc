#include "local/apiserver/schema/printer_columns.h"

#include <cstdint>

#include "base/rfc3339.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

constexpr std::string_view kNameDescription =
    "Name must be unique within a namespace. Is required when creating resources, although some "
    "resources may allow a client to request the generation of an appropriate name automatically. "
    "Name is primarily intended for creation idempotence and configuration definition. Cannot be "
    "updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
constexpr std::string_view kAgeDescription =
    "CreationTimestamp is a timestamp representing the server time when this object was created. "
    "It is not guaranteed to be set in happens-before order across separate operations. Clients "
    "may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the "
    "system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

// JSONPath prints strings without quotes and other values as JSON.
std::string PlainText(const Json& value) {
  return value.is_string() ? value.get<std::string>() : GoJson(value);
}

Json Cell(const PrinterColumn& column, const Json& value, WallTime now) {
  if (column.type == "string") return value.is_null() ? Json("<nil>") : Json(PlainText(value));
  if (column.type == "integer") {
    if (value.is_number_float()) return static_cast<std::int64_t>(value.get<double>());
    return value.is_number() ? value : Json();
  }
  if (column.type == "number") return value.is_number() ? Json(value.get<double>()) : Json();
  if (column.type == "boolean") return value.is_boolean() ? value : Json();
  if (column.type == "date") return value.is_string() ? Json(AgeText(value, now)) : Json();
  return nullptr;
}

}  // namespace

std::string AgeText(const Json& timestamp, WallTime now) {
  if (!timestamp.is_string() || timestamp.get_ref<const std::string&>().empty()) {
    return "<unknown>";
  }
  const auto time = ParseTime(timestamp.get_ref<const std::string&>());
  if (!time) return "<invalid>";
  return HumanDuration(now - *time);
}

std::vector<PrinterColumn> ParsePrinterColumns(const Json& columns, std::string_view path,
                                               std::vector<Cause>& causes) {
  std::vector<PrinterColumn> out;
  if (!columns.is_array() || columns.empty()) {
    out.push_back({"Age", "date", "", std::string(kAgeDescription), 0,
                   *JsonPath::Parse(".metadata.creationTimestamp")});
    return out;
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Json& column = columns[i];
    if (!column.is_object()) continue;
    const std::string text = FieldText(column, "jsonPath");
    std::string why;
    auto parsed = JsonPath::Parse(text, &why);
    if (!parsed) {
      causes.push_back(InvalidError(ChildPath(IndexPath(path, i), "jsonPath"), text, why));
      continue;
    }
    std::string description = FieldText(column, "description");
    if (description.empty()) {
      description = "Custom resource definition column (in JSONPath format): " + text;
    }
    out.push_back(
        {FieldText(column, "name"), FieldText(column, "type"), FieldText(column, "format"),
         std::move(description),
         column.value("priority", Json(0)).is_number_integer() ? column.value("priority", 0) : 0,
         *std::move(parsed)});
  }
  return out;
}

Json ColumnDefinitions(const std::vector<PrinterColumn>& columns) {
  Json out = Json::array();
  out.push_back({{"name", "Name"},
                 {"type", "string"},
                 {"format", "name"},
                 {"description", kNameDescription},
                 {"priority", 0}});
  for (const PrinterColumn& column : columns) {
    out.push_back({{"name", column.name},
                   {"type", column.type},
                   {"format", column.format},
                   {"description", column.description},
                   {"priority", column.priority}});
  }
  return out;
}

Json Cells(const std::vector<PrinterColumn>& columns, const Json& object, WallTime now) {
  Json cells = Json::array();
  const Json::json_pointer name("/metadata/name");
  cells.push_back(object.contains(name) ? object[name] : Json(""));
  for (const PrinterColumn& column : columns) {
    const std::vector<const Json*> values = column.path.Select(object);
    cells.push_back(values.empty() ? Json() : Cell(column, *values.front(), now));
  }
  return cells;
}

}  // namespace berth::local
