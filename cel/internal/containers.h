// cel/internal/containers.h — the elements of lists and maps without copies.
//
// A list is an array of JSON or a vector of values, a map an object of JSON or sorted entries.
#pragma once

#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include "cel/value.h"

namespace berth::cel {

using Json = nlohmann::json;

struct ValueAccess {
  static const Json* JsonOf(const Value& value) {
    return value.views_json_ ? value.bits_.json : nullptr;
  }
  static const Values& ListOf(const Value& value) { return *value.bits_.list; }
  static const Entries& MapOf(const Value& value) { return *value.bits_.map; }
  // The part [at, at + size) of the text of `value`, which shares its memory.
  static Value Slice(const Value& value, std::size_t at, std::size_t size) {
    Value slice = value;
    slice.bits_.text = {value.bits_.text.data + at, size};
    return slice;
  }
};

// Calls visit(element) for each element of `list` until it returns false; whether it never did.
template <typename Visit>
bool ForEachElement(const Value& list, Visit&& visit) {
  if (const Json* json = ValueAccess::JsonOf(list)) {
    for (const Json& element : *json) {
      if (!visit(Value::View(element))) return false;
    }
    return true;
  }
  for (const Value& element : ValueAccess::ListOf(list)) {
    if (!visit(element)) return false;
  }
  return true;
}

// Calls visit(key, value) for each entry of `map`, in the order of the keys.
template <typename Visit>
bool ForEachEntry(const Value& map, Visit&& visit) {
  if (const Json* json = ValueAccess::JsonOf(map)) {
    for (const auto& [key, value] : json->get_ref<const Json::object_t&>()) {
      if (!visit(Value::ViewText(key), Value::View(value))) return false;
    }
    return true;
  }
  for (const auto& [key, value] : ValueAccess::MapOf(map)) {
    if (!visit(key, value)) return false;
  }
  return true;
}

}  // namespace berth::cel
