// local/apiserver/schema/field_path.h — the path of a value during a walk over an object.
//
//     FieldPaths paths;                       a walk
//     Visit(item, path.Child("spec").Index(0))
//
// A path is a chain of parts on the stack; its text is made for an error only. A walk of n values
// below a key of k bytes thus costs n + k, not n * k. The texts of one walk have kMostTextBytes
// together; a later text is "…" and the last part.
//
// Units: bytes. Threads: one per walk. Lifetimes: a path must not outlive its parent, nor the texts
// given to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth::local {

class FieldPath;

// One walk: its root, and the bytes of the texts so far.
class FieldPaths {
 public:
  static constexpr std::size_t kMostTextBytes = 1024UL * 1024;

  FieldPath Root(std::string_view text = "");

 private:
  friend class FieldPath;
  std::size_t text_bytes_ = 0;
};

class FieldPath {
 public:
  // Child of "" is "spec", Child of "spec" is "spec.replicas"; "a[0]"; "m[k]".
  FieldPath Child(std::string_view name) const { return {this, IsRoot() ? "" : ".", name, ""}; }
  FieldPath Index(std::size_t index) const;
  FieldPath Key(std::string_view key) const { return {this, "[", key, "]"}; }
  // A part with the text `lead` and `name`, unchanged, behind the parent's text.
  FieldPath Then(std::string_view lead, std::string_view name) const {
    return {this, lead, name, ""};
  }

  bool IsRoot() const { return parent_ == nullptr && name_.empty(); }
  std::string Text() const;

 private:
  friend class FieldPaths;
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);
  static constexpr std::size_t kShortBytes = 64;  // the most bytes of the last part

  FieldPath(const FieldPath* parent, std::string_view lead, std::string_view name,
            std::string_view tail)
      : paths_(parent->paths_), parent_(parent), lead_(lead), name_(name), tail_(tail) {}
  FieldPath(FieldPaths& paths, std::string_view text) : paths_(&paths), name_(text) {}
  void AppendTo(std::string& text) const;
  void AppendPartTo(std::string& text) const;

  FieldPaths* paths_;
  const FieldPath* parent_ = nullptr;  // null: the root
  std::string_view lead_;
  std::string_view name_;
  std::string_view tail_;
  std::size_t index_ = kNoIndex;  // the name, if it is a number
};

inline FieldPath FieldPaths::Root(std::string_view text) { return {*this, text}; }

}  // namespace berth::local
