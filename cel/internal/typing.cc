#include "cel/internal/typing.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cel/internal/macros.h"
#include "cel/internal/signatures.h"
#include "cel/property_names.h"

namespace berth::cel {
namespace {

using TypeKind = Type::Kind;

bool Is(const TypePtr& type, TypeKind kind) { return type->kind == kind; }

bool IsNumber(const TypePtr& type) {
  return Is(type, TypeKind::kInt) || Is(type, TypeKind::kUint) || Is(type, TypeKind::kDouble);
}

bool MayBeNull(const TypePtr& type) {
  return Is(type, TypeKind::kObject) || Is(type, TypeKind::kTimestamp) ||
         Is(type, TypeKind::kDuration) || Is(type, TypeKind::kOptional) ||
         Is(type, TypeKind::kOpaque) || Is(type, TypeKind::kNull);
}

TypePtr Joined(const TypePtr& a, const TypePtr& b) {
  return a == b || NameOfType(a) == NameOfType(b) ? a : DynType();
}

class TypeChecker {
 public:
  explicit TypeChecker(const TypedVariables& variables) : variables_(variables) {}

  Typing Run(const Syntax& root) {
    out_.type = Infer(root);
    return std::move(out_);
  }

 private:
  TypePtr Refuse(std::size_t at, const std::string& message) {
    out_.errors.emplace(at, message);
    return DynType();
  }

  TypePtr NoOverload(const Syntax& syntax, const std::vector<TypePtr>& operands,
                     bool is_method = false, std::string_view name = "") {
    std::string text;
    for (std::size_t i = is_method ? 1 : 0; i < operands.size(); ++i) {
      text += (text.empty() ? "" : ", ") + NameOfType(operands[i]);
    }
    const std::string target = is_method ? NameOfType(operands[0]) + "." : "";
    return Refuse(syntax.at, "found no matching overload for '" +
                                 (name.empty() ? syntax.name : std::string(name)) +
                                 "' applied to '" + target + "(" + text + ")'");
  }

  TypePtr Infer(const Syntax& syntax) {
    TypePtr type = InferForm(syntax);
    out_.types[&syntax] = type;
    return type;
  }

  TypePtr InferForm(const Syntax& syntax) {
    switch (syntax.form) {
      case Form::kLiteral: return TypeOfLiteral(syntax.literal);
      case Form::kName: return TypeOfName(syntax.name);
      case Form::kSelect: return InferSelect(syntax, syntax.at);
      case Form::kIndex: return InferIndex(syntax);
      case Form::kCall: return InferCall(syntax);
      case Form::kMethod: return InferMethod(syntax);
      case Form::kList: return InferList(syntax);
      case Form::kMap: return InferMap(syntax);
      case Form::kStruct:
        for (const SyntaxPtr& one : syntax.arguments) Infer(*one);
        return DynType();
    }
    return DynType();
  }

  static TypePtr TypeOfLiteral(const Value& value) {
    switch (value.kind()) {
      case Kind::kBool: return TypeOf(TypeKind::kBool);
      case Kind::kInt: return TypeOf(TypeKind::kInt);
      case Kind::kUint: return TypeOf(TypeKind::kUint);
      case Kind::kDouble: return TypeOf(TypeKind::kDouble);
      case Kind::kString: return TypeOf(TypeKind::kString);
      case Kind::kBytes: return TypeOf(TypeKind::kBytes);
      case Kind::kNull: return TypeOf(TypeKind::kNull);
      default: return DynType();
    }
  }

  TypePtr TypeOfName(std::string_view name) const {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->first == name) return local->second;
    }
    if (name.starts_with('.')) name.remove_prefix(1);
    const auto found = variables_.types.find(name);
    return found == variables_.types.end() ? DynType() : found->second;
  }

