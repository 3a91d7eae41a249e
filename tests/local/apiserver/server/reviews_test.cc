// Goal: reviews tell what the server would do, and who acts as whom.
// Method: questions over HTTPS beside the requests that they are about.
#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

constexpr const char* kAccess = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr const char* kOwnAccess = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
constexpr const char* kOwnRules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
constexpr const char* kWho = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
constexpr const char* kLocalAccess =
    "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews";
constexpr const char* kRbacRoot = "/apis/rbac.authorization.k8s.io/v1/";

class ReviewsTest : public ServerTest {
 protected:
  // Gives `user` the rules in the whole cluster.
  void Give(const std::string& user, const std::vector<Json>& rules) {
    EXPECT_EQ(Post(std::string(kRbacRoot) + "clusterroles",
                   {{"metadata", {{"name", user}}}, {"rules", rules}})
                  .status,
              201);
    const Json subject{{"kind", "User"}, {"name", user}};
    EXPECT_EQ(Post(std::string(kRbacRoot) + "clusterrolebindings",
                   {{"metadata", {{"name", user}}},
                    {"roleRef", {{"kind", "ClusterRole"}, {"name", user}}},
                    {"subjects", Json::array({subject})}})
                  .status,
              201);
  }
  Answer As(net::Headers headers, const std::string& target, const Json& body = Json()) {
    return Send(body.is_null() ? "GET" : "POST", target, body.is_null() ? "" : body.dump(),
                std::move(headers));
  }
};

TEST_F(ReviewsTest, AccessReviewsAgreeWithTheRightsOfTheUser) {
  const Json named{{"verbs", {"get"}},
                   {"apiGroups", {""}},
                   {"resources", {"configmaps"}},
                   {"resourceNames", {"one"}}};
  Give("jane", {{{"verbs", {"list"}}, {"apiGroups", {"batch"}}, {"resources", {"jobs"}}},
                {{"verbs", {"get"}}, {"apiGroups", {""}}, {"resources", {"pods/log"}}},
                named,
                {{"verbs", {"get"}}, {"nonResourceURLs", {"/metrics"}}}});
  struct Case {
    Json asks;
    bool allowed;
  };
  const Case cases[] = {
      {{{"verb", "list"}, {"group", "batch"}, {"resource", "jobs"}}, true},
      {{{"verb", "list"}, {"group", "batch"}, {"resource", "jobs"}, {"namespace", "x"}}, true},
      {{{"verb", "list"}, {"resource", "jobs"}}, false},
      {{{"verb", "watch"}, {"group", "batch"}, {"resource", "jobs"}}, false},
      {{{"verb", "get"}, {"resource", "pods"}, {"subresource", "log"}, {"name", "p"}}, true},
      {{{"verb", "get"}, {"resource", "pods"}, {"name", "p"}}, false},
      {{{"verb", "get"}, {"resource", "configmaps"}, {"name", "one"}}, true},
      {{{"verb", "get"}, {"resource", "configmaps"}, {"name", "two"}}, false},
      {{{"verb", "*"}, {"group", "*"}, {"resource", "*"}}, false},
      {{{"verb", "get"}}, false},
  };
  const net::Headers jane{{"Impersonate-User", "jane"}};
  for (const Case& one : cases) {
    const Json spec{{"resourceAttributes", one.asks}};
    EXPECT_EQ(As(jane, kOwnAccess, {{"spec", spec}}).json["status"]["allowed"], one.allowed)
        << one.asks;
    Json of_jane = spec;
    of_jane["user"] = "jane";
    const Json status = Post(kAccess, {{"spec", of_jane}}).json["status"];
    EXPECT_EQ(status["allowed"], one.allowed) << one.asks;
    if (one.allowed) {
      EXPECT_EQ(status["reason"],
                "RBAC: allowed by ClusterRoleBinding \"jane\" of ClusterRole \"jane\" to User "
                "\"jane\"");
    }
  }
  for (const auto& [path, allowed] : {std::pair("/metrics", true), std::pair("/logs", false)}) {
    const Json attributes{{"verb", "get"}, {"path", path}};
    EXPECT_EQ(As(jane, kOwnAccess, {{"spec", {{"nonResourceAttributes", attributes}}}})
                  .json["status"]["allowed"],
              allowed);
  }
}

TEST_F(ReviewsTest, LocalReviewIsForItsNamespaceAlone) {
  const auto ask = [&](const std::string& namespace_name) {
    return Post(kLocalAccess,
                {{"spec",
                  {{"user", "jane"},
                   {"resourceAttributes",
                    {{"verb", "get"}, {"resource", "pods"}, {"namespace", namespace_name}}}}}});
  };
  EXPECT_EQ(ask("default").status, 201);
  EXPECT_EQ(ask("default").json["status"]["allowed"], false);
  EXPECT_EQ(ask("other").status, 400);
  EXPECT_EQ(ask("").status, 400);
}

