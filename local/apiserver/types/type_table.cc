#include "local/apiserver/types/type_table.h"

#include <algorithm>
#include <utility>

#include "api/codec/json_tree.h"
#include "base/assert.h"
#include "base/strings.h"
#include "local/apiserver/types/builtin_types.h"

namespace berth::local {
namespace {

// Fields of structs are read after every struct has its node; inline fields are spread after every
// struct has its fields.
struct PendingClone {  // a field that makes its struct atomic
  TypeNode* owner;
  std::size_t field;
};

class Loader {
 public:
  Loader(TypeArena& arena, std::map<std::string, const TypeNode*, std::less<>>& kinds,
         std::map<std::string, const TypeNode*, std::less<>>& types)
      : arena_(arena), kinds_(kinds), types_(types) {}

  // Returns "" on success, else the error with its position.
  std::string Load(std::string_view text) {
    for (const std::string_view line : Split(text, '\n')) {
      if (line.substr(0, 5) == "type ") Declare(line.substr(5));
    }
    std::vector<std::pair<std::string, std::string>> kinds;
    int number = 0;
    for (const std::string_view line : Split(text, '\n')) {
      ++number;
      const std::string why = Line(line, kinds);
      if (!why.empty()) return "line " + std::to_string(number) + ": " + why;
    }
    for (auto& [name, node] : structs_) Spread(*node);
    for (const PendingClone& clone : clones_) {
      Field& field = clone.owner->proto_fields[clone.field];
      TypeNode* copy = arena_.New(TypeKind::kObject);
      *copy = *field.type;
      copy->atomic = true;
      for (Field& flat : clone.owner->fields) {
        if (flat.name == field.name && flat.type == field.type) flat.type = copy;
      }
      field.type = copy;
    }
    for (auto& [name, node] : structs_) types_[name] = node;
    for (const auto& [kind, name] : kinds) {
      const auto at = structs_.find(name);
      if (at == structs_.end()) return "kind " + kind + " names no type: " + name;
      kinds_[kind] = at->second;
    }
    return "";
  }

 private:
  void Declare(std::string_view head) {
    const std::vector<std::string_view> words = Split(head, ' ');
    TypeNode* node = arena_.New(TypeKind::kObject);
    const std::string name(words[0]);
    const std::size_t dot = name.rfind('.');
    node->name = dot == std::string::npos ? name : name.substr(dot + 1);
    for (const std::string_view word : words) {
      if (word == "atomic") node->atomic = true;
      if (word == "union") {
        node->kind = TypeKind::kAny;
        node->atomic = true;
      }
    }
    structs_[name] = node;
  }

  std::string Line(std::string_view line, std::vector<std::pair<std::string, std::string>>& kinds) {
    if (line.empty() || line[0] == '#') return "";
    const std::vector<std::string_view> words = Split(TrimSpace(line), ' ');
    const bool is_field = line[0] == ' ';
    if (!is_field && words[0] == "kind") {
      if (words.size() != 3) return "a kind has a name and a type";
      kinds.emplace_back(std::string(words[1]), std::string(words[2]));
      return "";
    }
    if (!is_field && words[0] == "type") {
      current_ = structs_.at(std::string(words.at(1)));
      return "";
    }
    if (!is_field || current_ == nullptr) return "cannot read this line";
    return FieldLine(words);
  }

  std::string FieldLine(const std::vector<std::string_view>& words) {
    if (words.size() < 3) return "a field has a name, a number and a type";
    const auto number = ParseInt64(words[1]);
    if (!number || *number < 0 || *number > 1'000'000) return "bad protobuf number";
    Field field{.name = std::string(words[0]), .proto_number = static_cast<std::uint32_t>(*number)};
    Marks marks;
    for (std::size_t i = 3; i < words.size(); ++i) {
      if (!Mark(words[i], field, marks)) return "unknown mark " + std::string(words[i]);
    }
    // A field that Go always writes has the zero value as default: keys of list items need that.
    const bool always = !field.Has(kFieldOmitEmpty) && !field.Has(kFieldPointer);
    if (always && marks.default_json.empty()) {
      if (words[2] == "s") marks.default_json = R"("")";
      if (words[2] == "i" || words[2] == "l") marks.default_json = "0";
    }
    const TypeNode* type = TypeOf(words[2], marks);
    if (type == nullptr) return "unknown type " + std::string(words[2]);
    field.type = type;
    current_->proto_fields.push_back(std::move(field));
    if (marks.atomic && words[2][0] == '@') {
      clones_.push_back({current_, current_->proto_fields.size() - 1});
    }
    return "";
  }

  struct Marks {
    bool set = false;
    bool atomic = false;
    std::string_view keys;
    std::string_view default_json;
  };

  static bool Mark(std::string_view word, Field& field, Marks& marks) {
    static const std::map<std::string_view, std::uint8_t> kFlags{{"oe", kFieldOmitEmpty},
                                                                 {"oz", kFieldOmitZero},
                                                                 {"p", kFieldPointer},
                                                                 {"in", kFieldInline}};
    if (const auto flag = kFlags.find(word); flag != kFlags.end()) {
      field.flags = static_cast<std::uint8_t>(field.flags | flag->second);
      return true;
    }
    if (word == "set") return marks.set = true;
    if (word == "atomic") return marks.atomic = true;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (name == "map") {
      marks.keys = value;
    } else if (name == "def") {
      marks.default_json = value;
    } else if (name == "pm") {
      field.patch_merge_key = value;
    } else if (name == "ps") {
      for (const std::string_view strategy : Split(value, ',')) {
        const std::uint8_t flag = strategy == "merge"        ? kFieldPatchMerge
                                  : strategy == "retainKeys" ? kFieldPatchRetain
                                                             : kFieldPatchReplace;
        field.flags = static_cast<std::uint8_t>(field.flags | flag);
      }
    } else {
      return false;
    }
    return true;
  }