  // `at`: the place of an error.
  TypePtr InferSelect(const Syntax& syntax, std::size_t at) {
    if (syntax.target->form == Form::kName) {
      const auto composed = variables_.types.find(syntax.target->name + "." + syntax.name);
      if (composed != variables_.types.end()) return composed->second;
    }
    TypePtr type = Infer(*syntax.target);
    const bool was_optional = Is(type, TypeKind::kOptional);
    if (was_optional) type = ElementOf(type);
    TypePtr found = DynType();
    if (Is(type, TypeKind::kMap)) {
      found = ElementOf(type);
    } else if (Is(type, TypeKind::kObject)) {
      found = FieldOf(*type, syntax.name);
      if (found == nullptr) {
        return Refuse(at, "undefined field '" + syntax.name + "'");
      }
    } else if (!Is(type, TypeKind::kDyn)) {
      return Refuse(at, "type '" + NameOfType(type) + "' does not support field selection");
    }
    return was_optional || syntax.optional ? TypeOf(TypeKind::kOptional, found) : found;
  }

  TypePtr InferIndex(const Syntax& syntax) {
    TypePtr type = Infer(*syntax.target);
    const TypePtr index = Infer(*syntax.arguments[0]);
    const bool was_optional = Is(type, TypeKind::kOptional);
    if (was_optional) type = ElementOf(type);
    const bool is_list = Is(type, TypeKind::kList);
    TypePtr found = DynType();
    const auto fits = [&index](TypeKind kind) {
      return Is(index, kind) || Is(index, TypeKind::kDyn);
    };
    if (is_list || Is(type, TypeKind::kMap)) {
      const bool is_key = is_list ? fits(TypeKind::kInt) : fits(TypeKind::kString);
      if (!is_key) {
        return Refuse(syntax.at, "found no matching overload for '_[_]' applied to '(" +
                                     NameOfType(type) + ", " + NameOfType(index) + ")'");
      }
      found = ElementOf(type);
    } else if (!Is(type, TypeKind::kDyn) && !Is(type, TypeKind::kObject)) {
      return Refuse(syntax.at, "found no matching overload for '_[_]' applied to '(" +
                                   NameOfType(type) + ", " + NameOfType(index) + ")'");
    }
    return was_optional || syntax.optional ? TypeOf(TypeKind::kOptional, found) : found;
  }

  TypePtr InferList(const Syntax& syntax) {
    TypePtr element;
    for (std::size_t i = 0; i < syntax.arguments.size(); ++i) {
      const TypePtr one = Infer(*syntax.arguments[i]);
      const bool is_optional = i < syntax.optional_entry.size() && syntax.optional_entry[i];
      if (element != nullptr && !is_optional && !may_mix_ && !Fits(element, one)) {
        Refuse(syntax.arguments[i]->at,
               "expected type '" + NameOfType(element) + "' but found '" + NameOfType(one) + "'");
      }
      element = is_optional ? DynType() : element == nullptr ? one : Joined(element, one);
    }
    return TypeOf(TypeKind::kList, element);
  }

  // Texts as keys give a map; others any.
  TypePtr InferMap(const Syntax& syntax) {
    TypePtr element;
    bool has_texts = true;
    for (std::size_t i = 0; i < syntax.arguments.size(); ++i) {
      const TypePtr one = Infer(*syntax.arguments[i]);
      if (i % 2 == 0) {
        has_texts = has_texts && Is(one, TypeKind::kString);
        continue;
      }
      const bool is_optional = i / 2 < syntax.optional_entry.size() && syntax.optional_entry[i / 2];
      element = is_optional ? DynType() : element == nullptr ? one : Joined(element, one);
    }
    return has_texts && element != nullptr ? TypeOf(TypeKind::kMap, element) : DynType();
  }

  TypePtr InferCall(const Syntax& syntax) {
    if (syntax.name == "has") {
      const Syntax* field = syntax.arguments.empty() ? nullptr : syntax.arguments[0].get();
      if (field != nullptr && field->form == Form::kSelect) InferSelect(*field, syntax.at);
      return TypeOf(TypeKind::kBool);
    }
    std::vector<TypePtr> operands;
    for (const SyntaxPtr& one : syntax.arguments) operands.push_back(Infer(*one));
    if (const auto type = TypeOfOperator(syntax, operands)) return *type;
    return ResultOfFunction(syntax, syntax.name, Style::kGlobal, operands);
  }

