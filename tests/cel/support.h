// tests/cel/support.h — expressions and their answers as texts.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cel/program.h"
#include "cel/value_text.h"

namespace berth::cel {

// "int 3", "string a", "list [1, 2]", "error: no such key: x" or "refused: ERROR: …" (the first
// line). The members of `variables` are the variables.
inline std::string Answer(std::string_view expression, const nlohmann::json& variables,
                          Limits limits = {}) {
  Environment environment;
  environment.limits = limits;
  environment.objects = {"Object", "JSONPatch"};
  Activation activation;
  for (const auto& [name, value] : variables.items()) {
    environment.variables.push_back(name);
    activation.Set(name, Value::View(value));
  }
  const auto program = Compile(expression, environment);
  if (!program) {
    return "refused: " + program.error().message.substr(0, program.error().message.find('\n'));
  }
  const auto value = program->Evaluate(activation);
  if (!value) return "error: " + value.error().message;
  return std::string(TypeName(*value)) + " " + ToText(*value);
}

struct ExpressionRow {
  const char* expression;
  const char* answer;
};

}  // namespace berth::cel
