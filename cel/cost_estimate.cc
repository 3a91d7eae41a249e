#include "cel/cost_estimate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cel/internal/cost_parts.h"
#include "cel/internal/macros.h"
#include "cel/internal/typing.h"

namespace berth::cel {
namespace {

constexpr std::uint64_t kMapCost = 30;
constexpr std::uint64_t kObjectCost = 40;
// The loops that macros stand for cost, for each entry: the test whether to go on, and what
// collects the answers.
constexpr std::uint64_t kAllStep = 3;
constexpr std::uint64_t kExistsStep = 4;
constexpr std::uint64_t kCountStep = 2;
constexpr std::uint64_t kCollectStep = 12;
constexpr std::uint64_t kInsertStep = 3;
constexpr std::uint64_t kCountResult = 2;

class CostWalk {
 public:
  CostWalk(const Typing& typing, const TypePtr& root) : typing_(typing), sizes_(root) {}

  Estimated Visit(const Syntax& syntax) {
    Estimated out = VisitForm(syntax);
    out.syntax = &syntax;
    const auto type = typing_.types.find(&syntax);
    out.type = type == typing_.types.end() ? DynType() : type->second;
    return out;
  }

 private:
  struct Local {
    std::string name;
    PropertyPath path;
    std::optional<Size> size;
    std::optional<EntrySizes> entries;
  };

  Estimated VisitForm(const Syntax& syntax) {
    switch (syntax.form) {
      case Form::kLiteral: return {};
      case Form::kName: return VisitName(syntax);
      case Form::kSelect: return VisitSelect(syntax);
      case Form::kIndex: return VisitIndex(syntax);
      case Form::kCall: return VisitCall(syntax);
      case Form::kMethod: return VisitMethod(syntax);
      case Form::kList: return VisitList(syntax);
      case Form::kMap: return VisitMap(syntax);
      case Form::kStruct: break;
    }
    Estimated out;
    for (const SyntaxPtr& one : syntax.arguments) out.cost = AddCost(out.cost, Visit(*one).cost);
    out.cost = AddCost(out.cost, kObjectCost);
    return out;
  }

  Estimated VisitName(const Syntax& syntax) {
    Estimated out;
    out.cost = 1;
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->name != syntax.name) continue;
      out.path = local->path;
      out.of_local = local->size;
      out.entries = local->entries;
      return out;
    }
    out.path = PropertyPath().With(syntax.name);
    return out;
  }

  // Whether `syntax` names a type, such as google.protobuf.Duration.
  bool IsTypeName(const Syntax& syntax) const {
    const auto name = QualifiedName(syntax);
    if (!name || FindType(*name) == nullptr) return false;
    const std::string head = name->substr(0, name->find('.'));
    return std::none_of(locals_.begin(), locals_.end(),
                        [&head](const Local& local) { return local.name == head; });
  }

  Estimated VisitSelect(const Syntax& syntax) {
    if (IsTypeName(syntax)) {
      Estimated out;
      out.cost = 1;
      out.path = PropertyPath().With(*QualifiedName(syntax));
      return out;
    }
    const Estimated target = Visit(*syntax.target);
    Estimated out;
    out.cost = target.cost;
    if (syntax.optional) {
      out.cost = AddCost(out.cost, 1);
      return out;
    }
    const bool counts =
        IsType(target.type, Type::Kind::kMap) || IsType(target.type, Type::Kind::kObject);
    if (counts) out.cost = AddCost(out.cost, 1);
    out.path = target.path.With(syntax.name);
    return out;
  }

  Estimated VisitIndex(const Syntax& syntax) {
    const Estimated target = Visit(*syntax.target);
    const Estimated index = Visit(*syntax.arguments[0]);
    Estimated out;
    out.cost = AddCost(AddCost(target.cost, index.cost), 1);
    if (syntax.optional || IsType(target.type, Type::Kind::kOptional)) return out;
    const bool is_list = IsType(target.type, Type::Kind::kList);
    out.path = target.path.With(is_list ? "@items" : "@values");
    if (target.entries) out.computed = target.entries->value;
    return out;
  }

  // A value whose size is needed now: a path may lead elsewhere later (PropertyPath).
  Estimated VisitOperand(const Syntax& syntax) {
    Estimated out = Visit(syntax);
    if (!out.computed) out.computed = sizes_.Of(out);
    return out;
  }

  Estimated VisitCall(const Syntax& syntax) {
    const std::string& name = syntax.name;
    if (name == "has" && syntax.arguments.size() == 1) {
      Estimated out;
      const Syntax& field = *syntax.arguments[0];
      if (field.form == Form::kSelect) out.cost = Visit(*field.target).cost;
      return out;
    }
    if (name == "dyn" && syntax.arguments.size() == 1) {
      Estimated out = VisitOperand(*syntax.arguments[0]);
      out.path = {};
      out.cost = AddCost(out.cost, 1);
      return out;
    }
    std::vector<Estimated> operands;
    for (const SyntaxPtr& one : syntax.arguments) operands.push_back(VisitOperand(*one));
    if (name == "_?_:_") return Choice(operands);
    if (name == "_&&_" || name == "_||_") {
      Estimated out;
      for (const Estimated& one : operands) out.cost = AddCost(out.cost, one.cost);
      return out;
    }
    Estimated out = OfCall(name, nullptr, operands);
    if (name == "_+_") out.entries = United(operands[0].entries, operands[1].entries);
    return out;
  }

