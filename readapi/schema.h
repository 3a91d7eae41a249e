// readapi/schema.h — the one table of /api/v1: resources, their fields, and the queries that they
// allow.
//
//     Resources() ─▶ OpenAPI document (openapi.h)
//                ├─▶ validation of query parameters (query.h)
//                ├─▶ indices of the read model (table.h)
//                └─▶ docs/reference/read-api.md (tests/readapi/openapi_test.cc compares)
//
// The folder readapi/ keeps rows of JSON text and knows no kind of Kubernetes:
// program/read_mirror.h makes the rows with the code of `berth status|list -o json`, so that both
// have the same shapes. The folder is pure: base/ and nlohmann/json alone, no clock, no thread.
// readapi/controller/ serves it over HTTPS.
//
// Threads: immutable; any thread. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::readapi {

// kTime: RFC 3339 in UTC. kObject, kList: JSON of the form that the description names.
enum class FieldType : std::uint8_t { kText, kNumber, kTime, kObject, kList };

// How a field is indexed.
enum class Use : std::uint8_t {
  kPlain,
  kFilter,  // rows are found by the field's value
  kSort,    // kNumber and kTime: lists may have the order of the field
  kBoth,    // kFilter and kSort
  kShared,  // few distinct values: equal ones are stored once
  kPrefix,  // kText: rows are found by the beginning of the value
};

// The callers, of those who see a row, who may read a field of it.
enum class Readers : std::uint8_t {
  kAll,
  kCluster,  // callers who may list the resource in all namespaces
};

struct Field {
  const char* name;
  FieldType type;
  Use use;
  const char* description;
  Readers readers = Readers::kAll;
  const char* form = nullptr;  // the form in forms.h; null: the form that `type` gives

  bool is_filter() const { return use == Use::kFilter || use == Use::kBoth; }
  bool is_prefix() const { return use == Use::kPrefix; }
  bool is_sort() const { return use == Use::kSort || use == Use::kBoth; }
  bool is_shared() const { return is_filter() || use == Use::kShared; }
};

// The right to "list" of a SubjectAccessReview.
struct Right {
  const char* group;
  const char* resource;
};

struct Resource {
  const char* name;  // path segment: "workloads"
  const char* description;
  Right everywhere;    // a caller who has it in all namespaces sees every row
  Right in_namespace;  // a caller who has it in a namespace sees the namespace's rows
  std::vector<Field> fields;

  // The index of the field, or nullopt.
  std::optional<std::size_t> Find(std::string_view field) const;
};

enum ResourceIndex : std::uint8_t {
  kWorkloads,
  kQueues,
  kLocalQueues,
  kCapacityRequests,
  kCohorts
};
const std::vector<Resource>& Resources();
std::optional<std::size_t> FindResource(std::string_view name);

// The tables of fields in Markdown, for docs/reference/read-api.md.
std::string FieldTables();

}  // namespace berth::readapi
