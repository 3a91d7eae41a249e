#include "local/apiserver/store/watch_cache.h"

#include <algorithm>

namespace berth::local {

void WatchCache::Reset(std::vector<StoredPtr> objects, const std::vector<EventPtr>& log,
                       std::int64_t revision, std::int64_t floor,
                       const std::vector<std::string>& unlogged) {
  const std::unique_lock lock(mutex_);
  resources_.clear();
  revision_ = revision;
  start_floor_ = floor;
  for (const std::string& resource : unlogged) ResourceOf(resource).floor = revision;
  for (StoredPtr& object : objects) {
    const ObjectKey& key = object->key();
    ResourceOf(key.resource).objects[{key.namespace_name, key.name}] = std::move(object);
  }
  for (const EventPtr& event : log) Append(ResourceOf(event->object->key().resource), event);
}

WatchCache::Resource& WatchCache::ResourceOf(const std::string& name) {
  const auto [it, added] = resources_.try_emplace(name);
  if (added) it->second.floor = start_floor_;
  return it->second;
}

void WatchCache::Append(Resource& resource, const EventPtr& event) {
  resource.window.push_back(event);
  resource.window_bytes += event->object->size();
  while (MustShrink(resource)) {
    const EventPtr& oldest = resource.window.front();
    resource.floor = oldest->revision;
    resource.window_bytes -= oldest->object->size();
    resource.window.pop_front();
  }
}

bool WatchCache::MustShrink(const Resource& resource) const {
  const auto exceeds = [&](std::size_t factor) {
    return resource.window.size() > limits_.max_events * factor ||
           (resource.window_bytes > limits_.max_bytes * factor && resource.window.size() > 1);
  };
  if (!exceeds(1)) return false;
  const Duration age = resource.window.back()->time - resource.window.front()->time;
  return age >= limits_.keep_for || exceeds(WindowLimits::kYoungFactor);
}

void WatchCache::Publish(const std::vector<EventPtr>& events) {
  const std::unique_lock lock(mutex_);
  for (const EventPtr& event : events) {
    const ObjectKey& key = event->object->key();
    Resource& resource = ResourceOf(key.resource);
    if (event->type == WatchEvent::Type::kDeleted) {
      resource.objects.erase({key.namespace_name, key.name});
    } else {
      resource.objects[{key.namespace_name, key.name}] = event->object;
    }
    Append(resource, event);
    revision_ = event->revision;
  }
}

StoredPtr WatchCache::Get(const ObjectKey& key) const {
  const std::shared_lock lock(mutex_);
  const auto resource = resources_.find(key.resource);
  if (resource == resources_.end()) return nullptr;
  const auto it = resource->second.objects.find({key.namespace_name, key.name});
  return it == resource->second.objects.end() ? nullptr : it->second;
}

WatchCache::Snapshot WatchCache::List(std::string_view resource,
                                      std::string_view namespace_name) const {
  const std::shared_lock lock(mutex_);
  Snapshot snapshot;
  snapshot.revision = revision_;
  const auto found = resources_.find(resource);
  if (found == resources_.end()) return snapshot;
  const ObjectMap& objects = found->second.objects;
  if (namespace_name.empty()) {
    snapshot.objects.reserve(objects.size());
    for (const auto& [key, object] : objects) snapshot.objects.push_back(object);
    return snapshot;
  }
  for (auto it = objects.lower_bound({std::string(namespace_name), ""});
       it != objects.end() && it->first.first == namespace_name; ++it) {
    snapshot.objects.push_back(it->second);
  }
  return snapshot;
}

namespace {

// Walks the objects of two ordered maps, present ones and earlier states of some of them, as one:
// an earlier state replaces the present one; null: the object did not exist.
template <typename Objects, typename Earlier, typename Visit>
void WalkEarlier(const Objects& objects, const Earlier& earlier, const std::string& from_namespace,
                 const std::pair<std::string, std::string>& after, Visit visit) {
  const bool from_start = after.first.empty() && after.second.empty();
  const std::pair<std::string, std::string> first{from_namespace, ""};
  const auto begin = [&](const auto& map) {
    return from_start ? map.lower_bound(first) : map.upper_bound(after);
  };
  auto present = begin(objects);
  auto past = begin(earlier);
  while (present != objects.end() || past != earlier.end()) {
    if (past == earlier.end() || (present != objects.end() && present->first < past->first)) {
      if (!visit(present->first, present->second)) return;
      ++present;
      continue;
    }
    if (present != objects.end() && present->first == past->first) ++present;
    if (past->second != nullptr && !visit(past->first, past->second)) return;
    ++past;
  }
}

}  // namespace

WatchCache::Part WatchCache::ListAt(std::string_view resource, const Range& range,
                                    std::int64_t revision) const {
  const std::shared_lock lock(mutex_);
  Part part;
  part.revision = revision < 0 ? revision_ : revision;
  const auto found = resources_.find(resource);
  const std::int64_t floor = found == resources_.end() ? start_floor_ : found->second.floor;
  if (part.revision < floor && revision >= 0) {
    part.state = Part::State::kExpired;
    return part;
  }
  if (found == resources_.end()) return part;
  const std::deque<EventPtr>& window = found->second.window;
  ObjectMap earlier;  // before the first change of each object after `revision`
  auto it = std::upper_bound(window.begin(), window.end(), part.revision,
                             [](std::int64_t r, const EventPtr& e) { return r < e->revision; });
  for (; it != window.end(); ++it) {
    const StoreEvent& event = **it;
    if (event.previous == nullptr && event.type != WatchEvent::Type::kAdded) {
      part.state = Part::State::kExpired;
      return part;
    }
    const ObjectKey& key = event.object->key();
    earlier.try_emplace({key.namespace_name, key.name}, event.previous);
  }
  WalkEarlier(found->second.objects, earlier, std::string(range.namespace_name), range.after,
              [&](const auto& key, const StoredPtr& object) {
                if (!range.namespace_name.empty() && key.first != range.namespace_name)
                  return false;
                if (range.most > 0 && part.objects.size() == range.most) {
                  ++part.more;
                } else {
                  part.objects.push_back(object);
                }
                return true;
              });
  return part;
}

WatchCache::Changes WatchCache::EventsAfter(std::string_view resource, std::int64_t revision,
                                            std::size_t max_events) const {
  const std::shared_lock lock(mutex_);
  Changes changes;
  changes.through = std::max(revision, revision_);
  const auto found = resources_.find(resource);
  const std::int64_t floor = found == resources_.end() ? start_floor_ : found->second.floor;
  if (revision < floor) {
    changes.state = Changes::State::kExpired;
    return changes;
  }
  if (found == resources_.end()) return changes;
  const std::deque<EventPtr>& window = found->second.window;
  auto it = std::upper_bound(window.begin(), window.end(), revision,
                             [](std::int64_t r, const EventPtr& e) { return r < e->revision; });
  for (; it != window.end(); ++it) {
    if (changes.events.size() == max_events) {
      changes.through = changes.events.back()->revision;
      break;
    }
    changes.events.push_back(*it);
  }
  return changes;
}

std::int64_t WatchCache::revision() const {
  const std::shared_lock lock(mutex_);
  return revision_;
}

void WatchCache::DropParsed() const {
  for (const StoredPtr& object : ListEverything().objects) object->DropParsed();
}

WatchCache::Snapshot WatchCache::ListEverything() const {
  const std::shared_lock lock(mutex_);
  Snapshot snapshot;
  snapshot.revision = revision_;
  for (const auto& [name, resource] : resources_) {
    for (const auto& [key, object] : resource.objects) snapshot.objects.push_back(object);
  }
  return snapshot;
}

std::map<std::string, std::size_t> WatchCache::Counts() const {
  const std::shared_lock lock(mutex_);
  std::map<std::string, std::size_t> counts;
  for (const auto& [name, resource] : resources_) counts[name] = resource.objects.size();
  return counts;
}

}  // namespace berth::local
