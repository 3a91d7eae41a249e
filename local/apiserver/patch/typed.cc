#include "local/apiserver/patch/typed.h"

#include <algorithm>
#include <map>
#include <set>

#include "api/codec/json_write.h"
#include "base/assert.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/schema/field_path.h"

namespace berth::local {
namespace {

enum class ValueKind { kScalar, kMap, kList };

struct View {
  ValueKind kind = ValueKind::kScalar;
  bool atomic = true;
};

// The view of `value` for a walk. null counts as its type, and as a map if the type is unknown.
View ViewOf(const TypeNode* type, const Json& value) {
  const bool deduced = type == nullptr || type->kind == TypeKind::kAny;
  if (deduced) {
    if (type != nullptr && type->atomic) return {};
    if (value.is_object() || value.is_null()) return {ValueKind::kMap, false};
    if (value.is_array()) return {ValueKind::kList, true};
    return {};
  }
  const bool is_map = type->kind == TypeKind::kObject || type->kind == TypeKind::kMap;
  if (is_map && (value.is_object() || value.is_null())) return {ValueKind::kMap, type->atomic};
  if (type->kind == TypeKind::kList && (value.is_array() || value.is_null())) {
    return {ValueKind::kList, type->list_type == ListType::kAtomic};
  }
  return {};
}

const TypeNode* MemberType(const TypeNode* type, const std::string& name) {
  return type == nullptr ? nullptr : ChildType(*type, name);
}

const TypeNode* ElementType(const TypeNode* type) {
  return type == nullptr ? nullptr : type->element;
}

bool IsDeclared(const TypeNode* type, const std::string& name) {
  return type != nullptr && type->kind == TypeKind::kObject && FindField(*type, name) != nullptr;
}

PathElement FieldElement(const std::string& name) { return {PathElement::Kind::kField, name}; }

void CollectFields(const TypeNode* type, const Json& value, FieldSet& out);

void CollectItems(const TypeNode* type, const Json& list, FieldSet& out) {
  std::map<PathElement, int> count;
  for (const Json& item : list) {
    if (const auto element = ItemElement(*type, item)) ++count[*element];
  }
  for (const Json& item : list) {
    const auto element = ItemElement(*type, item);
    if (!element) continue;
    FieldSet& child = out.MutableChild(*element);
    child.SetMember();
    if (count[*element] == 1) CollectFields(ElementType(type), item, child);
  }
}

void CollectFields(const TypeNode* type, const Json& value, FieldSet& out) {
  const View view = ViewOf(type, value);
  if (view.atomic) {
    out.SetMember();
    return;
  }
  if (value.is_null()) return;
  if (view.kind == ValueKind::kList) {
    CollectItems(type, value, out);
    return;
  }
  for (const auto& [key, member] : value.items()) {
    FieldSet& child = out.MutableChild(FieldElement(key));
    CollectFields(MemberType(type, key), member, child);
    const bool hollow = member.is_null() || (member.is_object() && member.empty());
    if (hollow || !IsDeclared(type, key)) child.SetMember();
  }
}

// A set that is filled during a walk: the nodes of the present path are kept, so that a long key
// above n fields is looked up once.
class PathSet {
 public:
  void Insert(const std::vector<PathElement>& path) {
    while (nodes_.size() < path.size()) {
      FieldSet& above = nodes_.empty() ? set_ : *nodes_.back();
      nodes_.push_back(&above.MutableChild(path[nodes_.size()]));
    }
    (nodes_.empty() ? set_ : *nodes_.back()).SetMember();
  }
  // The path has lost its last elements.
  void Leave(std::size_t size) { nodes_.resize(std::min(nodes_.size(), size)); }
  FieldSet Take() { return std::move(set_); }

 private:
  FieldSet set_;
  std::vector<FieldSet*> nodes_;  // the nodes of the path's first elements
};

class Comparer {
 public:
  void Run(const TypeNode* type, const Json* before, const Json* after) {
    BERTH_ASSERT(before != nullptr || after != nullptr);
    bool leaf = false;
    if (after == nullptr) {
      leaf = Handle(ViewOf(type, *before), type, before, after);
    } else if (before == nullptr) {
      leaf = Handle(ViewOf(type, *after), type, before, after);
    } else {
      const View left = ViewOf(type, *before);
      const View right = ViewOf(type, *after);
      if (left.kind != right.kind || left.atomic != right.atomic) {
        Handle(left, type, before, after);
      }
      leaf = Handle(right, type, before, after);
    }
    if (leaf) return;
    if (before == nullptr) added_.Insert(path_);
    if (after == nullptr) removed_.Insert(path_);
  }
  Comparison Take() { return {added_.Take(), modified_.Take(), removed_.Take()}; }

 private:
  bool Leaf(const Json* before, const Json* after) {
    if (before == nullptr) {
      added_.Insert(path_);
    } else if (after == nullptr) {
      removed_.Insert(path_);
    } else if (*before != *after) {
      modified_.Insert(path_);
    }
    return true;
  }

