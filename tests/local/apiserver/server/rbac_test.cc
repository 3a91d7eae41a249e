// Goal: users may do what roles give them and nothing else; nobody grants more than they have.
// Method: the administrator acts as others (Impersonate- headers) over HTTPS.
#include <set>

#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kRbac = "/apis/rbac.authorization.k8s.io/v1/";
constexpr const char* kRolesHere = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
constexpr const char* kBindingsHere =
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
const std::string kClusterRolesPath = std::string(kRbac) + "clusterroles";
const std::string kClusterBindingsPath = std::string(kRbac) + "clusterrolebindings";

Json Rule(const Json& verbs, const Json& groups, const Json& resources,
          const Json& names = Json::array()) {
  Json rule{{"verbs", verbs}, {"apiGroups", groups}, {"resources", resources}};
  if (!names.empty()) rule["resourceNames"] = names;
  return rule;
}

Json Role(const std::string& kind, const std::string& name, const std::vector<Json>& rules) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", kind},
          {"metadata", {{"name", name}}},
          {"rules", rules}};
}

Json Binding(const std::string& kind, const std::string& name, const std::string& role_kind,
             const std::string& role, const Json& subjects) {
  return {
      {"apiVersion", "rbac.authorization.k8s.io/v1"},
      {"kind", kind},
      {"metadata", {{"name", name}}},
      {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", role_kind}, {"name", role}}},
      {"subjects", subjects}};
}

Json Subjects(const std::string& user) {
  return Json::array(
      {{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", user}}});
}

class RbacTest : public ServerTest {
 protected:
  // Gives `user` the rules in the namespace default.
  void Give(const std::string& user, const std::vector<Json>& rules) {
    EXPECT_EQ(Post(kRolesHere, Role("Role", user + "-role", rules)).status, 201);
    EXPECT_EQ(Post(kBindingsHere, Binding("RoleBinding", user + "-binding", "Role", user + "-role",
                                          Subjects(user)))
                  .status,
              201);
  }
};

TEST_F(RbacTest, RoleGrantsItsVerbsInItsNamespace) {
  Give("jane", {Rule({"get", "list"}, {""}, {"pods"})});
  EXPECT_EQ(As("jane", "GET", kPods).status, 200);
  struct Case {
    const char* method;
    const char* target;
    const char* message;
  };
  const Case refused[] = {
      {"GET", "/api/v1/pods",
       R"(pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope)"},
      {"GET", "/api/v1/namespaces/kube-system/pods",
       R"(pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "kube-system")"},
      {"GET", "/api/v1/namespaces/default/pods?watch=true",
       R"(pods is forbidden: User "jane" cannot watch resource "pods" in API group "" in the namespace "default")"},
      {"GET", "/api/v1/namespaces/default/pods/p/log",
       R"(pods "p" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in the namespace "default")"},
      {"DELETE", "/apis/batch/v1/namespaces/default/jobs",
       R"(jobs.batch is forbidden: User "jane" cannot deletecollection resource "jobs" in API group "batch" in the namespace "default")"},
      {"GET", "/api/v1/nodes/n",
       R"(nodes "n" is forbidden: User "jane" cannot get resource "nodes" in API group "" at the cluster scope)"},
      {"GET", "/metrics", R"(forbidden: User "jane" cannot get path "/metrics")"},
      {"POST", "/debug/berth/backup",
       R"(forbidden: User "jane" cannot post path "/debug/berth/backup")"},
  };
  for (const Case& one : refused) {
    const Answer answer = As("jane", one.method, one.target);
    EXPECT_EQ(answer.status, 403) << one.target;
    EXPECT_EQ(answer.reason(), "Forbidden") << one.target;
    EXPECT_EQ(answer.message(), one.message);
  }
  EXPECT_EQ(Delete(std::string(kBindingsHere) + "/jane-binding").status, 200);
  EXPECT_EQ(As("jane", "GET", kPods).status, 403) << "a deleted binding gives nothing";
}

TEST_F(RbacTest, ResourceNamesRestrictReadsListsAndWatches) {
  Give("jane", {Rule({"get", "list", "watch", "delete", "deletecollection", "create"}, {""},
                     {"configmaps"}, {"mine"})});
  for (const char* name : {"mine", "yours"}) {
    EXPECT_EQ(Post(kMaps, ConfigMapJson(name)).status, 201);
  }
  const std::string maps = kMaps;
  EXPECT_EQ(As("jane", "GET", maps + "/mine").status, 200);
  EXPECT_EQ(As("jane", "GET", maps + "/yours").status, 403);
  const Answer listed = As("jane", "GET", maps + "?fieldSelector=metadata.name%3Dmine");
  EXPECT_EQ(listed.status, 200);
  EXPECT_EQ(listed.json["items"].size(), 1U);
  for (const char* selector :
       {"", "?fieldSelector=metadata.name!%3Dmine", "?fieldSelector=metadata.name%3Dyours",
        "?labelSelector=metadata.name%3Dmine", "?fieldSelector=metadata.namespace%3Dmine",
        "?watch=1&fieldSelector=metadata.name%3Dyours"}) {
    EXPECT_EQ(As("jane", "GET", maps + selector).status, 403) << selector;
  }
  // The first of two selectors counts for both, the right and the list.
  const Answer twice =
      As("jane", "GET",
         maps + "?fieldSelector=metadata.name%3Dmine&fieldSelector=metadata.name%3Dyours");
  EXPECT_THAT(twice.text, Not(HasSubstr("\"yours\"")));
  EXPECT_EQ(As("jane", "DELETE", maps + "?fieldSelector=metadata.name%3Dmine").status, 403);
  EXPECT_EQ(As("jane", "POST", maps, ConfigMapJson("mine")).status, 403);
}

TEST_F(RbacTest, ClusterRoleGrantsRightsWhereItIsBound) {
  EXPECT_EQ(
      Post(kBindingsHere, Binding("RoleBinding", "b", "ClusterRole", "view", Subjects("jane")))
          .status,
      201);
  EXPECT_EQ(As("jane", "GET", kJobs).status, 200);
  EXPECT_EQ(As("jane", "GET", "/api/v1/namespaces/default").status, 200) << "its own namespace";
  EXPECT_EQ(As("jane", "GET", "/api/v1/namespaces/kube-system").status, 403);
  EXPECT_EQ(As("jane", "GET", "/api/v1/namespaces").status, 403);
  EXPECT_EQ(As("jane", "GET", "/api/v1/namespaces/default/secrets").status, 403);
  EXPECT_EQ(As("jane", "POST", kJobs, JobJson("j")).status, 403);
  EXPECT_EQ(
      Post(kBindingsHere, Binding("RoleBinding", "e", "ClusterRole", "edit", Subjects("jane")))
          .status,
      201);
  EXPECT_EQ(As("jane", "GET", "/api/v1/namespaces/default/secrets").status, 200);
  EXPECT_EQ(As("jane", "POST", kJobs, JobJson("j")).status, 201);
  EXPECT_EQ(
      As("jane", "PUT", "/apis/batch/v1/namespaces/default/jobs/j/status", JobJson("j")).status,
      403)
      << "only controllers write status";
}

TEST_F(RbacTest, PutOrApplyThatCreatesNeedsTheRightToCreate) {
  Give("jane", {Rule({"update", "patch"}, {"coordination.k8s.io"}, {"leases"})});
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
  const Json object{{"apiVersion", "coordination.k8s.io/v1"},
                    {"kind", "Lease"},
                    {"metadata", {{"name", "l"}}},
                    {"spec", {{"holderIdentity", "jane"}}}};
  const char* refusal = "cannot create resource \"leases\"";
  const Answer put = As("jane", "PUT", lease, object);
  EXPECT_EQ(put.status, 403) << put.text;
  EXPECT_THAT(put.message(), HasSubstr(refusal));
  const Answer apply = As("jane", "PATCH", lease + "?fieldManager=jane", object,
                          {{"Content-Type", "application/apply-patch+yaml"}});
  EXPECT_EQ(apply.status, 403) << apply.text;
  EXPECT_THAT(apply.message(), HasSubstr(refusal));
  EXPECT_EQ(Put(lease, object).status, 201);
  EXPECT_EQ(As("jane", "PATCH", lease + "?fieldManager=jane&force=true", object,
               {{"Content-Type", "application/apply-patch+yaml"}})
                .status,
            200);
}

TEST_F(RbacTest, UserCannotGrantMoreThanItsOwnRights) {
  Give("jane", {Rule({"get", "list"}, {""}, {"pods"}),
                Rule({"create", "update", "patch"}, {"rbac.authorization.k8s.io"},
                     {"roles", "rolebindings"})});
  EXPECT_EQ(
      As("jane", "POST", kRolesHere, Role("Role", "ok", {Rule({"get"}, {""}, {"pods"})})).status,
      201);
  const Answer more = As("jane", "POST", kRolesHere,
                         Role("Role", "more", {Rule({"get", "delete"}, {""}, {"pods", "nodes"})}));
  EXPECT_EQ(more.status, 403);
  EXPECT_EQ(more.message(),
            "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"jane\" "
            "(groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not "
            "currently held:\n{APIGroups:[\"\"], Resources:[\"nodes\"], Verbs:[\"get\" "
            "\"delete\"]}\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}");
  const std::string ok = std::string(kRolesHere) + "/ok";
  EXPECT_EQ(As("jane", "PATCH", ok, {{"rules", Json::array({Rule({"*"}, {"*"}, {"*"})})}},
               {{"Content-Type", "application/merge-patch+json"}})
                .status,
            403);
  EXPECT_EQ(As("jane", "PUT", ok, Role("Role", "ok", {Rule({"delete"}, {""}, {"pods"})})).status,
            403);
  EXPECT_EQ(As("jane", "PATCH", ok + "?fieldManager=jane&force=true",
               Role("Role", "ok", {Rule({"delete"}, {""}, {"pods"})}),
               {{"Content-Type", "application/apply-patch+yaml"}})
                .status,
            403);
  EXPECT_EQ(As("jane", "PATCH", std::string(kRolesHere) + "/new?fieldManager=jane",
               Role("Role", "new", {Rule({"delete"}, {""}, {"pods"})}),
               {{"Content-Type", "application/apply-patch+yaml"}})
                .status,
            403);
  // Bindings: what the role gives counts.
  const auto bind = [&](const std::string& role) {
    return As("jane", "POST", kBindingsHere,
              Binding("RoleBinding", "to-" + role, "ClusterRole", role, Subjects("joe")));
  };
  const Answer bound = bind("view");
  EXPECT_EQ(bound.status, 403);
  EXPECT_THAT(bound.message(), HasSubstr("is attempting to grant RBAC permissions"));
  EXPECT_EQ(bind("unknown").status, 404);
  EXPECT_EQ(bind("system:public-info-viewer").status, 201) << "everybody has its rights";
}

TEST_F(RbacTest, EscalateAndBindAllowGrantsAboveOwnRights) {
  Give("jane", {Rule({"create", "escalate"}, {"rbac.authorization.k8s.io"}, {"roles"}),
                Rule({"create"}, {"rbac.authorization.k8s.io"}, {"rolebindings"}),
                Rule({"bind"}, {"rbac.authorization.k8s.io"}, {"clusterroles"}, {"view"})});
  EXPECT_EQ(As("jane", "POST", kRolesHere, Role("Role", "any", {Rule({"*"}, {"*"}, {"*"})})).status,
            201);
  EXPECT_EQ(As("jane", "POST", kBindingsHere,
               Binding("RoleBinding", "v", "ClusterRole", "view", Subjects("joe")))
                .status,
            201);
  EXPECT_EQ(As("jane", "POST", kBindingsHere,
               Binding("RoleBinding", "e", "ClusterRole", "edit", Subjects("joe")))
                .status,
            403);
  EXPECT_EQ(
      As("jane", "POST", kBindingsHere, Binding("RoleBinding", "a", "Role", "any", Subjects("joe")))
          .status,
      403);
}

TEST_F(RbacTest, ClusterRolesAggregateOthersByLabel) {
  Json reader = Role("ClusterRole", "reader", {Rule({"get"}, {"x.dev"}, {"things"})});
  reader["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] = "true";
  EXPECT_EQ(Post(kClusterRolesPath, reader).status, 201);
  const auto rules_of = [&](const std::string& name) {
    return Get(kClusterRolesPath + "/" + name).json["rules"].dump();
  };
  for (const char* role : {"view", "edit", "admin"}) {
    EXPECT_THAT(rules_of(role), HasSubstr("x.dev")) << role << " collects roles that collect";
    EXPECT_THAT(rules_of(role), HasSubstr("pods/log")) << role;
  }
  EXPECT_THAT(rules_of("view"), Not(HasSubstr("secrets")));
  EXPECT_EQ(Patch(kClusterRolesPath + "/view", "merge", {{"rules", Json::array()}}).status, 200);
  EXPECT_THAT(rules_of("view"), HasSubstr("x.dev")) << "the rules come back";
  EXPECT_EQ(Delete(kClusterRolesPath + "/reader").status, 200);
  for (const char* role : {"view", "edit", "admin"}) {
    EXPECT_THAT(rules_of(role), Not(HasSubstr("x.dev"))) << role;
  }
  // Only who may do everything lets a role collect others.
  GiveEverywhere("jane", {Rule({"*"}, {"rbac.authorization.k8s.io"}, {"clusterroles"}, {"none"}),
                          Rule({"create"}, {"rbac.authorization.k8s.io"}, {"clusterroles"})});
  Json collector = Role("ClusterRole", "collector", Json::array());
  collector["aggregationRule"]["clusterRoleSelectors"] = Json::array({Json::object()});
  const Answer refused = As("jane", "POST", kClusterRolesPath, collector);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.message(),
              HasSubstr("must have cluster-admin privileges to use the aggregationRule"));
}

TEST_F(RbacTest, WrongRolesAndBindingsAreRefusedWithTheField) {
  struct Case {
    std::string target;
    Json object;
    const char* message;
  };
  Json no_verbs = Rule(Json::array(), {""}, {"pods"});
  Json both = Rule({"get"}, {""}, {"pods"});
  both["nonResourceURLs"] = {"/x"};
  const Json url{{"verbs", {"get"}}, {"nonResourceURLs", {"/x"}}};
  Json no_group = Binding("RoleBinding", "b", "Role", "r", Subjects("jane"));
  no_group["roleRef"]["apiGroup"] = "x";
  const Json account = Json::array({{{"kind", "ServiceAccount"}, {"name", "sa"}}});
  const Json robot = Json::array({{{"kind", "Robot"}, {"name", "r"}}});
  const Case cases[] = {
      {kRolesHere, Role("Role", "r", {no_verbs}), "rules[0].verbs: Required value"},
      {kRolesHere, Role("Role", "r", {Rule({"get"}, Json::array(), {"pods"})}),
       "rules[0].apiGroups: Required value"},
      {kRolesHere, Role("Role", "r", {Rule({"get"}, {""}, Json::array())}),
       "rules[0].resources: Required value"},
      {kRolesHere, Role("Role", "r", {url}), "namespaced rules cannot apply to non-resource URLs"},
      {kClusterRolesPath, Role("ClusterRole", "r", {both}),
       "rules cannot apply to both regular resources and non-resource URLs"},
      {kRolesHere, Role("Role", "a%b", Json::array()), "may not contain '%'"},
      {kBindingsHere, no_group, "roleRef.apiGroup: Unsupported value"},
      {kBindingsHere, Binding("RoleBinding", "b", "Job", "r", Json::array()),
       "roleRef.kind: Unsupported value"},
      {kClusterBindingsPath, Binding("ClusterRoleBinding", "b", "Role", "r", Json::array()),
       "roleRef.kind: Unsupported value"},
      {kClusterBindingsPath, Binding("ClusterRoleBinding", "b", "ClusterRole", "r", account),
       "subjects[0].namespace: Required value"},
      {kBindingsHere, Binding("RoleBinding", "b", "Role", "r", robot),
       "subjects[0].kind: Unsupported value"},
  };
  for (const Case& one : cases) {
    const Answer answer = Post(one.target, one.object);
    EXPECT_EQ(answer.status, 422) << one.object;
    EXPECT_THAT(answer.message(), HasSubstr(one.message));
  }
  EXPECT_EQ(Post(kBindingsHere, Binding("RoleBinding", "b", "Role", "r", Json::array())).status,
            201);
  const Answer moved = Put(std::string(kBindingsHere) + "/b",
                           Binding("RoleBinding", "b", "Role", "other", Json::array()));
  EXPECT_EQ(moved.status, 422);
  EXPECT_THAT(moved.message(), HasSubstr("cannot change roleRef"));
}

TEST_F(RbacTest, DefaultRolesAreRestoredAtEachStart) {
  const std::string discovery = kClusterBindingsPath + "/system:discovery";
  EXPECT_EQ(As("jane", "GET", "/apis").status, 200);
  EXPECT_EQ(Delete(discovery).status, 200);
  EXPECT_EQ(As("jane", "GET", "/apis").status, 403);
  Json kept = Get(kClusterRolesPath + "/system:monitoring").json;
  kept["metadata"]["annotations"]["rbac.authorization.kubernetes.io/autoupdate"] = "false";
  kept["rules"] = Json::array();
  EXPECT_EQ(Put(kClusterRolesPath + "/system:monitoring", kept).status, 200);
  StartServer({});
  EXPECT_EQ(As("jane", "GET", "/apis").status, 200);
  EXPECT_EQ(Get(kClusterRolesPath + "/system:monitoring").json["rules"], Json::array());
}

// Every path that discovery names, with every method that it may have.
std::set<std::string> Requests(const Json& resources, const std::string& root) {
  std::set<std::string> requests;
  for (const Json& resource : resources) {
    const std::string name = resource["name"];
    const std::size_t slash = name.find('/');
    const std::string home =
        resource["namespaced"] == true ? root + "/namespaces/default/" : root + "/";
    const std::string plural = home + name.substr(0, slash);
    if (slash != std::string::npos) {
      for (const char* method : {"GET ", "POST ", "PUT ", "PATCH ", "DELETE "}) {
        requests.insert(method + plural + "/x" + name.substr(slash));
      }
      continue;
    }
    for (const char* method : {"GET ", "POST ", "DELETE "}) requests.insert(method + plural);
    requests.insert("GET " + plural + "?watch=true");
    requests.insert("GET " + root + "/" + name);
    for (const char* method : {"GET ", "PUT ", "PATCH ", "DELETE "}) {
      requests.insert(method + plural + "/x");
    }
    for (const char* more : {"/x/proxy", "/x/proxy/metrics", "/x/exec", "/x/y/z"}) {
      requests.insert("GET " + plural + more);
    }
  }
  return requests;
}

TEST_F(RbacTest, UserWithoutRightsIsRefusedOnEveryRoute) {
  EXPECT_EQ(Post(kCrds, WidgetCrd()).status, 201);
  std::set<std::string> requests = {
      "GET /",
      "GET /metrics",
      "GET /logs",
      "POST /debug/berth/backup",
      "GET /api",
      "GET /apis",
      "GET /openapi/v2",
      "GET /openapi/v3",
      "GET /nothing",
      "GET /apis//batch/v1/jobs",
      "GET //api/v1/nodes",
      "GET /api/v1//nodes",
      "GET /api/v1/namespaces/default/pods/",
      "GET /api/v1/%6eodes",
      "HEAD /api/v1/nodes",
      "GET /apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/x/pendingworkloads",
      "GET /api/v1/watch/pods",
      "GET /api/v1/proxy/nodes/x",
      "PUT /version",
      "OPTIONS /api/v1/pods"};
  const Json groups = Get("/apis").json["groups"];
  for (const Json& group : groups) {
    requests.insert("GET /apis/" + group["name"].get<std::string>());
    for (const Json& version : group["versions"]) {
      const std::string root = "/apis/" + version["groupVersion"].get<std::string>();
      requests.insert("GET " + root);
      requests.insert("GET /openapi/v3" + root);
      requests.merge(Requests(Get(root).json["resources"], root));
    }
  }
  requests.merge(Requests(Get("/api/v1").json["resources"], "/api/v1"));
  EXPECT_GT(requests.size(), 400U);
  for (const std::string& request : requests) {
    const std::size_t space = request.find(' ');
    const Answer answer =
        Send(request.substr(0, space), request.substr(space + 1), "",
             {{"Impersonate-User", "nobody"}, {"Impersonate-Group", "system:unauthenticated"}});
    EXPECT_EQ(answer.status, 403) << request << "\n" << answer.text.substr(0, 200);
  }
}

TEST_F(RbacTest, AuthenticatedUsersMayDiscoverAndReviewThemselves) {
  for (const char* open :
       {"/api", "/api/v1", "/apis", "/apis/batch/v1", "/openapi/v3", "/version"}) {
    EXPECT_EQ(As("jane", "GET", open).status, 200) << open;
  }
  const Json me =
      As("jane", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", Json::object())
          .json["status"]["userInfo"];
  EXPECT_EQ(me, Json({{"username", "jane"}, {"groups", {"system:authenticated"}}}));
  const Json spec{{"user", "joe"}, {"resourceAttributes", {{"verb", "get"}, {"resource", "pods"}}}};
  EXPECT_EQ(
      As("jane", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {{"spec", spec}})
          .status,
      403);
}

}  // namespace
}  // namespace berth::local
