// CostOfCall: what single functions cost. Those that are not here cost one.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "cel/internal/cost_parts.h"
#include "cel/internal/typing.h"

namespace berth::cel {
namespace {

constexpr double kNamePatternLength = 128;  // length of the regular expressions of named formats
constexpr std::uint64_t kAddressBytes = 16;

struct CallParts {
  const Estimated* target = nullptr;
  const std::vector<Estimated>& arguments;
  const SizeFinder& sizes;

  Size SizeOf(std::size_t index) const { return sizes.OrUnbounded(arguments[index]); }
  Size TargetSize() const { return target == nullptr ? Size{} : sizes.OrUnbounded(*target); }
  // The operands, the target first.
  const Estimated& first() const { return target == nullptr ? arguments[0] : *target; }
};
using CostFunction = CallCost (*)(const CallParts& call);

bool MayBe(const Estimated& value, Type::Kind kind) {
  return IsType(value.type, kind) || IsType(value.type, Type::Kind::kDyn);
}
bool IsText(const TypePtr& type) {
  return IsType(type, Type::Kind::kString) || IsType(type, Type::Kind::kBytes);
}

std::uint64_t Traversal(const Size& size, double times = 1) {
  return MultiplyCost(size.max, times * kTraversal);
}

// The items of a list; nullopt: the value is no list with a declared or inferred item type.
struct ListItems {
  TypePtr type;
  Size size;
};
std::optional<ListItems> ItemsOf(const Estimated& list, const SizeFinder& sizes) {
  if (!IsType(list.type, Type::Kind::kList)) return std::nullopt;
  ListItems items{ElementOf(list.type), {}};
  if (!list.path.empty()) items.size = sizes.OfPath(list.path.With("@items")).value_or(Size{});
  return items;
}

// sum(), min(), indexOf(), …: one for each item, and its text.
CallCost WholeList(const CallParts& call) {
  if (call.target == nullptr) return {};
  const auto items = ItemsOf(*call.target, call.sizes);
  if (!items) return {Traversal(call.TargetSize()), {}};
  const std::uint64_t each = IsText(items->type) ? AddCost(1, Traversal(items->size)) : 1;
  return {MultiplyCost(call.TargetSize().max, each), {}};
}

CallCost OneText(const CallParts& call) { return {Traversal(call.SizeOf(0)), {}}; }

CallCost SameText(const CallParts& call) {
  const Size size = call.target == nullptr ? call.SizeOf(0) : call.TargetSize();
  return {Traversal(size), size};
}

CallCost Searched(const CallParts& call, double per_character) {
  const std::uint64_t text = Traversal(AddSizes(call.TargetSize(), {1, 1}));
  return {MultiplyCost(text, MultiplyCost(call.SizeOf(0).max, per_character)), {}};
}
CallCost CostOfMatches(const CallParts& call) {
  return call.target == nullptr ? CallCost{} : Searched(call, kRegexLength);
}
CallCost CostOfFind(const CallParts& call) {
  CallCost cost = Searched(call, kRegexLength);
  cost.result = Size{0, call.TargetSize().max};
  return cost;
}
CallCost CostOfContains(const CallParts& call) {
  return {MultiplyCost(Traversal(call.TargetSize()), Traversal(call.SizeOf(0))), {}};
}

CallCost CostOfReplace(const CallParts& call) {
  const Size text = call.TargetSize();
  if (call.arguments.size() < 2) return {};
  const Size old_text = call.SizeOf(0);
  const Size new_text = call.SizeOf(1);
  const auto quotient = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>(
        std::min(std::ceil(static_cast<double>(a) / static_cast<double>(b)), 1.8e19));
  };
  Size count{0, 0};
  Size kept{0, 0};
  if (old_text.min == 0) {
    count.max = AddCost(text.max, 1);
    kept.max = text.max;
  } else if (new_text.max <= old_text.min) {
    kept.max = text.max;
  } else {
    count.max = quotient(text.max, old_text.min);
  }
  if (old_text.max == 0) {
    count.min = AddCost(text.min, 1);
    kept.min = text.min;
  } else if (old_text.max <= new_text.min) {
    kept.min = text.min;
  } else {
    count.min = quotient(text.min, old_text.max);
  }
  return {Traversal(text, 2), AddSizes(MultiplySizes(count, new_text), kept)};
}

// The number of a literal.
std::uint64_t LiteralOr(const Estimated& value, std::uint64_t otherwise) {
  const Syntax* syntax = value.syntax;
  if (syntax == nullptr || syntax->form != Form::kLiteral || !syntax->literal.is(Kind::kInt)) {
    return otherwise;
  }
  const std::int64_t number = syntax->literal.AsInt();
  return number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

CallCost CostOfSplit(const CallParts& call) {
  const Size text = call.TargetSize();
  std::uint64_t most = text.max;
  if (call.arguments.size() > 1) most = LiteralOr(call.arguments[1], most);
  return {Traversal(text, 2), Size{0, most}};
}

CallCost CostOfJoin(const CallParts& call) {
  const Size list = call.TargetSize();
  Size text{0, 0};
  if (const auto items = ItemsOf(*call.target, call.sizes)) text = MultiplySizes(list, items->size);
  if (!call.arguments.empty()) {
    const Size gaps{list.min > 0 ? list.min - 1 : 0, list.max > 0 ? list.max - 1 : 0};
    text = AddSizes(text, MultiplySizes(call.SizeOf(0), gaps));
  }
  return {Traversal(text), text};
}

CallCost CostOfAddress(const CallParts& call) {
  return call.target != nullptr ? CallCost{} : OneText(call);
}
CallCost TwiceText(const CallParts& call) { return {Traversal(call.SizeOf(0), 2), {}}; }

std::uint64_t OfGivenText(const CallParts& call) {
  return MayBe(call.arguments[0], Type::Kind::kString) ? Traversal(call.SizeOf(0)) : 0;
}
CallCost CostOfContainsIp(const CallParts& call) {
  const std::uint64_t compared = MultiplyCost(2 * kAddressBytes, kTraversal);
  return {AddCost(compared, OfGivenText(call)), {}};
}
CallCost CostOfContainsCidr(const CallParts& call) {
  const std::uint64_t compared = MultiplyCost(2 * kAddressBytes, kTraversal);
  const std::uint64_t masked = MultiplyCost(kAddressBytes, kTraversal) + 1;
  return {AddCost(compared + masked, OfGivenText(call)), {}};
}

CallCost CostOfValidate(const CallParts& call) {
  return {MultiplyCost(Traversal(call.SizeOf(0)), kNamePatternLength * kRegexLength), {}};
}

CallCost CostOfPrefix(const CallParts& call) { return {Traversal(call.SizeOf(0)), {}}; }
CallCost CostOfFormat(const CallParts& call) { return {Traversal(call.TargetSize()), {}}; }

CallCost CostOfQuote(const CallParts& call) {
  const Size text = call.SizeOf(0);
  return {Traversal(text), Size{AddCost(text.min, 2), AddCost(MultiplyCost(text.max, 2.0), 2)}};
}
CallCost CostOfBytes(const CallParts& call) {
  if (!MayBe(call.arguments[0], Type::Kind::kString)) return {};
  const Size text = call.SizeOf(0);
  const bool is_sure = IsType(call.arguments[0].type, Type::Kind::kString);
  return {std::max<std::uint64_t>(is_sure ? 0 : 1, Traversal(text)),
          Size{text.min, MultiplyCost(text.max, 4.0)}};
}
CallCost CostOfString(const CallParts& call) {
  if (!MayBe(call.arguments[0], Type::Kind::kBytes)) return {};
  const Size bytes = call.SizeOf(0);
  const bool is_sure = IsType(call.arguments[0].type, Type::Kind::kBytes);
  return {std::max<std::uint64_t>(is_sure ? 0 : 1, Traversal(bytes)),
          Size{bytes.min / 4, bytes.max}};
}

CallCost NewList(double factor, const Size& size) {
  return {AddCost(MultiplyCost(size.max, factor), 1 + kListCost), size};
}
CallCost CostOfSlice(const CallParts& call) {
  const std::uint64_t begin = LiteralOr(call.arguments[0], 0);
  const std::uint64_t end = LiteralOr(call.arguments[1], call.TargetSize().max);
  return NewList(1, {end - begin, end - begin});
}
CallCost CostOfRange(const CallParts& call) {
  const std::uint64_t count = LiteralOr(call.arguments[0], kUnbounded);
  return NewList(1, {count, count});
}
CallCost CostOfReverse(const CallParts& call) { return NewList(1, call.TargetSize()); }
CallCost CostOfFlatten(const CallParts& call) {
  const std::uint64_t depth = call.arguments.empty() ? 1 : LiteralOr(call.arguments[0], kUnbounded);
  return NewList(static_cast<double>(depth), call.TargetSize());
}
CallCost CostOfDistinct(const CallParts& call) {
  return NewList(2, MultiplySizes(call.TargetSize(), call.TargetSize()));
}
CallCost CostOfSortList(const CallParts& call) {
  return CostOfSort(call.TargetSize(), ElementOf(call.target->type));
}

template <int kTimes>
CallCost CostOfSets(const CallParts& call) {
  const std::uint64_t pairs = MultiplyCost(call.SizeOf(0).max, call.SizeOf(1).max);
  return {AddCost(MultiplyCost(pairs, double{kTimes}), 1), {}};
}

// A tenth of the smaller value: they are compared as texts.
std::uint64_t Comparison(const CallParts& call) {
  return MultiplyCost(std::min(call.SizeOf(0).max, call.SizeOf(1).max), kTraversal);
}
CallCost CostOfUnequal(const CallParts& call) { return {Comparison(call), {}}; }
CallCost CostOfEqual(const CallParts& call) {
  const TypePtr& type = call.arguments[0].type;
  const bool is_opaque =
      IsType(type, Type::Kind::kOpaque) && IsType(call.arguments[1].type, Type::Kind::kOpaque);
  if (!is_opaque) return {Comparison(call), {}};
  constexpr std::uint64_t kFormatCost = 7;  // the cost of comparing 64 characters
  if (type->name == "kubernetes.NamedFormat") return {kFormatCost, {}};
  if (type->name != "kubernetes.URL") return {1, {}};
  const auto& text = call.arguments[1].computed;
  return {text ? Traversal(*text) : 1, {}};
}
CallCost CostOfOrder(const CallParts& call) {
  const auto may_be_text = [](const Estimated& value) {
    return IsText(value.type) || IsType(value.type, Type::Kind::kDyn);
  };
  if (!may_be_text(call.arguments[0]) || !may_be_text(call.arguments[1])) return {};
  const bool is_sure = IsText(call.arguments[0].type) || IsText(call.arguments[1].type);
  return {std::max<std::uint64_t>(is_sure ? 0 : 1, Comparison(call)), {}};
}

CallCost CostOfSum(const CallParts& call) {
  const TypePtr& a = call.arguments[0].type;
  const TypePtr& b = call.arguments[1].type;
  const TypePtr& type = IsType(a, Type::Kind::kDyn) ? b : a;
  const Size both = AddSizes(call.SizeOf(0), call.SizeOf(1));
  if (IsType(type, Type::Kind::kList)) return {1, both};
  if (IsText(type)) return {Traversal(both), both};
  if (IsType(type, Type::Kind::kDyn)) return {std::max<std::uint64_t>(1, Traversal(both)), both};
  return {};
}

CallCost CostOfIn(const CallParts& call) {
  const Estimated& range = call.arguments[1];
  if (IsType(range.type, Type::Kind::kList)) return {call.SizeOf(1).max, {}};
  if (!IsType(range.type, Type::Kind::kDyn)) return {};
  return {std::max<std::uint64_t>(1, call.SizeOf(1).max), {}};
}

CostFunction CostFunctionOf(std::string_view name) {
  static const std::map<std::string_view, CostFunction> kFunctions{
      {"isSorted", WholeList},
      {"sum", WholeList},
      {"max", WholeList},
      {"min", WholeList},
      {"indexOf", WholeList},
      {"lastIndexOf", WholeList},
      {"url", SameText},
      {"jsonpatch.escapeKey", SameText},
      {"lowerAscii", SameText},
      {"upperAscii", SameText},
      {"substring", SameText},
      {"trim", SameText},
      {"replace", CostOfReplace},
      {"split", CostOfSplit},
      {"join", CostOfJoin},
      {"find", CostOfFind},
      {"findAll", CostOfFind},
      {"matches", CostOfMatches},
      {"contains", CostOfContains},
      {"startsWith", CostOfPrefix},
      {"endsWith", CostOfPrefix},
      {"format", CostOfFormat},
      {"strings.quote", CostOfQuote},
      {"bytes", CostOfBytes},
      {"string", CostOfString},
      {"cidr", OneText},
      {"isIP", OneText},
      {"isCIDR", OneText},
      {"ip", CostOfAddress},
      {"ip.isCanonical", TwiceText},
      {"containsIP", CostOfContainsIp},
      {"containsCIDR", CostOfContainsCidr},
      {"quantity", OneText},
      {"isQuantity", OneText},
      {"semver", OneText},
      {"isSemver", OneText},
      {"validate", CostOfValidate},
      {"slice", CostOfSlice},
      {"lists.range", CostOfRange},
      {"reverse", CostOfReverse},
      {"flatten", CostOfFlatten},
      {"distinct", CostOfDistinct},
      {"sort", CostOfSortList},
      {"sets.contains", CostOfSets<1>},
      {"sets.intersects", CostOfSets<1>},
      {"sets.equivalent", CostOfSets<2>},
      {"_==_", CostOfEqual},
      {"_!=_", CostOfUnequal},
      {"_<_", CostOfOrder},
      {"_<=_", CostOfOrder},
      {"_>_", CostOfOrder},
      {"_>=_", CostOfOrder},
      {"_+_", CostOfSum},
      {"@in", CostOfIn},
  };
  const auto found = kFunctions.find(name);
  return found == kFunctions.end() ? nullptr : found->second;
}

}  // namespace

CallCost CostOfCall(std::string_view name, const Estimated* target,
                    const std::vector<Estimated>& arguments, const SizeFinder& sizes) {
  const CostFunction function = CostFunctionOf(name);
  if (function == nullptr) return {};
  return function({.target = target, .arguments = arguments, .sizes = sizes});
}

CallCost CostOfSort(const Size& keys, const TypePtr& key_type) {
  const bool has_text = IsText(key_type) || IsType(key_type, Type::Kind::kDyn);
  return NewList(has_text ? 2 + kTraversal : 2, MultiplySizes(keys, keys));
}

}  // namespace berth::cel