  // nullopt: no operator.
  std::optional<TypePtr> TypeOfOperator(const Syntax& syntax,
                                        const std::vector<TypePtr>& operands) {
    const std::string& name = syntax.name;
    const auto may_be = [&](std::size_t at, TypeKind kind) {
      return Is(operands[at], kind) || Is(operands[at], TypeKind::kDyn);
    };
    if (name == "_&&_" || name == "_||_") {
      for (std::size_t at = 0; at < operands.size(); ++at) {
        if (may_be(at, TypeKind::kBool)) continue;
        Refuse(syntax.arguments[at]->at,
               "expected type 'bool' but found '" + NameOfType(operands[at]) + "'");
      }
      return TypeOf(TypeKind::kBool);
    }
    if (name == "!_") {
      return may_be(0, TypeKind::kBool) ? TypeOf(TypeKind::kBool) : NoOverload(syntax, operands);
    }
    if (name == "-_") {
      const bool fits = may_be(0, TypeKind::kInt) || Is(operands[0], TypeKind::kDouble);
      return fits ? operands[0] : NoOverload(syntax, operands);
    }
    if (name == "_?_:_") {
      const bool fits = may_be(0, TypeKind::kBool) && Fits(operands[1], operands[2]);
      return fits ? Joined(operands[1], operands[2]) : NoOverload(syntax, operands);
    }
    if (operands.size() != 2) return std::nullopt;
    if (name == "_==_" || name == "_!=_") {
      return Fits(operands[0], operands[1]) ? TypeOf(TypeKind::kBool)
                                            : NoOverload(syntax, operands);
    }
    if (name == "@in") return TypeOfIn(syntax, operands);
    if (name == "_<_" || name == "_<=_" || name == "_>_" || name == "_>=_") {
      return AreOrdered(operands[0], operands[1]) ? TypeOf(TypeKind::kBool)
                                                  : NoOverload(syntax, operands);
    }
    return TypeOfArithmetic(syntax, operands);
  }

  TypePtr TypeOfIn(const Syntax& syntax, const std::vector<TypePtr>& operands) {
    const TypePtr& whole = operands[1];
    const bool fits = Is(whole, TypeKind::kDyn) || Is(whole, TypeKind::kObject) ||
                      (Is(whole, TypeKind::kList) && Fits(operands[0], ElementOf(whole))) ||
                      (Is(whole, TypeKind::kMap) && Fits(operands[0], TypeOf(TypeKind::kString)));
    return fits ? TypeOf(TypeKind::kBool) : NoOverload(syntax, operands);
  }

  static bool AreOrdered(const TypePtr& a, const TypePtr& b) {
    if (Is(a, TypeKind::kDyn) || Is(b, TypeKind::kDyn)) return !HasNoOrder(a) && !HasNoOrder(b);
    if (IsNumber(a) && IsNumber(b)) return true;
    return a->kind == b->kind && !HasNoOrder(a);
  }
  static bool HasNoOrder(const TypePtr& type) {
    return Is(type, TypeKind::kList) || Is(type, TypeKind::kMap) || Is(type, TypeKind::kNull) ||
           Is(type, TypeKind::kOptional) || Is(type, TypeKind::kOpaque);
  }

  std::optional<TypePtr> TypeOfArithmetic(const Syntax& syntax,
                                          const std::vector<TypePtr>& operands) {
    const std::string& name = syntax.name;
    const bool is_plus = name == "_+_";
    const bool is_minus = name == "_-_";
    if (!is_plus && !is_minus && name != "_*_" && name != "_/_" && name != "_%_") {
      return std::nullopt;
    }
    const TypePtr& a = operands[0];
    const TypePtr& b = operands[1];
    if (Is(a, TypeKind::kDyn) || Is(b, TypeKind::kDyn)) return DynType();
    const auto is_time = [](const TypePtr& type) {
      return Is(type, TypeKind::kTimestamp) || Is(type, TypeKind::kDuration);
    };
    if ((is_plus || is_minus) && is_time(a) && is_time(b)) return DynType();
    if (a->kind != b->kind) return NoOverload(syntax, operands);
    if (IsNumber(a)) {
      const bool has_rest = name != "_%_" || !Is(a, TypeKind::kDouble);
      return has_rest ? a : NoOverload(syntax, operands);
    }
    const bool adds = Is(a, TypeKind::kString) || Is(a, TypeKind::kBytes) || Is(a, TypeKind::kList);
    if (!is_plus || !adds) return NoOverload(syntax, operands);
    return Is(a, TypeKind::kList) ? TypeOf(TypeKind::kList) : a;
  }

