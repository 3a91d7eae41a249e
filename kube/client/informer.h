// kube/client/informer.h — a typed, indexed, current copy of one kind, and who wants to hear of it.
//
//     Informer<api::Job> jobs(client, {});
//     jobs.AddHandler({.on_add = …, .on_update = …, .on_delete = …});
//     jobs.Start();
//     … jobs.Get(key), jobs.ByIndex("queue", "team-a") …
//
// Handlers run in the order they were added, after the store has changed. An object that cannot be
// decoded is left out and logged.
//
// Threads: one Executor, that of the ApiClient.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/codec/codec.h"
#include "api/codec/kinds.h"
#include "api/object_meta.h"
#include "base/log/log.h"
#include "base/strings.h"
#include "kube/client/reflector.h"

namespace berth::kube {

class InformerBase {
 public:
  virtual ~InformerBase() = default;
  virtual void Start() = 0;
  virtual bool has_synced() const = 0;  // the first list is in the store
  virtual const api::ResourceKind& kind() const = 0;
  // Called once, when has_synced turns true; at once where it is.
  virtual void OnSynced(std::function<void()> synced) = 0;
};

template <typename T>
class Informer final : public InformerBase {
 public:
  using Ptr = std::shared_ptr<const T>;

  struct Handler {
    std::function<void(const Ptr& object)> on_add;
    std::function<void(const Ptr& old_object, const Ptr& object)> on_update;
    std::function<void(const Ptr& object)> on_delete;  // the last state known
  };
  using IndexFunction = std::function<std::vector<std::string>(const T&)>;

  Informer(ApiClient& client, ReflectorOptions options)
      : reflector_(client, api::KindOf<T>(), std::move(options), std::make_shared<const Decoder>(),
                   {[this] { StartList(); },
                    [this](const std::vector<ReadObject>& items) { TakePage(items); },
                    [this] { EndList(); },
                    [this](WatchEvent::Type type, const ReadObject& read) { Apply(type, read); },
                    [](const Error& error) {
                      LogWarning("watch failed", {{"kind", std::string(api::KindOf<T>().kind)},
                                                  {"error", error.message}});
                    }}) {}

  void Start() override { reflector_.Start(); }
  bool has_synced() const override { return synced_; }
  const api::ResourceKind& kind() const override { return api::KindOf<T>(); }
  void OnSynced(std::function<void()> synced) override {
    if (synced_) return synced();
    on_synced_.push_back(std::move(synced));
  }

  // A handler added late hears on_add for what is there, inside this call.
  void AddHandler(Handler handler) {
    if (handler.on_add) {
      for (const auto& [key, object] : objects_) handler.on_add(object);
    }
    handlers_.push_back(std::move(handler));
  }

  // `values_of` says under which values an object is found. Before Start.
  void AddIndex(const std::string& name, IndexFunction values_of) {
    indexes_[name].values_of = std::move(values_of);
  }

  // Null where there is none.
  Ptr Get(const api::ObjectKey& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second;
  }
  const std::map<api::ObjectKey, Ptr>& objects() const { return objects_; }
  // In the order of keys.
  std::vector<Ptr> ByIndex(const std::string& name, const std::string& value) const {
    std::vector<Ptr> result;
    const auto index = indexes_.find(name);
    if (index == indexes_.end()) return result;
    const auto keys = index->second.keys.find(value);
    if (keys == index->second.keys.end()) return result;
    for (const api::ObjectKey& key : keys->second) result.push_back(objects_.at(key));
    return result;
  }

  // Takes over what the server answered to a write of ours, so that the next look sees it. Only
  // where the store has an older version of the same object; handlers are told as of an event.
  void Ingest(const Json& written) {
    Result<T> decoded = api::Decode<T>(written);
    if (!decoded) return;
    const auto found = objects_.find(decoded->meta.key());
    if (found == objects_.end() || found->second->meta.uid != decoded->meta.uid) return;
    if (IsNewer(decoded->meta, found->second->meta))
      Put(std::make_shared<const T>(*std::move(decoded)));
  }

 private:
  struct Index {
    IndexFunction values_of;
    std::map<std::string, std::set<api::ObjectKey>> keys;
  };

