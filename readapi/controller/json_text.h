// readapi/controller/json_text.h — texts in JSON that others have written.
//
// Threads: pure function. Errors: none.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace berth::readapi {

// The text of a key of an object; empty: the key is absent, or has no text.
inline std::string TextAt(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace berth::readapi