  TypePtr ResultOfFunction(const Syntax& syntax, std::string_view name, Style style,
                           const std::vector<TypePtr>& operands) {
    if (name.starts_with('.')) name.remove_prefix(1);
    const Signatures* signatures = SignaturesOf(name, style);
    if (signatures == nullptr) return DynType();
    TypePtr result = ResultOf(*signatures, operands);
    if (result != nullptr) return result;
    return NoOverload(syntax, operands, style == Style::kMethod, name);
  }

  bool IsVariable(const std::string& name) const {
    return variables_.types.contains(name) ||
           std::any_of(locals_.begin(), locals_.end(),
                       [&name](const auto& local) { return local.first == name; });
  }

  TypePtr InferMethod(const Syntax& syntax) {
    if (const Macro* macro = FindMacro(syntax.name, syntax.arguments.size())) {
      return InferMacro(syntax, *macro);
    }
    if (IsBind(syntax)) {
      return InferWith({{&syntax, Infer(*syntax.arguments[1])}}, *syntax.arguments[2]);
    }
    std::vector<TypePtr> operands;
    const std::string global = GlobalFunctionOf(syntax);
    const bool is_global = !global.empty() && !IsVariable(syntax.target->name);
    if (is_global) {
      out_.functions[&syntax] = global;
    } else {
      operands.push_back(Infer(*syntax.target));
    }
    const bool mixed = std::exchange(may_mix_, may_mix_ || syntax.name == "format");
    for (const SyntaxPtr& one : syntax.arguments) operands.push_back(Infer(*one));
    may_mix_ = mixed;
    return is_global ? ResultOfFunction(syntax, global, Style::kGlobal, operands)
                     : ResultOfFunction(syntax, syntax.name, Style::kMethod, operands);
  }

  // The type of `body`, where arguments of methods are names of variables with these types, the
  // first argument of the first one, and so on.
  TypePtr InferWith(const std::vector<std::pair<const Syntax*, TypePtr>>& variables,
                    const Syntax& body) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      locals_.emplace_back(variables[i].first->arguments[i]->name, variables[i].second);
    }
    TypePtr type = Infer(body);
    locals_.resize(locals_.size() - variables.size());
    return type;
  }

  // The types of the variables of a macro over a list, a map or something that is not known.
  static std::vector<TypePtr> VariablesOf(const Macro& macro, const TypePtr& range) {
    const bool is_list = Is(range, TypeKind::kList);
    const bool is_map = Is(range, TypeKind::kMap);
    const TypePtr key = is_map ? TypeOf(TypeKind::kString) : DynType();
    if (macro.variables == 1) return {is_list ? ElementOf(range) : key};
    return {is_list ? TypeOf(TypeKind::kInt) : key,
            is_list || is_map ? ElementOf(range) : DynType()};
  }

  TypePtr InferMacro(const Syntax& syntax, const Macro& macro) {
    const TypePtr range = Infer(*syntax.target);
    if (syntax.arguments[0]->form != Form::kName) return DynType();
    if (macro.op == Op::kOptionalMap || macro.op == Op::kOptionalFlatMap) {
      const TypePtr inside = Is(range, TypeKind::kOptional) ? ElementOf(range) : DynType();
      const TypePtr body = InferWith({{&syntax, inside}}, *syntax.arguments[1]);
      return macro.op == Op::kOptionalMap ? TypeOf(TypeKind::kOptional, body) : body;
    }
    const bool is_range = Is(range, TypeKind::kList) || Is(range, TypeKind::kMap) ||
                          Is(range, TypeKind::kDyn) || Is(range, TypeKind::kObject);
    if (!is_range) {
      return Refuse(syntax.target->at, "expression of type '" + NameOfType(range) +
                                           "' cannot be range of a comprehension (must be list, "
                                           "map, or dynamic)");
    }
    std::vector<std::pair<const Syntax*, TypePtr>> variables;
    for (TypePtr& type : VariablesOf(macro, range))
      variables.emplace_back(&syntax, std::move(type));
    if (macro.filter != 0) InferWith(variables, *syntax.arguments[macro.filter]);
    const TypePtr body = InferWith(variables, *syntax.arguments[macro.body]);
    return ResultOfMacro(syntax, macro, range, variables[0].second, body);
  }

  TypePtr ResultOfMacro(const Syntax& syntax, const Macro& macro, const TypePtr& range,
                        const TypePtr& item, const TypePtr& body) {
    const bool is_list = Is(range, TypeKind::kList);
    const bool holds = Is(body, TypeKind::kBool) || Is(body, TypeKind::kDyn);
    switch (macro.op) {
      case Op::kMapList: return TypeOf(TypeKind::kList, body);
      case Op::kSortBy: return is_list ? range : DynType();
      case Op::kTransformMap:
        return Is(range, TypeKind::kMap) ? TypeOf(TypeKind::kMap, body) : DynType();
      case Op::kTransformEntry: return DynType();
      case Op::kFilter: break;
      default:
        if (holds) return TypeOf(TypeKind::kBool);
        return Refuse(syntax.arguments[macro.body]->at,
                      "expected type 'bool' but found '" + NameOfType(body) + "'");
    }
    if (holds) return TypeOf(TypeKind::kList, item);
    const std::string kept = NameOfType(TypeOf(TypeKind::kList, item));
    return Refuse(syntax.at, "found no matching overload for '_?_:_' applied to '(" +
                                 NameOfType(body) + ", " + kept + ", " + kept + ")'");
  }

  const TypedVariables& variables_;
  std::vector<std::pair<std::string, TypePtr>> locals_;
  bool may_mix_ = false;  // the items of a list may have several types
  Typing out_;
};

}  // namespace

