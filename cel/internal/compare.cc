#include "cel/internal/compare.h"

#include <vector>

#include "cel/containers.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

// Values that are nested more deeply than this are never equal.
constexpr int kMaxCompareDepth = 500;

std::partial_ordering CompareReals(double a, double b) { return a <=> b; }

std::partial_ordering CompareIntReal(std::int64_t a, double b) {
  if (b < -9223372036854775808.0) return std::partial_ordering::greater;
  if (b > 9223372036854775807.0) return std::partial_ordering::less;
  return CompareReals(static_cast<double>(a), b);
}

std::partial_ordering CompareUintReal(std::uint64_t a, double b) {
  if (b < 0) return std::partial_ordering::greater;
  if (b > 18446744073709551615.0) return std::partial_ordering::less;
  return CompareReals(static_cast<double>(a), b);
}

std::partial_ordering Reverse(std::partial_ordering order) {
  if (order == std::partial_ordering::less) return std::partial_ordering::greater;
  if (order == std::partial_ordering::greater) return std::partial_ordering::less;
  return order;
}

std::partial_ordering CompareInt(std::int64_t a, const Value& b) {
  if (b.is(Kind::kInt)) return a <=> b.AsInt();
  if (b.is(Kind::kDouble)) return CompareIntReal(a, b.AsDouble());
  if (a < 0) return std::partial_ordering::less;
  return static_cast<std::uint64_t>(a) <=> b.AsUint();
}

bool EqualDeep(const Value& a, const Value& b, std::uint64_t& work, int depth);

// Each element has one that equals it in the other list. Elements are often in the same order.
bool EqualInAnyOrder(const ListView& a, const ListView& b, std::uint64_t& work, int depth) {
  const std::size_t size = b.size();
  std::vector<bool> taken(size);
  std::size_t index = 0;
  return a.ForEach([&](const Value& element) {
    const std::size_t start = index++;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t at = (start + i) % size;
      if (taken[at] || !EqualDeep(element, b.At(at), work, depth)) continue;
      taken[at] = true;
      return true;
    }
    return false;
  });
}

bool EqualLists(const ListView& a, const ListView& b, std::uint64_t& work, int depth) {
  if (a.size() != b.size()) return false;
  if (a.order() == ListOrder::kAny && b.order() == ListOrder::kAny) {
    return EqualInAnyOrder(a, b, work, depth);
  }
  std::size_t index = 0;
  return a.ForEach(
      [&](const Value& element) { return EqualDeep(element, b.At(index++), work, depth); });
}

bool EqualMaps(const MapView& a, const MapView& b, std::uint64_t& work, int depth) {
  if (a.size() != b.size()) return false;
  return a.ForEach([&](const Value& key, const Value& value) {
    const std::optional<Value> other = b.Find(key);
    return other && EqualDeep(value, *other, work, depth);
  });
}

bool EqualDeep(const Value& a, const Value& b, std::uint64_t& work, int depth) {
  if (work == 0 || depth > kMaxCompareDepth) return false;
  --work;
  if (IsNumber(a) && IsNumber(b)) return CompareNumbers(a, b) == std::partial_ordering::equivalent;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kNull: return true;
    case Kind::kBool: return a.AsBool() == b.AsBool();
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kType: {
      const std::uint64_t bytes = a.AsText().size() / 10;
      work -= bytes < work ? bytes : work;
      return a.AsText() == b.AsText();
    }
    case Kind::kList: return EqualLists(a.AsList(), b.AsList(), work, depth + 1);
    case Kind::kMap: return EqualMaps(a.AsMap(), b.AsMap(), work, depth + 1);
    case Kind::kDuration: return a.AsNanoseconds() == b.AsNanoseconds();
    case Kind::kTimestamp: return a.AsInstant() == b.AsInstant();
    case Kind::kOptional: {
      const Value* x = a.AsOptional();
      const Value* y = b.AsOptional();
      if (x == nullptr || y == nullptr) return x == y;
      return EqualDeep(*x, *y, work, depth + 1);
    }
    case Kind::kObject: return TypeName(a) == TypeName(b) && a.AsObject().Equals(b.AsObject());
    default: return false;
  }
}

int KeyClass(const Value& key) {
  if (key.is(Kind::kBool)) return 0;
  return IsNumber(key) ? 1 : 2;
}

}  // namespace

bool Equal(const Value& a, const Value& b, std::uint64_t& work) { return EqualDeep(a, b, work, 0); }

bool IsNumber(const Value& value) {
  return value.is(Kind::kInt) || value.is(Kind::kUint) || value.is(Kind::kDouble);
}

std::partial_ordering CompareNumbers(const Value& a, const Value& b) {
  if (a.is(Kind::kInt)) return CompareInt(a.AsInt(), b);
  if (b.is(Kind::kInt)) return Reverse(CompareInt(b.AsInt(), a));
  if (a.is(Kind::kUint)) {
    return b.is(Kind::kUint) ? std::partial_ordering(a.AsUint() <=> b.AsUint())
                             : CompareUintReal(a.AsUint(), b.AsDouble());
  }
  return b.is(Kind::kUint) ? Reverse(CompareUintReal(b.AsUint(), a.AsDouble()))
                           : CompareReals(a.AsDouble(), b.AsDouble());
}

bool IsOrdered(const Value& value) {
  switch (value.kind()) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kDuration:
    case Kind::kTimestamp: return true;
    default: return false;
  }
}

bool SameOrder(const Value& a, const Value& b) {
  return a.kind() == b.kind() || (IsNumber(a) && IsNumber(b));
}

std::partial_ordering CompareOrdered(const Value& a, const Value& b) {
  switch (a.kind()) {
    case Kind::kBool: return a.AsBool() <=> b.AsBool();
    case Kind::kString:
    case Kind::kBytes: return a.AsText() <=> b.AsText();
    case Kind::kDuration: return a.AsNanoseconds() <=> b.AsNanoseconds();
    case Kind::kTimestamp: return a.AsInstant() <=> b.AsInstant();
    default: return CompareNumbers(a, b);
  }
}

bool IsKey(const Value& value) {
  return value.is(Kind::kString) || value.is(Kind::kInt) || value.is(Kind::kUint) ||
         value.is(Kind::kBool);
}

std::weak_ordering CompareKeys(const Value& a, const Value& b) {
  const int a_class = KeyClass(a);
  const int b_class = KeyClass(b);
  if (a_class != b_class) return a_class <=> b_class;
  if (a_class == 0) return a.AsBool() <=> b.AsBool();
  if (a_class == 2) return a.AsText() <=> b.AsText();
  const std::partial_ordering order = CompareNumbers(a, b);
  if (order == std::partial_ordering::less) return std::weak_ordering::less;
  if (order == std::partial_ordering::greater) return std::weak_ordering::greater;
  return std::weak_ordering::equivalent;
}

}  // namespace berth::cel
