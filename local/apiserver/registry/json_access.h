// local/apiserver/registry/json_access.h — reads members of JSON objects that may be absent.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "local/apiserver/api.h"

namespace berth::local {

// The member `key` of an object; null if it is absent or `json` is no object. Points into
// `json`.
const Json* Member(const Json& json, std::string_view key);
// The value at a path of members; null if one is absent.
const Json* At(const Json& json, std::initializer_list<std::string_view> path);
// The text at a path; empty if it is absent or no text.
std::string TextAt(const Json& json, std::initializer_list<std::string_view> path);
// The number at a path, or `otherwise`.
std::int64_t IntAt(const Json& json, std::initializer_list<std::string_view> path,
                   std::int64_t otherwise);
bool BoolAt(const Json& json, std::initializer_list<std::string_view> path, bool otherwise);
// The array at a path; an empty one if it is absent.
const Json& ArrayAt(const Json& json, std::initializer_list<std::string_view> path);
// Whether the values at a path are equal, or both absent.
bool SameAt(const Json& a, const Json& b, std::initializer_list<std::string_view> path);
// Copies the member `key` from `from` to `to`; erases it if `from` has none.
void CopyOrErase(Json& to, const Json& from, const char* key);
// The condition of `type` in status.conditions; null if absent.
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