TEST_F(ReviewsTest, RulesReviewListsTheRightsOfTheUser) {
  Give("jane", {{{"verbs", {"get"}},
                 {"apiGroups", {""}},
                 {"resources", {"pods"}},
                 {"resourceNames", {"p"}}}});
  const net::Headers jane{{"Impersonate-User", "jane"}};
  const Json status = As(jane, kOwnRules, {{"spec", {{"namespace", "default"}}}}).json["status"];
  EXPECT_EQ(status["incomplete"], false);
  EXPECT_EQ(status["resourceRules"][0], Json({{"verbs", {"get"}},
                                              {"apiGroups", {""}},
                                              {"resources", {"pods"}},
                                              {"resourceNames", {"p"}}}));
  EXPECT_THAT(status["resourceRules"].dump(), HasSubstr("selfsubjectaccessreviews"));
  EXPECT_THAT(status["nonResourceRules"].dump(), HasSubstr("/openapi/*"));
  EXPECT_EQ(As(jane, kOwnRules, {{"spec", Json::object()}}).status, 400);
  const Json mine = Post(kOwnRules, {{"spec", {{"namespace", "default"}}}}).json["status"];
  EXPECT_THAT(mine["resourceRules"].dump(),
              HasSubstr(R"({"apiGroups":["*"],"resources":["*"],"verbs":["*"]})"));
}

TEST_F(ReviewsTest, ImpersonatedRequestHasTheRightsOfTheImpersonatedUser) {
  const net::Headers full{{"Impersonate-User", "jane"},
                          {"Impersonate-Group", "team-a"},
                          {"impersonate-group", "team-b"},
                          {"Impersonate-Uid", "7"},
                          {"Impersonate-Extra-Acme.com%2Fproject", "x"}};
  const Json user = As(full, kWho, Json::object()).json["status"]["userInfo"];
  EXPECT_EQ(user, Json({{"username", "jane"},
                        {"groups", {"team-a", "team-b", "system:authenticated"}},
                        {"uid", "7"},
                        {"extra", {{"acme.com/project", {"x"}}}}}));
  const Json account =
      As({{"Impersonate-User", "system:serviceaccount:default:default"}}, kWho, Json::object())
          .json["status"]["userInfo"];
  EXPECT_EQ(account["groups"], Json({"system:serviceaccounts", "system:serviceaccounts:default",
                                     "system:authenticated"}));
  EXPECT_EQ(As({{"Impersonate-Group", "team-a"}}, kPods).status, 400) << "no user";
  EXPECT_EQ(As({{"Impersonate-User", "jane"}, {"Impersonate-Pet", "cat"}}, kPods).status, 400);
  EXPECT_EQ(As({{"Impersonate-User", "jane"}, {"Impersonate-Extra-%zz", "x"}}, kPods).status, 400);
  EXPECT_EQ(As({{"Impersonate-User", "jane"}, {"Impersonate-Extra-%ff", "x"}}, kPods).status, 400);
  EXPECT_EQ(As({{"Impersonate-User", "jane\xff"}}, kPods).status, 400) << "not UTF-8";
}

// A rule for one user names that user alone; groups, uids and extra values need rights of their
// own.
TEST_F(ReviewsTest, ImpersonationNeedsTheRightToImpersonate) {
  Give("helper", {{{"verbs", {"impersonate"}},
                   {"apiGroups", {""}},
                   {"resources", {"users"}},
                   {"resourceNames", {"jane"}}},
                  {{"verbs", {"impersonate"}},
                   {"apiGroups", {"authentication.k8s.io"}},
                   {"resources", {"userextras/project"}}},
                  {{"verbs", {"impersonate"}},
                   {"apiGroups", {""}},
                   {"resources", {"groups"}},
                   {"resourceNames", {"team-a"}}}});
  const auto may = [&](const Json& asks) {
    return As({{"Impersonate-User", "helper"}}, kOwnAccess,
              {{"spec", {{"resourceAttributes", asks}}}})
               .json["status"]["allowed"] == true;
  };
  EXPECT_TRUE(may({{"verb", "impersonate"}, {"resource", "users"}, {"name", "jane"}}));
  EXPECT_FALSE(may({{"verb", "impersonate"}, {"resource", "users"}, {"name", "joe"}}));
  EXPECT_TRUE(may({{"verb", "impersonate"}, {"resource", "groups"}, {"name", "team-a"}}));
  EXPECT_FALSE(may({{"verb", "impersonate"}, {"resource", "groups"}, {"name", "system:masters"}}));
  EXPECT_TRUE(may({{"verb", "impersonate"},
                   {"group", "authentication.k8s.io"},
                   {"resource", "userextras"},
                   {"subresource", "project"},
                   {"name", "x"}}));
  EXPECT_FALSE(may({{"verb", "impersonate"},
                    {"group", "authentication.k8s.io"},
                    {"resource", "uids"},
                    {"name", "7"}}));
}

}  // namespace
}  // namespace berth::local
