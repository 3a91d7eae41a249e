#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "cel/internal/macros.h"
#include "cel/internal/plan.h"
#include "cel/internal/source_position.h"
#include "cel/property_names.h"

namespace berth::cel {
namespace {

constexpr std::size_t kMaxErrors = 20;

const Syntax& HeadOf(const Syntax& syntax) {
  const Syntax* head = &syntax;
  while (head->form == Form::kSelect) head = head->target.get();
  return *head;
}

class Planner {
 public:
  Planner(std::string_view text, const Environment& environment)
      : text_(text), environment_(environment) {
    for (const std::string& name : environment.variables) {
      declared_.insert(name);
      if (const auto dot = name.find('.'); dot != std::string::npos) {
        prefixes_.insert(name.substr(0, dot));
      }
    }
  }

  Result<std::shared_ptr<const Plan>> Run(SyntaxPtr syntax) {
    auto plan = std::make_shared<Plan>();
    plan->root = Make(*syntax);
    if (!errors_.empty()) return Report();
    plan->text = std::string(text_);
    plan->variables = std::move(variables_);
    plan->limits = environment_.limits;
    plan->locals = static_cast<std::size_t>(max_locals_);
    plan->syntax = std::move(syntax);
    return std::shared_ptr<const Plan>(std::move(plan));
  }

 private:
  static std::string_view Stripped(std::string_view name) {
    if (name.starts_with('.')) name.remove_prefix(1);
    return name;
  }

  Step Refuse(std::size_t at, const std::string& message) {
    errors_.emplace(at, message);
    return {};
  }
  Step RefuseName(std::size_t at, std::string_view name) {
    return Refuse(at, "undeclared reference to '" + std::string(name) + "' (in container '')");
  }

  Error Report() const {
    std::string text;
    std::size_t count = 0;
    for (const auto& [at, message] : errors_) {
      if (++count > kMaxErrors) break;
      if (!text.empty()) text += '\n';
      text += DescribeError(text_, at, message);
    }
    return Error{ErrorCode::kInvalid, text};
  }

  int FindLocal(std::string_view name) const {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->first == name) return local->second;
    }
    return -1;
  }
  int PushLocal(const std::string& name) {
    const int slot = static_cast<int>(locals_.size());
    locals_.emplace_back(name, slot);
    max_locals_ = std::max(max_locals_, slot + 1);
    return slot;
  }
  bool IsDeclared(std::string_view name) const {
    if (name.starts_with('.')) return declared_.contains(name.substr(1));
    return FindLocal(name) >= 0 || declared_.contains(name);
  }

  Step Make(const Syntax& syntax) {
    switch (syntax.form) {
      case Form::kLiteral: return Constant(syntax.literal);
      case Form::kName: return MakeName(syntax);
      case Form::kSelect: return MakeSelect(syntax);
      case Form::kIndex: return MakeIndex(syntax);
      case Form::kCall: return MakeCall(syntax);
      case Form::kMethod: return MakeMethod(syntax);
      case Form::kList: return MakeList(syntax);
      case Form::kMap: return MakeMap(syntax);
      case Form::kStruct: return MakeStruct(syntax);
    }
    return {};
  }

  // Whether the selection is the name of a variable with a dot.
  bool IsDottedVariable(const Syntax& syntax) const {
    if (prefixes_.empty() || syntax.optional) return false;
    const Syntax& head = HeadOf(syntax);
    if (head.form != Form::kName || FindLocal(head.name) >= 0) return false;
    const auto name = QualifiedName(syntax);
    return name && declared_.contains(Stripped(*name));
  }

  int VariableSlot(std::string_view name) {
    auto found = std::find(variables_.begin(), variables_.end(), name);
    if (found == variables_.end()) found = variables_.emplace(found, name);
    return static_cast<int>(found - variables_.begin());
  }

  static Step Constant(Value value) {
    Step step;
    step.constant = std::move(value);
    return step;
  }

  Step MakeName(const Syntax& syntax) {
    Step step;
    const std::string_view name = Stripped(syntax.name);
    if (name.size() == syntax.name.size()) {
      step.slot = FindLocal(name);
      step.op = Op::kLocal;
      if (step.slot >= 0) return step;
    }
    if (declared_.contains(name)) {
      step.op = Op::kVariable;
      step.slot = VariableSlot(name);
      return step;
    }
    if (const Value* type = FindType(name)) return Constant(*type);
    return RefuseName(syntax.at, syntax.name);
  }

  Step WithField(Op op, const Syntax& syntax) {
    Step step;
    step.op = op;
    step.field = syntax.name;
    const auto plain = UnescapeProperty(syntax.name);
    if (plain && *plain != syntax.name) step.unescaped = *plain;
    step.children.push_back(Make(*syntax.target));
    return step;
  }

