#include "local/apiserver/webhooks/match_conditions.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cel/program.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxKept = 1024;

Result<cel::Program> CompileCondition(const std::string& text) {
  return cel::Compile(
      text, {.variables = {"object", "oldObject", "request", "authorizer"}, .objects = {}});
}

// Compiled expressions by text. A full cache starts anew.
class Programs {
 public:
  Result<cel::Program> Of(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (const auto known = kept_.find(text); known != kept_.end()) return known->second;
    auto program = CompileCondition(text);
    if (!program) return program;
    if (kept_.size() >= kMaxKept) kept_.clear();
    kept_.emplace(text, *program);
    return program;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, cel::Program> kept_;
};

cel::Value ViewOf(const Json* object) {
  return object == nullptr ? cel::Value() : cel::Value::View(*object);
}

}  // namespace

ConditionVerdict EvaluateConditions(const Json& webhook, const ConditionInput& input) {
  static Programs programs;
  cel::Activation activation;
  activation.Set("object", ViewOf(input.object)).Set("oldObject", ViewOf(input.old_object));
  bool has_request = false;
  std::uint64_t budget = kMaxConditionCost;
  std::string errors;
  for (const Json& condition : ArrayAt(webhook, {"matchConditions"})) {
    const std::string text = TextAt(condition, {"expression"});
    const auto program = programs.Of(text);
    if (program && !has_request && program->Reads("request")) {
      activation.Set("request", ViewOf(input.request()));
      has_request = true;
    }
    const auto answer =
        program ? program->Evaluate(activation, budget) : Result<cel::Value>(program.error());
    if (!answer) {
      errors += (errors.empty() ? "" : ", ") + ("expression '" + text + "' resulted in error: ") +
                answer.error().message;
    } else if (answer->is_false()) {
      return {ConditionVerdict::Kind::kPassOver, ""};
    }
  }
  if (errors.empty()) return {};
  if (TextAt(webhook, {"failurePolicy"}) == "Ignore") {
    return {ConditionVerdict::Kind::kPassOver, ""};
  }
  return {ConditionVerdict::Kind::kRefuse, std::move(errors)};
}

std::string ConditionProblem(const std::string& expression) {
  const auto program = CompileCondition(expression);
  return program ? "" : "compilation failed: " + program.error().message;
}

}  // namespace berth::local
