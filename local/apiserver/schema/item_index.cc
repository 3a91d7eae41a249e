#include "local/apiserver/schema/item_index.h"

#include <algorithm>

namespace berth::local {

bool ItemIndex::Less::operator()(const Values& a, const Values& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](const Json* x, const Json* y) { return *x < *y; });
}

std::optional<ItemIndex::Values> ItemIndex::ValuesOf(const Json& item) const {
  static const Json kNull;
  if (keys_.empty()) return Values{&item};
  if (!item.is_object()) return std::nullopt;
  Values values;
  values.reserve(keys_.size());
  for (const std::string& key : keys_) {
    const auto at = item.find(key);
    if (at == item.end() && absent_ == Absent::kNoItem) return std::nullopt;
    values.push_back(at == item.end() ? &kNull : &*at);
  }
  return values;
}

void ItemIndex::Add(const Json& item, std::size_t place) {
  if (std::optional<Values> values = ValuesOf(item)) places_.emplace(*std::move(values), place);
}

void ItemIndex::AddAll(const Json& list) {
  std::size_t place = 0;
  for (const Json& item : list) Add(item, place++);
}

std::optional<std::size_t> ItemIndex::Find(const Json& item) const {
  const std::optional<Values> values = ValuesOf(item);
  if (!values) return std::nullopt;
  const auto at = places_.find(*values);
  if (at == places_.end()) return std::nullopt;
  return at->second;
}

OldItems::OldItems(const TypeNode& list, const Json* before) : before_(before) {
  if (before == nullptr || !before->is_array() || list.list_type != ListType::kMap) return;
  index_.emplace(list.list_map_keys, ItemIndex::Absent::kNull);
  index_->AddAll(*before);
}

const Json* OldItems::Of(const Json& item) const {
  if (!index_ || !item.is_object()) return nullptr;
  const auto place = index_->Find(item);
  return place ? &(*before_)[*place] : nullptr;
}

}  // namespace berth::local
