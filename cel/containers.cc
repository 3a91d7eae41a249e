#include "cel/containers.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "cel/internal/compare.h"

namespace berth::cel {

Value ListView::At(std::size_t index) const {
  BERTH_ASSERT(index < size());
  return json_ != nullptr ? Value::View((*json_)[index]) : (*elements_)[index];
}

std::optional<Value> MapView::Find(const Value& key) const {
  if (json_ != nullptr) {
    if (!key.is(Kind::kString)) return std::nullopt;
    return Find(key.AsText());
  }
  if (!IsKey(key) && !key.is(Kind::kDouble)) return std::nullopt;
  if (key.is(Kind::kDouble) && std::isnan(key.AsDouble())) return std::nullopt;
  const auto found = std::lower_bound(
      entries_->begin(), entries_->end(), key,
      [](const Entry& entry, const Value& wanted) { return CompareKeys(entry.first, wanted) < 0; });
  if (found == entries_->end() || CompareKeys(found->first, key) != 0) return std::nullopt;
  return found->second;
}

std::optional<Value> MapView::Find(std::string_view key) const {
  if (json_ == nullptr) return Find(Value::ViewText(key));
  const auto& object = json_->get_ref<const Json::object_t&>();
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  return Value::View(found->second);
}

Entries MapView::ListEntries() const {
  Entries entries;
  entries.reserve(size());
  ForEach([&](const Value& key, const Value& value) {
    entries.emplace_back(key, value);
    return true;
  });
  return entries;
}

}  // namespace berth::cel
