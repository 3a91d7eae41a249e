// local/apiserver/store/stored_object.h — one state of one object, shared by lists, watchers and
// the disk.
//
// The JSON text is made once, for a disk at once, else when somebody wants it. It leaves out
// apiVersion and kind: a list of a built-in kind does not repeat them in its items, everything else
// gets them put in front (`AppendTyped`).
//
// Threads: immutable but for the parsed form, which may be dropped where there is a text, to save
// memory, and comes back on demand; every function may be called from any thread.
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

// What the store calls an object. `resource` is the plural with its group: "pods", "jobs.batch".
// All versions of a kind are stored under one resource.
struct ObjectKey {
  std::string resource;
  std::string namespace_name;  // empty: cluster scoped
  std::string name;
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

class StoredObject {
 public:
  // The text of `object` with metadata.resourceVersion left open, so that the costly part of making
  // a StoredObject happens before its revision is known.
  struct Draft {
    Json object;
    std::string text_after_revision;  // empty: kOnDemand
  };
  enum class Text { kNow, kOnDemand };
  // `object` has a metadata object with at least a name.
  static Draft MakeDraft(Json object, Text text = Text::kNow);
  StoredObject(ObjectKey key, std::int64_t revision, Draft draft);

  // As read from disk.
  StoredObject(ObjectKey key, std::int64_t revision, std::string api_version, std::string kind,
               std::string body);

  const ObjectKey& key() const { return key_; }
  std::int64_t revision() const { return revision_; }
  const std::string& api_version() const { return api_version_; }
  const std::string& kind() const { return kind_; }
  const std::string& body() const;  // {"metadata":{…},"spec":…}
  // Bytes of the body; a guess where there was none in the beginning. Never changes.
  std::size_t size() const { return size_; }

  // The parsed object, with apiVersion and kind. Null only where the text is not JSON (a damaged
  // database).
  Object json() const;
  // Gives the parsed form back to memory; json() parses again.
  void DropParsed() const;

  // {"kind":"Job","apiVersion":"batch/v1","metadata":…
  void AppendTyped(std::string& out) const;
  std::string Typed() const;

 private:
  ObjectKey key_;
  std::int64_t revision_;
  std::string api_version_;
  std::string kind_;
  std::size_t size_ = 0;
  mutable std::mutex mutex_;
  mutable std::string body_;  // empty: not yet made; never changes when it is there
  mutable Object parsed_;
};

using StoredPtr = std::shared_ptr<const StoredObject>;

// `object` as compact JSON: kind and apiVersion first where present, then metadata, then the rest.
std::string EncodeObject(const Json& object);

}  // namespace berth::local
