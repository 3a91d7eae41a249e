// local/apiserver/patch/field_set.h — a set of an object's fields, as a trie; its wire form is
// FieldsV1.
//
// Path elements: f:name (field or map key), k:{"name":"c"} (list item by its keys), v:"x" (item of
// set), i:3 (index). "." means that the node itself is a member.
//
// Threads: a value type. Source: structured-merge-diff fieldpath, restated.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local {

struct PathElement {
  enum class Kind : std::uint8_t { kField, kKey, kValue, kIndex };
  Kind kind = Kind::kField;
  std::string text;  // field name, or the JSON text (keys sorted) of key, value or index
  friend auto operator<=>(const PathElement&, const PathElement&) = default;
};

class FieldPath;

std::string PathText(const PathElement& element);  // `.name`, `[name="c"]`, `[="x"]`, `[3]`

class FieldSet {
 public:
  static FieldSet FromFieldsV1(const Json& fields);  // skips unreadable parts
  Json ToFieldsV1() const;

  bool member() const { return member_; }  // the root of this set itself
  const std::map<PathElement, FieldSet>& children() const { return children_; }
  const FieldSet* Child(const PathElement& element) const;  // null if absent
  FieldSet& MutableChild(const PathElement& element) { return children_[element]; }
  void SetMember() { member_ = true; }
  void Insert(std::span<const PathElement> path);
  void DropEmpty();  // removes nodes without members
  bool empty() const { return !member_ && children_.empty(); }

  FieldSet Union(const FieldSet& other) const;
  FieldSet Intersection(const FieldSet& other) const;
  FieldSet Difference(const FieldSet& other) const;           // exact members removed
  FieldSet RecursiveDifference(const FieldSet& other) const;  // all nodes below removed, too

  // These change this set in place:
  void Add(FieldSet&& other);            // Union
  void Subtract(const FieldSet& other);  // Difference

  // Every member as a path for messages: `.spec.containers[name="a"].image`. When the paths have 1
  // MiB of text, later ones are "…" with the last part.
  std::vector<std::string> Paths() const;

  friend bool operator==(const FieldSet&, const FieldSet&) = default;

 private:
  void AddPaths(const FieldPath& path, std::vector<std::string>& paths) const;

  bool member_ = false;
  std::map<PathElement, FieldSet> children_;
};

}  // namespace berth::local
