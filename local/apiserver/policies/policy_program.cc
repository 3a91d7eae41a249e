#include "local/apiserver/policies/policy_program.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "cel/value_json.h"
#include "cel/value_text.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/webhooks/match_conditions.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxMessageBytes = 5 * 1024;
constexpr const char* kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";

// A message that an expression has made; empty: it is none that a refusal may have.
std::string UsableMessage(const Result<cel::Value>& answer) {
  if (!answer || !answer->is(cel::Kind::kString)) return {};
  const std::string_view text = TrimSpace(answer->AsText());
  const bool fits = text.size() <= kMaxMessageBytes && text.find('\n') == std::string_view::npos;
  return fits ? std::string(text) : std::string();
}

}  // namespace

PolicyProgram::Expression PolicyProgram::Read(const std::string& text,
                                              const DeclaredVariables& declared) const {
  Expression expression;
  expression.text = text;
  auto program = CompileForAdmission(text, declared);
  if (!program) {
    expression.error = "compilation error: compilation failed: " + program.error().message;
    return expression;
  }
  for (const std::string& name : program->variables()) {
    const auto known = indexes_.find(name);
    if (known != indexes_.end()) expression.reads.push_back(known->second);
  }
  expression.program = *std::move(program);
  return expression;
}

PolicyProgram::PolicyProgram(const Json& policy) {
  const Json* spec = Member(policy, "spec");
  if (spec == nullptr) return;
  const Json* kind = Member(*spec, "paramKind");
  has_params_ = kind != nullptr && kind->is_object();
  spec_["failurePolicy"] = TextAt(*spec, {"failurePolicy"});
  spec_["matchConditions"] = ArrayAt(*spec, {"matchConditions"});
  ignores_failures_ = spec_["failurePolicy"] == "Ignore";
  DeclaredVariables declared{.params = has_params_,
                             .authorizer = true,
                             .composed = {},
                             .patches = Member(*spec, "mutations") != nullptr};
  for (const Json& variable : ArrayAt(*spec, {"variables"})) {
    const std::string name = "variables." + TextAt(variable, {"name"});
    variables_.emplace_back(name, Read(TextAt(variable, {"expression"}), declared));
    indexes_[name] = variables_.size() - 1;
    declared.composed.push_back(name);
  }
  DeclaredVariables of_messages = declared;
  of_messages.authorizer = false;
  for (const Json& one : ArrayAt(*spec, {"validations"})) {
    Validation validation;
    validation.expression = Read(TextAt(one, {"expression"}), declared);
    if (const std::string text = TextAt(one, {"messageExpression"}); !text.empty()) {
      validation.message_expression = Read(text, of_messages);
    }
    validation.message = std::string(TrimSpace(TextAt(one, {"message"})));
    validation.reason = TextAt(one, {"reason"});
    validations_.push_back(std::move(validation));
  }
  for (const Json& one : ArrayAt(*spec, {"auditAnnotations"})) {
    const std::string text(TrimSpace(TextAt(one, {"valueExpression"})));
    annotations_.emplace_back(TextAt(one, {"key"}), Read(text, declared));
  }
  ReadMutations(*spec, declared);
}

void PolicyProgram::ReadMutations(const Json& spec, const DeclaredVariables& declared) {
  for (const Json& one : ArrayAt(spec, {"mutations"})) {
    const bool is_patch = TextAt(one, {"patchType"}) == "JSONPatch";
    const char* field = is_patch ? "jsonPatch" : "applyConfiguration";
    const std::string text(TrimSpace(TextAt(one, {field, "expression"})));
    mutations_.emplace_back(is_patch, Read(text, declared));
  }
}

// One evaluation: the values of variables, and what is left of the limit.
class PolicyRun {
 public:
  PolicyRun(const PolicyProgram& policy, const AdmissionVariables& variables)
      : policy_(policy), activation_(variables), known_(policy.variables_.size(), false) {}

  bool is_spent() const { return budget_ == 0; }
  void Refill() { budget_ = kMaxPolicyCost; }

  Result<cel::Value> Evaluate(const PolicyProgram::Expression& expression) {
    if (!expression.program) return Error{ErrorCode::kInvalid, expression.error};
    ReadVariables(expression);
    auto answer = expression.program->Evaluate(activation_.For(*expression.program), budget_);
    if (answer) return answer;
    return Error{ErrorCode::kInvalid, "expression '" + expression.text +
                                          "' resulted in error: " + answer.error().message};
  }

