// local/apiserver/webhooks/match.h — whether the configuration of a webhook, or a policy, matches a
// request. Pure.
//
// Source: admissionregistration.k8s.io/v1 (rules, scope, matchPolicy, selectors, resourceNames).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local {

struct MatchInput {
  std::string operation;  // "CREATE", …
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string name = {};  // the object's name, for resourceNames
  bool namespaced = true;
  // Other versions that the object can be converted to (matchPolicy Equivalent), newest first.
  std::vector<std::string> other_versions;
  // The labels for namespaceSelector; nullopt: the object has no namespace, and every selector
  // matches.
  std::optional<Json> namespace_labels;
  Json object_labels;      // null: no new object
  Json old_object_labels;  // null: no old object
};

// Whether a rule of `webhook` names the resource; other conditions are ignored.
bool NamesResource(const Json& webhook, const std::string& group, const std::string& resource);

// The version for the webhook's call; nullopt: the webhook does not match.
std::optional<std::string> MatchWebhook(const Json& webhook, const MatchInput& input);

// The version for a policy, by its matchConstraints or by the matchResources of its binding;
// nullopt: they do not match. Without resourceRules every resource matches.
std::optional<std::string> MatchResources(const Json& resources, const MatchInput& input);

}  // namespace berth::local
