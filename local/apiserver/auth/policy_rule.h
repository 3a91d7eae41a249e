// local/apiserver/auth/policy_rule.h — rules of roles (rbac.authorization.k8s.io): whether a rule
// allows a request, and which rights of a role its writer lacks.
//
// Threads: pure functions.
// Source: Kubernetes RBAC; k8s.io/component-helpers auth/rbac/validation, restated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local {

// What a request does. `resource` empty: the request is about `path`.
struct AccessAttributes {
  std::string verb;
  std::string group;
  std::string version;
  std::string resource;  // plural
  std::string subresource;
  std::string namespace_name;
  std::string name;
  std::string path;

  // "pods/log"
  std::string FullResource() const {
    return subresource.empty() ? resource : resource + "/" + subresource;
  }
};

struct PolicyRule {
  std::vector<std::string> verbs;
  std::vector<std::string> groups;
  std::vector<std::string> resources;  // "pods", "pods/log", "*", "*/scale"
  std::vector<std::string> names;      // empty: every name
  std::vector<std::string> paths;      // "/healthz", "/openapi/*", "*"
  friend bool operator==(const PolicyRule&, const PolicyRule&) = default;
};

// The rules of a Role or ClusterRole object; values of a wrong type are left out.
std::vector<PolicyRule> RulesOf(const Json& role);

// Whether the rule allows the request, whose FullResource is `resource`.
bool Allows(const PolicyRule& rule, const AccessAttributes& attributes, std::string_view resource);

// The rights of `wanted` that `held` lacks, compact and sorted: `{APIGroups:["apps"],
// Resources:["deployments"], Verbs:["get" "list"]}`. At most 100 lines and about 64 KiB; "(and
// others)" follows if there are more. Rights whose comparison takes more than some million steps
// count as missing, and their line says so.
std::vector<std::string> MissingRights(const std::vector<PolicyRule>& held,
                                       const std::vector<PolicyRule>& wanted);

}  // namespace berth::local
