// kube/client/informer.h — a typed, indexed, current copy of one kind, with handlers of changes.
//
//     Informer<api::Job> jobs(client, {});
//     jobs.AddHandler({.on_add = …, .on_update = …, .on_delete = …});
//     jobs.Start();
//     … jobs.Get(key), jobs.ByIndex("queue", "team-a") …
//
// Handlers run in the order of AddHandler, after the store has changed.
//
// An object that cannot be decoded is logged, once for each reason. Its last decodable state, if
// any, stays in the store until the object is deleted; that state may be old.
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
#include <utility>
#include <vector>

#include "api/codec/codec.h"
#include "api/codec/kinds.h"
#include "api/codec/shared_parts.h"
#include "api/object_meta.h"
#include "base/log/log.h"
#include "base/strings.h"
#include "kube/client/object_store.h"
#include "kube/client/reflector.h"

namespace berth::kube {

class InformerBase {
 public:
  virtual ~InformerBase() = default;
  virtual void Start() = 0;
  virtual bool has_synced() const = 0;  // the first list is in the store
  virtual const api::ResourceKind& kind() const = 0;
  // Calls `synced` once, when has_synced turns true; at once if it is true.
  virtual void OnSynced(std::function<void()> synced) = 0;
  // The API server does not serve the kind, since its CRD is missing, or refuses to list its
  // objects. The informer keeps retrying.
  virtual bool is_missing() const = 0;
  // Calls `missing` once, when is_missing turns true.
  virtual void OnMissing(std::function<void()> missing) = 0;
  // Calls `done` when the store shows all that was written until now (Reflector::CatchUp).
  // Precondition: has_synced.
  virtual void CatchUp(std::function<void()> done) = 0;
};

template <typename T>
class Informer final : public InformerBase {
 public:
  using Ptr = std::shared_ptr<const T>;

  struct Handler {
    std::function<void(const Ptr& object)> on_add;
    std::function<void(const Ptr& old_object, const Ptr& object)> on_update;
    std::function<void(const Ptr& object)> on_delete;  // `object`: the last known state
  };
  using IndexFunction = typename ObjectStore<T>::IndexFunction;
  using Objects = typename ObjectStore<T>::Objects;

  using Decode = std::function<Result<T>(const api::JsonSource&)>;  // on any thread

  Informer(ApiClient& client, ReflectorOptions options)
      : Informer(client, std::move(options), api::KindOf<T>(), api::Decode<T>) {}
  // For a kind that is known at run time. `kind` must outlive the informer.
  Informer(ApiClient& client, ReflectorOptions options, const api::ResourceKind& kind,
           Decode decode);

  void Start() override { reflector_.Start(); }
  bool has_synced() const override { return synced_; }
  const api::ResourceKind& kind() const override { return kind_; }
  void OnSynced(std::function<void()> synced) override {
    if (synced_) return synced();
    on_synced_.push_back(std::move(synced));
  }
  bool is_missing() const override { return missing_; }
  void OnMissing(std::function<void()> missing) override { on_missing_ = std::move(missing); }
  void CatchUp(std::function<void()> done) override { reflector_.CatchUp(std::move(done)); }

  // A handler that is added late gets on_add for each present object, inside this call.
  void AddHandler(Handler handler) {
    if (handler.on_add) {
      for (const Ptr& object : store_.objects()) handler.on_add(object);
    }
    handlers_.push_back(std::move(handler));
  }

  // `values_of` returns the index values of an object. May be called at any time: a second user of
  // the informer adds its index when objects are present.
  void AddIndex(const std::string& name, IndexFunction values_of) {
    store_.AddIndex(name, std::move(values_of));
  }

  // Null where the store has no such object.
  Ptr Get(const api::ObjectKey& key) const { return store_.Get(key); }
  Ptr After(const api::ObjectKey& key) const {
    return store_.After(key);
  }  // the next object behind `key`, or null
  const Objects& objects() const { return store_.objects(); }  // in the order of keys
  // The objects in the order of keys.
  std::vector<Ptr> ByIndex(const std::string& name, const std::string& value) const {
    return store_.ByIndex(name, value);
  }
  // Whether ByIndex would return any object.
  bool HasIn(const std::string& name, const std::string& value) const {
    return store_.HasIn(name, value);
  }

