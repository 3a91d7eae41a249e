// cel/internal/cost_parts.h — sizes and costs that the sources of cost.h share.
//
// Sums and products saturate at the largest number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/check.h"
#include "cel/internal/syntax.h"

namespace berth::cel {

constexpr std::uint64_t kUnbounded = UINT64_MAX;
constexpr double kTraversal = 0.1;       // for each character
constexpr double kRegexLength = 0.25;    // for each character of a regular expression
constexpr std::uint64_t kListCost = 10;  // the cost of making a list

std::uint64_t AddCost(std::uint64_t a, std::uint64_t b);
std::uint64_t MultiplyCost(std::uint64_t a, std::uint64_t b);
std::uint64_t MultiplyCost(std::uint64_t a, double factor);  // rounded up

// Characters, bytes, items or entries of a value.
struct Size {
  std::uint64_t min = 0;
  std::uint64_t max = kUnbounded;
};
Size AddSizes(const Size& a, const Size& b);
Size MultiplySizes(const Size& a, const Size& b);
Size UniteSizes(const Size& a, const Size& b);

// The sizes of the entries of a list or a map.
struct EntrySizes {
  bool of_list = false;
  Size key;
  Size value;
};

// A variable and the names of properties below it, "@items", "@values" or "@keys". It shares memory
// like a slice of Go: what is appended to one path overwrites what was appended to another one with
// the same beginning, where there is room. Estimates of Kubernetes depend on it.
class PropertyPath {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const std::string& at(std::size_t index) const { return (*names_)[index]; }
  PropertyPath With(std::string_view name) const;

 private:
  std::shared_ptr<std::vector<std::string>> names_;
  std::size_t size_ = 0;
};

// The estimate for the value of one part of an expression.
struct Estimated {
  const Syntax* syntax = nullptr;  // null: the value belongs to no written part
  TypePtr type;
  PropertyPath path;
  std::uint64_t cost = 0;
  std::optional<Size> computed;
  std::optional<Size> of_local;  // the size of a variable without a path
  std::optional<EntrySizes> entries;
};

// The sizes that types and paths give.
class SizeFinder {
 public:
  explicit SizeFinder(TypePtr root) : root_(std::move(root)) {}
  // nullopt: the path leads to no declared property.
  std::optional<Size> OfPath(const PropertyPath& path) const;
  std::optional<Size> Of(const Estimated& value) const;
  Size OrUnbounded(const Estimated& value) const { return Of(value).value_or(Size{}); }

 private:
  const TypePtr root_;
};

struct CallCost {
  std::uint64_t cost = 1;  // without the cost of the operands
  std::optional<Size> result;
};

// Returns the estimated cost of calling `name`. `target` is the receiver of a method call, null for
// functions and operators.
CallCost CostOfCall(std::string_view name, const Estimated* target,
                    const std::vector<Estimated>& arguments, const SizeFinder& sizes);

// Returns the cost of @sortByAssociatedKeys(list, keys).
CallCost CostOfSort(const Size& keys, const TypePtr& key_type);

}  // namespace berth::cel