  // Versions are ordered numbers (Kubernetes KEP-5504); where one is not, the event wins.
  static bool IsNewer(const api::ObjectMeta& a, const api::ObjectMeta& b) {
    const std::optional<std::int64_t> left = ParseInt64(a.resource_version);
    const std::optional<std::int64_t> right = ParseInt64(b.resource_version);
    return !left || !right || *left > *right;
  }

  // On the transport's threads.
  class Decoder final : public ObjectReader {
   public:
    ReadObject Read(const api::JsonSource& object) const override {
      Result<T> decoded = api::Decode<T>(object);
      if (!decoded) return {nullptr, decoded.error().message};
      return {std::make_shared<const T>(*std::move(decoded)), ""};
    }
  };

  static Ptr TakeOrLog(const ReadObject& read) {
    if (read.object == nullptr) {
      LogWarning("object left out",
                 {{"kind", std::string(api::KindOf<T>().kind)}, {"error", read.error}});
    }
    return std::static_pointer_cast<const T>(read.object);
  }

  // The pages of a list are taken in one by one; what none of them has goes at the end.
  void StartList() {
    listed_.clear();
    had_objects_ = !objects_.empty();
  }
  void TakePage(const std::vector<ReadObject>& items) {
    for (const ReadObject& item : items) {
      const Ptr object = TakeOrLog(item);
      if (object == nullptr) continue;
      if (had_objects_) listed_.insert(object->meta.key());
      PutIfChanged(object);
    }
  }
  void EndList() {
    std::vector<api::ObjectKey> gone;
    if (had_objects_) {
      for (const auto& [key, object] : objects_) {
        if (!listed_.contains(key)) gone.push_back(key);
      }
    }
    for (const api::ObjectKey& key : gone) Remove(key);
    listed_.clear();
    if (synced_) return;
    synced_ = true;
    for (const auto& callback : std::exchange(on_synced_, {})) callback();
  }

  void Apply(WatchEvent::Type type, const ReadObject& read) {
    const Ptr object = TakeOrLog(read);
    if (object == nullptr) return;
    if (type != WatchEvent::Type::kDeleted) return PutIfChanged(object);
    Remove(object->meta.key());
  }

  void PutIfChanged(const Ptr& object) {
    const auto found = objects_.find(object->meta.key());
    if (found == objects_.end()) return Put(object);
    const api::ObjectMeta& old = found->second->meta;
    if (old.uid != object->meta.uid) {  // deleted and made anew while nobody looked
      Remove(object->meta.key());
      return Put(object);
    }
    if (IsNewer(object->meta, old)) Put(object);
  }

  void Put(const Ptr& object) {
    const api::ObjectKey key = object->meta.key();
    Ptr& slot = objects_[key];
    const Ptr old = std::exchange(slot, object);
    if (old != nullptr) Unindex(*old);
    for (auto& [name, index] : indexes_) {
      for (const std::string& value : index.values_of(*object)) index.keys[value].insert(key);
    }
    for (const Handler& handler : handlers_) {
      if (old == nullptr) {
        if (handler.on_add) handler.on_add(object);
      } else if (handler.on_update) {
        handler.on_update(old, object);
      }
    }
  }

  void Remove(const api::ObjectKey& key) {
    const auto found = objects_.find(key);
    if (found == objects_.end()) return;
    const Ptr old = found->second;
    objects_.erase(found);
    Unindex(*old);
    for (const Handler& handler : handlers_) {
      if (handler.on_delete) handler.on_delete(old);
    }
  }

  void Unindex(const T& object) {
    for (auto& [name, index] : indexes_) {
      for (const std::string& value : index.values_of(object)) {
        const auto keys = index.keys.find(value);
        if (keys == index.keys.end()) continue;
        keys->second.erase(object.meta.key());
        if (keys->second.empty()) index.keys.erase(keys);
      }
    }
  }

  std::map<api::ObjectKey, Ptr> objects_;
  std::map<std::string, Index> indexes_;
  std::vector<Handler> handlers_;
  std::vector<std::function<void()>> on_synced_;
  bool synced_ = false;
  bool had_objects_ = false;         // when the list under way began
  std::set<api::ObjectKey> listed_;  // by it so far, where it had
  Reflector reflector_;              // last: its callbacks reach all of the above
};

}  // namespace berth::kube
