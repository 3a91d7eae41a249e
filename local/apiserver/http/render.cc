#include "local/apiserver/http/render.h"

#include "api/codec/json_write.h"
#include "local/apiserver/http/tables.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

Json PartialMetadata(const Json& object, const std::string& api_version) {
  return {{"kind", "PartialObjectMetadata"},
          {"apiVersion", api_version},
          {"metadata", object.value("metadata", Json::object())}};
}

Json RowObject(const Json& json, const RenderOptions& options) {
  if (options.include_object == "None") return Json();
  if (options.include_object == "Object") return json;
  return PartialMetadata(json, options.form.api_version);
}

Json ListMetadata(const ListResult& list) {
  Json metadata{{"resourceVersion", std::to_string(list.revision)}};
  if (!list.continue_token.empty()) metadata["continue"] = list.continue_token;
  if (list.remaining) metadata["remainingItemCount"] = *list.remaining;
  return metadata;
}

// Null: the stored object cannot be read.
Json TableRow(const ResourceInfo& resource, const StoredObject& object,
              const RenderOptions& options) {
  const Object json = object.json();
  if (json == nullptr) return Json();
  Json row{{"cells", TableCells(resource, *json, options.now)}};
  if (Json conditions = RowConditions(resource, *json); !conditions.empty()) {
    row["conditions"] = std::move(conditions);
  }
  if (Json kept = RowObject(*json, options); !kept.is_null()) row["object"] = std::move(kept);
  return row;
}

std::string RenderTable(const ResourceInfo& resource, Json rows, Json metadata,
                        const RenderOptions& options) {
  Json table{{"kind", "Table"},
             {"apiVersion", options.form.api_version},
             {"metadata", std::move(metadata)},
             {"columnDefinitions", options.with_columns ? TableColumns(resource) : Json::array()},
             {"rows", std::move(rows)}};
  return EncodeObject(table);
}

}  // namespace

std::string RenderObject(const ResourceInfo& resource, const StoredPtr& object,
                         const RenderOptions& options) {
  if (options.form.form == Form::kObject) return object->Typed();
  const Object json = object->json();
  if (options.form.form == Form::kPartialMetadata) {
    return EncodeObject(
        PartialMetadata(json == nullptr ? Json::object() : *json, options.form.api_version));
  }
  Json rows = Json::array();
  if (Json row = TableRow(resource, *object, options); !row.is_null()) {
    rows.push_back(std::move(row));
  }
  return RenderTable(resource, std::move(rows),
                     {{"resourceVersion", std::to_string(object->revision())}}, options);
}

ApiResult<std::string> RenderList(const ResourceInfo& resource, const ListResult& list,
                                  const RenderOptions& options) {
  std::size_t position = 0;
  if (options.form.form == Form::kTable) {
    Json rows = Json::array();
    for (const StoredPtr& item : list.items) {
      if (auto error = CheckCancellationAt(position++)) return *error;
      if (Json row = TableRow(resource, *item, options); !row.is_null()) {
        rows.push_back(std::move(row));
      }
    }
    return RenderTable(resource, std::move(rows), ListMetadata(list), options);
  }
  const bool partial = options.form.form == Form::kPartialMetadata;
  std::string out = R"({"kind":")";
  out += partial ? "PartialObjectMetadataList" : resource.list_kind;
  out += R"(","apiVersion":")";
  out += partial ? options.form.api_version : resource.api_version();
  out += R"(","metadata":)" + api::FormatJson(ListMetadata(list)) + R"(,"items":[)";
  bool first = true;
  for (const StoredPtr& item : list.items) {
    if (auto error = CheckCancellationAt(position++)) return *error;
    if (!first) out.push_back(',');
    first = false;
    if (partial) {
      const Object json = item->json();
      out += EncodeObject(
          PartialMetadata(json == nullptr ? Json::object() : *json, options.form.api_version));
    } else if (resource.crd == nullptr) {
      out += item->body();  // built-in items have no kind
    } else {
      item->AppendTyped(out);
    }
  }
  out += "]}";
  return out;
}

}  // namespace berth::local