  // Returns null for an invalid expression.
  const TypeNode* TypeOf(std::string_view text, const Marks& marks) {
    if (text.empty()) return nullptr;
    if (text[0] == '@') {
      const auto at = structs_.find(std::string(text.substr(1)));
      return at == structs_.end() ? nullptr : at->second;
    }
    // Equal expressions share a node: expressions are far fewer than fields.
    std::string key(text);
    key += ' ';
    if (marks.set) key += "set";
    if (marks.atomic) key += "atomic";
    key += marks.keys;
    key += '=';
    key += marks.default_json;
    if (const auto at = shared_.find(key); at != shared_.end()) return at->second;
    TypeNode* node = NewNode(text, marks);
    if (node != nullptr) shared_[key] = node;
    return node;
  }

  TypeNode* NewNode(std::string_view text, const Marks& marks) {
    static const std::map<std::string_view, TypeKind> kScalars{
        {"s", TypeKind::kString},   {"b", TypeKind::kBoolean},     {"i", TypeKind::kInt32},
        {"l", TypeKind::kInt64},    {"n", TypeKind::kNumber},      {"y", TypeKind::kBytes},
        {"q", TypeKind::kQuantity}, {"t", TypeKind::kTime},        {"m", TypeKind::kMicroTime},
        {"d", TypeKind::kDuration}, {"o", TypeKind::kIntOrString}, {"a", TypeKind::kAny},
        {"w", TypeKind::kList}};
    const std::string_view head = text.substr(0, 2);
    if (head == "[]" || head == "{}") {
      const TypeNode* element = TypeOf(text.substr(2), {});
      if (element == nullptr) return nullptr;
      TypeNode* node = arena_.New(head == "[]" ? TypeKind::kList : TypeKind::kMap);
      node->element = element;
      node->atomic = marks.atomic;
      if (marks.set) node->list_type = ListType::kSet;
      if (!marks.keys.empty()) {
        node->list_type = ListType::kMap;
        for (const std::string_view name : Split(marks.keys, ',')) {
          node->list_map_keys.emplace_back(name);
        }
      }
      return node;
    }
    const auto scalar = kScalars.find(text);
    if (scalar == kScalars.end()) return nullptr;
    TypeNode* node = arena_.New(scalar->second);
    // Embedded JSON of built-in kinds has one owner.
    node->atomic = scalar->second == TypeKind::kAny;
    if (text == "w") {
      node->name = "Values";  // a message in protobuf
      node->element = TypeOf("s", {});
    }
    if (!marks.default_json.empty()) {
      node->default_value = std::make_shared<const Json>(api::ParseJsonOrNull(marks.default_json));
    }
    return node;
  }

  // Fills `fields` from `proto_fields`, with inline structs spread out.
  void Spread(TypeNode& node) {
    if (!node.fields.empty() || node.kind != TypeKind::kObject) return;
    for (const Field& field : node.proto_fields) {
      if (!field.Has(kFieldInline)) {
        node.fields.push_back(field);
        continue;
      }
      TypeNode* inner = FindStruct(field.type);
      BERTH_ASSERT(inner != nullptr && inner != &node);
      Spread(*inner);
      node.fields.insert(node.fields.end(), inner->fields.begin(), inner->fields.end());
    }
    std::sort(node.fields.begin(), node.fields.end(),
              [](const Field& a, const Field& b) { return a.name < b.name; });
  }

  TypeNode* FindStruct(const TypeNode* type) {
    for (auto& [name, node] : structs_) {
      if (node == type) return node;
    }
    return nullptr;
  }

  TypeArena& arena_;
  std::map<std::string, const TypeNode*, std::less<>>& kinds_;
  std::map<std::string, const TypeNode*, std::less<>>& types_;
  std::map<std::string, TypeNode*> structs_;
  std::map<std::string, TypeNode*> shared_;
  std::vector<PendingClone> clones_;
  TypeNode* current_ = nullptr;
};

}  // namespace

Result<TypeTable> TypeTable::Load(std::string_view text) {
  TypeTable table;
  Loader loader(table.arena_, table.kinds_, table.types_);
  if (std::string why = loader.Load(text); !why.empty()) {
    return Error{ErrorCode::kInvalid, "type table: " + why};
  }
  return table;
}

TypeTable TypeTable::Builtin() {
  Result<TypeTable> table = Load(BuiltinTypesText());
  BERTH_ASSERT(table.has_value());  // the compiled-in table is damaged
  return *std::move(table);
}

const TypeNode* TypeTable::Find(std::string_view group, std::string_view version,
                                std::string_view kind) const {
  const auto find = [&](std::string_view g, std::string_view v) -> const TypeNode* {
    const auto at = kinds_.find(std::string(g) + "/" + std::string(v) + "/" + std::string(kind));
    return at == kinds_.end() ? nullptr : at->second;
  };
  if (const TypeNode* node = find(group, version)) return node;
  return find("meta.k8s.io", "v1");  // every group serves DeleteOptions and the like
}

const TypeNode* TypeTable::FindType(std::string_view name) const {
  const auto at = types_.find(name);
  return at == types_.end() ? nullptr : at->second;
}

std::vector<TypeTable::Kind> TypeTable::Kinds() const {
  std::vector<Kind> kinds;
  for (const auto& [key, node] : kinds_) {
    const std::vector<std::string_view> parts = Split(key, '/');
    kinds.push_back({std::string(parts[0]), std::string(parts[1]), std::string(parts[2])});
  }
  return kinds;
}

}  // namespace berth::local
