// MergeTyped, and the order of list items: the base's order, with the items of the patch in the
// patch's order.
#include <map>

#include "local/apiserver/patch/typed.h"

namespace berth::local {
namespace {

bool IsMap(const TypeNode* type, const Json& value) {
  if (type == nullptr || type->kind == TypeKind::kAny) {
    return value.is_object() && (type == nullptr || !type->atomic);
  }
  return !type->atomic && (type->kind == TypeKind::kObject || type->kind == TypeKind::kMap);
}

bool IsKeyedList(const TypeNode* type) {
  return type != nullptr && type->kind == TypeKind::kList && type->list_type != ListType::kAtomic;
}

// A null pointer is an absent side; at least one side is present. nullopt: no value.
std::optional<Json> Merge(const TypeNode* type, const Json* base, const Json* patch);

struct Keyed {
  std::vector<PathElement> elements;
  std::vector<const Json*> items;
  std::map<PathElement, const Json*> by_element;  // null: repeated
};

Keyed Index(const TypeNode& type, const Json* list) {
  Keyed out;
  if (list == nullptr || !list->is_array()) return out;
  for (const Json& item : *list) {
    const auto element = ItemElement(type, item);
    if (!element) continue;
    const bool fresh = out.by_element.emplace(*element, &item).second;
    if (!fresh) out.by_element[*element] = nullptr;
    out.elements.push_back(*element);
    out.items.push_back(&item);
  }
  return out;
}

class ListMerger {
 public:
  ListMerger(const TypeNode& type, const Json* base, const Json* patch)
      : type_(type), base_(Index(type, base)), patch_(Index(type, patch)) {
    for (const PathElement& element : patch_.elements) {
      if (base_.by_element.count(element) > 0) shared_.push_back(element);
    }
  }

  Json Run() {
    NextShared();
    std::size_t b = 0;
    std::size_t p = 0;
    while (b < base_.elements.size() || p < patch_.elements.size()) {
      const bool has_base = b < base_.elements.size();
      const bool has_patch = p < patch_.elements.size();
      if (has_base && has_patch) {
        const PathElement& element = base_.elements[b];
        if (element == patch_.elements[p]) {
          TakePatch(p++);
          ++b;
          NextShared();
          continue;
        }
        // A shared item that is not next in the patch: the patch determines its position.
        if (InPatch(element) && next_ != nullptr && *next_ != element) {
          ++b;
          continue;
        }
      }
      if (has_base) {
        const PathElement& element = base_.elements[b];
        if (!InPatch(element)) {
          Append(Merge(type_.element, base_.items[b++], nullptr));
          continue;
        }
        if (merged_.count(element) > 0) ++b;
      }
      if (has_patch) {
        const PathElement element = patch_.elements[p];
        TakePatch(p++);
        if (next_ != nullptr && *next_ == element) NextShared();
      }
    }
    return std::move(out_);
  }

 private:
  bool InPatch(const PathElement& element) const { return patch_.by_element.count(element) > 0; }

  void NextShared() { next_ = shared_at_ < shared_.size() ? &shared_[shared_at_++] : nullptr; }

  void TakePatch(std::size_t index) {
    const PathElement& element = patch_.elements[index];
    merged_[element] = true;
    const auto at = base_.by_element.find(element);
    Append(Merge(type_.element, at == base_.by_element.end() ? nullptr : at->second,
                 patch_.items[index]));
  }

  void Append(std::optional<Json> item) {
    if (item) out_.push_back(*std::move(item));
  }

  const TypeNode& type_;
  Keyed base_;
  Keyed patch_;
  std::vector<PathElement> shared_;  // in both, in the order of the patch
  std::size_t shared_at_ = 0;
  const PathElement* next_ = nullptr;  // the next element of shared_
  std::map<PathElement, bool> merged_;
  Json out_ = Json::array();
};

const Json* Filled(const Json* value, bool fits) {
  return value != nullptr && fits && !value->empty() ? value : nullptr;
}

std::optional<Json> Merge(const TypeNode* type, const Json* base, const Json* patch) {
  const Json* winner = patch != nullptr ? patch : base;
  if (IsKeyedList(type) && (winner->is_array() || winner->is_null())) {
    const Json* left = Filled(base, base != nullptr && base->is_array());
    const Json* right = Filled(patch, patch != nullptr && patch->is_array());
    if (left == nullptr && right == nullptr) return *winner;
    Json merged = ListMerger(*type, left, right).Run();
    if (merged.empty()) return std::nullopt;
    return merged;
  }
  const bool map = IsMap(type, *winner) && (winner->is_object() || winner->is_null());
  if (!map) return *winner;
  const Json* left = Filled(base, base != nullptr && base->is_object());
  const Json* right = Filled(patch, patch != nullptr && patch->is_object());
  if (left == nullptr && right == nullptr) return *winner;
  Json merged = Json::object();
  const auto child_type = [type](const std::string& key) {
    return type == nullptr ? nullptr : ChildType(*type, key);
  };
  if (left != nullptr) {
    for (const auto& [key, member] : left->items()) {
      const Json* other = right != nullptr && right->contains(key) ? &(*right)[key] : nullptr;
      if (auto value = Merge(child_type(key), &member, other)) merged[key] = *std::move(value);
    }
  }
  if (right != nullptr) {
    for (const auto& [key, member] : right->items()) {
      if (left != nullptr && left->contains(key)) continue;
      if (auto value = Merge(child_type(key), nullptr, &member)) merged[key] = *std::move(value);
    }
  }
  if (merged.empty()) return std::nullopt;
  return merged;
}

}  // namespace

Json MergeTyped(const TypeNode* type, const Json& base, const Json& patch) {
  std::optional<Json> merged = Merge(type, &base, &patch);
  return merged ? *std::move(merged) : Json::object();
}

}  // namespace berth::local
