#include "cel/check.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cel/internal/source.h"
#include "cel/internal/syntax.h"
#include "cel/names.h"

namespace berth::cel {
namespace {

using TypeKind = Type::Kind;

constexpr std::size_t kMostTypeErrors = 20;

const TypePtr& Dyn() {
  static const TypePtr kDyn = std::make_shared<const Type>();
  return kDyn;
}

bool Is(const TypePtr& type, TypeKind kind) { return type->kind == kind; }
const TypePtr& ElementOf(const TypePtr& type) {
  return type->element == nullptr ? Dyn() : type->element;
}

bool IsNumber(const TypePtr& type) {
  return Is(type, TypeKind::kInt) || Is(type, TypeKind::kUint) || Is(type, TypeKind::kDouble);
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
    case TypeKind::kObject: return type->name;
    case TypeKind::kOptional: return "optional_type(" + NameOfType(ElementOf(type)) + ")";
  }
  return "dyn";
}

bool MayBeNull(const TypePtr& type) {
  return Is(type, TypeKind::kObject) || Is(type, TypeKind::kTimestamp) ||
         Is(type, TypeKind::kDuration) || Is(type, TypeKind::kOptional) ||
         Is(type, TypeKind::kNull);
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
  const bool has_element =
      Is(a, TypeKind::kList) || Is(a, TypeKind::kMap) || Is(a, TypeKind::kOptional);
  return !has_element || Fits(ElementOf(a), ElementOf(b));
}

TypePtr Joined(const TypePtr& a, const TypePtr& b) {
  const bool is_same = a->kind == b->kind && a->element == nullptr && b->element == nullptr &&
                       !Is(a, TypeKind::kObject);
  return is_same || a == b ? a : Dyn();
}

// Functions whose operands and result have one type each.
struct PlainFunction {
  std::string_view name;
  std::vector<TypeKind> operands;  // a method's target is the first one
  TypeKind result;
};
const std::vector<PlainFunction>& PlainMethods() {
  using enum Type::Kind;
  static const std::vector<PlainFunction> kMethods{
      {"startsWith", {kString, kString}, kBool},
      {"endsWith", {kString, kString}, kBool},
      {"contains", {kString, kString}, kBool},
      {"matches", {kString, kString}, kBool},
      {"lowerAscii", {kString}, kString},
      {"upperAscii", {kString}, kString},
      {"trim", {kString}, kString},
  };
  return kMethods;
}

TypeKind ResultOfConversion(std::string_view name) {
  static const std::map<std::string_view, TypeKind> kResults{
      {"int", TypeKind::kInt},           {"uint", TypeKind::kUint},
      {"double", TypeKind::kDouble},     {"string", TypeKind::kString},
      {"bytes", TypeKind::kBytes},       {"bool", TypeKind::kBool},
      {"size", TypeKind::kInt},          {"timestamp", TypeKind::kTimestamp},
      {"duration", TypeKind::kDuration}, {"matches", TypeKind::kBool}};
  const auto found = kResults.find(name);
  return found == kResults.end() ? TypeKind::kDyn : found->second;
}

class TypeChecker {
 public:
  TypeChecker(std::string_view text, const TypedVariables& variables)
      : text_(text), variables_(variables) {}

  Status Run(const Syntax& root) {
    const TypePtr type = Infer(root);
    if (!errors_.empty()) return Report();
    if (!variables_.must_be_bool || Is(type, TypeKind::kDyn) || Is(type, TypeKind::kBool)) {
      return OkStatus();
    }
    return Error{ErrorCode::kInvalid, "must evaluate to bool"};
  }

 private:
  Status Report() const {
    std::string text;
    std::size_t count = 0;
    for (const auto& [at, message] : errors_) {
      if (++count > kMostTypeErrors) break;
      if (!text.empty()) text += '\n';
      text += DescribeError(text_, at, message);
    }
    return Error{ErrorCode::kInvalid, text};
  }

  TypePtr Refuse(std::size_t at, const std::string& message) {
    errors_.emplace(at, message);
    return Dyn();
  }

