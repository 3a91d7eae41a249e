// local/apiserver/patch/typed.h — what apply needs to do with a value and its type: name its
// fields, compare, merge, cut out.
//
// A type that is null means "deduced": maps by key, lists as a whole. A value that does not fit its
// type is treated as a leaf; ValidateTyped says so beforehand.
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

// Every leaf and every list item of `value`.
FieldSet ToFieldSet(const TypeNode* type, const Json& value);

struct Comparison {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
};
Comparison Compare(const TypeNode* type, const Json& before, const Json& after);

// `base` with `patch` laid over it: maps and keyed lists merge, the rest is replaced.
Json MergeTyped(const TypeNode* type, const Json& base, const Json& patch);

// `value` without the fields and items in `removed`. A container that loses all it had is null.
Json RemoveItems(const TypeNode* type, const Json& value, const FieldSet& removed);

// `set` with every declared field on the way to a member made a member itself.
FieldSet WithNamedFields(const TypeNode* type, const FieldSet& set);

// Why `value` is not of `type` (undeclared fields, duplicate keys, wrong types); empty: it is.
std::vector<std::string> ValidateTyped(const TypeNode* type, const Json& value);

// How an item of a set or keyed list is named; nullopt when it has no key.
std::optional<PathElement> ItemElement(const TypeNode& list, const Json& item);

}  // namespace berth::local
