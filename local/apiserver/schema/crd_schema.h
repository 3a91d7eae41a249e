// local/apiserver/schema/crd_schema.h — one version of a custom kind: parses its openAPIV3Schema,
// and prunes, defaults and validates objects.
//
//     body → Prune → Default → (admission, managedFields) → Validate → store
//     stored → Prune → Default → reply
//
// Rules in CEL (x-kubernetes-validations) are evaluated only if nothing else is wrong
// (crd_rules.h).
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
  // `schema`: the value of openAPIV3Schema. `path`: the schema's path in the CRD, for causes
  // ("spec.versions[0].schema.openAPIV3Schema"). On failure returns null, with the reasons in
  // `causes` (structural rules, bad patterns, bad defaults).
  static std::shared_ptr<const CrdSchema> Parse(const Json& schema, std::string_view path,
                                                std::vector<Cause>& causes);

  // The type of whole objects, with apiVersion, kind and metadata: for apply and unknown fields.
  const TypeNode& root() const { return *root_; }

  // Removes undeclared fields, also in embedded metadata. Returns their paths in key order, for
  // `unknown field "…"`.
  std::vector<std::string> Prune(Json& object) const;

  // Fills in defaults; also replaces null in a field that has a default and is not nullable.
  void Default(Json& object) const;

  // `old_object`: the object before an update, or null on create. An invalid value that the update
  // does not change passes (ratcheting); its errors go to `ratcheted` if not null.
  std::vector<Cause> Validate(const Json& object, const Json* old_object,
                              std::vector<Cause>* ratcheted = nullptr) const;

 private:
  CrdSchema() = default;
  TypeArena arena_;
  const TypeNode* root_ = nullptr;
};

}  // namespace berth::local
