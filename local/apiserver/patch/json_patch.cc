#include "local/apiserver/patch/json_patch.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "api/codec/json_tree.h"
#include "base/strings.h"
#include "local/apiserver/schema/decode.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

ApiError NotApplicable(std::string_view why) {
  // Kubernetes' message has no reason; the cause has it, for people.
  return ApiError{422,
                  "Invalid",
                  "the server rejected our request due to an error in our request",
                  {{"causes", {{{"message", why}}}}}};
}

// "/a~1b/0" → {"a/b", "0"}; nullopt for an invalid JSON pointer.
std::optional<std::vector<std::string>> ParsePointer(std::string_view text) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  if (text[0] != '/') return std::nullopt;
  for (const std::string_view raw : Split(text.substr(1), '/')) {
    std::string part;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '~') {
        part += raw[i];
        continue;
      }
      if (i + 1 == raw.size() || (raw[i + 1] != '0' && raw[i + 1] != '1')) return std::nullopt;
      part += raw[++i] == '0' ? '~' : '/';
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

// An index into a list of `size` items. Negative indexes count from the end, as in Kubernetes.
std::optional<std::size_t> ParseIndex(std::string_view text, std::size_t size) {
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  const auto number = ParseInt64(text);
  if (!number || text[0] == '+') return std::nullopt;
  if (*number >= 0) return static_cast<std::size_t>(*number);
  const auto back = ~static_cast<std::uint64_t>(*number) + 1;
  if (back > size) return std::nullopt;
  return size - back;
}

// Applies operations to one document, whose depth and size, and the work, are bounded after each
// operation.
class Patcher {
 public:
  explicit Patcher(Json document)
      : document_(std::move(document)), bytes_(api::MeasureJson(document_).bytes) {}

  // Returns "" on success, else the reason.
  std::string Apply(const Json& operation) {
    const std::string op = operation.value("op", "");
    const auto path = ParsePointer(operation.value("path", ""));
    if (!path) return "bad path";
    if (op == "add") return Put(*path, operation["value"]);
    if (op == "remove") return Remove(*path, nullptr);
    if (op == "replace") return Replace(*path, operation["value"]);
    if (op == "test") return Test(*path, operation);
    const auto from = ParsePointer(operation.value("from", ""));
    if (!from) return "bad from";
    if (op == "move") return Move(*from, *path);
    return Copy(*from, *path);
  }
  // The exceeded limit; "" if none.
  std::string_view Excess() const {
    if (depth_ > kMaxDepth) return "the object would be nested too deeply";
    if (bytes_ > kMaxPatchedBytes) return "the object would be too large";
    return work_ > kMaxWork ? "the operations move too many values" : "";
  }
  Json Take() { return std::move(document_); }

 private:
  using Path = std::vector<std::string>;

  // Limit of the values that all operations together read, copy or shift.
  static constexpr std::size_t kMaxWork = 50'000'000;
  // Above the limit of stored objects, since a later operation may remove what was added.
  static constexpr std::size_t kMaxPatchedBytes = 2 * kMaxBodyBytes;

  api::JsonMeasure Measure(const Json& value) {
    const api::JsonMeasure measure = api::MeasureJson(value);
    work_ += measure.values;
    return measure;
  }

  // Adds a value that is not measured yet.
  std::string Put(const Path& path, Json value) {
    const api::JsonMeasure measure = Measure(value);
    depth_ = std::max(depth_, path.size() + measure.depth);
    if (depth_ > kMaxDepth) return std::string(Excess());
    bytes_ += measure.bytes;
    return Add(path, std::move(value));
  }

  Json* Find(const Path& path, std::size_t depth) {
    Json* value = &document_;
    for (std::size_t i = 0; i < depth; ++i) {
      if (value->is_object()) {
        const auto at = value->find(path[i]);
        if (at == value->end()) return nullptr;
        value = &*at;
      } else if (value->is_array()) {
        const auto index = ParseIndex(path[i], value->size());
        if (!index || *index >= value->size()) return nullptr;
        value = &(*value)[*index];
      } else {
        return nullptr;
      }
    }
    return value;
  }

  static std::string Missing(const Path& path) { return "no such path: /" + Join(path, "/"); }

