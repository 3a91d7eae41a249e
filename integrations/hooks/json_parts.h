// integrations/hooks/json_parts.h — reads and sets parts of JSON objects that may be absent.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <initializer_list>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace berth::integrations {

// Returns null where the member is absent or null, or where a part of the path is no object.
const nlohmann::json* PartOf(const nlohmann::json& object, std::initializer_list<const char*> path);
// The member's text; "" where it is no string.
std::string TextPart(const nlohmann::json& object, std::initializer_list<const char*> path);
bool FlagPart(const nlohmann::json& object, std::initializer_list<const char*> path);
// A list's elements, or a map's members; empty where it is neither.
const nlohmann::json& ListPart(const nlohmann::json& object,
                               std::initializer_list<const char*> path);
const nlohmann::json& MapPart(const nlohmann::json& object,
                              std::initializer_list<const char*> path);
// The member as an object, which is made where the member is no object.
nlohmann::json& MakePart(nlohmann::json& object, const char* key);
// Sets the member; an empty value removes it.
void SetOrErase(nlohmann::json& object, const char* key, nlohmann::json value);

}  // namespace berth::integrations
