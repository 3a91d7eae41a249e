// view/screens/json_at.h — reads fields of the API's objects by JSON pointer. A field that is
// missing, or of another type, reads as empty.
//
// Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace berth::view {

// Null: there is no such field.
inline const nlohmann::json* FindAt(const nlohmann::json& object,
                                    const nlohmann::json::json_pointer& path) {
  return object.contains(path) ? &object.at(path) : nullptr;
}
inline const nlohmann::json* FindAt(const nlohmann::json& object, const char* path) {
  return FindAt(object, nlohmann::json::json_pointer(path));
}

inline std::string TextAt(const nlohmann::json& object, const nlohmann::json::json_pointer& path) {
  const nlohmann::json* found = FindAt(object, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}
inline std::string TextAt(const nlohmann::json& object, const char* path) {
  return TextAt(object, nlohmann::json::json_pointer(path));
}

inline std::int64_t WholeAt(const nlohmann::json& object, const char* path,
                            std::int64_t otherwise) {
  const nlohmann::json* found = FindAt(object, path);
  return found != nullptr && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
}

inline const nlohmann::json& ArrayAt(const nlohmann::json& object, const char* path) {
  static const nlohmann::json* empty = new nlohmann::json(nlohmann::json::array());
  const nlohmann::json* found = FindAt(object, path);
  return found != nullptr && found->is_array() ? *found : *empty;
}

// The condition of the type in the object's status; null: none.
inline const nlohmann::json* ConditionAt(const nlohmann::json& object, std::string_view type) {
  const nlohmann::json& conditions = ArrayAt(object, "/status/conditions");
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const auto& each) { return TextAt(each, "/type") == type; });
  return found == conditions.end() ? nullptr : &*found;
}

inline bool HasTrueCondition(const nlohmann::json& object, std::string_view type) {
  const nlohmann::json* condition = ConditionAt(object, type);
  return condition != nullptr && TextAt(*condition, "/status") == "True";
}

}  // namespace berth::view