  Step MakeSelect(const Syntax& syntax) {
    if (IsDottedVariable(syntax)) {
      Step step;
      step.op = Op::kVariable;
      step.slot = VariableSlot(Stripped(*QualifiedName(syntax)));
      return step;
    }
    const Syntax& head = HeadOf(syntax);
    if (head.form == Form::kName && !IsDeclared(head.name)) {
      if (syntax.target.get() == &head && prefixes_.contains(Stripped(head.name))) {
        return Refuse(syntax.at, "undefined field '" + syntax.name + "'");
      }
      const auto name = QualifiedName(syntax);
      if (name) {
        if (const Value* type = FindType(Stripped(*name))) return Constant(*type);
      }
    }
    return WithField(syntax.optional ? Op::kOptionalSelect : Op::kSelect, syntax);
  }

  Step MakeIndex(const Syntax& syntax) {
    Step step;
    step.op = syntax.optional ? Op::kOptionalIndex : Op::kIndex;
    step.children.push_back(Make(*syntax.target));
    step.children.push_back(Make(*syntax.arguments[0]));
    return step;
  }

  Step MakeCall(const Syntax& syntax) {
    static constexpr std::array<std::pair<std::string_view, Op>, 7> kOperatorNames{
        {{"_&&_", Op::kAnd},
         {"_||_", Op::kOr},
         {"!_", Op::kNot},
         {"_?_:_", Op::kConditional},
         {"_==_", Op::kEqual},
         {"_!=_", Op::kNotEqual},
         {"@in", Op::kIn}}};
    for (const auto& [name, op] : kOperatorNames) {
      if (name != syntax.name) continue;
      Step step;
      step.op = op;
      for (const SyntaxPtr& argument : syntax.arguments) step.children.push_back(Make(*argument));
      return step;
    }
    const std::string_view name = Stripped(syntax.name);
    if (name == "has" && syntax.arguments.size() == 1) return MakeHas(*syntax.arguments[0]);
    if (name == "dyn" && syntax.arguments.size() == 1) return Make(*syntax.arguments[0]);
    return MakeFunction(syntax, name, Style::kGlobal);
  }

  Step MakeHas(const Syntax& operand) {
    if (operand.form != Form::kSelect || operand.optional) {
      return Refuse(operand.at, "invalid argument to has() macro");
    }
    if (IsDottedVariable(operand)) return Constant(Value(true));
    return WithField(Op::kHas, operand);
  }

  Step MakeMethod(const Syntax& syntax) {
    const Syntax& target = *syntax.target;
    if (const Macro* macro = FindMacro(syntax.name, syntax.arguments.size())) {
      return MakeMacro(syntax, *macro);
    }
    if (IsBind(syntax)) return MakeBind(syntax);
    const auto qualified = QualifiedName(target);
    if (qualified && !IsDeclared(HeadOf(target).name)) {
      const std::string name = std::string(Stripped(*qualified)) + "." + syntax.name;
      bool known = false;
      FindFunction(name, Style::kGlobal, 0, known);
      if (known) return MakeFunction(syntax, name, Style::kGlobal);
    }
    if ((syntax.name == "or" || syntax.name == "orValue") && syntax.arguments.size() == 1) {
      Step step;
      step.op = syntax.name == "or" ? Op::kOptionalOr : Op::kOptionalOrValue;
      step.children.push_back(Make(target));
      step.children.push_back(Make(*syntax.arguments[0]));
      return step;
    }
    return MakeFunction(syntax, syntax.name, Style::kMethod);
  }

  // The name of the variable that argument `index` declares; empty with an error otherwise.
  std::string VariableName(const Syntax& syntax, std::size_t index) {
    const Syntax& argument = *syntax.arguments[index];
    if (argument.form == Form::kName && !argument.name.starts_with('.')) return argument.name;
    const bool list = syntax.name == "map" || syntax.name == "filter";
    Refuse(argument.at, list ? "argument is not an identifier" : "argument must be a simple name");
    return {};
  }

  Step MakeMacro(const Syntax& syntax, const Macro& macro) {
    Step step;
    step.op = macro.op;
    step.children.push_back(Make(*syntax.target));
    const std::string first = VariableName(syntax, 0);
    const std::string second = macro.variables == 2 ? VariableName(syntax, 1) : "";
    if (macro.variables == 2 && first == second && !first.empty()) {
      Refuse(syntax.arguments[1]->at, "duplicate variable name: " + first);
    }
    step.slot = PushLocal(first);
    if (macro.variables == 2) step.second_slot = PushLocal(second);
    step.children.push_back(Make(*syntax.arguments[macro.body]));
    if (macro.filter != 0) step.children.push_back(Make(*syntax.arguments[macro.filter]));
    locals_.resize(locals_.size() - macro.variables);
    return step;
  }