  // Puts the server's answer to a write into the store, so that the next reconcile reads it. Does
  // nothing unless the store has an older version of the same object (uid). Handlers are called as
  // for an event.
  void Ingest(const Json& written) {
    if (Result<T> decoded = decode_(written)) {
      IngestObject(std::make_shared<const T>(*std::move(decoded)));
    }
  }
  // The same for an answer that reader() has read.
  void Ingest(const ReadObject& written) {
    if (written.object != nullptr) IngestObject(std::static_pointer_cast<const T>(written.object));
  }
  const std::shared_ptr<const ObjectReader>& reader() const { return reader_; }

 private:
  // Versions are ordered numbers (Kubernetes KEP-5504). If one of both is not a number, `a` counts
  // as newer.
  static bool IsNewer(const api::ObjectMeta& a, const api::ObjectMeta& b) {
    const std::optional<std::int64_t> left = ParseInt64(a.resource_version);
    const std::optional<std::int64_t> right = ParseInt64(b.resource_version);
    return !left || !right || *left > *right;
  }

  void IngestObject(const Ptr& object) {
    const Ptr known = store_.GetLike(object);
    if (known == nullptr || known->meta.uid != object->meta.uid) return;
    if (IsNewer(object->meta, known->meta)) Put(object);
  }

  // A list may be newer than the start of its watch: the stored object may have another uid.
  static bool IsOtherLife(const Ptr& known, const api::ObjectMeta& meta) {
    return known != nullptr && known->meta.uid != meta.uid;
  }

  // Runs on the transport's threads.
  class Decoder final : public ObjectReader {
   public:
    explicit Decoder(Decode decode) : decode_(std::move(decode)) {}

    ReadObject Read(const api::JsonSource& object) const override {
      Result<T> decoded =
          decode_(object.node() != nullptr ? api::JsonSource(*object.node(), parts_) : object);
      if (!decoded) return Undecodable(object, decoded.error().message);
      return {std::make_shared<const T>(*std::move(decoded)), ""};
    }

   private:
    static ReadObject Undecodable(const api::JsonSource& object, const std::string& error) {
      Result<api::ObjectMeta> identity = api::DecodeIdentity(object);
      if (!identity) return {nullptr, error};
      return {nullptr, error, std::make_shared<const api::ObjectMeta>(*std::move(identity))};
    }

    Decode decode_;
    mutable api::SharedParts parts_;
  };

  void TakeFailure(const Error& error) {
    if (missing_ && error.code == ErrorCode::kNotFound) return;  // reported once
    LogWarning("watch failed", {{"kind", std::string(kind_.kind)}, {"error", error.message}});
    // Refusals: the kind is missing, or this client may not list its objects.
    const bool refused = error.code == ErrorCode::kNotFound ||
                         error.code == ErrorCode::kForbidden || error.code == ErrorCode::kInvalid;
    if (synced_ || missing_ || !refused) return;
    missing_ = true;
    if (const auto callback = std::exchange(on_missing_, nullptr)) callback();
  }

  void LogUndecodable(const ReadObject& read) const {
    LogWarning("object cannot be decoded",
               {{"kind", std::string(kind_.kind)},
                {"key", read.identity == nullptr ? "" : read.identity->key().ToString()},
                {"error", read.error}});
  }

  // The known state stays in the store, unless it is of another uid.
  void LeaveOut(const ReadObject& read) {
    if (read.identity == nullptr) return LogUndecodable(read);
    const api::ObjectKey key = read.identity->key();
    const Ptr known = store_.Get(key);
    if (known != nullptr && !IsNewer(*read.identity, known->meta)) return;  // repeated event
    if (IsOtherLife(known, *read.identity)) Remove(key);
    std::string& reason = undecodable_[key];
    if (std::exchange(reason, read.error) != read.error) LogUndecodable(read);
  }

  // The pages of a list go into the store one by one; objects in no page are removed at the end.
  void StartList() {
    listed_.clear();
    had_objects_ = !store_.objects().empty() || !undecodable_.empty();
  }
  void TakePage(const std::vector<ReadObject>& items) {
    for (const ReadObject& item : items) {
      if (item.object == nullptr) {
        if (had_objects_ && item.identity != nullptr) listed_.insert(item.identity->key());
        LeaveOut(item);
        continue;
      }
      const Ptr object = std::static_pointer_cast<const T>(item.object);
      if (had_objects_) listed_.insert(object->meta.key());
      PutIfChanged(object);
    }
  }
  void EndList() {
    std::vector<api::ObjectKey> gone;
    if (had_objects_) {
      for (const Ptr& object : store_.objects()) {
        api::ObjectKey key = object->meta.key();
        if (!listed_.contains(key)) gone.push_back(std::move(key));
      }
      std::erase_if(undecodable_, [&](const auto& one) { return !listed_.contains(one.first); });
    }
    for (const api::ObjectKey& key : gone) Remove(key);
    listed_.clear();
    missing_ = false;
    if (synced_) return;
    synced_ = true;
    for (const auto& callback : std::exchange(on_synced_, {})) callback();
  }

