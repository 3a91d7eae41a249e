// Goal: a rule allows what RBAC says, and the rights that a writer of roles lacks are named.
// Method: tables; the rows of k8s.io/component-helpers' own tests, restated.
#include "local/apiserver/auth/policy_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::local {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PolicyRule On(std::vector<std::string> verbs, std::vector<std::string> groups,
              std::vector<std::string> resources, std::vector<std::string> names = {}) {
  return {.verbs = std::move(verbs),
          .groups = std::move(groups),
          .resources = std::move(resources),
          .names = std::move(names),
          .paths = {}};
}

PolicyRule OnPaths(std::vector<std::string> verbs, std::vector<std::string> paths) {
  return {.verbs = std::move(verbs),
          .groups = {},
          .resources = {},
          .names = {},
          .paths = std::move(paths)};
}

AccessAttributes Asks(std::string verb, std::string group, std::string resource,
                      std::string name = "") {
  AccessAttributes asks;
  asks.verb = std::move(verb);
  asks.group = std::move(group);
  const std::size_t slash = resource.find('/');
  asks.resource = resource.substr(0, slash);
  if (slash != std::string::npos) asks.subresource = resource.substr(slash + 1);
  asks.name = std::move(name);
  return asks;
}

AccessAttributes AsksPath(std::string verb, std::string path) {
  AccessAttributes asks;
  asks.verb = std::move(verb);
  asks.path = std::move(path);
  return asks;
}

TEST(PolicyRule, AllowsOnlyTheRequestsThatItNames) {
  struct Case {
    PolicyRule rule;
    AccessAttributes asks;
    bool allowed;
  };
  const Case cases[] = {
      {On({"get"}, {""}, {"pods"}), Asks("get", "", "pods", "x"), true},
      {On({"get"}, {""}, {"pods"}), Asks("list", "", "pods"), false},
      {On({"get"}, {""}, {"pods"}), Asks("get", "batch", "pods"), false},
      {On({"get"}, {""}, {"pods"}), Asks("get", "", "pods/log", "x"), false},
      {On({"get"}, {""}, {"pods/log"}), Asks("get", "", "pods/log", "x"), true},
      {On({"get"}, {""}, {"pods/log"}), Asks("get", "", "pods", "x"), false},
      {On({"*"}, {"*"}, {"*"}), Asks("get", "", "pods/log", "x"), true},
      {On({"*"}, {"*"}, {"*"}), AsksPath("get", "/metrics"), false},
      {On({"update"}, {"*"}, {"*/scale"}), Asks("update", "apps", "deployments/scale", "x"), true},
      {On({"update"}, {"*"}, {"*/scale"}), Asks("update", "apps", "deployments", "x"), false},
      {On({"update"}, {"*"}, {"*/scale"}), Asks("update", "apps", "deployments/xscale", "x"),
       false},
      {On({"get"}, {""}, {"pods"}, {"a", "b"}), Asks("get", "", "pods", "b"), true},
      {On({"get"}, {""}, {"pods"}, {"a", "b"}), Asks("get", "", "pods", "c"), false},
      {On({"list"}, {""}, {"pods"}, {"a"}), Asks("list", "", "pods"), false},
      {On({"create"}, {""}, {"pods"}, {"a"}), Asks("create", "", "pods"), false},
      {OnPaths({"get"}, {"/metrics"}), AsksPath("get", "/metrics"), true},
      {OnPaths({"get"}, {"/metrics"}), AsksPath("post", "/metrics"), false},
      {OnPaths({"get"}, {"/metrics"}), AsksPath("get", "/metrics/slis"), false},
      {OnPaths({"get"}, {"/api/*"}), AsksPath("get", "/api/v1"), true},
      {OnPaths({"get"}, {"/api/*"}), AsksPath("get", "/api"), false},
      {OnPaths({"get"}, {"*"}), AsksPath("get", "/anything"), true},
      {OnPaths({"get"}, {"*"}), Asks("get", "", "pods", "x"), false},
      {OnPaths({"get"}, {"/a*b"}), AsksPath("get", "/aXb"), false},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(Allows(one.rule, one.asks, one.asks.FullResource()), one.allowed)
        << one.asks.verb << " " << one.asks.FullResource() << one.asks.path;
  }
}