  Step MakeBind(const Syntax& syntax) {
    Step step;
    step.op = Op::kBind;
    const std::string name = VariableName(syntax, 0);
    step.children.push_back(Make(*syntax.arguments[1]));
    step.slot = PushLocal(name);
    step.children.push_back(Make(*syntax.arguments[2]));
    locals_.pop_back();
    return step;
  }

  Step MakeFunction(const Syntax& syntax, std::string_view name, Style style) {
    Step step;
    step.op = Op::kCall;
    if (style == Style::kMethod) step.children.push_back(Make(*syntax.target));
    for (const SyntaxPtr& argument : syntax.arguments) step.children.push_back(Make(*argument));
    bool known = false;
    step.function = FindFunction(name, style, step.children.size(), known);
    if (step.function == nullptr) {
      return known ? RefuseArguments(syntax, name, style) : RefuseName(syntax.at, name);
    }
    if (!TakesRegex(name) || step.children[1].op != Op::kConstant) return step;
    const Value& pattern = step.children[1].constant;
    if (!pattern.is(Kind::kString)) return step;
    std::string error;
    step.regex = CompileRegex(pattern.AsText(), environment_.limits.regex_bytes, error);
    if (!step.regex) {
      return Refuse(syntax.arguments.back()->at,
                    "invalid " + std::string(name) + " argument: " + error);
    }
    return step;
  }

  Step RefuseArguments(const Syntax& syntax, std::string_view name, Style style) {
    std::string shown = style == Style::kMethod ? "dyn.(" : "(";
    for (std::size_t i = 0; i < syntax.arguments.size(); ++i) shown += i == 0 ? "dyn" : ", dyn";
    return Refuse(syntax.at, "found no matching overload for '" + std::string(name) +
                                 "' applied to '" + shown + ")'");
  }

  static bool AllConstant(const Step& step) {
    if (!step.optional_entry.empty()) return false;
    return std::all_of(step.children.begin(), step.children.end(),
                       [](const Step& child) { return child.op == Op::kConstant; });
  }

  void TakeOptional(const Syntax& syntax, Step& step) {
    const auto& flags = syntax.optional_entry;
    if (std::find(flags.begin(), flags.end(), true) != flags.end()) step.optional_entry = flags;
  }

  Step MakeList(const Syntax& syntax) {
    Step step;
    step.op = Op::kList;
    for (const SyntaxPtr& element : syntax.arguments) step.children.push_back(Make(*element));
    TakeOptional(syntax, step);
    if (!AllConstant(step)) return step;
    Values elements;
    for (Step& child : step.children) elements.push_back(std::move(child.constant));
    return Constant(Value::List(std::move(elements)));
  }

  Step MakeMap(const Syntax& syntax) {
    Step step;
    step.op = Op::kMap;
    for (const SyntaxPtr& part : syntax.arguments) step.children.push_back(Make(*part));
    TakeOptional(syntax, step);
    return step;
  }

  Step MakeStruct(const Syntax& syntax) {
    const std::string_view name = Stripped(syntax.name);
    const auto& objects = environment_.objects;
    const auto is_named = [&name](std::string_view known) {
      if (!known.ends_with(".*")) return known == name;
      known.remove_suffix(1);
      return name.starts_with(known);
    };
    if (std::none_of(objects.begin(), objects.end(), is_named)) return RefuseName(syntax.at, name);
    Step step;
    step.op = Op::kMap;
    for (std::size_t i = 0; i < syntax.fields.size(); ++i) {
      const auto plain = UnescapeProperty(syntax.fields[i]);
      step.children.push_back(Constant(Value::String(plain ? *plain : syntax.fields[i])));
      step.children.push_back(Make(*syntax.arguments[i]));
    }
    TakeOptional(syntax, step);
    return step;
  }

  std::string_view text_;
  const Environment& environment_;
  std::set<std::string, std::less<>> declared_;
  std::set<std::string, std::less<>> prefixes_;  // the prefixes of declared names with a dot
  std::vector<std::string> variables_;           // that the expression reads
  std::vector<std::pair<std::string, int>> locals_;
  int max_locals_ = 0;
  std::map<std::size_t, std::string> errors_;  // by place
};

}  // namespace

Result<std::shared_ptr<const Plan>> MakePlan(std::string_view text, SyntaxPtr syntax,
                                             const Environment& environment) {
  return Planner(text, environment).Run(std::move(syntax));
}

}  // namespace berth::cel