  Estimated OfCall(std::string_view name, const Estimated* target,
                   const std::vector<Estimated>& operands) {
    const CallCost call = CostOfCall(name, target, operands, sizes_);
    Estimated out;
    out.cost = AddCost(call.cost, target == nullptr ? 0 : target->cost);
    for (const Estimated& one : operands) out.cost = AddCost(out.cost, one.cost);
    out.computed = call.result;
    return out;
  }

  static std::optional<EntrySizes> United(const std::optional<EntrySizes>& a,
                                          const std::optional<EntrySizes>& b) {
    if (!a || !b) return std::nullopt;
    return EntrySizes{a->of_list, UniteSizes(a->key, b->key), UniteSizes(a->value, b->value)};
  }

  Estimated Choice(const std::vector<Estimated>& operands) const {
    Estimated out;
    out.cost = AddCost(operands[0].cost, std::max(operands[1].cost, operands[2].cost));
    out.computed = UniteSizes(sizes_.OrUnbounded(operands[1]), sizes_.OrUnbounded(operands[2]));
    out.entries = United(operands[1].entries, operands[2].entries);
    return out;
  }

  Estimated VisitList(const Syntax& syntax) {
    Estimated out;
    out.cost = kListCost;
    std::optional<Size> item;
    for (const SyntaxPtr& one : syntax.arguments) {
      const Estimated value = Visit(*one);
      out.cost = AddCost(out.cost, value.cost);
      const Size size = sizes_.OrUnbounded(value);
      item = item ? UniteSizes(*item, size) : size;
    }
    out.entries = EntrySizes{true, {1, 1}, item.value_or(Size{0, 0})};
    return out;
  }

  Estimated VisitMap(const Syntax& syntax) {
    Estimated out;
    out.cost = kMapCost;
    std::optional<Size> parts[2];
    for (std::size_t i = 0; i < syntax.arguments.size(); ++i) {
      const Estimated value = Visit(*syntax.arguments[i]);
      out.cost = AddCost(out.cost, value.cost);
      const Size size = sizes_.OrUnbounded(value);
      std::optional<Size>& part = parts[i % 2];
      part = part ? UniteSizes(*part, size) : size;
    }
    out.entries = EntrySizes{false, parts[0].value_or(Size{0, 0}), parts[1].value_or(Size{0, 0})};
    return out;
  }

  Estimated VisitMethod(const Syntax& syntax) {
    if (const Macro* macro = FindMacro(syntax.name, syntax.arguments.size())) {
      return VisitMacro(syntax, *macro);
    }
    if (IsBind(syntax)) return VisitBind(syntax);
    const auto global = typing_.functions.find(&syntax);
    std::vector<Estimated> operands;
    for (const SyntaxPtr& one : syntax.arguments) operands.push_back(VisitOperand(*one));
    if (global == typing_.functions.end()) {
      const Estimated target = VisitOperand(*syntax.target);
      return OfCall(syntax.name, &target, operands);
    }
    const std::string& name = global->second;
    Estimated out = OfCall(name, nullptr, operands);
    // More than two operands are a list.
    const bool is_choice = name == "math.greatest" || name == "math.least";
    if (is_choice && operands.size() > 2) out.cost = AddCost(out.cost, kListCost);
    return out;
  }

  Estimated VisitBind(const Syntax& syntax) {
    const Estimated value = Visit(*syntax.arguments[1]);
    locals_.push_back({syntax.arguments[0]->name, value.path, sizes_.Of(value), value.entries});
    Estimated out = VisitOperand(*syntax.arguments[2]);
    locals_.pop_back();
    out.path = {};
    out.cost = AddCost(out.cost, AddCost(value.cost, kListCost));
    return out;
  }

  // target.hasValue() ? optional.of(cel.bind(x, target.value(), body)) : optional.none()
  Estimated VisitOptionalMacro(const Syntax& syntax, const Macro& macro) {
    const Estimated target = Visit(*syntax.target);
    const std::uint64_t once = AddCost(target.cost, 1);
    locals_.push_back({syntax.arguments[0]->name, {}, std::nullopt, std::nullopt});
    const Estimated body = Visit(*syntax.arguments[1]);
    locals_.pop_back();
    std::uint64_t bound = AddCost(AddCost(body.cost, once), kListCost);
    if (macro.op == Op::kOptionalMap) bound = AddCost(bound, 1);
    Estimated out;
    out.cost = AddCost(once, bound);
    return out;
  }

