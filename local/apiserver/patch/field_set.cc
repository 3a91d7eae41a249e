#include "local/apiserver/patch/field_set.h"

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/schema/field_path.h"

namespace berth::local {
namespace {

// Parses "f:name", "k:{…}", "v:…", "i:…"; nullopt for other texts.
std::optional<PathElement> ReadElement(std::string_view text) {
  if (text.size() < 2 || text[1] != ':') return std::nullopt;
  const std::string_view body = text.substr(2);
  if (text[0] == 'f') return PathElement{PathElement::Kind::kField, std::string(body)};
  const Result<Json> read = api::ParseJson(body);
  if (!read) return std::nullopt;
  const Json& value = *read;
  switch (text[0]) {
    case 'k':
      if (!value.is_object()) return std::nullopt;
      return PathElement{PathElement::Kind::kKey, api::FormatJson(value)};
    case 'v': return PathElement{PathElement::Kind::kValue, api::FormatJson(value)};
    case 'i':
      if (!value.is_number_integer()) return std::nullopt;
      return PathElement{PathElement::Kind::kIndex, api::FormatJson(value)};
    default: return std::nullopt;
  }
}

std::string WriteElement(const PathElement& element) {
  switch (element.kind) {
    case PathElement::Kind::kField: return "f:" + element.text;
    case PathElement::Kind::kKey: return "k:" + element.text;
    case PathElement::Kind::kValue: return "v:" + element.text;
    case PathElement::Kind::kIndex: return "i:" + element.text;
  }
  return "";
}

std::string ValueText(const Json& value) {
  return value.is_string() ? GoQuote(value.get_ref<const std::string&>()) : api::FormatJson(value);
}

}  // namespace

std::string PathText(const PathElement& element) {
  switch (element.kind) {
    case PathElement::Kind::kField: return "." + element.text;
    case PathElement::Kind::kKey: {
      std::string text;
      const Json keys = api::ParseJsonOrNull(element.text);
      for (const auto& [name, value] : keys.items()) {
        text += (text.empty() ? "[" : ",") + name + "=" + ValueText(value);
      }
      return text + "]";
    }
    case PathElement::Kind::kValue:
      return "[=" + ValueText(api::ParseJsonOrNull(element.text)) + "]";
    case PathElement::Kind::kIndex: return "[" + element.text + "]";
  }
  return "";
}

FieldSet FieldSet::FromFieldsV1(const Json& fields) {
  FieldSet set;
  if (!fields.is_object()) return set;
  for (const auto& [key, value] : fields.items()) {
    if (key == ".") {
      set.member_ = true;
      continue;
    }
    const std::optional<PathElement> element = ReadElement(key);
    if (!element) continue;
    FieldSet child = FromFieldsV1(value);
    // {} without "." is a leaf: the field itself is a member.
    if (child.empty()) child.member_ = true;
    set.children_[*element] = std::move(child);
  }
  return set;
}

Json FieldSet::ToFieldsV1() const {
  Json fields = Json::object();
  if (member_ && !children_.empty()) fields["."] = Json::object();
  for (const auto& [element, child] : children_) {
    fields[WriteElement(element)] = child.ToFieldsV1();
  }
  return fields;
}

const FieldSet* FieldSet::Child(const PathElement& element) const {
  const auto at = children_.find(element);
  return at == children_.end() ? nullptr : &at->second;
}

void FieldSet::Insert(std::span<const PathElement> path) {
  FieldSet* node = this;
  for (const PathElement& element : path) node = &node->children_[element];
  node->member_ = true;
}

FieldSet FieldSet::Union(const FieldSet& other) const {
  FieldSet out = *this;
  out.Add(FieldSet(other));
  return out;
}

void FieldSet::Add(FieldSet&& other) {
  if (empty()) {
    *this = std::move(other);
    return;
  }
  member_ = member_ || other.member_;
  children_.merge(other.children_);
  for (auto& [element, child] : other.children_) children_[element].Add(std::move(child));
}

// Both walk the smaller set: many managers of few fields lose the fields of one large change.
void FieldSet::Subtract(const FieldSet& other) {
  member_ = member_ && !other.member_;
  if (children_.size() <= other.children_.size()) {
    for (auto mine = children_.begin(); mine != children_.end();) {
      const FieldSet* theirs = other.Child(mine->first);
      if (theirs != nullptr) mine->second.Subtract(*theirs);
      mine = theirs != nullptr && mine->second.empty() ? children_.erase(mine) : std::next(mine);
    }
    return;
  }
  for (const auto& [element, theirs] : other.children_) {
    const auto mine = children_.find(element);
    if (mine == children_.end()) continue;
    mine->second.Subtract(theirs);
    if (mine->second.empty()) children_.erase(mine);
  }
}

FieldSet FieldSet::Intersection(const FieldSet& other) const {
  FieldSet out;
  if (children_.size() > other.children_.size()) return other.Intersection(*this);
  out.member_ = member_ && other.member_;
  for (const auto& [element, child] : children_) {
    const FieldSet* theirs = other.Child(element);
    if (theirs == nullptr) continue;
    FieldSet both = child.Intersection(*theirs);
    if (!both.empty()) out.children_[element] = std::move(both);
  }
  return out;
}

FieldSet FieldSet::Difference(const FieldSet& other) const {
  FieldSet out = *this;
  out.Subtract(other);
  return out;
}

FieldSet FieldSet::RecursiveDifference(const FieldSet& other) const {
  FieldSet out;
  out.member_ = member_;
  for (const auto& [element, child] : children_) {
    const FieldSet* theirs = other.Child(element);
    if (theirs != nullptr && theirs->member_) continue;
    FieldSet rest = theirs == nullptr ? child : child.RecursiveDifference(*theirs);
    if (!rest.empty()) out.children_[element] = std::move(rest);
  }
  return out;
}

void FieldSet::DropEmpty() {
  for (auto at = children_.begin(); at != children_.end();) {
    at->second.DropEmpty();
    at = at->second.empty() ? children_.erase(at) : std::next(at);
  }
}

std::vector<std::string> FieldSet::Paths() const {
  std::vector<std::string> paths;
  FieldPaths walk;
  AddPaths(walk.Root(), paths);
  return paths;
}

void FieldSet::AddPaths(const FieldPath& path, std::vector<std::string>& paths) const {
  // Members of one level precede those of the levels below.
  for (const auto& [element, child] : children_) {
    if (child.member_) paths.push_back(path.Then("", PathText(element)).Text());
  }
  for (const auto& [element, child] : children_) {
    if (child.children_.empty()) continue;
    const std::string text = PathText(element);
    child.AddPaths(path.Then("", text), paths);
  }
}

}  // namespace berth::local
