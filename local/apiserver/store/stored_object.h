// local/apiserver/store/stored_object.h — one state of one object, shared by lists, watchers and
// the disk.
//
// The JSON text is made once: at once for a disk, else on demand. It lacks apiVersion and kind,
// because items of a list of a built-in kind do not repeat them; AppendTyped puts them in front for
// other uses.
//
// Threads: immutable but for the parsed form, which DropParsed frees if there is a text, and which
// json() restores; every function may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local {

// An object's name in the store. `resource` is the plural with its group: "pods", "jobs.batch". All
// versions of a kind are stored under one resource.
struct ObjectKey {
  std::string resource;
  std::string namespace_name;  // empty: cluster-scoped
  std::string name;
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

class StoredObject {
 public:
  // The text of `object` with metadata.resourceVersion open: the expensive part of a StoredObject,
  // made before its revision is known.
  struct Draft {
    Json object;
    std::string text_after_revision;  // empty: kOnDemand
  };
  enum class Text { kNow, kOnDemand };
  // Precondition: `object` has metadata with a name.
  static Draft MakeDraft(Json object, Text text = Text::kNow);
  StoredObject(ObjectKey key, std::int64_t revision, Draft draft);

  // An object that was read from the disk.
  StoredObject(ObjectKey key, std::int64_t revision, std::string api_version, std::string kind,
               std::string body);

  const ObjectKey& key() const { return key_; }
  std::int64_t revision() const { return revision_; }
  const std::string& api_version() const { return api_version_; }
  const std::string& kind() const { return kind_; }
  const std::string& body() const;  // {"metadata":{…},"spec":…}
  // Bytes of the body; an estimate if the body is made on demand. Never changes.
  std::size_t size() const { return size_; }

  // The parsed object, with apiVersion and kind. Null only if the text is no JSON (a damaged
  // database).
  Object json() const;
  enum class Part { kWhole, kMetadata };
  // Returns what json() does, but keeps no parsed form that is made for this call. kMetadata: may
  // lack all but apiVersion, kind and metadata.
  Object ReadOnce(Part part = Part::kWhole) const;
  // Frees the parsed form; json() parses again.
  void DropParsed() const;

  // {"kind":"Job","apiVersion":"batch/v1","metadata":…
  void AppendTyped(std::string& out) const;
  std::string Typed() const;

 private:
  Object Parse(std::string_view text) const;

  ObjectKey key_;
  std::int64_t revision_;
  std::string api_version_;
  std::string kind_;
  std::size_t size_ = 0;
  mutable std::mutex mutex_;
  mutable std::string body_;  // empty: not made yet; immutable afterwards
  mutable Object parsed_;
};

using StoredPtr = std::shared_ptr<const StoredObject>;

// `object` as compact JSON: kind and apiVersion first where present, then metadata, then the rest.
std::string EncodeObject(const Json& object);

}  // namespace berth::local
