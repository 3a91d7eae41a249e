// local/apiserver/webhooks/match.h — does a webhook's configuration concern a request? Pure.
//
// Source: admissionregistration.k8s.io/v1 (rules, scope, matchPolicy, selectors).
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
  bool namespaced = true;
  // The other versions the object can be shown in (matchPolicy Equivalent), the newest first.
  std::vector<std::string> other_versions;
  // Labels that namespaceSelector looks at; nullopt: the object is in no namespace, every selector
  // matches.
  std::optional<Json> namespace_labels;
  Json object_labels;      // null: there is no new object
  Json old_object_labels;  // null: there is no old object
};

// Whether a rule of `webhook` names the resource: it may be called, whatever else it asks for.
bool NamesResource(const Json& webhook, const std::string& group, const std::string& resource);

// The version to call the webhook with; nullopt: it is not concerned.
std::optional<std::string> MatchWebhook(const Json& webhook, const MatchInput& input);

}  // namespace berth::local
