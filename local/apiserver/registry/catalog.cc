#include "local/apiserver/registry/catalog.h"

#include "local/apiserver/registry/crd.h"

namespace berth::local {

namespace {

bool IsServed(const ResourceInfo& resource) {
  return resource.crd_version == nullptr || resource.crd_version->served;
}

// The fitness of a version for work on all objects of a resource; higher is better.
int Rank(const ResourceInfo& resource) {
  const bool stored_in =
      resource.crd != nullptr && resource.crd->storage_version == resource.id.version;
  return (IsServed(resource) ? 2 : 0) + (stored_in ? 1 : 0);
}

}  // namespace

ResourceTable::ResourceTable(const std::vector<ResourcePtr>& resources, std::int64_t generation)
    : generation_(generation) {
  for (const ResourcePtr& resource : resources) {
    ResourcePtr& slot = by_storage_[resource->storage];
    if (slot == nullptr || Rank(*resource) > Rank(*slot)) slot = resource;
    if (!IsServed(*resource)) continue;
    by_id_[resource->id] = resource;
    resources_.push_back(resource);
  }
}

ResourcePtr ResourceTable::Find(const ResourceId& id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

ResourcePtr ResourceTable::FindStored(std::string_view storage) const {
  const auto it = by_storage_.find(storage);
  return it == by_storage_.end() ? nullptr : it->second;
}

ResourcePtr ResourceTable::FindVersion(const ResourceInfo& resource,
                                       std::string_view version) const {
  return Find({resource.id.group, std::string(version), resource.id.resource});
}

ResourcePtr ResourceTable::FindKind(std::string_view group, std::string_view version,
                                    std::string_view kind) const {
  for (const ResourcePtr& resource : resources_) {
    if (resource->kind == kind && resource->id.group == group && resource->id.version == version) {
      return resource;
    }
  }
  return nullptr;
}

bool ResourceTable::HasGroup(std::string_view group) const {
  for (const ResourcePtr& resource : resources_) {
    if (resource->id.group == group) return true;
  }
  return false;
}

bool ResourceTable::HasGroupVersion(std::string_view group, std::string_view version) const {
  for (const ResourcePtr& resource : resources_) {
    if (resource->id.group == group && resource->id.version == version) return true;
  }
  return false;
}

Catalog::Catalog(std::vector<ResourcePtr> builtin) : builtin_(std::move(builtin)) {
  SetCustomKinds({});
}

std::shared_ptr<const ResourceTable> Catalog::Current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void Catalog::LearnFrom(const Catalog& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  parsed_by_revision_ = other.parsed_by_revision_;
}

void Catalog::SetCustomKinds(const std::vector<StoredPtr>& crds) {
  const std::lock_guard lock(mutex_);
  std::map<std::int64_t, std::vector<ResourcePtr>> parsed;
  std::vector<ResourcePtr> resources = builtin_;
  for (const StoredPtr& crd : crds) {
    const auto known = parsed_by_revision_.find(crd->revision());
    std::vector<ResourcePtr>& versions = parsed[crd->revision()];
    const Object object = crd->json();
    if (known != parsed_by_revision_.end()) {
      versions = known->second;
    } else if (object != nullptr) {
      versions = CrdResources(*object);
    }
    resources.insert(resources.end(), versions.begin(), versions.end());
  }
  parsed_by_revision_ = std::move(parsed);
  current_ = std::make_shared<const ResourceTable>(std::move(resources), ++generation_);
}

}  // namespace berth::local
