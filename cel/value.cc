#include "cel/value.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "base/strings.h"
#include "cel/internal/compare.h"
#include "cel/internal/containers.h"
#include "cel/internal/numbers.h"

namespace berth::cel {
namespace {

constexpr std::size_t kMaxText = 1024;  // the limit of ToText
constexpr int kMaxJsonDepth = 500;      // the limit of a copy as JSON

void AppendText(std::string& text, const Value& value, int depth) {
  if (text.size() > kMaxText || depth > 20) return;
  bool first = true;
  const auto separate = [&] {
    if (!first) text += ", ";
    first = false;
    return text.size() <= kMaxText;
  };
  switch (value.kind()) {
    case Kind::kNull: text += "null"; return;
    case Kind::kBool: text += value.AsBool() ? "true" : "false"; return;
    case Kind::kInt: text += std::to_string(value.AsInt()); return;
    case Kind::kUint: text += std::to_string(value.AsUint()); return;
    case Kind::kDouble: text += FormatDouble(value.AsDouble()); return;
    case Kind::kDuration: text += FormatDuration(value.AsNanoseconds()); return;
    case Kind::kTimestamp: text += FormatInstant(value.AsInstant()); return;
    case Kind::kObject: text += value.AsObject().ToText(); return;
    case Kind::kList:
      text += '[';
      ForEachElement(value, [&](const Value& element) {
        const bool more = separate();
        AppendText(text, element, depth + 1);
        return more;
      });
      text += ']';
      return;
    case Kind::kMap:
      text += '{';
      ForEachEntry(value, [&](const Value& key, const Value& entry) {
        const bool more = separate();
        AppendText(text, key, depth + 1);
        text += ": ";
        AppendText(text, entry, depth + 1);
        return more;
      });
      text += '}';
      return;
    case Kind::kOptional:
      if (value.AsOptional() == nullptr) {
        text += "optional.none()";
        return;
      }
      text += "optional(";
      AppendText(text, *value.AsOptional(), depth + 1);
      text += ')';
      return;
    default: text += TruncateUtf8(value.AsText(), kMaxText); return;
  }
}

Error NotJson(std::string message) { return Error{ErrorCode::kInvalid, std::move(message)}; }

Result<Json> CopyAsJson(const Value& value, std::size_t& left, int depth);

Result<Json> CopyList(const Value& value, std::size_t& left, int depth) {
  Json list = Json::array();
  Status status = OkStatus();
  ForEachElement(value, [&](const Value& element) {
    auto copy = CopyAsJson(element, left, depth + 1);
    if (copy) {
      list.push_back(*std::move(copy));
    } else {
      status = copy.error();
    }
    return status.has_value();
  });
  if (!status) return status.error();
  return list;
}

Result<Json> CopyMap(const Value& value, std::size_t& left, int depth) {
  Json map = Json::object();
  Status status = OkStatus();
  ForEachEntry(value, [&](const Value& key, const Value& entry) {
    if (!key.is(Kind::kString)) {
      status = NotJson("a map's key " + key.ToText() + " is no string: JSON has no such keys");
      return false;
    }
    auto copy = CopyAsJson(entry, left, depth + 1);
    if (copy) {
      map[std::string(key.AsText())] = *std::move(copy);
    } else {
      status = copy.error();
    }
    return status.has_value();
  });
  if (!status) return status.error();
  return map;
}

Result<Json> CopyAsJson(const Value& value, std::size_t& left, int depth) {
  if (left == 0) return NotJson("the value has too many parts for a copy as JSON");
  if (depth > kMaxJsonDepth) return NotJson("the value is nested too deeply for a copy as JSON");
  --left;
  switch (value.kind()) {
    case Kind::kNull: return Json();
    case Kind::kBool: return Json(value.AsBool());
    case Kind::kInt: return Json(value.AsInt());
    case Kind::kUint: return Json(value.AsUint());
    case Kind::kDouble:
      if (!std::isfinite(value.AsDouble())) {
        return NotJson("the double " + value.ToText() + " has no form in JSON");
      }
      return Json(value.AsDouble());
    case Kind::kString: return Json(std::string(value.AsText()));
    case Kind::kBytes: return Json(Base64Encode(value.AsText()));
    case Kind::kList: return CopyList(value, left, depth);
    case Kind::kMap: return CopyMap(value, left, depth);
    case Kind::kOptional:
      if (value.AsOptional() == nullptr) return Json();
      return CopyAsJson(*value.AsOptional(), left, depth + 1);
    default: return Json(value.ToText());
  }
}

std::size_t FindEntry(const Entries& entries, const Value& key) {
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), key,
      [](const Entry& entry, const Value& wanted) { return CompareKeys(entry.first, wanted) < 0; });
  if (found == entries.end() || CompareKeys(found->first, key) != 0) return entries.size();
  return static_cast<std::size_t>(found - entries.begin());
}

}  // namespace

