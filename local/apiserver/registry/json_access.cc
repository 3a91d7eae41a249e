#include "local/apiserver/registry/json_access.h"

namespace berth::local {

const Json* Member(const Json& json, std::string_view key) {
  if (!json.is_object()) return nullptr;
  const auto it = json.find(key);
  return it == json.end() || it->is_null() ? nullptr : &*it;
}

void CopyOrErase(Json& to, const Json& from, const char* key) {
  if (const Json* value = Member(from, key)) {
    to[key] = *value;
  } else {
    to.erase(key);
  }
}

const Json* At(const Json& json, std::initializer_list<std::string_view> path) {
  const Json* here = &json;
  for (const std::string_view key : path) {
    here = Member(*here, key);
    if (here == nullptr) return nullptr;
  }
  return here;
}

std::string TextAt(const Json& json, std::initializer_list<std::string_view> path) {
  const Json* value = At(json, path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::int64_t IntAt(const Json& json, std::initializer_list<std::string_view> path,
                   std::int64_t otherwise) {
  const Json* value = At(json, path);
  if (value == nullptr || !value->is_number_integer()) return otherwise;
  const bool too_large = value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX;
  return too_large ? INT64_MAX : value->get<std::int64_t>();
}

bool BoolAt(const Json& json, std::initializer_list<std::string_view> path, bool otherwise) {
  const Json* value = At(json, path);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : otherwise;
}

const Json& ArrayAt(const Json& json, std::initializer_list<std::string_view> path) {
  static const Json kEmpty = Json::array();
  const Json* value = At(json, path);
  return value != nullptr && value->is_array() ? *value : kEmpty;
}

bool SameAt(const Json& a, const Json& b, std::initializer_list<std::string_view> path) {
  const Json* in_a = At(a, path);
  const Json* in_b = At(b, path);
  if (in_a == nullptr || in_b == nullptr) return in_a == in_b;
  return *in_a == *in_b;
}

const Json* FindCondition(const Json& object, std::string_view type) {
  for (const Json& condition : ArrayAt(object, {"status", "conditions"})) {
    if (TextAt(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

}  // namespace berth::local