  std::string Add(const Path& path, Json value) {
    if (path.empty()) {
      bytes_ -= std::min(bytes_, Measure(document_).bytes);
      document_ = std::move(value);
      return "";
    }
    Json* parent = Find(path, path.size() - 1);
    if (parent == nullptr) return Missing(path);
    if (parent->is_object()) {
      Json& member = (*parent)[path.back()];
      bytes_ -= std::min(bytes_, Measure(member).bytes);
      member = std::move(value);
      return "";
    }
    if (!parent->is_array()) return Missing(path);
    if (path.back() == "-") {
      parent->push_back(std::move(value));
      return "";
    }
    const auto index = ParseIndex(path.back(), parent->size() + 1);
    if (!index || *index > parent->size()) return "index out of range: /" + Join(path, "/");
    work_ += parent->size() - *index;
    parent->insert(parent->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
    return "";
  }

  std::string Remove(const Path& path, Json* removed) {
    if (path.empty()) return "the document itself cannot be removed";
    Json* parent = Find(path, path.size() - 1);
    Json* value = Find(path, path.size());
    if (parent == nullptr || value == nullptr) return Missing(path);
    bytes_ -= std::min(bytes_, Measure(*value).bytes);
    if (removed != nullptr) *removed = std::move(*value);
    if (parent->is_object()) {
      parent->erase(path.back());
    } else {
      work_ += parent->size();
      parent->erase(*ParseIndex(path.back(), parent->size()));
    }
    return "";
  }

  std::string Replace(const Path& path, const Json& value) {
    Json* place = Find(path, path.size());
    if (place == nullptr) return Missing(path);
    const api::JsonMeasure measure = Measure(value);
    depth_ = std::max(depth_, path.size() + measure.depth);
    if (depth_ > kMaxDepth) return std::string(Excess());
    bytes_ += measure.bytes;
    bytes_ -= std::min(bytes_, Measure(*place).bytes);
    *place = value;
    return "";
  }

  std::string Test(const Path& path, const Json& operation) {
    const Json* place = Find(path, path.size());
    const auto want = operation.find("value");
    const Json none;
    const Json& expected = want == operation.end() ? none : *want;
    // A missing member equals null in a test, as it does in Kubernetes.
    if (place == nullptr) return expected.is_null() ? "" : Missing(path);
    work_ += api::MeasureJson(expected).values;
    return *place == expected ? "" : "test failed: /" + Join(path, "/");
  }

  std::string Move(const Path& from, const Path& to) {
    if (from.size() < to.size() && std::equal(from.begin(), from.end(), to.begin())) {
      return "a value cannot move into itself";
    }
    Json value;
    if (std::string why = Remove(from, &value); !why.empty()) return why;
    return Put(to, std::move(value));
  }

  std::string Copy(const Path& from, const Path& to) {
    const Json* value = Find(from, from.size());
    if (value == nullptr) return Missing(from);
    const api::JsonMeasure measure = Measure(*value);
    copied_bytes_ += measure.bytes;
    if (copied_bytes_ > kMaxJsonPatchCopyBytes) return "copies exceed the size limit";
    depth_ = std::max(depth_, to.size() + measure.depth);
    if (depth_ > kMaxDepth) return std::string(Excess());
    bytes_ += measure.bytes;
    return Add(to, *value);
  }

  Json document_;
  std::size_t depth_ = 0;  // the depth of added values; the document was bounded when read
  std::size_t bytes_;      // bytes of the document, without keys of added members
  std::size_t work_ = 0;
  std::size_t copied_bytes_ = 0;
};

// Returns "" if `operation` has the members that its op requires.
std::string CheckShape(const Json& operation) {
  if (!operation.is_object()) return "a JSON patch operation must be an object";
  const auto op = operation.find("op");
  if (op == operation.end() || !op->is_string()) return "a JSON patch operation needs an op";
  const auto path = operation.find("path");
  if (path == operation.end() || !path->is_string()) return "a JSON patch operation needs a path";
  const auto& name = op->get_ref<const std::string&>();
  const bool from = name == "move" || name == "copy";
  const bool value = name == "add" || name == "replace";
  if (!from && !value && name != "remove" && name != "test") {
    return "unknown JSON patch operation " + GoQuote(name);
  }
  if (value && !operation.contains("value")) {
    return "JSON patch operation " + GoQuote(name) + " needs a value";
  }
  if (from && (!operation.contains("from") || !operation["from"].is_string())) {
    return "JSON patch operation " + GoQuote(name) + " needs a from";
  }
  return "";
}

void Merge(Json& target, const Json& patch) {
  for (const auto& [key, value] : patch.items()) {
    if (value.is_null()) {
      target.erase(key);
      continue;
    }
    if (!value.is_object()) {
      target[key] = value;
      continue;
    }
    Json& member = target[key];
    if (!member.is_object()) member = Json::object();
    Merge(member, value);
  }
}

}  // namespace

ApiResult<Json> ApplyJsonPatch(const Json& original, const Json& patch) {
  if (!patch.is_array()) return BadRequest("a JSON patch must be an array of operations");
  if (patch.size() > kMaxJsonPatchOperations) {
    return ApiError{413, "RequestEntityTooLarge",
                    "The allowed maximum operations in a JSON patch is " +
                        std::to_string(kMaxJsonPatchOperations) + ", got " +
                        std::to_string(patch.size()),
                    nullptr};
  }
  for (const Json& operation : patch) {
    if (std::string why = CheckShape(operation); !why.empty()) return BadRequest(std::move(why));
  }
  Patcher patcher(original);
  for (const Json& operation : patch) {
    if (const std::string why = patcher.Apply(operation); !why.empty()) return NotApplicable(why);
    if (const std::string_view why = patcher.Excess(); !why.empty()) return NotApplicable(why);
  }
  return patcher.Take();
}

ApiResult<Json> ApplyMergePatch(const Json& original, const Json& patch) {
  if (!patch.is_object()) return BadRequest("a merge patch must be an object");
  Json result = original.is_object() ? original : Json::object();
  Merge(result, patch);
  return result;
}

Json CreateMergePatch(const Json& from, const Json& to) {
  Json patch = Json::object();
  for (const auto& [key, value] : to.items()) {
    const auto before = from.find(key);
    if (before != from.end() && before->is_object() && value.is_object()) {
      Json inner = CreateMergePatch(*before, value);
      if (!inner.empty()) patch[key] = std::move(inner);
    } else if (before == from.end() || *before != value) {
      patch[key] = value;
    }
  }
  for (const auto& [key, value] : from.items()) {
    if (!to.contains(key)) patch[key] = nullptr;
  }
  return patch;
}

}  // namespace berth::local
