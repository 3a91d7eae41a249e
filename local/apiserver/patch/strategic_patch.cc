#include "local/apiserver/patch/strategic_patch.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/schema/item_index.h"

namespace berth::local {
namespace {

constexpr const char* kDirective = "$patch";
constexpr const char* kRetainKeys = "$retainKeys";
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList";
constexpr std::string_view kOrderPrefix = "$setElementOrder";

constexpr const char* kBadPrimitives = "invalid patch format of primitive list";
constexpr const char* kBadRetainKeys = "invalid patch format of retainKeys";
constexpr const char* kBadOrder = "invalid patch format of setElementOrder list";

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Go's %v of a value, as in its error texts: map[a:1 b:x].
std::string GoText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "<nil>";
  if (!value.is_structured()) return api::FormatJson(value);
  std::string text = value.is_object() ? "map[" : "[";
  bool first = true;
  for (const auto& [key, member] : value.items()) {
    if (!first) text += " ";
    first = false;
    if (value.is_object()) text += key + ":";
    text += GoText(member);
  }
  return text + "]";
}

// The merge strategy of a list's field.
struct ListMeta {
  const TypeNode* element = nullptr;  // null: undeclared
  std::string key;
  bool merges = false;
};

struct MapMeta {
  const TypeNode* type = nullptr;
  bool replaces = false;
};

ListMeta ListMetaOf(const TypeNode* type, const std::string& name) {
  ListMeta meta;
  if (type == nullptr || type->kind != TypeKind::kObject) return meta;
  const Field* field = FindField(*type, name);
  if (field == nullptr || field->type->kind != TypeKind::kList) return meta;
  meta.element = field->type->element;
  meta.key = field->patch_merge_key;
  meta.merges = field->Has(kFieldPatchMerge);
  return meta;
}

MapMeta MapMetaOf(const TypeNode* type, const std::string& name) {
  if (type == nullptr) return {};
  MapMeta meta{.type = ChildType(*type, name)};
  if (type->kind == TypeKind::kObject) {
    const Field* field = FindField(*type, name);
    meta.replaces = field != nullptr && field->Has(kFieldPatchReplace);
  }
  return meta;
}

// Removes directives from the value; nullopt if the value itself is one.
std::optional<Json> WithoutDirectives(Json value) {
  if (value.is_object()) {
    if (value.contains(kDirective)) return std::nullopt;
    for (auto at = value.begin(); at != value.end();) {
      std::optional<Json> kept = WithoutDirectives(std::move(*at));
      if (!kept) {
        at = value.erase(at);
        continue;
      }
      *at = *std::move(kept);
      ++at;
    }
    return value;
  }
  if (!value.is_array()) return value;
  Json list = Json::array();
  for (Json& item : value) {
    if (std::optional<Json> kept = WithoutDirectives(std::move(item))) {
      list.push_back(*std::move(kept));
    }
  }
  return list;
}

// Indexes items by `key`; if `key` is empty, by the item itself.
ItemIndex IndexBy(const std::string& key) {
  return {key.empty() ? std::vector<std::string>{} : std::vector{key}, ItemIndex::Absent::kNoItem};
}

ItemIndex IndexOf(const Json& list, const std::string& key) {
  ItemIndex index = IndexBy(key);
  index.AddAll(list);
  return index;
}

// An item with its places in the patch's order and the server's.
struct Placed {
  const Json* item;
  std::optional<std::size_t> patch;
  std::optional<std::size_t> server;
};

// Sorts items by `place`, for pairs that both have one.
void SortBy(std::vector<Placed>& items, std::optional<std::size_t> Placed::*place) {
  std::stable_sort(items.begin(), items.end(), [place](const Placed& a, const Placed& b) {
    return a.*place && b.*place && *(a.*place) < *(b.*place);
  });
}

// Items of the patch in the patch's order, items of the server between them at their positions.
Json Ordered(const Json& merged, const Json& patch_order, const Json& server_order,
             const std::string& key) {
  const ItemIndex in_patch = IndexOf(patch_order, key);
  const ItemIndex in_server = IndexOf(server_order, key);
  std::vector<Placed> patched;
  std::vector<Placed> server_only;
  for (const Json& item : merged) {
    const Placed placed{&item, in_patch.Find(item), in_server.Find(item)};
    (placed.patch ? patched : server_only).push_back(placed);
  }
  SortBy(patched, &Placed::patch);
  SortBy(server_only, &Placed::server);
  Json out = Json::array();
  auto left = server_only.begin();
  auto right = patched.begin();
  while (left != server_only.end() && right != patched.end()) {
    const bool server_first = left->server && right->server && *left->server < *right->server;
    out.push_back(*(server_first ? left++ : right++)->item);
  }
  for (; left != server_only.end(); ++left) out.push_back(*left->item);
  for (; right != patched.end(); ++right) out.push_back(*right->item);
  return out;
}

bool IsDeletion(const Json& item) {
  if (!item.is_object()) return false;
  const auto directive = item.find(kDirective);
  return directive != item.end() && *directive == "delete";
}

class Merger {
 public:
  // These functions set error(); the first failure ends the merge.
  Json MergeMap(Json original, Json patch, const TypeNode* type) {
    if (patch.contains(kDirective)) return WholeMap(std::move(patch));
    if (!original.is_object()) original = Json::object();
    RetainKeys(original, patch);
    MergeOrderedLists(original, patch, type);
    for (auto& [raw_key, value] : patch.items()) {
      if (failed()) return original;
      MergeMember(original, raw_key, std::move(value), type);
    }
    return original;
  }

