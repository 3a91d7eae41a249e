#include "local/apiserver/webhooks/match_conditions.h"

#include <map>
#include <mutex>
#include <utility>

#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxKept = 1024;

Result<cel::Program> CompileCondition(const std::string& text, ConditionParams params) {
  return CompileForAdmission(
      text, {.params = params == ConditionParams::kGiven, .authorizer = true, .composed = {}});
}

// Compiled expressions by text. A full cache starts anew.
class Programs {
 public:
  Result<cel::Program> Of(const std::string& text, ConditionParams params) {
    const std::lock_guard lock(mutex_);
    const std::pair<ConditionParams, std::string> key{params, text};
    if (const auto known = kept_.find(key); known != kept_.end()) return known->second;
    auto program = CompileCondition(text, params);
    if (!program) return program;
    if (kept_.size() >= kMaxKept) kept_.clear();
    kept_.emplace(key, *program);
    return program;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<ConditionParams, std::string>, cel::Program> kept_;
};

// Joins several errors in the form that Kubernetes prints.
std::string JoinErrors(const std::vector<std::string>& errors) {
  if (errors.size() == 1) return errors.front();
  std::string text = "[";
  for (const std::string& error : errors) text += (text.size() == 1 ? "" : ", ") + error;
  return text + "]";
}

}  // namespace

ConditionVerdict EvaluateConditions(const Json& owner, const AdmissionVariables& variables,
                                    ConditionParams params) {
  const Json& conditions = ArrayAt(owner, {"matchConditions"});
  if (conditions.empty()) return {};
  static Programs programs;
  AdmissionActivation activation(variables);
  std::uint64_t budget = kMaxConditionCost;
  std::vector<std::string> errors;
  for (const Json& condition : conditions) {
    const std::string text(TrimSpace(TextAt(condition, {"expression"})));
    const auto program = programs.Of(text, params);
    const auto answer = program ? program->Evaluate(activation.For(*program), budget)
                                : Result<cel::Value>(program.error());
    if (!answer) {
      errors.push_back("expression '" + text + "' resulted in error: " + answer.error().message);
    } else if (answer->is(cel::Kind::kBool) && !answer->AsBool()) {
      return {ConditionVerdict::Kind::kPassOver, ""};
    }
  }
  if (errors.empty()) return {};
  if (TextAt(owner, {"failurePolicy"}) == "Ignore") {
    return {ConditionVerdict::Kind::kPassOver, ""};
  }
  return {ConditionVerdict::Kind::kRefuse, JoinErrors(errors)};
}

std::string ConditionProblem(const std::string& expression, ConditionParams params) {
  const auto program = CompileCondition(expression, params);
  return program ? "" : "compilation failed: " + program.error().message;
}

}  // namespace berth::local