  // The variable for items of a list, or keys of a map.
  Local KeyOrItem(const Estimated& range, const std::string& name) const {
    const bool is_list = IsListRange(range);
    Local local{name, range.path.With(is_list ? "@items" : "@keys"), std::nullopt, std::nullopt};
    if (range.entries) local.size = is_list ? range.entries->value : range.entries->key;
    return local;
  }
  static bool IsListRange(const Estimated& range) {
    return range.entries ? range.entries->of_list : IsType(range.type, Type::Kind::kList);
  }

  void PushVariables(const Syntax& syntax, const Macro& macro, const Estimated& range) {
    if (macro.variables == 1) {
      locals_.push_back(KeyOrItem(range, syntax.arguments[0]->name));
      return;
    }
    const bool is_list = IsListRange(range);
    Local key{syntax.arguments[0]->name, range.path.With(is_list ? "@indices" : "@keys"), {}, {}};
    Local value{syntax.arguments[1]->name, range.path.With(is_list ? "@items" : "@values"), {}, {}};
    if (range.entries) {
      key.size = range.entries->key;
      value.size = range.entries->value;
    }
    locals_.push_back(std::move(key));
    locals_.push_back(std::move(value));
  }

  Estimated VisitMacro(const Syntax& syntax, const Macro& macro) {
    if (macro.op == Op::kOptionalMap || macro.op == Op::kOptionalFlatMap) {
      return VisitOptionalMacro(syntax, macro);
    }
    Estimated range = Visit(*syntax.target);
    std::uint64_t cost = range.cost;
    if (macro.op == Op::kSortBy) {  // the list is bound to a variable, which is mapped to its keys
      cost = AddCost(cost, kListCost + 2);
    }
    PushVariables(syntax, macro, range);
    std::uint64_t filter = 0;
    if (macro.filter != 0) filter = Visit(*syntax.arguments[macro.filter]).cost;
    const Estimated body = VisitOperand(*syntax.arguments[macro.body]);
    locals_.resize(locals_.size() - macro.variables);
    const Size count = sizes_.OrUnbounded(range);
    return OfLoop(macro, {cost, count, filter, range, body});
  }

  struct Loop {
    std::uint64_t cost;  // the cost of the range
    Size count;
    std::uint64_t filter;
    const Estimated& range;
    const Estimated& body;
  };

  Estimated OfLoop(const Macro& macro, const Loop& loop) const {
    Estimated out;
    std::uint64_t step = AddCost(loop.body.cost, loop.filter);
    std::uint64_t around = 1;  // reading the collected answer
    std::optional<Size> item;  // the size of one item of a list that is made
    switch (macro.op) {
      case Op::kAll: step = AddCost(step, kAllStep); break;
      case Op::kExists: step = AddCost(step, kExistsStep); break;
      case Op::kExistsOne:
        step = AddCost(step, kCountStep);
        around = kCountResult;
        break;
      case Op::kFilter:
        step = AddCost(step, kCollectStep + 1);
        item = ItemOf(loop.range);
        break;
      case Op::kTransformMap:
      case Op::kTransformEntry:
        step = AddCost(step, macro.op == Op::kTransformMap ? kInsertStep : kInsertStep - 1);
        around += kMapCost;
        out.computed = loop.count;
        break;
      default:  // map() and sortBy()
        step = AddCost(step, kCollectStep);
        item = sizes_.OrUnbounded(loop.body);
        break;
    }
    if (item) {
      around += kListCost;
      out.computed = loop.count;
      out.entries = EntrySizes{true, {1, 1}, {0, item->max}};
    }
    out.cost = AddCost(AddCost(loop.cost, around), MultiplyCost(loop.count.max, step));
    if (macro.op == Op::kSortBy) {
      const CallCost sort = CostOfSort(loop.count, loop.body.type);
      out.cost = AddCost(out.cost, sort.cost);
      out.computed = sort.result;
      out.entries.reset();
    }
    return out;
  }

  // The size of what filter() keeps.
  Size ItemOf(const Estimated& range) const {
    Estimated item;
    const Local local = KeyOrItem(range, "");
    item.path = local.path;
    item.of_local = local.size;
    item.type = IsType(range.type, Type::Kind::kList)  ? ElementOf(range.type)
                : IsType(range.type, Type::Kind::kMap) ? TypeOf(Type::Kind::kString)
                                                       : DynType();
    return sizes_.OrUnbounded(item);
  }

  const Typing& typing_;
  const SizeFinder sizes_;
  std::vector<Local> locals_;
};

}  // namespace

Result<std::uint64_t> EstimateCost(std::string_view text, const TypedVariables& variables,
                                   const TypePtr& root, const Limits& limits) {
  BERTH_TRY(const SyntaxPtr syntax, Parse(text, limits.nesting));
  const Typing typing = InferTypes(*syntax, variables);
  return CostWalk(typing, root).Visit(*syntax).cost;
}

}  // namespace berth::cel