  // Returns true if the pair was compared as a whole.
  bool Handle(const View& view, const TypeNode* type, const Json* before, const Json* after) {
    if (view.atomic) return Leaf(before, after);
    const auto fits = [&](const Json* value) {
      return value != nullptr && !value->empty() &&
             (view.kind == ValueKind::kMap ? value->is_object() : value->is_array());
    };
    // Empty and absent containers differ, but have no members to compare.
    if (!fits(before) && !fits(after)) return Leaf(before, after);
    if (view.kind == ValueKind::kMap) {
      Maps(type, fits(before) ? before : nullptr, fits(after) ? after : nullptr);
    } else {
      Lists(type, fits(before) ? before : nullptr, fits(after) ? after : nullptr);
    }
    return false;
  }

  // Compares members by name in one pass: both objects are sorted.
  void Maps(const TypeNode* type, const Json* before, const Json* after) {
    static const Json kEmpty = Json::object();
    const Json& lefts = before == nullptr ? kEmpty : *before;
    const Json& rights = after == nullptr ? kEmpty : *after;
    auto left = lefts.begin();
    auto right = rights.begin();
    while (left != lefts.end() || right != rights.end()) {
      const int order = left == lefts.end()     ? 1
                        : right == rights.end() ? -1
                                                : left.key().compare(right.key());
      const std::string& key = order <= 0 ? left.key() : right.key();
      path_.push_back(FieldElement(key));
      Run(MemberType(type, key), order <= 0 ? &*left : nullptr, order >= 0 ? &*right : nullptr);
      Leave();
      if (order <= 0) ++left;
      if (order >= 0) ++right;
    }
  }

  using Items = std::map<PathElement, std::vector<const Json*>>;
  static Items Index(const TypeNode* type, const Json* list) {
    Items items;
    if (list == nullptr) return items;
    for (const Json& item : *list) {
      if (const auto element = ItemElement(*type, item)) items[*element].push_back(&item);
    }
    return items;
  }

  void Lists(const TypeNode* type, const Json* before, const Json* after) {
    const Items left = Index(type, before);
    const Items right = Index(type, after);
    std::set<PathElement> elements;
    for (const auto& [element, items] : left) elements.insert(element);
    for (const auto& [element, items] : right) elements.insert(element);
    static const std::vector<const Json*> kNone;
    for (const PathElement& element : elements) {
      const auto l = left.find(element);
      const auto r = right.find(element);
      path_.push_back(element);
      Item(ElementType(type), l == left.end() ? kNone : l->second,
           r == right.end() ? kNone : r->second);
      Leave();
    }
  }

  // Repeated items are compared together.
  void Item(const TypeNode* type, const std::vector<const Json*>& before,
            const std::vector<const Json*>& after) {
    if (before.size() <= 1 && after.size() <= 1) {
      Run(type, before.empty() ? nullptr : before[0], after.empty() ? nullptr : after[0]);
      return;
    }
    if (before.size() >= 2 && after.size() >= 2) {
      bool same = before.size() == after.size();
      for (std::size_t i = 0; same && i < before.size(); ++i) same = *before[i] == *after[i];
      if (!same) modified_.Insert(path_);
    } else if (before.size() >= 2) {
      if (!after.empty()) Run(type, nullptr, after[0]);
      removed_.Insert(path_);
    } else {
      if (!before.empty()) Run(type, before[0], nullptr);
      added_.Insert(path_);
    }
  }

  void Leave() {
    path_.pop_back();
    for (PathSet* set : {&added_, &modified_, &removed_}) set->Leave(path_.size());
  }

