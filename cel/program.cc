#include "cel/program.h"

#include <algorithm>

#include "base/strings.h"
#include "cel/internal/machine.h"
#include "cel/internal/plan.h"

namespace berth::cel {

Activation& Activation::Set(std::string name, Value value) {
  for (auto& [known, current] : values_) {
    if (known != name) continue;
    current = std::move(value);
    return *this;
  }
  values_.emplace_back(std::move(name), std::move(value));
  return *this;
}

const Value* Activation::Find(std::string_view name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) return &value;
  }
  return nullptr;
}

const std::vector<std::string>& Program::variables() const { return plan_->variables; }

bool Program::Reads(std::string_view variable) const {
  const auto& names = plan_->variables;
  return std::find(names.begin(), names.end(), variable) != names.end();
}

const std::string& Program::text() const { return plan_->text; }

Result<Value> Program::Evaluate(const Activation& activation) const {
  std::uint64_t budget = UINT64_MAX;
  return Evaluate(activation, budget);
}

Result<Value> Program::Evaluate(const Activation& activation, std::uint64_t& budget) const {
  const std::uint64_t given = std::min(budget, plan_->limits.cost);
  Machine machine(*plan_, activation, given);
  Value value = machine.Run();
  budget -= given - machine.budget();
  if (value.is(Kind::kError)) return Error{ErrorCode::kInvalid, std::string(value.AsText())};
  return value;
}

Result<Program> Compile(std::string_view text, const Environment& environment) {
  const Limits& limits = environment.limits;
  if (text.size() > limits.text_bytes) {
    return Error{ErrorCode::kInvalid,
                 "ERROR: <input>:1:1: expression code point size exceeds limit: size: " +
                     std::to_string(text.size()) + ", limit " + std::to_string(limits.text_bytes)};
  }
  if (!IsValidUtf8(text)) {
    return Error{ErrorCode::kInvalid, "ERROR: <input>:1:1: the expression is not valid UTF-8"};
  }
  BERTH_TRY(auto syntax, Parse(text, limits.nesting));
  BERTH_TRY(auto plan, MakePlan(text, std::move(syntax), environment));
  return Program(std::move(plan));
}

}  // namespace berth::cel
