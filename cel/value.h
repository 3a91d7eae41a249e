// cel/value.h — the values of CEL expressions.
//
// A value of JSON views the JSON: View(json) copies nothing, and fields and elements of the view
// view their parts. Such a value, and every value that an evaluation computes from it, is valid as
// long as the JSON lives and is not changed. Text, lists and maps that an expression makes are
// shared by reference counts: copying a Value is cheap.
//
// JSON integers are CEL ints, other JSON numbers doubles. An integer above the int64 range is a
// double, as in Kubernetes.
//
// cel/value_text.h gives texts of values, cel/value_json.h copies them as JSON.
//
// Threads: as for int. Errors: an accessor of another kind than the value's is a bug and aborts.
// Source: CEL language definition (cel-spec); cel-go common/types.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace berth::cel {

enum class Kind : std::uint8_t {
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kList,
  kMap,
  kDuration,
  kTimestamp,
  kType,
  kOptional,
  kObject,  // a value of an extension library: a quantity, a URL, an IP address
  kError,   // inside an evaluation alone: callers get a Result
};

class Value;
using Values = std::vector<Value>;
using Entry = std::pair<Value, Value>;
using Entries = std::vector<Entry>;

// A point in time: seconds since 1970 and nanoseconds from 0 to 999,999,999.
struct Instant {
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
  friend auto operator<=>(const Instant&, const Instant&) = default;
};

// A value of an extension library's type. Immutable.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  // Whether `other`, whose type is the same, has the same value.
  virtual bool Equals(const Object& other) const = 0;
  // Below, equal to or above `other`, whose type is the same: -1, 0, 1; nullopt: the type has no
  // order.
  virtual std::optional<int> Compare(const Object& /*other*/) const { return std::nullopt; }
  virtual std::string ToText() const = 0;
};

// A value with methods of its own, as an authorizer has them: path(), group(), check(), …
class MethodObject : public Object {
 public:
  // The value of the method; nullopt: the type has no such method. `arguments` are strings.
  virtual std::optional<Value> CallMethod(std::string_view method,
                                          std::span<const Value> arguments) const = 0;
};

// Whether two lists with the same elements in another order are equal. In lists of the types set
// and map the order does not count.
enum class ListOrder : std::uint8_t { kCounts, kAny };

class ListView;
class MapView;

class Value {
 public:
  Value() noexcept : kind_(Kind::kNull), nanos_(0), bits_{.integer = 0} {}
  explicit Value(std::same_as<bool> auto value) noexcept : Value(Kind::kBool, {.boolean = value}) {}
  explicit Value(std::same_as<double> auto value) noexcept
      : Value(Kind::kDouble, {.real = value}) {}
  explicit Value(std::chrono::nanoseconds duration) noexcept
      : Value(Kind::kDuration, {.integer = duration.count()}) {}
  explicit Value(Instant instant) noexcept : Value(Kind::kTimestamp, {.integer = instant.seconds}) {
    nanos_ = instant.nanos;
  }
  explicit Value(std::shared_ptr<const Object> object) noexcept;

  static Value View(const nlohmann::json& json);
  // Views `text`, which has to live as long as the value.
  static Value ViewText(std::string_view text);

  static Value Int(std::int64_t value);
  static Value Uint(std::uint64_t value);
  static Value String(std::string text);
  static Value Bytes(std::string bytes);
  static Value List(Values elements, ListOrder order = ListOrder::kCounts);
  // Keys are bools, ints, uints and strings; if keys are equal, the last counts.
  static Value Map(Entries entries);
  static Value Type(std::string name);
  static Value Optional(std::optional<Value> content);
  static Value Failure(std::string message);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }

  bool AsBool() const;
  std::int64_t AsInt() const;
  std::uint64_t AsUint() const;
  double AsDouble() const;
  std::string_view AsText() const;  // requires a string, bytes, a type or an error
  std::int64_t AsNanoseconds() const;
  Instant AsInstant() const;
  const Object& AsObject() const;
  // The value of an optional; null for the optional without a value.
  const Value* AsOptional() const;
  // cel/containers.h has the views. They are valid as long as this value or a copy of it lives.
  ListView AsList() const;
  MapView AsMap() const;

  // The part [at, at + size) of the bytes of a string, which shares the memory of this value.
  Value Slice(std::size_t at, std::size_t size) const;

 private:
  struct Text {
    const char* data;
    std::size_t size;
  };
  union Bits {
    bool boolean;
    std::int64_t integer;
    std::uint64_t natural;
    double real;
    Text text;
    const nlohmann::json* json;
    const Values* list;
    const Entries* map;
    const Value* optional;
    const Object* object;
  };

  Value(Kind kind, Bits bits) noexcept : kind_(kind), nanos_(0), bits_(bits) {}
  static Value OfText(Kind kind, std::string text);

  Kind kind_;
  bool views_json_ = false;  // lists and maps: bits_.json, and no owner
  ListOrder order_ = ListOrder::kCounts;
  std::int32_t nanos_;
  Bits bits_;
  std::shared_ptr<const void> owner_;
};

// Whether `value` is the bool true.
inline bool IsTrue(const Value& value) { return value.is(Kind::kBool) && value.AsBool(); }

// A whole number in any of the three numeric kinds, as an int64.
std::optional<std::int64_t> WholeNumber(const Value& value);

}  // namespace berth::cel
