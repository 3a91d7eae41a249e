// local/apiserver/patch/typed.h — operations of server-side apply on a value and its type: field
// sets, comparison, merge, removal.
//
// A null type means "deduced": maps by key, lists as a whole. A value that does not fit its type is
// treated as a leaf; ValidateTyped detects such values.
//
// Threads: pure functions. Source: structured-merge-diff typed values, restated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/patch/field_set.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

// The set of every leaf and every list item of `value`.
FieldSet ToFieldSet(const TypeNode* type, const Json& value);

struct Comparison {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
};
Comparison Compare(const TypeNode* type, const Json& before, const Json& after);

// Merges `patch` into `base`: maps and keyed lists merge, other values are replaced.
Json MergeTyped(const TypeNode* type, const Json& base, const Json& patch);

// Removes the fields and items in `removed`. A container that loses all its content becomes null.
Json RemoveItems(const TypeNode* type, const Json& value, const FieldSet& removed);

// Adds to `set` every declared field on the path to a member.
FieldSet WithNamedFields(const TypeNode* type, const FieldSet& set);

// The reasons why `value` is not of `type` (undeclared fields, duplicate keys, wrong types).
std::vector<std::string> ValidateTyped(const TypeNode* type, const Json& value);

// The path element of an item of a set or keyed list; nullopt: the item has no key.
std::optional<PathElement> ItemElement(const TypeNode& list, const Json& item);

}  // namespace berth::local
