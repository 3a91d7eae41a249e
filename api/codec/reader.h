// api/codec/reader.h — reads fields of a JSON value and remembers where the first error was.
//
// The JSON is a tree (nlohmann) or nodes of a text (json_text.h); both give the same results.
//
// A Reader points at a value that may be absent (missing or null): Get then leaves its argument
// unchanged, which keeps the default. After an error all reads do nothing.
//
// A Reader refers to its parent and must not outlive the parent: give each level a variable.
// Only for .cc files: the header includes the whole JSON library.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/json_text.h"
#include "api/object_meta.h"
#include "api/quantity.h"
#include "base/clock.h"
#include "base/result.h"

namespace berth::api {

template <typename E, std::size_t kCount>
using Words = std::array<std::pair<std::string_view, E>, kCount>;

class Reader {
 public:
  using Json = nlohmann::json;
  using Failure = std::optional<Error>;

  Reader(const JsonSource& root, Failure& failure);

  Reader Field(std::string_view key) const&;
  Reader Field(std::string_view key) const&& = delete;
  bool present() const { return (tree_ != nullptr || node_ != nullptr) && !failure_->has_value(); }
  const Json& json() const { return *tree_; }  // only where present, and read from a tree
  // The value as JSON text: what was received, or (from a tree) compact, keys sorted; empty if
  // absent.
  std::string Text() const;
  // The same text as Text(), without a copy; empty where the JSON is a tree.
  std::string_view RawText() const {
    return present() && node_ != nullptr ? node_->text : std::string_view();
  }
  const JsonNode* node() const { return node_; }  // null: absent, or the JSON is a tree
  SharedParts* parts() const { return parts_; }   // null: nothing is shared

  void Get(std::string& out) const;
  void Get(bool& out) const;
  void Get(std::int32_t& out) const;
  void Get(std::int64_t& out) const;
  void Get(WallTime& out) const;
  void Get(StringMap& out) const;
  void Get(std::vector<std::string>& out) const;
  template <typename T>
  void Get(std::optional<T>& out) const {
    if (present()) Get(out.emplace());
  }
  template <typename E, std::size_t kCount>
  void Get(E& out, const Words<E, kCount>& words) const;

  void Get(Quantity& out) const;
  void GetAmount(std::string_view resource, Amount& out) const;
  void GetAmount(std::string_view resource, std::optional<Amount>& out) const {
    if (present()) GetAmount(resource, out.emplace());
  }
  void Get(ResourceAmounts& out) const;  // a map of resource name → quantity

  // Calls `read(reader of the item)` for each item of a list.
  template <typename Fn>
  void Each(Fn read) const {
    if (!CheckList()) return;
    std::size_t index = 0;
    if (node_ != nullptr) {
      return node_->Each([&](const JsonNode& item) { read(Reader(*this, {}, index++, item)); });
    }
    for (const Json& item : *tree_) read(Reader(*this, {}, index++, item));
  }
  // Calls `read(key, reader of the value)` for each member of an object; an error names `expected`
  // as the type that the value should have.
  template <typename Fn>
  void EachMember(const char* expected, Fn read) const {
    if (!present()) return;
    if (!IsObject()) return FailType(expected);
    if (node_ != nullptr) {
      return node_->Each([&](const JsonNode& item) {
        read(std::string(item.key), Reader(*this, item.key, 0, item));
      });
    }
    for (const auto& [key, value] : tree_->items()) read(key, Reader(*this, key, 0, value));
  }
  // Appends one T per item; `read(reader, T&)`.
  template <typename T, typename Fn>
  void List(std::vector<T>& out, Fn read) const {
    Each([&](const Reader& item) { read(item, out.emplace_back()); });
  }

  void Fail(const std::string& message) const;

 private:
  Reader(const Reader& parent, std::string_view key)  // absent
      : parent_(&parent), key_(key), failure_(parent.failure_) {}
  Reader(const Reader& parent, std::string_view key, std::size_t index, const Json& value)
      : parent_(&parent),
        key_(key),
        index_(index),
        tree_(value.is_null() ? nullptr : &value),
        parts_(parent.parts_),
        failure_(parent.failure_) {}
  Reader(const Reader& parent, std::string_view key, std::size_t index, const JsonNode& value)
      : parent_(&parent),
        key_(key),
        index_(index),
        node_(value.kind == JsonNode::Kind::kNull ? nullptr : &value),
        parts_(parent.parts_),
        failure_(parent.failure_) {}

  bool CheckList() const;
  bool IsObject() const;
  bool IsString() const;
  // The content of a string value; valid as long as the JSON.
  std::optional<std::string_view> StringValue() const;
  void FailType(const char* expected) const;
  std::string Path() const;

  const Reader* parent_ = nullptr;
  std::string_view key_;  // data() is null for an item of a list
  std::size_t index_ = 0;
  const Json* tree_ = nullptr;  // at most one of tree_ and node_ is set
  const JsonNode* node_ = nullptr;
  SharedParts* parts_ = nullptr;
  Failure* failure_ = nullptr;
};

template <typename E, std::size_t kCount>
void Reader::Get(E& out, const Words<E, kCount>& words) const {
  const std::optional<std::string_view> text = StringValue();
  if (!text || text->empty()) return;
  std::string known;
  for (const auto& [word, value] : words) {
    if (word == *text) {
      out = value;
      return;
    }
    if (!known.empty()) known += ", ";
    known += word;
  }
  Fail("\"" + std::string(*text) + "\" is not one of " + known);
}

template <typename E, std::size_t kCount>
std::string WordOf(E value, const Words<E, kCount>& words) {
  for (const auto& [word, candidate] : words) {
    if (candidate == value) return std::string(word);
  }
  return {};
}

// Runs `read(Reader, T&)` over `object`.
template <typename T, typename Fn>
Result<T> ReadAs(const JsonSource& object, Fn read) {
  Reader::Failure failure;
  T value;
  read(Reader(object, failure), value);
  if (failure) return *failure;
  return value;
}

}  // namespace berth::api
