// local/apiserver/policies/policy_program.h — a ValidatingAdmissionPolicy, compiled, and its answer
// to one request.
//
//   matchConditions ─(no)─▶ no answer
//        └(yes)─▶ validations, in order ─▶ a decision each ─▶ auditAnnotations
//
// A variable is evaluated once, when the first expression that reads it is; its failure is the
// failure of what reads it. An expression that fails denies, or admits with failurePolicy Ignore.
//
// Limits: kMaxPolicyCost for the validations of one evaluation, the same for its annotations.
//
// Threads: immutable; any. Errors: in the decisions, in Kubernetes' words.
// Source: admissionregistration.k8s.io/v1; k8s.io/apiserver pkg/admission/plugin/policy/validating,
// restated.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cel/program.h"
#include "local/apiserver/api.h"
#include "local/apiserver/policies/admission_variables.h"

namespace berth::local {

inline constexpr std::uint64_t kMaxPolicyCost = 10'000'000;  // in steps of cel::Limits

struct PolicyDecision {
  bool denies = false;
  bool failed = false;  // an expression has failed, or the limit was reached
  std::string message;
  std::string reason;  // of a refusal; empty: that of a failure
};

struct PolicyAnnotation {
  std::string key;
  std::string value;
  std::string error;  // not empty: the request is denied
};

struct PolicyAnswer {
  std::vector<PolicyDecision> decisions;  // one for each validation
  std::vector<PolicyAnnotation> annotations;
};

class PolicyProgram {
 public:
  // `policy`: a ValidatingAdmissionPolicy.
  explicit PolicyProgram(const Json& policy);

  PolicyAnswer Evaluate(const AdmissionVariables& variables) const;

 private:
  friend class PolicyRun;
  struct Expression {
    std::string text;
    std::optional<cel::Program> program;
    std::string error;               // why there is no program
    std::vector<std::size_t> reads;  // indexes of variables
  };
  struct Validation {
    Expression expression;
    std::optional<Expression> message_expression;
    std::string message;
    std::string reason;
  };

  Expression Read(const std::string& text, const DeclaredVariables& declared) const;

  Json spec_;  // with matchConditions and failurePolicy
  bool has_params_ = false;
  bool ignores_failures_ = false;
  std::vector<std::pair<std::string, Expression>> variables_;  // "variables.NAME"
  std::map<std::string, std::size_t, std::less<>> indexes_;    // of variables, by that name
  std::vector<Validation> validations_;
  std::vector<std::pair<std::string, Expression>> annotations_;  // by key
};

}  // namespace berth::local
