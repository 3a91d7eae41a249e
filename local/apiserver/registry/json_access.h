// local/apiserver/registry/json_access.h — reading parts of objects that may not be there.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "local/apiserver/api.h"

namespace berth::local {

// The member `key` of an object; null where there is none or `json` is no object. Never dangles
// longer than `json`.
const Json* Member(const Json& json, std::string_view key);
// The value at a path of members; null where one is missing.
const Json* At(const Json& json, std::initializer_list<std::string_view> path);
// Text at a path; empty where it is missing or no text.
std::string TextAt(const Json& json, std::initializer_list<std::string_view> path);
// Number at a path, or `otherwise`.
std::int64_t IntAt(const Json& json, std::initializer_list<std::string_view> path,
                   std::int64_t otherwise);
bool BoolAt(const Json& json, std::initializer_list<std::string_view> path, bool otherwise);
// An array at a path; an empty one where it is missing.
const Json& ArrayAt(const Json& json, std::initializer_list<std::string_view> path);
// Are both absent, or both there and equal?
bool SameAt(const Json& a, const Json& b, std::initializer_list<std::string_view> path);
// Gives `to` the member `key` of `from`; takes the member away where `from` has none.
void CopyOrErase(Json& to, const Json& from, const char* key);
// The condition of `type` in status.conditions; null where there is none.
const Json* FindCondition(const Json& object, std::string_view type);

inline std::string NameOf(const Json& object) { return TextAt(object, {"metadata", "name"}); }
inline std::string NamespaceOf(const Json& object) {
  return TextAt(object, {"metadata", "namespace"});
}
inline std::string UidOf(const Json& object) { return TextAt(object, {"metadata", "uid"}); }
inline bool IsBeingDeleted(const Json& object) {
  return At(object, {"metadata", "deletionTimestamp"}) != nullptr;
}

}  // namespace berth::local