  bool failed() const { return error_.code != 0; }
  const ApiError& error() const { return error_; }

 private:
  void Fail(int code, std::string message) {
    if (!failed())
      error_ = ApiError{code, code == 400 ? "BadRequest" : "Invalid", message, nullptr};
  }
  void FailNoKey(const Json& item, const std::string& key) {
    Fail(422, "map: " + GoText(item) + " does not contain declared merge key: " + key);
  }

  Json WholeMap(Json patch) {
    const Json directive = patch[kDirective];
    if (directive == "delete") return Json::object();
    if (directive == "replace") {
      patch.erase(kDirective);
      return patch;
    }
    Fail(400, "unknown patch type: " + GoText(directive) + " in map: " + GoText(patch));
    return nullptr;
  }

  void RetainKeys(Json& original, Json& patch) {
    const auto at = patch.find(kRetainKeys);
    if (at == patch.end()) return;
    if (!at->is_array()) return Fail(400, kBadRetainKeys);
    std::set<std::string> keys;
    for (const Json& key : *at) {
      if (key.is_string()) keys.insert(key.get<std::string>());
    }
    patch.erase(at);
    for (const auto& [key, value] : patch.items()) {
      if (value.is_null() || StartsWith(key, kDeletePrefix) || StartsWith(key, kOrderPrefix)) {
        continue;
      }
      if (keys.count(key) == 0) return Fail(400, kBadRetainKeys);
    }
    for (auto member = original.begin(); member != original.end();) {
      member = keys.count(member.key()) == 0 ? original.erase(member) : std::next(member);
    }
  }

  void MergeMember(Json& original, const std::string& raw_key, Json value, const TypeNode* type) {
    const bool deletes = StartsWith(raw_key, kDeletePrefix);
    std::string key = raw_key;
    if (deletes) {
      if (raw_key.size() <= kDeletePrefix.size() || raw_key[kDeletePrefix.size()] != '/') {
        return Fail(400, kBadPrimitives);
      }
      key = raw_key.substr(kDeletePrefix.size() + 1);
    }
    if (value.is_null()) {
      original.erase(key);
      return;
    }
    const auto at = original.find(key);
    if (at == original.end() || at->type() != value.type()) {
      const bool both_numbers = at != original.end() && at->is_number() && value.is_number();
      if (!deletes || both_numbers) Take(original, key, std::move(value));
      return;
    }
    if (at->is_object()) {
      const MapMeta meta = MapMetaOf(type, key);
      *at =
          meta.replaces ? std::move(value) : MergeMap(std::move(*at), std::move(value), meta.type);
    } else if (at->is_array()) {
      const ListMeta meta = ListMetaOf(type, key);
      if (deletes) {
        *at = Without(*at, value);
      } else if (meta.merges) {
        *at = MergeList(std::move(*at), std::move(value), meta);
      } else {
        *at = std::move(value);
      }
    } else {
      *at = std::move(value);
    }
  }

