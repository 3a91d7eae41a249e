// view/screens/json_at.h — reads fields of the API's objects by JSON pointer. A field that is
// missing, or of another type, reads as empty.
//
// Pure.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace berth::view {

// Null: there is no such field.
inline const nlohmann::json* FindAt(const nlohmann::json& object, const char* path) {
  const nlohmann::json::json_pointer pointer(path);
  return object.contains(pointer) ? &object.at(pointer) : nullptr;
}

inline std::string TextAt(const nlohmann::json& object, const char* path) {
  const nlohmann::json* found = FindAt(object, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

inline const nlohmann::json& ArrayAt(const nlohmann::json& object, const char* path) {
  static const nlohmann::json* empty = new nlohmann::json(nlohmann::json::array());
  const nlohmann::json* found = FindAt(object, path);
  return found != nullptr && found->is_array() ? *found : *empty;
}

}  // namespace berth::view
