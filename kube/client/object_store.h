// kube/client/object_store.h — the objects of one kind, by key and by indexes.
//
// Designed for a million objects: an entry is a pointer (the key is in the object), an index stores
// hashes of its values, and a value of one object needs no set. Objects that arrive in the order of
// keys, as in lists, are appended without a search.
//
// Threads: one user. Errors: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>  // lookup only
#include <utility>
#include <vector>

#include "api/object_meta.h"
#include "base/small_vector.h"

namespace berth::kube {

// If two index values have equal hashes, ByIndex and HasIn compare the values themselves.
template <typename T, typename ValueHash = std::hash<std::string>>
class ObjectStore {
 public:
  using Ptr = std::shared_ptr<const T>;
  using IndexFunction = std::function<std::vector<std::string>(const T&)>;

  struct ByKey {  // namespace, then name
    using is_transparent = void;
    static int Compare(const std::string& space_a, const std::string& name_a,
                       const std::string& space_b, const std::string& name_b) {
      const int spaces = space_a.compare(space_b);
      return spaces != 0 ? spaces : name_a.compare(name_b);
    }
    bool operator()(const Ptr& a, const Ptr& b) const {
      return Compare(a->meta.namespace_name, a->meta.name, b->meta.namespace_name, b->meta.name) <
             0;
    }
    bool operator()(const Ptr& a, const api::ObjectKey& b) const {
      return Compare(a->meta.namespace_name, a->meta.name, b.namespace_name, b.name) < 0;
    }
    bool operator()(const api::ObjectKey& a, const Ptr& b) const {
      return Compare(a.namespace_name, a.name, b->meta.namespace_name, b->meta.name) < 0;
    }
  };
  using Objects = std::set<Ptr, ByKey>;

  // Adds an index; the objects that are already in the store are indexed, too.
  void AddIndex(const std::string& name, IndexFunction values_of) {
    Index& index = indexes_[name];
    index.values_of = std::move(values_of);
    for (const Ptr& object : objects_) Reindex(index, nullptr, object);
  }

  const Objects& objects() const { return objects_; }  // in the order of keys

  // Null where no object has the key.
  Ptr Get(const api::ObjectKey& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : *found;
  }
  // The next object behind `key`, or null.
  Ptr After(const api::ObjectKey& key) const {
    const auto found = objects_.upper_bound(key);
    return found == objects_.end() ? nullptr : *found;
  }
  // The object that has the key of `like`, or null.
  Ptr GetLike(const Ptr& like) const {
    if (IsBehindAll(like)) return nullptr;
    const auto found = objects_.find(like);
    return found == objects_.end() ? nullptr : *found;
  }

  // The objects in the order of keys.
  std::vector<Ptr> ByIndex(const std::string& name, const std::string& value) const {
    std::vector<Ptr> found;
    EachIn(name, value, [&found](const Ptr& object) {
      found.push_back(object);
      return Go::kOn;
    });
    return found;
  }
  // Whether ByIndex would return any object.
  bool HasIn(const std::string& name, const std::string& value) const {
    bool has = false;
    EachIn(name, value, [&has](const Ptr&) {
      has = true;
      return Go::kStop;
    });
    return has;
  }

  // Adds or replaces; returns the replaced object, or null.
  Ptr Put(const Ptr& object) {
    Ptr old;
    if (IsBehindAll(object)) {
      objects_.insert(objects_.end(), object);
    } else {
      const auto [place, is_new] = objects_.insert(object);
      if (!is_new) old = Exchange(objects_, place, object);
    }
    for (auto& [name, index] : indexes_) Reindex(index, old, object);
    return old;
  }

  // Returns the removed object, or null.
  Ptr Remove(const api::ObjectKey& key) {
    const auto found = objects_.find(key);
    if (found == objects_.end()) return nullptr;
    Ptr old = *found;
    objects_.erase(found);
    for (auto& [name, index] : indexes_) Reindex(index, old, nullptr);
    return old;
  }

 private:
  struct Bucket {  // one object, or a set
    Ptr only;
    std::unique_ptr<Objects> more;
  };
  using Hashes = SmallVector<std::size_t, 4>;
  struct Index {
    IndexFunction values_of;
    std::unordered_map<std::size_t, Bucket> buckets;  // by hash; looked up, never walked

    Hashes HashesOf(const Ptr& object) const {  // without repetitions
      Hashes hashes;
      if (object == nullptr) return hashes;
      for (const std::string& value : values_of(*object)) {
        const std::size_t hash = ValueHash()(value);
        if (!Has(hashes, hash)) hashes.push_back(hash);
      }
      return hashes;
    }
  };
  enum class Go { kOn, kStop };

  static bool Has(const Hashes& hashes, std::size_t hash) {
    return std::find(hashes.begin(), hashes.end(), hash) != hashes.end();
  }

  template <typename Visit>
  void EachIn(const std::string& name, const std::string& value, Visit visit) const {
    const auto index = indexes_.find(name);
    if (index == indexes_.end()) return;
    const auto bucket = index->second.buckets.find(ValueHash()(value));
    if (bucket == index->second.buckets.end()) return;
    const auto visit_if_meant = [&](const Ptr& object) {
      const std::vector<std::string> values = index->second.values_of(*object);
      const bool meant = std::find(values.begin(), values.end(), value) != values.end();
      return meant ? visit(object) : Go::kOn;
    };
    if (bucket->second.only != nullptr) {
      visit_if_meant(bucket->second.only);
      return;
    }
    for (const Ptr& object : *bucket->second.more) {
      if (visit_if_meant(object) == Go::kStop) return;
    }
  }

  bool IsBehindAll(const Ptr& object) const {
    return objects_.empty() || ByKey()(*objects_.rbegin(), object);
  }

  // Replaces an object of equal key in place.
  static Ptr Exchange(Objects& objects, typename Objects::const_iterator place, const Ptr& object) {
    const auto next = std::next(place);
    auto node = objects.extract(place);
    Ptr old = std::exchange(node.value(), object);
    objects.insert(next, std::move(node));
    return old;
  }

  static void Reindex(Index& index, const Ptr& old, const Ptr& object) {
    const Hashes before = index.HashesOf(old);
    const Hashes after = index.HashesOf(object);
    for (const std::size_t hash : before) {
      if (!Has(after, hash)) Take(index, hash, old);
    }
    for (const std::size_t hash : after) Set(index.buckets[hash], object);
  }

  static void Set(Bucket& bucket, const Ptr& object) {
    if (bucket.more == nullptr) {
      const bool same = bucket.only == nullptr ||
                        (!ByKey()(bucket.only, object) && !ByKey()(object, bucket.only));
      if (same) {
        bucket.only = object;
        return;
      }
      bucket.more = std::make_unique<Objects>();
      bucket.more->insert(std::exchange(bucket.only, nullptr));
    }
    Objects& more = *bucket.more;
    if (ByKey()(*more.rbegin(), object)) {
      more.insert(more.end(), object);
      return;
    }
    const auto [place, is_new] = more.insert(object);
    if (!is_new) Exchange(more, place, object);
  }

  static void Take(Index& index, std::size_t hash, const Ptr& object) {
    const auto bucket = index.buckets.find(hash);
    if (bucket == index.buckets.end()) return;
    if (bucket->second.more != nullptr) {
      bucket->second.more->erase(object);
      if (!bucket->second.more->empty()) return;
    }
    index.buckets.erase(bucket);
  }

  Objects objects_;
  std::map<std::string, Index> indexes_;
};

}  // namespace berth::kube