Value Value::View(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean: return Bool(*json.get_ptr<const bool*>());
    case Json::value_t::number_integer: return Int(*json.get_ptr<const Json::number_integer_t*>());
    case Json::value_t::number_unsigned: {
      const std::uint64_t number = *json.get_ptr<const Json::number_unsigned_t*>();
      if (number > static_cast<std::uint64_t>(INT64_MAX))
        return Double(static_cast<double>(number));
      return Int(static_cast<std::int64_t>(number));
    }
    case Json::value_t::number_float: return Double(*json.get_ptr<const double*>());
    case Json::value_t::string: return ViewText(json.get_ref<const std::string&>());
    case Json::value_t::array:
    case Json::value_t::object: {
      Value value(json.is_array() ? Kind::kList : Kind::kMap, {.json = &json});
      value.views_json_ = true;
      return value;
    }
    default: return {};
  }
}

Value Value::ViewText(std::string_view text) {
  return {Kind::kString, {.text = {text.data(), text.size()}}};
}

Value Value::Bool(bool value) { return {Kind::kBool, {.boolean = value}}; }
Value Value::Int(std::int64_t value) { return {Kind::kInt, {.integer = value}}; }
Value Value::Uint(std::uint64_t value) { return {Kind::kUint, {.natural = value}}; }
Value Value::Double(double value) { return {Kind::kDouble, {.real = value}}; }
Value Value::Duration(std::int64_t nanoseconds) {
  return {Kind::kDuration, {.integer = nanoseconds}};
}
Value Value::Timestamp(Instant instant) {
  Value value(Kind::kTimestamp, {.integer = instant.seconds});
  value.nanos_ = instant.nanos;
  return value;
}

Value Value::OfText(Kind kind, std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  Value value(kind, {.text = {owner->data(), owner->size()}});
  value.owner_ = std::move(owner);
  return value;
}

Value Value::String(std::string text) { return OfText(Kind::kString, std::move(text)); }
Value Value::Bytes(std::string bytes) { return OfText(Kind::kBytes, std::move(bytes)); }
Value Value::Type(std::string name) { return OfText(Kind::kType, std::move(name)); }
Value Value::Failure(std::string message) { return OfText(Kind::kError, std::move(message)); }

Value Value::List(Values elements) {
  auto owner = std::make_shared<const Values>(std::move(elements));
  Value value(Kind::kList, {.list = owner.get()});
  value.owner_ = std::move(owner);
  return value;
}

Value Value::UnorderedList(Values elements) {
  Value value = List(std::move(elements));
  value.unordered_ = true;
  return value;
}

Value Value::Map(Entries entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return CompareKeys(a.first, b.first) < 0;
  });
  // If keys are equal, the last one counts.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool again =
        i + 1 < entries.size() && CompareKeys(entries[i].first, entries[i + 1].first) == 0;
    if (again) continue;
    if (kept != i) entries[kept] = std::move(entries[i]);
    ++kept;
  }
  entries.resize(kept);
  auto owner = std::make_shared<const Entries>(std::move(entries));
  Value value(Kind::kMap, {.map = owner.get()});
  value.owner_ = std::move(owner);
  return value;
}

Value Value::Optional(Value content) {
  auto owner = std::make_shared<const Value>(std::move(content));
  Value value(Kind::kOptional, {.optional = owner.get()});
  value.owner_ = std::move(owner);
  return value;
}

Value Value::None() { return {Kind::kOptional, {.optional = nullptr}}; }

Value Value::Of(std::shared_ptr<const Object> object) {
  Value value(Kind::kObject, {.object = object.get()});
  value.owner_ = std::move(object);
  return value;
}

