#include "local/apiserver/auth/default_roles.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/auth/user.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr const char* kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr const char* kAggregate = "rbac.authorization.k8s.io/aggregate-to-";

constexpr const char* kRead = "get list watch";
constexpr const char* kWrite = "create delete deletecollection patch update";
constexpr const char* kReadWrite = "create delete deletecollection get list patch update watch";

// Lists are separated by blanks; the group "core" is "". Without groups `resources` are paths.
struct DefaultRule {
  const char* verbs;
  const char* groups;
  const char* resources;
};

// `aggregate`: the roles that collect this one. `collects`: this role collects those that are
// labelled so.
struct DefaultRole {
  const char* name;
  const char* aggregate = "";
  const char* collects = "";
  std::vector<DefaultRule> rules = {};
};

std::vector<DefaultRule> ViewRules() {
  return {
      {kRead, "core",
       "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods "
       "replicationcontrollers replicationcontrollers/scale serviceaccounts services "
       "services/status"},
      {kRead, "core",
       "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status "
       "resourcequotas resourcequotas/status"},
      {kRead, "core", "namespaces"},
      {kRead, "core events.k8s.io", "events"},
      {kRead, "discovery.k8s.io", "endpointslices"},
      {kRead, "apps",
       "controllerrevisions daemonsets daemonsets/status deployments deployments/scale "
       "deployments/status replicasets replicasets/scale replicasets/status statefulsets "
       "statefulsets/scale statefulsets/status"},
      {kRead, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"},
      {kRead, "batch", "cronjobs cronjobs/status jobs jobs/status"},
      {kRead, "extensions",
       "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses "
       "ingresses/status networkpolicies replicasets replicasets/scale replicasets/status "
       "replicationcontrollers/scale"},
      {kRead, "policy", "poddisruptionbudgets poddisruptionbudgets/status"},
      {kRead, "networking.k8s.io", "ingresses ingresses/status networkpolicies"},
      {kRead, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"},
  };
}

std::vector<DefaultRule> EditRules() {
  return {
      {kRead, "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"},
      {"impersonate", "core", "serviceaccounts"},
      {kWrite, "core", "pods pods/attach pods/exec pods/portforward pods/proxy"},
      {"create", "core", "pods/eviction"},
      {kWrite, "core",
       "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale "
       "secrets serviceaccounts services services/proxy"},
      {"create", "core", "serviceaccounts/token"},
      {kWrite, "core events.k8s.io", "events"},
      {kWrite, "apps",
       "daemonsets deployments deployments/rollback deployments/scale replicasets "
       "replicasets/scale statefulsets statefulsets/scale"},
      {kWrite, "autoscaling", "horizontalpodautoscalers"},
      {kWrite, "batch", "cronjobs jobs"},
      {kWrite, "extensions",
       "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies "
       "replicasets replicasets/scale replicationcontrollers/scale"},
      {kWrite, "policy", "poddisruptionbudgets"},
      {kWrite, "networking.k8s.io", "ingresses networkpolicies"},
      {kReadWrite, "coordination.k8s.io", "leases"},
      {kWrite, "resource.k8s.io", "resourceclaims resourceclaimtemplates"},
  };
}

std::vector<DefaultRole> Roles() {
  return {
      {.name = "cluster-admin", .rules = {{"*", "*", "*"}, {"*", "", "*"}}},
      {.name = "system:discovery",
       .rules = {{"get", "",
                  "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version "
                  "/version/"}}},
      {.name = "system:monitoring",
       .rules = {{"get", "",
                  "/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*"},
                 {"get", "core", "nodes/metrics"}}},
      {.name = "system:basic-user",
       .rules = {{"create", "authorization.k8s.io",
                  "selfsubjectaccessreviews selfsubjectrulesreviews"},
                 {"create", "authentication.k8s.io", "selfsubjectreviews"}}},
      {.name = "system:public-info-viewer",
       .rules = {{"get", "", "/healthz /livez /readyz /version /version/"}}},
      {.name = "system:service-account-issuer-discovery",
       .rules = {{"get", "",
                  "/.well-known/openid-configuration /.well-known/openid-configuration/ "
                  "/openid/v1/jwks /openid/v1/jwks/"}}},
      {.name = "admin", .collects = "admin"},
      {.name = "edit", .aggregate = "admin", .collects = "edit"},
      {.name = "view", .aggregate = "edit", .collects = "view"},
      {.name = "system:aggregate-to-admin",
       .aggregate = "admin",
       .rules = {{"create", "authorization.k8s.io", "localsubjectaccessreviews"},
                 {kReadWrite, kRbacGroup, "rolebindings roles"}}},
      {.name = "system:aggregate-to-edit", .aggregate = "edit", .rules = EditRules()},
      {.name = "system:aggregate-to-view", .aggregate = "view", .rules = ViewRules()},
      {.name = "system:aggregated-metrics-reader",  // metrics-server's manifests have it
       .aggregate = "view",
       .rules = {{kRead, "metrics.k8s.io", "pods nodes"}}},
      {.name = "system:auth-delegator",
       .rules = {{"create", "authentication.k8s.io", "tokenreviews"},
                 {"create", "authorization.k8s.io", "subjectaccessreviews"}}},
  };
}

Json Words(const char* text) {
  Json words = Json::array();
  for (const std::string_view word : Split(text, ' ')) {
    words.push_back(word == "core" ? std::string() : std::string(word));
  }
  return words;
}

Json RuleJson(const DefaultRule& rule) {
  Json json{{"verbs", Words(rule.verbs)}};
  if (std::string_view(rule.groups).empty()) {
    json["nonResourceURLs"] = Words(rule.resources);
    return json;
  }
  json["apiGroups"] = Words(rule.groups);
  json["resources"] = Words(rule.resources);
  return json;
}

Json ObjectOf(const char* kind, const char* name) {
  return {{"apiVersion", std::string(kRbacGroup) + "/v1"},
          {"kind", kind},
          {"metadata",
           {{"name", name},
            {"annotations", {{kAutoUpdate, "true"}}},
            {"labels", {{"kubernetes.io/bootstrapping", "rbac-defaults"}}}}}};
}

Json RoleJson(const DefaultRole& role) {
  Json json = ObjectOf("ClusterRole", role.name);
  if (!std::string_view(role.aggregate).empty()) {
    json["metadata"]["labels"][std::string(kAggregate) + role.aggregate] = "true";
  }
  json["rules"] = Json::array();
  for (const DefaultRule& rule : role.rules) json["rules"].push_back(RuleJson(rule));
  if (!std::string_view(role.collects).empty()) {
    json["aggregationRule"]["clusterRoleSelectors"] =
        Json::array({{{"matchLabels", {{std::string(kAggregate) + role.collects, "true"}}}}});
  }
  return json;
}

Json BindingJson(const char* name, const std::vector<const char*>& groups) {
  Json json = ObjectOf("ClusterRoleBinding", name);
  json["roleRef"] = {{"apiGroup", kRbacGroup}, {"kind", "ClusterRole"}, {"name", name}};
  for (const char* group : groups) {
    json["subjects"].push_back(Json{{"apiGroup", kRbacGroup}, {"kind", "Group"}, {"name", group}});
  }
  return json;
}

}  // namespace

std::vector<Json> DefaultClusterRoles() {
  std::vector<Json> roles;
  for (const DefaultRole& role : Roles()) roles.push_back(RoleJson(role));
  return roles;
}

std::vector<Json> DefaultClusterRoleBindings() {
  return {BindingJson("cluster-admin", {kMastersGroup}),
          BindingJson("system:monitoring", {"system:monitoring"}),
          BindingJson("system:discovery", {kAuthenticatedGroup}),
          BindingJson("system:basic-user", {kAuthenticatedGroup}),
          BindingJson("system:service-account-issuer-discovery", {"system:serviceaccounts"}),
          BindingJson("system:public-info-viewer", {kAuthenticatedGroup, kUnauthenticatedGroup})};
}

Json WithDefaults(Json stored, const Json& wanted) {
  if (TextAt(stored, {"metadata", "annotations", kAutoUpdate}) == "false") return stored;
  for (const char* field : {"rules", "subjects"}) {
    for (const Json& one : ArrayAt(wanted, {field})) {
      const Json& known = ArrayAt(stored, {field});
      if (std::find(known.begin(), known.end(), one) != known.end()) continue;
      if (!stored[field].is_array()) stored[field] = Json::array();
      stored[field].push_back(one);
    }
  }
  return stored;
}

}  // namespace berth::local
