// local/apiserver/registry/resource_info.h — the description of one resource in one version: names,
// verbs, subresources, and the type of its objects.
//
// Threads: immutable once shared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/crd_schema.h"
#include "local/apiserver/schema/printer_columns.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

// Verbs are letters: c create, d delete, D deletecollection, g get, l list, p patch, u update,
// w watch.
struct SubresourceInfo {
  std::string name;
  std::string verbs;
  // Group of the body; empty: the resource's own.
  std::string group;
  std::string version;
  std::string kind;
};

struct CrdScale {
  std::string spec_replicas_path;    // ".spec.replicas"
  std::string status_replicas_path;  // ".status.replicas"
  std::string label_selector_path;   // may be empty
};

// One version of a custom kind.
struct CrdVersion {
  std::string name;
  bool served = true;
  bool storage = false;
  bool deprecated = false;
  std::string deprecation_warning;
  bool has_status = false;
  std::shared_ptr<const CrdScale> scale;
  std::shared_ptr<const CrdSchema> schema;
  Json raw_schema;  // openAPIV3Schema as written, for OpenAPI
  std::vector<PrinterColumn> columns;
  std::vector<std::string> selectable_fields;  // "spec.queueName"
};

struct CrdConversion {
  bool webhook = false;
  std::string url;                // the URL; empty: the service below is called
  std::string service_namespace;  // namespace and name of a service
  std::string service_name;
  std::string service_path;
  int service_port = 443;
  std::string ca_pem;
};

// A custom kind with all its versions.
struct CrdKind {
  std::string crd_name;  // "jobsets.jobset.x-k8s.io"
  std::string storage_version;
  std::map<std::string, CrdVersion> versions;
  CrdConversion conversion;
  std::int64_t revision =
      0;                     // revision of the CRD: objects written earlier are normalised on reads
  bool terminating = false;  // instances are being deleted, creation is refused
};

struct ResourceInfo {
  ResourceId id;
  std::string kind;
  std::string list_kind;
  std::string singular;
  bool namespaced = true;
  std::string verbs;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<SubresourceInfo> subresources;
  std::string storage;                    // ObjectKey::resource: "jobs.batch"
  const TypeNode* type = nullptr;         // the object's type; null: the resource has no body
  std::vector<std::string> field_labels;  // beside metadata.name and metadata.namespace

  std::shared_ptr<const CrdKind> crd;  // null: built in
  const CrdVersion* crd_version = nullptr;

  bool has_status = false;  // /status exists, the main endpoint ignores status
  bool tracks_generation = false;
  bool unconditional_update = true;  // PUT without resourceVersion overwrites
  bool create_on_update = false;     // PUT of a missing object creates it

  std::string api_version() const {
    return id.group.empty() ? id.version : id.group + "/" + id.version;
  }
  bool Allows(char verb) const { return verbs.find(verb) != std::string::npos; }
  const SubresourceInfo* FindSubresource(std::string_view name) const {
    for (const SubresourceInfo& subresource : subresources) {
      if (subresource.name == name) return &subresource;
    }
    return nullptr;
  }
};
using ResourcePtr = std::shared_ptr<const ResourceInfo>;

}  // namespace berth::local
