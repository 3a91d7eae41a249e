// api/codec/reader.h — reads fields of a JSON value and remembers where the first one was wrong.
//
// A Reader points at a value that may be absent (missing or null): Get then leaves its argument as
// it is, which is how defaults come about. After an error further reads do nothing.
//
// A Reader refers to its parent, so it must not outlive it: name each level.
// Only for .cc files: it brings the whole JSON library.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

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

  Reader(const Json& root, Failure& failure);

  Reader Field(const char* key) const&;
  Reader Field(const char* key) const&& = delete;
  bool present() const { return value_ != nullptr && !failure_->has_value(); }
  const Json& json() const { return *value_; }  // only where present

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
    for (std::size_t i = 0; i < value_->size(); ++i) read(Reader(*this, i, (*value_)[i]));
  }
  // Appends one T per item; `read(reader, T&)`.
  template <typename T, typename Fn>
  void List(std::vector<T>& out, Fn read) const {
    Each([&](const Reader& item) { read(item, out.emplace_back()); });
  }

  void Fail(const std::string& message) const;

 private:
  Reader(const Reader& parent, const char* key, const Json* value)
      : parent_(&parent), key_(key), value_(value), failure_(parent.failure_) {}
  Reader(const Reader& parent, std::size_t index, const Json& value)
      : parent_(&parent),
        index_(index),
        value_(value.is_null() ? nullptr : &value),
        failure_(parent.failure_) {}

  bool CheckList() const;
  void FailType(const char* expected) const;
  std::string Path() const;

  const Reader* parent_ = nullptr;
  const char* key_ = nullptr;
  std::size_t index_ = 0;
  const Json* value_ = nullptr;
  Failure* failure_ = nullptr;
};

template <typename E, std::size_t kCount>
void Reader::Get(E& out, const Words<E, kCount>& words) const {
  std::string text;
  Get(text);
  if (text.empty()) return;
  std::string known;
  for (const auto& [word, value] : words) {
    if (word == text) {
      out = value;
      return;
    }
    if (!known.empty()) known += ", ";
    known += word;
  }
  Fail("\"" + text + "\" is not one of " + known);
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
Result<T> ReadAs(const nlohmann::json& object, Fn read) {
  Reader::Failure failure;
  T value;
  read(Reader(object, failure), value);
  if (failure) return *failure;
  return value;
}

}  // namespace berth::api