bool Value::AsBool() const {
  BERTH_ASSERT(kind_ == Kind::kBool);
  return bits_.boolean;
}
std::int64_t Value::AsInt() const {
  BERTH_ASSERT(kind_ == Kind::kInt);
  return bits_.integer;
}
std::uint64_t Value::AsUint() const {
  BERTH_ASSERT(kind_ == Kind::kUint);
  return bits_.natural;
}
double Value::AsDouble() const {
  BERTH_ASSERT(kind_ == Kind::kDouble);
  return bits_.real;
}
std::string_view Value::AsText() const {
  BERTH_ASSERT(kind_ == Kind::kString || kind_ == Kind::kBytes || kind_ == Kind::kType ||
               kind_ == Kind::kError);
  return {bits_.text.data, bits_.text.size};
}
std::int64_t Value::AsNanoseconds() const {
  BERTH_ASSERT(kind_ == Kind::kDuration);
  return bits_.integer;
}
Instant Value::AsInstant() const {
  BERTH_ASSERT(kind_ == Kind::kTimestamp);
  return {bits_.integer, nanos_};
}
const Object& Value::AsObject() const {
  BERTH_ASSERT(kind_ == Kind::kObject);
  return *bits_.object;
}
const Value* Value::AsOptional() const {
  BERTH_ASSERT(kind_ == Kind::kOptional);
  return bits_.optional;
}

std::optional<std::int64_t> Value::Whole() const {
  if (kind_ == Kind::kInt) return bits_.integer;
  if (kind_ == Kind::kUint) {
    if (bits_.natural > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<std::int64_t>(bits_.natural);
  }
  if (kind_ != Kind::kDouble || std::trunc(bits_.real) != bits_.real) return std::nullopt;
  if (bits_.real < -9223372036854775808.0 || bits_.real >= 9223372036854775808.0) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(bits_.real);
}

std::size_t Value::size() const {
  BERTH_ASSERT(kind_ == Kind::kList || kind_ == Kind::kMap);
  if (views_json_) return bits_.json->size();
  return kind_ == Kind::kList ? bits_.list->size() : bits_.map->size();
}

Value Value::At(std::size_t index) const {
  BERTH_ASSERT(kind_ == Kind::kList && index < size());
  return views_json_ ? View((*bits_.json)[index]) : (*bits_.list)[index];
}

std::optional<Value> Value::Find(const Value& key) const {
  BERTH_ASSERT(kind_ == Kind::kMap);
  if (views_json_) {
    if (!key.is(Kind::kString)) return std::nullopt;
    return Find(key.AsText());
  }
  if (!IsKey(key) && !key.is(Kind::kDouble)) return std::nullopt;
  if (key.is(Kind::kDouble) && std::isnan(key.AsDouble())) return std::nullopt;
  const std::size_t index = FindEntry(*bits_.map, key);
  if (index == bits_.map->size()) return std::nullopt;
  return (*bits_.map)[index].second;
}

std::optional<Value> Value::Find(std::string_view key) const {
  BERTH_ASSERT(kind_ == Kind::kMap);
  if (!views_json_) return Find(ViewText(key));
  const auto& object = bits_.json->get_ref<const Json::object_t&>();
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  return View(found->second);
}

Entries Value::ListEntries() const {
  BERTH_ASSERT(kind_ == Kind::kMap);
  Entries entries;
  ForEachEntry(*this, [&](const Value& key, const Value& value) {
    entries.emplace_back(key, value);
    return true;
  });
  return entries;
}

const Json* Value::viewed() const { return views_json_ ? bits_.json : nullptr; }

std::string_view Value::type_name() const {
  switch (kind_) {
    case Kind::kNull: return "null_type";
    case Kind::kBool: return "bool";
    case Kind::kInt: return "int";
    case Kind::kUint: return "uint";
    case Kind::kDouble: return "double";
    case Kind::kString: return "string";
    case Kind::kBytes: return "bytes";
    case Kind::kList: return "list";
    case Kind::kMap: return "map";
    case Kind::kDuration: return "google.protobuf.Duration";
    case Kind::kTimestamp: return "google.protobuf.Timestamp";
    case Kind::kType: return "type";
    case Kind::kOptional: return "optional_type";
    case Kind::kObject: return bits_.object->type_name();
    case Kind::kError: return "error";
  }
  return "error";
}

std::string Value::ToText() const {
  std::string text;
  AppendText(text, *this, 0);
  if (text.size() <= kMaxText) return text;
  return std::string(TruncateUtf8(text, kMaxText)) + "…";
}

Result<Json> Value::ToJson(std::size_t max_values) const {
  std::size_t left = max_values;
  return CopyAsJson(*this, left, 0);
}

}  // namespace berth::cel
