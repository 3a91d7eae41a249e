// local/apiserver/registry/read_query.h — the selection of a list, a watch or a deletion of a
// collection among the objects of a resource.
//
// Threads: pure functions of their arguments.
// Source: Kubernetes API concepts, label and field selectors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "local/apiserver/schema/selector.h"
#include "local/apiserver/store/stored_object.h"

namespace berth::local {

struct ReadQuery {
  LabelSelector labels;
  FieldSelector fields;
  std::size_t limit = 0;  // 0: no limit
  std::string continue_token;
  std::string resource_version;
  std::string resource_version_match;  // "", "NotOlderThan", "Exact"
};

// The value of a declared field label.
std::string FieldLabelValue(const StoredObject& object, std::string_view label);
bool MatchesQuery(const StoredObject& object, const LabelSelector& labels,
                  const FieldSelector& fields);

}  // namespace berth::local