 private:
  // Gives the variables that the expression reads their values. A variable reads earlier ones
  // alone, so that the order of indexes is one of evaluation.
  void ReadVariables(const PolicyProgram::Expression& expression) {
    std::vector<std::size_t> open = expression.reads;
    std::vector<std::size_t> wanted;
    while (!open.empty()) {
      const std::size_t index = open.back();
      open.pop_back();
      if (known_[index]) continue;
      known_[index] = true;
      wanted.push_back(index);
      const auto& reads = policy_.variables_[index].second.reads;
      open.insert(open.end(), reads.begin(), reads.end());
    }
    std::sort(wanted.begin(), wanted.end());
    for (const std::size_t index : wanted) {
      const auto& [name, variable] = policy_.variables_[index];
      auto value = variable.program
                       ? variable.program->Evaluate(activation_.For(*variable.program), budget_)
                       : Result<cel::Value>(Error{ErrorCode::kInvalid, variable.error});
      activation_.Set(name,
                      value ? *std::move(value)
                            : cel::Value::Failure("composited variable " +
                                                  GoQuote(name.substr(name.find('.') + 1)) +
                                                  " fails to evaluate: " + value.error().message));
    }
  }

  const PolicyProgram& policy_;
  AdmissionActivation activation_;
  std::vector<bool> known_;
  std::uint64_t budget_ = kMaxPolicyCost;
};

Result<bool> PolicyProgram::Applies(const AdmissionVariables& variables) const {
  Json conditions = spec_;
  conditions["failurePolicy"] = "Fail";  // a failure is an error here
  const ConditionVerdict verdict = EvaluateConditions(
      conditions, variables, has_params_ ? ConditionParams::kGiven : ConditionParams::kNone);
  if (verdict.kind == ConditionVerdict::Kind::kRefuse) {
    return Error{ErrorCode::kInvalid, verdict.error};
  }
  return verdict.kind == ConditionVerdict::Kind::kCall;
}

Result<PolicyMutation> PolicyProgram::Mutation(std::size_t index,
                                               const AdmissionVariables& variables) const {
  const auto& [is_patch, expression] = mutations_.at(index);
  PolicyRun run(*this, variables);
  BERTH_TRY(const cel::Value value, run.Evaluate(expression));
  if (run.is_spent()) return Error{ErrorCode::kInvalid, kOutOfBudget};
  BERTH_TRY(Json json, cel::ToJson(value));
  return PolicyMutation{is_patch, std::move(json)};
}

PolicyAnswer PolicyProgram::Evaluate(const AdmissionVariables& variables) const {
  PolicyAnswer answer;
  const auto fail = [&](std::string why) {
    answer.decisions = {
        {.denies = !ignores_failures_, .failed = true, .message = std::move(why), .reason = ""}};
    return answer;
  };
  const ConditionVerdict verdict = EvaluateConditions(
      spec_, variables, has_params_ ? ConditionParams::kGiven : ConditionParams::kNone);
  if (verdict.kind == ConditionVerdict::Kind::kPassOver) return answer;
  if (verdict.kind == ConditionVerdict::Kind::kRefuse) return fail(verdict.error);
  PolicyRun run(*this, variables);
  for (const Validation& validation : validations_) {
    const auto held = run.Evaluate(validation.expression);
    if (run.is_spent()) return fail(kOutOfBudget);
    PolicyDecision decision;
    if (!held) {
      decision = {.denies = !ignores_failures_,
                  .failed = true,
                  .message = held.error().message,
                  .reason = ""};
    } else if (!cel::IsTrue(*held)) {
      decision.denies = true;
      decision.reason = validation.reason.empty() ? "Invalid" : validation.reason;
      if (validation.message_expression) {
        decision.message = UsableMessage(run.Evaluate(*validation.message_expression));
      }
      if (decision.message.empty()) decision.message = validation.message;
      if (decision.message.empty()) {
        decision.message =
            "failed expression: " + std::string(TrimSpace(validation.expression.text));
      }
    }
    answer.decisions.push_back(std::move(decision));
  }
  run.Refill();
  for (const auto& [key, expression] : annotations_) {
    const auto value = run.Evaluate(expression);
    if (run.is_spent()) return fail(kOutOfBudget);
    PolicyAnnotation annotation{.key = key, .value = "", .error = ""};
    if (!value) {
      if (!ignores_failures_) annotation.error = value.error().message;
    } else if (value->is(cel::Kind::kString)) {
      annotation.value = std::string(TrimSpace(value->AsText()));
    } else if (!value->is(cel::Kind::kNull)) {
      annotation.error =
          "valueExpression '" + expression.text +
          "' resulted in unsupported return type: " + std::string(cel::TypeName(*value)) +
          ". Return type must be either string or null.";
    }
    answer.annotations.push_back(std::move(annotation));
  }
  return answer;
}

}  // namespace berth::local
