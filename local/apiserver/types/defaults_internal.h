// local/apiserver/types/defaults_internal.h — functions that the sources of defaults share.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "local/apiserver/api.h"

namespace berth::local {

inline void SetDefault(Json& object, const char* name, Json value) {
  Json& member = object[name];
  if (member.is_null()) member = std::move(value);
}

// The member of an object, or null when it is absent or no object.
inline Json* Inner(Json& parent, const char* name) {
  if (!parent.is_object()) return nullptr;
  const auto at = parent.find(name);
  return at == parent.end() || !at->is_object() ? nullptr : &*at;
}

template <typename Visit>
void ForEach(Json& parent, const char* name, Visit visit) {
  if (!parent.is_object()) return;
  const auto at = parent.find(name);
  if (at == parent.end() || !at->is_array()) return;
  for (Json& item : *at) {
    if (item.is_object()) visit(item);
  }
}

inline std::string Text(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

inline bool IsEmptyText(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at == object.end() || at->is_null() ||
         (at->is_string() && at->get_ref<const std::string&>().empty());
}

// Fills in the defaults of kinds of autoscaling, networking.k8s.io and storage.k8s.io.
void DefaultStoredKind(std::string_view group, std::string_view kind, Json& object);

}  // namespace berth::local