  PathSet added_;
  PathSet modified_;
  PathSet removed_;
  std::vector<PathElement> path_;
};

void CollectErrors(const TypeNode* type, const Json& value, const FieldPath& path,
                   std::vector<std::string>& out);

void CollectItemErrors(const TypeNode& type, const Json& list, const FieldPath& path,
                       std::vector<std::string>& out) {
  std::set<PathElement> seen;
  for (std::size_t i = 0; i < list.size() && out.size() < kMostCauses; ++i) {
    if (type.list_type == ListType::kAtomic) {
      CollectErrors(type.element, list[i], path.Index(i), out);
      continue;
    }
    const auto element = ItemElement(type, list[i]);
    if (!element) {
      const std::string at = path.Text() + ": element " + std::to_string(i) + ": ";
      if (type.list_type == ListType::kSet) {
        out.push_back(at + "associative list without keys has an element that's " +
                      (list[i].is_null() ? "an explicit null" : "a map type"));
      } else if (!list[i].is_object()) {
        out.push_back(at + "associative list with keys may not have non-map elements");
      } else {
        std::string keys;
        for (const std::string& key : type.list_map_keys) {
          keys += (keys.empty() ? "" : " ") + GoQuote(key);
        }
        out.push_back(at + "associative list with keys has an element that omits all key fields [" +
                      keys + "] (and doesn't have default values for any key fields)");
      }
      return;
    }
    const std::string text = PathText(*element);
    if (!seen.insert(*element).second) {
      out.push_back(path.Text() + ": duplicate entries for key " + text);
    }
    CollectErrors(type.element, list[i], path.Then("", text), out);
  }
}

std::string WrongScalar(TypeKind kind, const Json& value) {
  switch (kind) {
    case TypeKind::kString:
    case TypeKind::kTime:
    case TypeKind::kMicroTime:
    case TypeKind::kDuration:
    case TypeKind::kBytes:
      return value.is_string() ? "" : "expected string, got " + api::FormatJson(value);
    case TypeKind::kBoolean:
      return value.is_boolean() ? "" : "expected boolean, got " + api::FormatJson(value);
    case TypeKind::kInt32:
    case TypeKind::kInt64:
    case TypeKind::kNumber:
      return value.is_number() ? ""
                               : "expected numeric (int or float), got " + api::FormatJson(value);
    case TypeKind::kQuantity:
    case TypeKind::kIntOrString:
      return value.is_structured() ? "expected any scalar, got " + api::FormatJson(value) : "";
    default: return "";
  }
}

void CollectErrors(const TypeNode* type, const Json& value, const FieldPath& path,
                   std::vector<std::string>& out) {
  if (type == nullptr || type->kind == TypeKind::kAny || value.is_null()) return;
  if (out.size() >= kMostCauses) return;
  switch (type->kind) {
    case TypeKind::kObject:
    case TypeKind::kMap:
      if (!value.is_object()) {
        out.push_back(path.Text() + ": expected map, got &{" + api::FormatJson(value) + "}");
        return;
      }
      for (const auto& [key, member] : value.items()) {
        const TypeNode* child = ChildType(*type, key);
        const FieldPath at = path.Then(".", key);
        if (child != nullptr) {
          CollectErrors(child, member, at, out);
        } else if (!type->preserve_unknown) {
          out.push_back(at.Text() + ": field not declared in schema");
        }
      }
      return;
    case TypeKind::kList:
      if (!value.is_array()) {
        out.push_back(path.Text() + ": expected list, got &{" + api::FormatJson(value) + "}");
        return;
      }
      CollectItemErrors(*type, value, path, out);
      return;
    default:
      if (const std::string why = WrongScalar(type->kind, value); !why.empty()) {
        out.push_back(path.Text() + ": " + why);
      }
  }
}

}  // namespace

std::optional<PathElement> ItemElement(const TypeNode& list, const Json& item) {
  if (list.list_type == ListType::kSet) {
    if (item.is_structured() || item.is_null()) return std::nullopt;
    return PathElement{PathElement::Kind::kValue, api::FormatJson(item)};
  }
  if (!item.is_object()) return std::nullopt;
  Json keys = Json::object();
  for (const std::string& name : list.list_map_keys) {
    if (const auto at = item.find(name); at != item.end()) {
      keys[name] = *at;
      continue;
    }
    // A default value of a key field is part of the item's key, also if the field is absent.
    const TypeNode* type = list.element == nullptr ? nullptr : ChildType(*list.element, name);
    if (type != nullptr && type->default_value != nullptr) keys[name] = *type->default_value;
  }
  if (keys.empty()) return std::nullopt;
  return PathElement{PathElement::Kind::kKey, api::FormatJson(keys)};
}

FieldSet ToFieldSet(const TypeNode* type, const Json& value) {
  FieldSet out;
  CollectFields(type, value, out);
  out.DropEmpty();
  return out;
}

Comparison Compare(const TypeNode* type, const Json& before, const Json& after) {
  Comparer comparer;
  comparer.Run(type, &before, &after);
  return comparer.Take();
}

Json RemoveItems(const TypeNode* type, const Json& value, const FieldSet& removed) {
  const View view = ViewOf(type, value);
  if (view.atomic || !value.is_structured()) return view.atomic ? value : Json();
  if (view.kind == ValueKind::kList) {
    Json out = Json::array();
    for (const Json& item : value) {
      const auto element = ItemElement(*type, item);
      const FieldSet* cut = element ? removed.Child(*element) : nullptr;
      if (cut != nullptr && cut->member()) continue;
      out.push_back(cut == nullptr ? item : RemoveItems(ElementType(type), item, *cut));
    }
    return out.empty() ? Json() : out;
  }
  Json out = Json::object();
  for (const auto& [key, member] : value.items()) {
    const FieldSet* cut = removed.Child(FieldElement(key));
    if (cut != nullptr && cut->member()) continue;
    if (cut == nullptr) {
      out[key] = member;
      continue;
    }
    out[key] = RemoveItems(MemberType(type, key), member, *cut);
  }
  return out.empty() ? Json() : out;
}

FieldSet WithNamedFields(const TypeNode* type, const FieldSet& set) {
  FieldSet out;
  if (set.member()) out.SetMember();
  for (const auto& [element, child] : set.children()) {
    const bool field = element.kind == PathElement::Kind::kField;
    FieldSet& copy = out.MutableChild(element);
    copy = WithNamedFields(field ? MemberType(type, element.text) : ElementType(type), child);
    if (field && IsDeclared(type, element.text)) copy.SetMember();
  }
  return out;
}

std::vector<std::string> ValidateTyped(const TypeNode* type, const Json& value) {
  std::vector<std::string> errors;
  FieldPaths paths;
  CollectErrors(type, value, paths.Root(), errors);
  return errors;
}

}  // namespace berth::local