  TypePtr NoOverload(const Syntax& syntax, const std::vector<TypePtr>& operands,
                     bool is_method = false) {
    std::string text;
    for (std::size_t i = is_method ? 1 : 0; i < operands.size(); ++i) {
      text += (text.empty() ? "" : ", ") + NameOfType(operands[i]);
    }
    const std::string target = is_method ? NameOfType(operands[0]) + "." : "";
    return Refuse(syntax.at, "found no matching overload for '" + syntax.name + "' applied to '" +
                                 target + "(" + text + ")'");
  }

  TypePtr Infer(const Syntax& syntax) {
    switch (syntax.form) {
      case Form::kLiteral: return TypeOfLiteral(syntax.literal);
      case Form::kName: return TypeOfName(syntax.name);
      case Form::kSelect: return InferSelect(syntax, syntax.at);
      case Form::kIndex: return InferIndex(syntax);
      case Form::kCall: return InferCall(syntax);
      case Form::kMethod: return InferMethod(syntax);
      case Form::kList: return InferList(syntax);
      case Form::kMap:
      case Form::kStruct:
        for (const SyntaxPtr& one : syntax.arguments) Infer(*one);
        return Dyn();
    }
    return Dyn();
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
      default: return Dyn();
    }
  }

  TypePtr TypeOfName(std::string_view name) const {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->first == name) return local->second;
    }
    if (name.starts_with('.')) name.remove_prefix(1);
    const auto found = variables_.types.find(name);
    return found == variables_.types.end() ? Dyn() : found->second;
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
    TypePtr found = Dyn();
    if (Is(type, TypeKind::kMap)) {
      found = ElementOf(type);
    } else if (Is(type, TypeKind::kObject)) {
      found = FieldOf(type, syntax.name);
      if (found == nullptr) {
        return Refuse(at, "undefined field '" + syntax.name + "'");
      }
    } else if (!Is(type, TypeKind::kDyn)) {
      return Refuse(at, "type '" + NameOfType(type) + "' does not support field selection");
    }
    return was_optional || syntax.optional ? TypeOf(TypeKind::kOptional, found) : found;
  }

  static TypePtr FieldOf(const TypePtr& type, const std::string& written) {
    TypePtr found = type->field(written);
    if (found != nullptr) return found;
    const auto name = UnescapeProperty(written);
    return name ? type->field(*name) : nullptr;
  }

  TypePtr InferIndex(const Syntax& syntax) {
    TypePtr type = Infer(*syntax.target);
    const TypePtr index = Infer(*syntax.arguments[0]);
    const bool was_optional = Is(type, TypeKind::kOptional);
    if (was_optional) type = ElementOf(type);
    const bool is_list = Is(type, TypeKind::kList);
    TypePtr found = Dyn();
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
      element = is_optional ? Dyn() : element == nullptr ? one : Joined(element, one);
    }
    return TypeOf(TypeKind::kList, element);
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
    const TypeKind result = ResultOfConversion(syntax.name);
    return result == TypeKind::kDyn ? Dyn() : TypeOf(result);
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
           Is(type, TypeKind::kOptional);
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
    if (Is(a, TypeKind::kDyn) || Is(b, TypeKind::kDyn)) return Dyn();
    const auto is_time = [](const TypePtr& type) {
      return Is(type, TypeKind::kTimestamp) || Is(type, TypeKind::kDuration);
    };
    if ((is_plus || is_minus) && is_time(a) && is_time(b)) return Dyn();
    if (a->kind != b->kind) return NoOverload(syntax, operands);
    if (IsNumber(a)) {
      const bool has_rest = name != "_%_" || !Is(a, TypeKind::kDouble);
      return has_rest ? a : NoOverload(syntax, operands);
    }
    const bool adds = Is(a, TypeKind::kString) || Is(a, TypeKind::kBytes) || Is(a, TypeKind::kList);
    if (!is_plus || !adds) return NoOverload(syntax, operands);
    return Is(a, TypeKind::kList) ? TypeOf(TypeKind::kList) : a;
  }

  TypePtr InferMethod(const Syntax& syntax) {
    if (const auto macro = InferMacro(syntax)) return *macro;
    std::vector<TypePtr> operands{Infer(*syntax.target)};
    const bool mixed = std::exchange(may_mix_, may_mix_ || syntax.name == "format");
    for (const SyntaxPtr& one : syntax.arguments) operands.push_back(Infer(*one));
    may_mix_ = mixed;
    for (const PlainFunction& known : PlainMethods()) {
      if (known.name != syntax.name || known.operands.size() != operands.size()) continue;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        // Other libraries have functions of these names, for values that have no declared type.
        const bool fits = Is(operands[i], known.operands[i]) || Is(operands[i], TypeKind::kDyn);
        if (!fits && !IsOpaque(operands[0])) return NoOverload(syntax, operands, true);
      }
      return TypeOf(known.result);
    }
    return syntax.name == "size" ? TypeOf(TypeKind::kInt) : Dyn();
  }

  static bool IsOpaque(const TypePtr& type) {
    return Is(type, TypeKind::kList) || Is(type, TypeKind::kMap) || Is(type, TypeKind::kObject) ||
           Is(type, TypeKind::kOptional);
  }

  // Macros of one variable over a list or a map; others with variables are not looked into.
  std::optional<TypePtr> InferMacro(const Syntax& syntax) {
    const std::size_t count = syntax.arguments.size();
    const bool is_test = syntax.name == "all" || syntax.name == "exists" ||
                         syntax.name == "exists_one" || syntax.name == "existsOne";
    const bool is_filter = syntax.name == "filter";
    const bool is_map = syntax.name == "map" || syntax.name == "sortBy";
    const bool is_other = syntax.name == "optMap" || syntax.name == "optFlatMap" ||
                          syntax.name.starts_with("transform") || syntax.name == "bind";
    if (is_other && count > 0) return Dyn();
    if (!is_test && !is_filter && !is_map) return std::nullopt;
    if (count < 2 || syntax.arguments[0]->form != Form::kName) return std::nullopt;
    const TypePtr range = Infer(*syntax.target);
    const bool is_list = Is(range, TypeKind::kList);
    const bool is_other_range = !is_list && !Is(range, TypeKind::kMap) &&
                                !Is(range, TypeKind::kDyn) && !Is(range, TypeKind::kObject);
    if (is_other_range) {
      return Refuse(syntax.target->at, "expression of type '" + NameOfType(range) +
                                           "' cannot be range of a comprehension (must be list, "
                                           "map, or dynamic)");
    }
    if (count > 2 && !is_map) return is_test ? TypeOf(TypeKind::kBool) : Dyn();  // two variables
    const TypePtr item = is_list                     ? ElementOf(range)
                         : Is(range, TypeKind::kMap) ? TypeOf(TypeKind::kString)
                                                     : Dyn();
    locals_.emplace_back(syntax.arguments[0]->name, item);
    TypePtr body = Dyn();
    for (std::size_t at = 1; at < count; ++at) body = Infer(*syntax.arguments[at]);
    locals_.pop_back();
    const bool fits = Is(body, TypeKind::kBool) || Is(body, TypeKind::kDyn);
    if (is_filter && !fits) {
      const std::string kept = NameOfType(TypeOf(TypeKind::kList, item));
      return Refuse(syntax.at, "found no matching overload for '_?_:_' applied to '(" +
                                   NameOfType(body) + ", " + kept + ", " + kept + ")'");
    }
    if (is_test && !fits) {
      return Refuse(syntax.arguments[1]->at,
                    "expected type 'bool' but found '" + NameOfType(body) + "'");
    }
    if (is_test) return TypeOf(TypeKind::kBool);
    if (is_filter) return is_list ? range : Dyn();
    return syntax.name == "map" ? TypeOf(TypeKind::kList, body) : is_list ? range : Dyn();
  }

  const std::string_view text_;
  const TypedVariables& variables_;
  std::vector<std::pair<std::string, TypePtr>> locals_;
  bool may_mix_ = false;  // the items of a list may have several types
  std::multimap<std::size_t, std::string> errors_;
};

}  // namespace

TypePtr TypeOf(Type::Kind kind, TypePtr element) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->element = std::move(element);
  return type;
}

Status CheckTypes(std::string_view text, const TypedVariables& variables, const Limits& limits) {
  BERTH_TRY(const SyntaxPtr syntax, Parse(text, limits.nesting));
  return TypeChecker(text, variables).Run(*syntax);
}

}  // namespace berth::cel
