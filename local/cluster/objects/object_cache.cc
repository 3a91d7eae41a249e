#include "local/cluster/objects/object_cache.h"

#include "base/strings.h"

namespace berth::local::cluster {
namespace {

constexpr std::size_t kDrainBatch = 512;  // events handled in one task

}  // namespace

ObjectCache::ObjectCache(Api& api, Executor& executor) : api_(api), executor_(executor) {}

ObjectCache::~ObjectCache() {
  for (auto& [resource, kind] : kinds_) kind.watch.reset();
}

ApiResult<bool> ObjectCache::Track(const ResourceId& resource) {
  Kind& kind = kinds_[resource];
  if (kind.watch != nullptr) return false;
  // The watch opens first: a change between watch and list is in both, never in neither.
  auto watch = WatchChanges(resource);
  auto list = api_.List(resource, "", {});
  if (!list) return list.error();
  kind.watch = std::move(watch);
  kind.keeps_objects = true;
  kind.listed_at = ParseInt64(list->resource_version).value_or(0);
  for (const Object& object : list->items) Store(resource, kind, object);
  return true;
}

void ObjectCache::Follow(const ResourceId& resource) {
  Kind& kind = kinds_[resource];
  if (kind.watch == nullptr) kind.watch = WatchChanges(resource);
}

std::unique_ptr<WatchHandle> ObjectCache::WatchChanges(const ResourceId& resource) {
  return api_.Watch(resource, WatchFrom::kNow,
                    [this, resource, inbox = inbox_,
                     alive = std::weak_ptr<bool>(alive_)](const WatchEvent& event) {
                      {
                        const std::lock_guard lock(inbox->mutex);
                        inbox->events.emplace_back(resource, event);
                        if (inbox->drain_is_posted) return;
                        inbox->drain_is_posted = true;
                      }
                      executor_.Post([this, alive] {
                        if (!alive.expired()) Drain();
                      });
                    });
}

bool ObjectCache::tracks(const ResourceId& resource) const {
  const auto kind = kinds_.find(resource);
  return kind != kinds_.end() && kind->second.keeps_objects;
}

void ObjectCache::Listen(const ResourceId& resource, Listener listener) {
  kinds_[resource].listeners.push_back(std::move(listener));
}

void ObjectCache::AddIndex(const ResourceId& resource, const std::string& index,
                           IndexFunction values) {
  kinds_[resource].store.AddIndex(
      index, [values = std::move(values)](const Cached& one) { return values(*one.object); });
}

Object ObjectCache::Get(const ResourceId& resource, const ObjectKey& key) const {
  const auto kind = kinds_.find(resource);
  if (kind == kinds_.end()) return nullptr;
  const auto known = kind->second.store.Get(key);
  return known == nullptr ? nullptr : known->object;
}

std::vector<Object> ObjectCache::All(const ResourceId& resource) const {
  std::vector<Object> all;
  const auto kind = kinds_.find(resource);
  if (kind == kinds_.end()) return all;
  for (const auto& one : kind->second.store.objects()) all.push_back(one->object);
  return all;
}

std::vector<Object> ObjectCache::ByIndex(const ResourceId& resource, const std::string& index,
                                         const std::string& value) const {
  std::vector<Object> found;
  const auto kind = kinds_.find(resource);
  if (kind == kinds_.end()) return found;
  for (const auto& one : kind->second.store.ByIndex(index, value)) found.push_back(one->object);
  return found;
}

void ObjectCache::Put(const ResourceId& resource, Object object) {
  const auto kind = kinds_.find(resource);
  if (kind == kinds_.end() || !kind->second.keeps_objects) return;
  Store(resource, kind->second, object);
}

void ObjectCache::Remove(const ResourceId& resource, const ObjectKey& key, const std::string& uid) {
  const auto kind = kinds_.find(resource);
  if (kind == kinds_.end() || !kind->second.keeps_objects) return;
  const auto known = kind->second.store.Get(key);
  if (known == nullptr || UidOf(*known->object) != uid) return;
  kind->second.removed_uids.insert(uid);
  Drop(resource, kind->second, key);
}

void ObjectCache::Drain() {
  std::vector<std::pair<ResourceId, WatchEvent>> events;
  {
    const std::lock_guard lock(inbox_->mutex);
    if (inbox_->events.size() <= kDrainBatch) {
      events.swap(inbox_->events);
      inbox_->drain_is_posted = false;
    } else {
      const auto end = inbox_->events.begin() + kDrainBatch;
      events.assign(std::make_move_iterator(inbox_->events.begin()), std::make_move_iterator(end));
      inbox_->events.erase(inbox_->events.begin(), end);
      executor_.Post([this, alive = std::weak_ptr<bool>(alive_)] {
        if (!alive.expired()) Drain();
      });
    }
  }
  for (const auto& [resource, event] : events) Handle(resource, event);
}

void ObjectCache::Handle(const ResourceId& resource, const WatchEvent& event) {
  Kind& kind = kinds_[resource];
  const Json& object = *event.object;
  const std::int64_t version = ResourceVersionOf(object);
  const bool is_deletion = event.type == WatchEvent::Type::kDeleted;
  if (!kind.keeps_objects) {
    const ObjectChange change{resource, is_deletion ? event.object : event.previous,
                              is_deletion ? nullptr : event.object};
    for (const Listener& listener : kind.listeners) listener(change);
    return;
  }
  const auto removed = kind.removed_uids.find(UidOf(object));
  if (removed != kind.removed_uids.end()) {
    if (is_deletion) kind.removed_uids.erase(removed);
    return;
  }
  if (version <= kind.listed_at) return;
  if (!is_deletion) return Store(resource, kind, event.object);
  const ObjectKey key = KeyOf(object);
  const auto known = kind.store.Get(key);
  if (known != nullptr && known->version < version) Drop(resource, kind, key);
}

void ObjectCache::Store(const ResourceId& resource, Kind& kind, const Object& object) {
  const auto next =
      std::make_shared<const Cached>(Cached{KeyOf(*object), ResourceVersionOf(*object), object});
  const auto known = kind.store.GetLike(next);
  if (known != nullptr && known->version >= next->version) return;
  kind.store.Put(next);
  const Object previous = known == nullptr ? nullptr : known->object;
  for (const Listener& listener : kind.listeners) listener({resource, previous, object});
}

void ObjectCache::Drop(const ResourceId& resource, Kind& kind, const ObjectKey& key) {
  const auto known = kind.store.Remove(key);
  for (const Listener& listener : kind.listeners) listener({resource, known->object, nullptr});
}

}  // namespace berth::local::cluster
