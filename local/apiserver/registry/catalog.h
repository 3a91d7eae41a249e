// local/apiserver/registry/catalog.h — every resource that the API serves: built-in kinds and those
// of the stored CRDs.
//
// Threads: a ResourceTable is immutable; Catalog may be used from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/registry/resource_info.h"
#include "local/apiserver/store/stored_object.h"

namespace berth::local {

class ResourceTable {
 public:
  // Versions that are not served are found by FindStored only.
  ResourceTable(const std::vector<ResourcePtr>& resources, std::int64_t generation);

  ResourcePtr Find(const ResourceId& id) const;  // null: not served
  // The storage version of a stored resource ("jobs.batch"); if it is not served, another served
  // version, if any.
  ResourcePtr FindStored(std::string_view storage) const;
  // The resource of `resource` in another version; null: the version is not served.
  ResourcePtr FindVersion(const ResourceInfo& resource, std::string_view version) const;
  ResourcePtr FindKind(std::string_view group, std::string_view version,
                       std::string_view kind) const;
  bool HasGroup(std::string_view group) const;
  bool HasGroupVersion(std::string_view group, std::string_view version) const;
  const std::vector<ResourcePtr>& all() const { return resources_; }
  std::int64_t generation() const { return generation_; }  // differs between tables

 private:
  std::vector<ResourcePtr> resources_;
  std::map<ResourceId, ResourcePtr> by_id_;
  std::map<std::string, ResourcePtr, std::less<>> by_storage_;
  std::int64_t generation_;
};

class Catalog {
 public:
  explicit Catalog(std::vector<ResourcePtr> builtin);

  std::shared_ptr<const ResourceTable> Current() const;
  // Replaces the custom kinds by those of `crds` (CustomResourceDefinition objects as stored).
  void SetCustomKinds(const std::vector<StoredPtr>& crds);
  // Takes over the parsed CRDs of `other`, whose store had the same initial content.
  void LearnFrom(const Catalog& other);

 private:
  const std::vector<ResourcePtr> builtin_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ResourceTable> current_;
  // Resources by revision of their CRD: a schema is parsed once.
  std::map<std::int64_t, std::vector<ResourcePtr>> parsed_by_revision_;
  std::int64_t generation_ = 0;
};

}  // namespace berth::local
