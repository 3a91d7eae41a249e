#include "integrations/hooks/json_parts.h"

#include <utility>

#include <nlohmann/json.hpp>

namespace berth::integrations {

using Json = nlohmann::json;

const Json* PartOf(const Json& object, std::initializer_list<const char*> path) {
  const Json* at = &object;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end() || found->is_null()) return nullptr;
    at = &*found;
  }
  return at;
}

std::string TextPart(const Json& object, std::initializer_list<const char*> path) {
  const Json* part = PartOf(object, path);
  return part != nullptr && part->is_string() ? part->get<std::string>() : std::string();
}

bool FlagPart(const Json& object, std::initializer_list<const char*> path) {
  const Json* part = PartOf(object, path);
  return part != nullptr && part->is_boolean() && part->get<bool>();
}

const Json& ListPart(const Json& object, std::initializer_list<const char*> path) {
  static const Json kNone = Json::array();
  const Json* part = PartOf(object, path);
  return part != nullptr && part->is_array() ? *part : kNone;
}

const Json& MapPart(const Json& object, std::initializer_list<const char*> path) {
  static const Json kNone = Json::object();
  const Json* part = PartOf(object, path);
  return part != nullptr && part->is_object() ? *part : kNone;
}

Json& MakePart(Json& object, const char* key) {
  Json& part = object[key];
  if (!part.is_object()) part = Json::object();
  return part;
}

void SetOrErase(Json& object, const char* key, Json value) {
  const bool no_text = value.is_string() && value.get_ref<const std::string&>().empty();
  if (value.empty() || no_text) {
    object.erase(key);
  } else {
    object[key] = std::move(value);
  }
}

}  // namespace berth::integrations