TEST(PolicyRule, NamesMissingRights) {
  const std::vector<PolicyRule> all = {On({"*"}, {"*"}, {"*"})};
  EXPECT_THAT(MissingRights(all, {On({"*"}, {"*"}, {"*"})}), IsEmpty());
  EXPECT_THAT(MissingRights(all, {OnPaths({"get"}, {"/x"})}),
              ElementsAre("{NonResourceURLs:[\"/x\"], Verbs:[\"get\"]}"));
  const std::vector<PolicyRule> some = {On({"get", "list"}, {"apps"}, {"deployments", "*/scale"}),
                                        OnPaths({"get"}, {"/api/*"})};
  EXPECT_THAT(MissingRights(some, {On({"get"}, {"apps"}, {"deployments", "replicasets/scale"}),
                                   OnPaths({"get"}, {"/api/v1", "/api/*"})}),
              IsEmpty());
  EXPECT_THAT(
      MissingRights(some, {On({"get", "delete", "create"}, {"apps", ""}, {"deployments"}),
                           OnPaths({"get"}, {"*"})}),
      ElementsAre("{APIGroups:[\"\"], Resources:[\"deployments\"], Verbs:[\"get\" \"delete\" "
                  "\"create\"]}",
                  "{APIGroups:[\"apps\"], Resources:[\"deployments\"], Verbs:[\"delete\" "
                  "\"create\"]}",
                  "{NonResourceURLs:[\"*\"], Verbs:[\"get\"]}"));
  const std::vector<PolicyRule> named = {On({"get"}, {""}, {"secrets"}, {"a"})};
  EXPECT_THAT(MissingRights(named, {On({"get"}, {""}, {"secrets"}, {"a"})}), IsEmpty());
  EXPECT_THAT(MissingRights(named, {On({"get"}, {""}, {"secrets"}, {"b"})}),
              ElementsAre("{APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"b\"], "
                          "Verbs:[\"get\"]}"));
  EXPECT_THAT(MissingRights(named, {On({"get"}, {""}, {"secrets"})}),
              ElementsAre("{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}"));
}

TEST(PolicyRule, BoundsTheMissingRightsThatItNames) {
  std::vector<std::string> words;
  for (int i = 0; i < 200; ++i) words.push_back("w" + std::to_string(1000 + i));
  const PolicyRule cube = On(words, {""}, words, words);
  const std::vector<std::string> missing = MissingRights({}, {cube});
  ASSERT_FALSE(missing.empty());
  EXPECT_EQ(missing.back(), "(and others)");
  EXPECT_LE(missing.size(), 101U);
  std::size_t bytes = 0;
  for (const std::string& line : missing) bytes += line.size();
  EXPECT_LT(bytes, 70'000U);
  // Two rules that hold one half of the verbs each: every right is compared, up to a limit.
  const std::vector<std::string> first(words.begin(), words.begin() + 100);
  const std::vector<std::string> second(words.begin() + 100, words.end());
  const std::vector<PolicyRule> halves = {On(first, {""}, words, words),
                                          On(second, {""}, words, words)};
  EXPECT_THAT(MissingRights(halves, {cube}),
              ElementsAre("(the role has more rights than are compared with those of its writer: "
                          "divide it into roles with shorter lists)"));
  EXPECT_THAT(MissingRights(halves, {On(words, {""}, {"w1007"}, {"w1001", "w1100"})}), IsEmpty());
}

TEST(PolicyRule, ReadsTheRulesOfARole) {
  const Json role{{"rules",
                   {{{"verbs", {"get"}}, {"apiGroups", {""}}, {"resources", {"pods"}}},
                    {{"verbs", {"get", 7}}, {"nonResourceURLs", {"/x"}}}}}};
  EXPECT_THAT(RulesOf(role), ElementsAre(On({"get"}, {""}, {"pods"}), OnPaths({"get"}, {"/x"})));
  EXPECT_THAT(RulesOf(Json::object()), IsEmpty());
}

}  // namespace
}  // namespace berth::local
