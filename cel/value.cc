#include "cel/value.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "cel/containers.h"
#include "cel/internal/compare.h"

namespace berth::cel {

Value Value::View(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean: return Value(*json.get_ptr<const bool*>());
    case Json::value_t::number_integer: return Int(*json.get_ptr<const Json::number_integer_t*>());
    case Json::value_t::number_unsigned: {
      const std::uint64_t number = *json.get_ptr<const Json::number_unsigned_t*>();
      if (number > static_cast<std::uint64_t>(INT64_MAX)) return Value(static_cast<double>(number));
      return Int(static_cast<std::int64_t>(number));
    }
    case Json::value_t::number_float: return Value(*json.get_ptr<const double*>());
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

Value Value::Int(std::int64_t value) { return {Kind::kInt, {.integer = value}}; }
Value Value::Uint(std::uint64_t value) { return {Kind::kUint, {.natural = value}}; }
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

Value Value::List(Values elements, ListOrder order) {
  auto owner = std::make_shared<const Values>(std::move(elements));
  Value value(Kind::kList, {.list = owner.get()});
  value.order_ = order;
  value.owner_ = std::move(owner);
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

Value Value::Optional(std::optional<Value> content) {
  if (!content) return {Kind::kOptional, {.optional = nullptr}};
  auto owner = std::make_shared<const Value>(*std::move(content));
  Value value(Kind::kOptional, {.optional = owner.get()});
  value.owner_ = std::move(owner);
  return value;
}

Value::Value(std::shared_ptr<const Object> object) noexcept
    : Value(Kind::kObject, {.object = object.get()}) {
  owner_ = std::move(object);
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

ListView Value::AsList() const {
  BERTH_ASSERT(kind_ == Kind::kList);
  return views_json_ ? ListView(*bits_.json) : ListView(*bits_.list, order_);
}

MapView Value::AsMap() const {
  BERTH_ASSERT(kind_ == Kind::kMap);
  return views_json_ ? MapView(*bits_.json) : MapView(*bits_.map);
}

Value Value::Slice(std::size_t at, std::size_t size) const {
  BERTH_ASSERT(at + size <= AsText().size());
  Value slice = *this;
  slice.bits_.text = {bits_.text.data + at, size};
  return slice;
}

std::optional<std::int64_t> WholeNumber(const Value& value) {
  if (value.is(Kind::kInt)) return value.AsInt();
  if (value.is(Kind::kUint)) {
    if (value.AsUint() > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<std::int64_t>(value.AsUint());
  }
  if (!value.is(Kind::kDouble)) return std::nullopt;
  const double real = value.AsDouble();
  if (std::trunc(real) != real) return std::nullopt;
  if (real < -9223372036854775808.0 || real >= 9223372036854775808.0) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

}  // namespace berth::cel