  static void Take(Json& original, const std::string& key, Json value) {
    api::DropNulls(value);
    std::optional<Json> kept = WithoutDirectives(std::move(value));
    if (kept) {
      original[key] = *std::move(kept);
    } else {
      original.erase(key);
    }
  }

  static Json Without(const Json& list, const Json& removed) {
    const ItemIndex index = IndexOf(removed, "");
    Json out = Json::array();
    for (const Json& item : list) {
      if (!index.Find(item)) out.push_back(item);
    }
    return out;
  }

  bool HasKeys(const Json& list, const std::string& key) {
    for (const Json& item : list) {
      if (!item.is_object()) {
        Fail(400, "expected a map, but received a " + std::string(item.type_name()));
        return false;
      }
      if (!item.contains(key)) {
        FailNoKey(item, key);
        return false;
      }
    }
    return true;
  }

  Json MergeList(Json original, Json patch, const ListMeta& meta) {
    if (original.empty() && patch.empty()) return original;
    const Json& sample = original.empty() ? patch[0] : original[0];
    if (!sample.is_object()) {
      Json merged = Json::array();
      ItemIndex known = IndexBy("");
      for (const Json* list : {&original, &patch}) {
        for (const Json& item : *list) {
          if (known.Find(item)) continue;
          known.Add(item, merged.size());
          merged.push_back(item);
        }
      }
      return Ordered(merged, patch, original, "");
    }
    if (meta.key.empty()) {
      Fail(400, "cannot merge lists without merge key");
      return nullptr;
    }
    if (!ApplySpecialItems(original, patch, meta.key)) return nullptr;
    Json merged = original;
    ItemIndex places = IndexOf(original, meta.key);
    for (const Json& item : patch) {
      const auto at = places.Find(item);
      if (!at) {
        places.Add(item, merged.size());
        merged.push_back(item);
        continue;
      }
      Json& place = merged[*at];
      place = MergeMap(std::move(place), item, meta.element);
      if (failed()) return nullptr;
    }
    if (!HasKeys(merged, meta.key)) return nullptr;
    return Ordered(merged, patch, original, meta.key);
  }

  // Applies the $patch directives of list items; the rest of `patch` is to be merged.
  bool ApplySpecialItems(Json& original, Json& patch, const std::string& key) {
    Json plain = Json::array();
    ItemIndex deleted = IndexBy(key);
    bool replaces = false;
    for (Json& item : patch) {
      if (!item.is_object()) {
        Fail(400, "expected a map, but received a " + std::string(item.type_name()));
        return false;
      }
      const auto directive = item.find(kDirective);
      if (directive == item.end()) {
        if (!item.contains(key)) {
          FailNoKey(item, key);
          return false;
        }
        plain.push_back(std::move(item));
      } else if (*directive == "replace") {
        replaces = true;
      } else if (*directive == "delete") {
        if (!item.contains(key)) {
          FailNoKey(item, key);
          return false;
        }
        deleted.Add(item, 0);
      } else if (*directive == "merge") {
        Fail(400, "merging lists cannot yet be specified in the patch");
        return false;
      } else {
        Fail(400, "unknown patch type: " + GoText(*directive) + " in map: " + GoText(item));
        return false;
      }
    }
    auto& items = original.get_ref<Json::array_t&>();
    std::erase_if(items, [&](const Json& item) { return deleted.Find(item).has_value(); });
    patch = std::move(plain);
    if (replaces) {
      original = std::move(patch);
      patch = Json::array();
    }
    return true;
  }

