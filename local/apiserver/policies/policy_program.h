// local/apiserver/policies/policy_program.h — a ValidatingAdmissionPolicy or a
// MutatingAdmissionPolicy, compiled, and its answer to one request.
//
//   matchConditions ─(no)─▶ no answer
//        └(yes)─▶ validations, in order ─▶ a decision each ─▶ auditAnnotations
//        └(yes)─▶ mutations, in order, each on the object that the one before has left
//
// A variable is evaluated once, with the first expression that reads it. If the variable fails,
// every expression that reads it fails. An expression that fails denies, or admits with
// failurePolicy Ignore.
//
// Limits: kMaxPolicyCost for the validations of one evaluation, the same for its annotations and
// for each mutation.
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
  std::string reason;  // the reason of a refusal; empty: the reason of a failure
};

struct PolicyAnnotation {
  std::string key;
  std::string value;
  std::string error;  // not empty: the request is denied
};

// The change that a mutation requests: the operations of a JSON patch, or an object to merge.
struct PolicyMutation {
  bool is_patch = false;
  Json value;
};

struct PolicyAnswer {
  std::vector<PolicyDecision> decisions;  // one for each validation
  std::vector<PolicyAnnotation> annotations;
};

class PolicyProgram {
 public:
  // `policy`: a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy.
  explicit PolicyProgram(const Json& policy);

  PolicyAnswer Evaluate(const AdmissionVariables& variables) const;

  std::size_t mutations() const { return mutations_.size(); }
  // Whether the matchConditions hold. kInvalid: a condition fails.
  Result<bool> Applies(const AdmissionVariables& variables) const;
  // kInvalid: the expression fails, or its value is no JSON.
  Result<PolicyMutation> Mutation(std::size_t index, const AdmissionVariables& variables) const;

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

  void ReadMutations(const Json& spec, const DeclaredVariables& declared);
  Expression Read(const std::string& text, const DeclaredVariables& declared) const;

  Json spec_;  // includes matchConditions and failurePolicy
  bool has_params_ = false;
  bool ignores_failures_ = false;
  std::vector<std::pair<std::string, Expression>> variables_;  // "variables.NAME"
  std::map<std::string, std::size_t, std::less<>> indexes_;    // indexes of variables_, by name
  std::vector<Validation> validations_;
  std::vector<std::pair<std::string, Expression>> annotations_;  // by key
  std::vector<std::pair<bool, Expression>> mutations_;  // the flag: the mutation makes a JSON patch
};

}  // namespace berth::local
