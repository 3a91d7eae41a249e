// local/apiserver/schema/crd_schema.h — one version of a custom kind: openAPIV3Schema read once,
// then prune, default and validate objects with it.
//
//     body → Prune → Default → (admission, managedFields) → Validate → store
//     stored → Prune → Default → reply
//
// Rules in CEL (x-kubernetes-validations) are kept and counted; they are not evaluated.
//
// Threads: immutable after Parse; any thread. Errors: causes in Kubernetes' words.
// Source: Kubernetes structural schemas, KEP-2876 (rules), KEP-4008 (ratcheting).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

class CrdSchema {
 public:
  // `schema`: the value of openAPIV3Schema. `path`: its place in the CRD, for causes
  // ("spec.versions[0].schema.openAPIV3Schema"). On failure `causes` says why (structural rules,
  // bad patterns, bad defaults) and the result is null.
  static std::shared_ptr<const CrdSchema> Parse(const Json& schema, std::string_view path,
                                                std::vector<Cause>& causes);

  // The whole object, with apiVersion, kind and metadata declared: for apply and unknown fields.
  const TypeNode& root() const { return *root_; }
  std::size_t rule_count() const { return rule_count_; }  // CEL rules that are not evaluated

  // Removes undeclared fields, of embedded metadata too. Returns their paths, in key order, for
  // `unknown field "…"`.
  std::vector<std::string> Prune(Json& object) const;

  // Fills in defaults; a null in a field with a default that is not nullable is replaced.
  void Default(Json& object) const;

  // `old_object`: the object before an update, or null on create. What is invalid but unchanged
  // since then passes (ratcheting); its errors go to `ratcheted` if that is given.
  std::vector<Cause> Validate(const Json& object, const Json* old_object,
                              std::vector<Cause>* ratcheted = nullptr) const;

 private:
  CrdSchema() = default;
  TypeArena arena_;
  const TypeNode* root_ = nullptr;
  std::size_t rule_count_ = 0;
};

}  // namespace berth::local
