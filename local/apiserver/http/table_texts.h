// local/apiserver/http/table_texts.h — texts that the cells of several kinds share.
#pragma once

#include <string>

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/printer_columns.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {

// The time since the object's creation.
inline Json Age(const Json& object, WallTime now) {
  const Json* created = At(object, {"metadata", "creationTimestamp"});
  return AgeText(created == nullptr ? Json() : *created, now);
}

inline std::string OrNone(std::string text) { return text.empty() ? "<none>" : text; }

inline std::string SelectorText(const Json* selector) {
  if (selector == nullptr) return "<none>";
  const auto parsed = LabelSelectorFromJson(*selector);
  return parsed ? OrNone(FormatLabelSelector(*parsed)) : "<none>";
}

}  // namespace berth::local