  void Apply(WatchEvent::Type type, const ReadObject& read) {
    const Ptr object = std::static_pointer_cast<const T>(read.object);
    if (type == WatchEvent::Type::kDeleted) {
      const api::ObjectMeta* gone = object != nullptr ? &object->meta : read.identity.get();
      return gone != nullptr ? TakeDeleted(*gone) : LogUndecodable(read);
    }
    if (object == nullptr) return LeaveOut(read);
    const Ptr known = store_.GetLike(object);
    if (!IsOtherLife(known, object->meta) || IsNewer(object->meta, known->meta)) {
      PutIfChanged(object);
    }
  }

  void TakeDeleted(const api::ObjectMeta& gone) {
    const Ptr known = store_.Get(gone.key());
    if (!IsOtherLife(known, gone) || !IsNewer(known->meta, gone)) Remove(gone.key());
  }

  void PutIfChanged(const Ptr& object) {
    const Ptr known = store_.GetLike(object);
    if (known == nullptr) return Put(object);
    if (known->meta.uid != object->meta.uid) {  // deleted and created again unobserved
      Remove(object->meta.key());
      return Put(object);
    }
    if (IsNewer(object->meta, known->meta)) Put(object);
  }

  void Put(const Ptr& object) {
    if (!undecodable_.empty()) undecodable_.erase(object->meta.key());
    const Ptr old = store_.Put(object);
    for (const Handler& handler : handlers_) {
      if (old == nullptr) {
        if (handler.on_add) handler.on_add(object);
      } else if (handler.on_update) {
        handler.on_update(old, object);
      }
    }
  }

  void Remove(const api::ObjectKey& key) {
    undecodable_.erase(key);
    const Ptr old = store_.Remove(key);
    if (old == nullptr) return;
    for (const Handler& handler : handlers_) {
      if (handler.on_delete) handler.on_delete(old);
    }
  }

  const api::ResourceKind& kind_;
  const Decode decode_;
  const std::shared_ptr<const ObjectReader> reader_;
  ObjectStore<T> store_;
  std::vector<Handler> handlers_;
  std::vector<std::function<void()>> on_synced_;
  std::function<void()> on_missing_;
  bool synced_ = false;
  bool missing_ = false;
  bool had_objects_ = false;         // something was known at the start of the running list
  std::set<api::ObjectKey> listed_;  // keys in the pages of the running list, if had_objects_
  std::map<api::ObjectKey, std::string> undecodable_;  // present objects, with the reason
  Reflector reflector_;                                // last member: its callbacks use all others
};

// Not inline: everything that the callbacks reach is compiled where the class is instantiated.
template <typename T>
Informer<T>::Informer(ApiClient& client, ReflectorOptions options, const api::ResourceKind& kind,
                      Decode decode)
    : kind_(kind),
      decode_(decode),
      reader_(std::make_shared<const Decoder>(std::move(decode))),
      reflector_(
          client, kind, std::move(options), reader_,
          {[this] { StartList(); },
           [this](const std::vector<ReadObject>& items) { TakePage(items); }, [this] { EndList(); },
           [this](WatchEvent::Type type, const ReadObject& read) { Apply(type, read); },
           [this](const Error& error) { TakeFailure(error); }}) {}

// Compiled once, in informer.cc.
extern template class Informer<api::AdmissionCheck>;
extern template class Informer<api::ClusterQueue>;
extern template class Informer<api::Cohort>;
extern template class Informer<api::Job>;
extern template class Informer<api::LocalQueue>;
extern template class Informer<api::Namespace>;
extern template class Informer<api::Node>;
extern template class Informer<api::Pod>;
extern template class Informer<api::PodTemplateObject>;
extern template class Informer<api::PriorityClass>;
extern template class Informer<api::ProvisioningRequest>;
extern template class Informer<api::ProvisioningRequestConfig>;
extern template class Informer<api::ResourceFlavor>;
extern template class Informer<api::Topology>;
extern template class Informer<api::Workload>;
extern template class Informer<api::WorkloadPriorityClass>;

}  // namespace berth::kube