const TypePtr& DynType() {
  static const TypePtr kDyn = std::make_shared<const Type>();
  return kDyn;
}

std::string NameOfType(const TypePtr& type) {
  switch (type->kind) {
    case TypeKind::kDyn: return "dyn";
    case TypeKind::kBool: return "bool";
    case TypeKind::kInt: return "int";
    case TypeKind::kUint: return "uint";
    case TypeKind::kDouble: return "double";
    case TypeKind::kString: return "string";
    case TypeKind::kBytes: return "bytes";
    case TypeKind::kNull: return "null";
    case TypeKind::kTimestamp: return "timestamp";
    case TypeKind::kDuration: return "duration";
    case TypeKind::kList: return "list(" + NameOfType(ElementOf(type)) + ")";
    case TypeKind::kMap: return "map(string, " + NameOfType(ElementOf(type)) + ")";
    case TypeKind::kObject:
    case TypeKind::kOpaque: return type->name;
    case TypeKind::kOptional: return "optional_type(" + NameOfType(ElementOf(type)) + ")";
  }
  return "dyn";
}

// Whether values of both types can be compared, or stand in one place.
bool Fits(const TypePtr& a, const TypePtr& b) {
  if (Is(a, TypeKind::kDyn) || Is(b, TypeKind::kDyn)) return true;
  if (Is(a, TypeKind::kNull)) return MayBeNull(b);
  if (Is(b, TypeKind::kNull)) return MayBeNull(a);
  if (a->kind != b->kind) {
    // An object is a map for a literal.
    const auto is_map = [](const TypePtr& type) {
      return Is(type, TypeKind::kMap) || Is(type, TypeKind::kObject);
    };
    return is_map(a) && is_map(b);
  }
  if (Is(a, TypeKind::kObject)) return true;
  if (Is(a, TypeKind::kOpaque)) return a->name == b->name;
  const bool has_element =
      Is(a, TypeKind::kList) || Is(a, TypeKind::kMap) || Is(a, TypeKind::kOptional);
  return !has_element || Fits(ElementOf(a), ElementOf(b));
}

TypePtr FieldOf(const Type& object, std::string_view written) {
  TypePtr found = object.field(written);
  if (found != nullptr) return found;
  const auto name = UnescapeProperty(written);
  return name ? object.field(*name) : nullptr;
}

std::string GlobalFunctionOf(const Syntax& method) {
  if (method.target->form != Form::kName) return "";
  std::string name = method.target->name + "." + method.name;
  if (name.starts_with('.')) name.erase(0, 1);
  bool known = false;
  FindFunction(name, Style::kGlobal, 0, known);
  return known ? name : "";
}

Typing InferTypes(const Syntax& root, const TypedVariables& variables) {
  return TypeChecker(variables).Run(root);
}

}  // namespace berth::cel
