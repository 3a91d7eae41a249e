// cel/containers.h — the elements of lists and the entries of maps, without copies.
//
// A list is an array of JSON or a vector of values; a map is an object of JSON or a vector of
// entries, sorted by key. A view is valid as long as the Value that gave it, or a copy of that
// Value, lives.
//
// Threads: as for int. Errors: none; preconditions are asserted.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cel/value.h"

namespace berth::cel {

using Json = nlohmann::json;

class ListView {
 public:
  explicit ListView(const Json& array) : json_(&array) {}
  ListView(const Values& elements, ListOrder order) : elements_(&elements), order_(order) {}

  std::size_t size() const { return json_ != nullptr ? json_->size() : elements_->size(); }
  ListOrder order() const { return order_; }
  Value At(std::size_t index) const;  // requires index < size()
  // The array that the list views; null for a list that an expression has made.
  const Json* viewed() const { return json_; }

  // Calls visit(element) for each element until it returns false. Returns whether it never did.
  template <typename Visit>
  bool ForEach(Visit&& visit) const {
    if (json_ != nullptr) {
      for (const Json& element : *json_) {
        if (!visit(Value::View(element))) return false;
      }
      return true;
    }
    for (const Value& element : *elements_) {
      if (!visit(element)) return false;
    }
    return true;
  }

 private:
  const Json* json_ = nullptr;        // either this
  const Values* elements_ = nullptr;  // or this
  ListOrder order_ = ListOrder::kCounts;
};

class MapView {
 public:
  explicit MapView(const Json& object) : json_(&object) {}
  explicit MapView(const Entries& sorted) : entries_(&sorted) {}

  std::size_t size() const { return json_ != nullptr ? json_->size() : entries_->size(); }
  std::optional<Value> Find(const Value& key) const;
  std::optional<Value> Find(std::string_view key) const;
  Entries ListEntries() const;  // in the order of the keys

  // Calls visit(key, value) for each entry, in the order of the keys, until it returns false.
  // Returns whether it never did.
  template <typename Visit>
  bool ForEach(Visit&& visit) const {
    if (json_ != nullptr) {
      for (const auto& [key, value] : json_->get_ref<const Json::object_t&>()) {
        if (!visit(Value::ViewText(key), Value::View(value))) return false;
      }
      return true;
    }
    for (const auto& [key, value] : *entries_) {
      if (!visit(key, value)) return false;
    }
    return true;
  }

 private:
  const Json* json_ = nullptr;        // either this
  const Entries* entries_ = nullptr;  // or this
};

}  // namespace berth::cel
