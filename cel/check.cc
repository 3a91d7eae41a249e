#include "cel/check.h"

#include <utility>

#include "cel/internal/source_position.h"
#include "cel/internal/typing.h"

namespace berth::cel {
namespace {

constexpr std::size_t kMostTypeErrors = 20;

Error ReportErrors(std::string_view text, const Typing& typing) {
  std::string report;
  std::size_t count = 0;
  for (const auto& [at, message] : typing.errors) {
    if (++count > kMostTypeErrors) break;
    if (!report.empty()) report += '\n';
    report += DescribeError(text, at, message);
  }
  return Error{ErrorCode::kInvalid, report};
}

}  // namespace

TypePtr TypeOf(Type::Kind kind, TypePtr element) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->element = std::move(element);
  return type;
}

Status CheckTypes(std::string_view text, const TypedVariables& variables, const Limits& limits) {
  BERTH_TRY(const SyntaxPtr syntax, Parse(text, limits.nesting));
  const Typing typing = InferTypes(*syntax, variables);
  if (!typing.errors.empty()) return ReportErrors(text, typing);
  const Type::Kind kind = typing.type->kind;
  if (!variables.must_be_bool || kind == Type::Kind::kDyn || kind == Type::Kind::kBool) {
    return OkStatus();
  }
  return Error{ErrorCode::kInvalid, "must evaluate to bool"};
}

}  // namespace berth::cel
