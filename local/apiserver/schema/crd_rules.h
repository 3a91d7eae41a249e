// local/apiserver/schema/crd_rules.h — the rules in CEL of one node of a custom kind's schema
// (x-kubernetes-validations).
//
//     schema ──CrdRules::Compile──▶ rules of each node ──RuleErrors(object, old object)──▶ causes
//
// A rule is evaluated with `self`, the node's value, and `oldSelf`, the value before an update. A
// rule that reads oldSelf is evaluated only if there is an old value, unless the rule has
// optionalOldSelf; then oldSelf is an optional. The old value of an item of a list-type map is
// found by the item's keys; items of other lists have no oldSelf.
//
// Limits: each evaluation has cel::Limits, all rules of an object together kMaxRuleCost.
//
// Threads: immutable after Compile; any thread. Errors: causes in Kubernetes' words.
// Source: KEP-2876 (rules), KEP-4008 (ratcheting); k8s.io/apiextensions-apiserver, restated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/program.h"
#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

inline constexpr std::uint64_t kMaxRuleCost = 10'000'000;  // steps of all rules of an object

struct CrdRule {
  cel::Program program;
  std::optional<cel::Program> message_program;  // messageExpression
  std::string shown;                            // message, else the rule: what an error quotes
  std::string message;                          // the error for a value that the rule refuses
  std::string reason;                           // FieldValueInvalid, …; empty: FieldValueInvalid
  std::string field_path;                       // below the node: "spec.a"; empty: the node
  bool reads_old = false;
  bool optional_old = false;
};

class CrdRules {
 public:
  // `schema` is the schema of the node, at `path` in the CRD. `list_path` is the path of the
  // innermost list around the node that is not a list-type map, and whose items thus have no
  // oldSelf; empty: there is none. Returns null if there are no rules. Adds the errors of wrong
  // rules to `causes`.
  static std::shared_ptr<const CrdRules> Compile(const Json& schema, std::string_view path,
                                                 std::string_view list_path,
                                                 std::vector<Cause>& causes);

  const std::vector<CrdRule>& all() const { return rules_; }
  // Whether a rule or the message of one reads oldSelf.
  bool reads_old() const { return reads_old_; }

 private:
  std::vector<CrdRule> rules_;
  bool reads_old_ = false;
};

// `old_object`: the object before an update; null on create. The error of a value that the update
// does not change goes to `ratcheted`, unless its rule reads oldSelf.
void RuleErrors(const TypeNode& root, const Json& object, const Json* old_object,
                std::vector<Cause>& causes, std::vector<Cause>& ratcheted);

}  // namespace berth::local