  // Merges <f>, sorts it by $setElementOrder/<f>, and removes both from the patch.
  void MergeOrderedLists(Json& original, Json& patch, const TypeNode* type) {
    std::vector<std::string> directives;
    for (const auto& [key, value] : patch.items()) {
      if (StartsWith(key, kOrderPrefix)) directives.push_back(key);
    }
    for (const std::string& directive : directives) {
      if (failed()) return;
      const Json order = patch[directive];
      patch.erase(directive);
      if (!order.is_array() || directive.size() <= kOrderPrefix.size() ||
          directive[kOrderPrefix.size()] != '/') {
        return Fail(400, kBadOrder);
      }
      MergeOrderedList(original, patch, directive.substr(kOrderPrefix.size() + 1), order, type);
    }
  }

  void MergeOrderedList(Json& original, Json& patch, const std::string& name, const Json& order,
                        const TypeNode* type) {
    const ListMeta meta = ListMetaOf(type, name);
    const auto mine = original.find(name);
    const auto theirs = patch.find(name);
    const bool has_mine = mine != original.end() && !mine->is_null();
    const bool has_theirs = theirs != patch.end() && !theirs->is_null();
    if (!has_mine && !has_theirs) return;
    if ((has_mine && !mine->is_array()) || (has_theirs && !theirs->is_array())) {
      return Fail(400, kBadOrder);
    }
    if (!meta.key.empty() && !HasKeys(order, meta.key)) return;
    if (has_theirs && !FollowsOrder(*theirs, order, meta.key)) return;

    Json server_order = has_mine ? *mine : Json::array();
    Json merged;
    if (!has_theirs) {
      merged = server_order;
    } else if (!has_mine) {
      merged = *WithoutDirectives(*theirs);
    } else {
      merged = meta.merges ? MergeList(server_order, *theirs, meta) : *theirs;
      if (meta.merges && !meta.key.empty()) FillFreedPlaces(server_order, *theirs, meta.key);
    }
    if (failed()) return;
    if (!meta.key.empty() && !HasKeys(merged, meta.key)) return;
    original[name] = Ordered(merged, order, server_order, meta.key);
    patch.erase(name);
  }

  // New items take the positions of items deleted at the end of server_order, as they do in
  // Kubernetes.
  static void FillFreedPlaces(Json& server_order, const Json& patch, const std::string& key) {
    const std::size_t places = server_order.size();
    ItemIndex deleted = IndexBy(key);
    for (const Json& item : patch) {
      if (IsDeletion(item)) deleted.Add(item, 0);
    }
    Json order = Json::array();
    Json added = Json::array();
    for (const Json& item : server_order) {
      if (!deleted.Find(item)) order.push_back(item);
    }
    const ItemIndex kept = IndexOf(order, key);
    for (const Json& item : patch) {
      if (!item.is_object() || item.contains(kDirective)) continue;
      if (!kept.Find(item)) added.push_back(item);
    }
    for (std::size_t i = 0; i < added.size() && order.size() < places; ++i) {
      order.push_back(added[i]);
    }
    server_order = std::move(order);
  }

  // Whether the items of the patch, without deletions, follow the sequence of `order`.
  bool FollowsOrder(const Json& patch, const Json& order, const std::string& key) {
    if (patch.empty() || order.empty()) return true;
    const auto same = [&key](const Json& a, const Json& b) {
      if (key.empty()) return a == b;
      if (!a.is_object() || !b.is_object()) return false;
      const auto left = a.find(key);
      const auto right = b.find(key);
      return left != a.end() && right != b.end() && *left == *right;
    };
    std::size_t at = 0;
    for (const Json& item : patch) {
      if (item.is_object() && item.contains(kDirective)) continue;
      while (at < order.size() && !same(item, order[at])) ++at;
      if (at == order.size()) {
        Fail(400, "The order in patch list:\n" + GoText(patch) +
                      "\n doesn't match $setElementOrder list:\n" + GoText(order) + "\n");
        return false;
      }
      ++at;
    }
    return true;
  }

  ApiError error_{0, "", "", nullptr};
};

}  // namespace

ApiResult<Json> ApplyStrategicMergePatch(const TypeNode& type, const Json& original,
                                         const Json& patch) {
  if (!patch.is_object()) return BadRequest("a strategic merge patch must be an object");
  Merger merger;
  Json merged = merger.MergeMap(original, patch, &type);
  if (merger.failed()) return merger.error();
  return merged;
}

}  // namespace berth::local
