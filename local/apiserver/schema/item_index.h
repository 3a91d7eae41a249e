// local/apiserver/schema/item_index.h — the places of a list's items by the values of their keys.
//
// A call of Find costs the logarithm of the list's size, so that merging and comparing lists costs
// time in proportion to them. Values are compared by Json's ==: 80 equals 80.0.
//
// Threads: none of its own. Lifetimes: the items must outlive the index, unchanged.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

class ItemIndex {
 public:
  enum class Absent {
    kNoItem,  // an item without a key equals no item
    kNull,    // a missing key is null; an item that is no object equals no item
  };
  // Without `keys` an item is its own key.
  ItemIndex(std::vector<std::string> keys, Absent absent)
      : keys_(std::move(keys)), absent_(absent) {}

  // If several items are equal, the first one stays.
  void Add(const Json& item, std::size_t place);
  void AddAll(const Json& list);
  std::optional<std::size_t> Find(const Json& item) const;

 private:
  using Values = std::vector<const Json*>;
  struct Less {
    bool operator()(const Values& a, const Values& b) const;
  };
  // nullopt: the item equals no item.
  std::optional<Values> ValuesOf(const Json& item) const;

  std::vector<std::string> keys_;
  Absent absent_;
  std::map<Values, std::size_t, Less> places_;
};

// The items that a list of a custom object had before an update. In a list-type map they are found
// by their keys; in other lists no old item is found. `before`: the list before the update, or
// null.
class OldItems {
 public:
  OldItems(const TypeNode& list, const Json* before);
  // The old item with the keys of `item`; null where there is none.
  const Json* Of(const Json& item) const;

 private:
  const Json* before_;
  std::optional<ItemIndex> index_;
};

}  // namespace berth::local
