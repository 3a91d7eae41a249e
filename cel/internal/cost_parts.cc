#include "cel/internal/cost_parts.h"

#include <algorithm>
#include <cmath>

#include "cel/internal/runes.h"
#include "cel/internal/typing.h"

namespace berth::cel {
namespace {

// nullopt: the size of a literal is not known.
std::optional<Size> SizeOfLiteral(const Value& value) {
  switch (value.kind()) {
    case Kind::kString: {
      const std::uint64_t runes = CountRunes(value.AsText());
      return Size{runes, runes};
    }
    case Kind::kBytes: return Size{value.AsText().size(), value.AsText().size()};
    default: return Size{1, 1};
  }
}

std::optional<Size> SizeOfForm(const Syntax* syntax) {
  if (syntax == nullptr) return std::nullopt;
  switch (syntax->form) {
    case Form::kLiteral: return SizeOfLiteral(syntax->literal);
    case Form::kList: return Size{syntax->arguments.size(), syntax->arguments.size()};
    case Form::kMap: return Size{syntax->arguments.size() / 2, syntax->arguments.size() / 2};
    default: return std::nullopt;
  }
}

bool IsScalar(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kBool:
    case Type::Kind::kInt:
    case Type::Kind::kUint:
    case Type::Kind::kDouble:
    case Type::Kind::kTimestamp:
    case Type::Kind::kDuration: return true;
    case Type::Kind::kOptional: return type.element != nullptr && IsScalar(*type.element);
    default: return false;
  }
}

}  // namespace

std::uint64_t AddCost(std::uint64_t a, std::uint64_t b) {
  return a > kUnbounded - b ? kUnbounded : a + b;
}

std::uint64_t MultiplyCost(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kUnbounded / b ? kUnbounded : a * b;
}

std::uint64_t MultiplyCost(std::uint64_t a, double factor) {
  constexpr double kTooMuch = 18446744073709551616.0;  // 2^64
  const double exact = static_cast<double>(a) * factor;
  const double up = std::ceil(exact);
  return up >= kTooMuch ? kUnbounded : static_cast<std::uint64_t>(up);
}

Size AddSizes(const Size& a, const Size& b) {
  return {AddCost(a.min, b.min), AddCost(a.max, b.max)};
}
Size MultiplySizes(const Size& a, const Size& b) {
  return {MultiplyCost(a.min, b.min), MultiplyCost(a.max, b.max)};
}
Size UniteSizes(const Size& a, const Size& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

PropertyPath PropertyPath::With(std::string_view name) const {
  PropertyPath longer = *this;
  if (names_ == nullptr || size_ == names_->size()) {
    longer.names_ = std::make_shared<std::vector<std::string>>(std::max<std::size_t>(1, 2 * size_));
    for (std::size_t i = 0; i < size_; ++i) (*longer.names_)[i] = at(i);
  }
  (*longer.names_)[longer.size_++] = std::string(name);
  return longer;
}

std::optional<Size> SizeFinder::OfPath(const PropertyPath& path) const {
  if (path.empty()) return std::nullopt;
  TypePtr type = root_;
  for (std::size_t i = 1; i < path.size(); ++i) {
    const std::string& name = path.at(i);
    const bool is_map = IsType(type, Type::Kind::kMap);
    if (name == "@keys" && is_map) return Size{0, 0};
    if (name == "@items" || name == "@values") {
      if (!is_map && !IsType(type, Type::Kind::kList)) return std::nullopt;
      type = ElementOf(type);
    } else {
      if (!IsType(type, Type::Kind::kObject)) return std::nullopt;
      type = FieldOf(*type, name);
      if (type == nullptr) return std::nullopt;
    }
  }
  return Size{0, type->max_elements};
}

std::optional<Size> SizeFinder::Of(const Estimated& value) const {
  if (value.computed) return value.computed;
  if (const auto size = SizeOfForm(value.syntax)) return size;
  if (const auto size = OfPath(value.path)) return size;
  if (IsScalar(*value.type)) return Size{1, 1};
  return value.of_local;
}

}  // namespace berth::cel
