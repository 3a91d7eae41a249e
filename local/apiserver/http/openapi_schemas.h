// local/apiserver/http/openapi_schemas.h — the schemas of built-in kinds, as Kubernetes publishes
// them (openapi_definitions.txt, made by tools/typetable/openapi).
//
// The program contains the schemas compressed (150 KB). A BuiltinSchemas has their text (800 KB),
// and lives only while a document is made.
//
// Threads: immutable; any thread. Source: OpenAPI 3.0; Kubernetes' x-kubernetes extensions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "local/apiserver/registry/resource_info.h"

namespace berth::local {

class BuiltinSchemas {
 public:
  BuiltinSchemas();  // decompresses

  // The name of the kind's schema, "io.k8s.api.batch.v1.Job"; empty: none is published.
  std::string_view NameOf(const ResourceInfo& resource) const;
  // Adds `name` and all schemas that it refers to, directly or not. Unknown names are left out.
  void AddReachable(std::string_view name, std::set<std::string_view>& names) const;
  // The schema as JSON, with references to #/components/schemas; empty: unknown.
  std::string_view TextOf(std::string_view name) const;

  // A hash of the schemas, which is a part of the hashes of documents.
  static std::size_t Fingerprint();

 private:
  std::string text_;
  std::map<std::string_view, std::string_view> text_by_name_;
  std::map<std::string, std::string_view> name_by_kind_;  // "batch/v1/Job"
};

}  // namespace berth::local
