// Goal: a policy file of Kubernetes decides which requests are logged, and how much of them.
#include "local/apiserver/audit/audit_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::local {
namespace {

using ::testing::HasSubstr;

std::string PolicyText(const std::string& rules) {
  return "apiVersion: audit.k8s.io/v1\nkind: Policy\n" + rules;
}

AuditLevel LevelOf(const std::string& rule, const UserInfo& user,
                   const AccessAttributes& attributes) {
  const auto policy = AuditPolicy::Parse(PolicyText("rules:\n- {level: Request, " + rule + "}\n"));
  EXPECT_TRUE(policy) << rule << policy.error().message;
  return policy ? policy->Decide(user, attributes).level : AuditLevel::kMetadata;
}

UserInfo Jane() { return {.name = "jane", .uid = "", .groups = {"team", "all"}, .extra = {}}; }

AccessAttributes PodLog() {
  AccessAttributes attributes;
  attributes.verb = "get";
  attributes.version = "v1";
  attributes.resource = "pods";
  attributes.subresource = "log";
  attributes.namespace_name = "default";
  attributes.name = "p";
  return attributes;
}

TEST(AuditPolicyTest, ARuleMatchesByItsFields) {
  struct Row {
    const char* rule;
    bool matches;
  };
  const std::vector<Row> rows = {
      {"", true},
      {"users: [jane]", true},
      {"users: [joe]", false},
      {"userGroups: [team]", true},
      {"userGroups: [other]", false},
      {"verbs: [get, list]", true},
      {"verbs: [list]", false},
      {"namespaces: [default]", true},
      {"namespaces: [other]", false},
      {"namespaces: ['']", false},
      {"resources: [{group: ''}]", true},
      {"resources: [{group: apps}]", false},
      {"resources: [{group: '', resources: [pods]}]", false},
      {"resources: [{group: '', resources: [pods/log]}]", true},
      {"resources: [{group: '', resources: ['pods/*']}]", true},
      {"resources: [{group: '', resources: ['*/log']}]", true},
      {"resources: [{group: '', resources: ['*']}]", true},
      {"resources: [{group: '', resources: [pods/log], resourceNames: [p]}]", true},
      {"resources: [{group: '', resources: [pods/log], resourceNames: [q]}]", false},
      {"nonResourceURLs: ['*']", false},
      {"users: [jane], verbs: [list]", false},
  };
  for (const Row& row : rows) {
    const std::string rule = std::string(row.rule).empty() ? "omitStages: []" : row.rule;
    EXPECT_EQ(LevelOf(rule, Jane(), PodLog()),
              row.matches ? AuditLevel::kRequest : AuditLevel::kNone)
        << row.rule;
  }
}

TEST(AuditPolicyTest, PathsAreMatchedByTheirBeginning) {
  AccessAttributes health;
  health.verb = "get";
  health.path = "/healthz/ping";
  EXPECT_EQ(LevelOf("nonResourceURLs: ['/healthz*']", Jane(), health), AuditLevel::kRequest);
  EXPECT_EQ(LevelOf("nonResourceURLs: ['/healthz']", Jane(), health), AuditLevel::kNone);
  EXPECT_EQ(LevelOf("resources: [{group: ''}]", Jane(), health), AuditLevel::kNone);
}

TEST(AuditPolicyTest, TheFirstRuleDecidesAndStagesAreLeftOut) {
  const auto policy = AuditPolicy::Parse(
      PolicyText("omitStages: [RequestReceived]\n"
                 "rules:\n"
                 "- {level: None, users: [joe]}\n"
                 "- {level: RequestResponse, users: [jane], omitStages: [ResponseStarted]}\n"
                 "- level: Metadata\n"));
  ASSERT_TRUE(policy) << policy.error().message;
  const AuditDecision hers = policy->Decide(Jane(), PodLog());
  EXPECT_EQ(hers.level, AuditLevel::kRequestResponse);
  EXPECT_FALSE(hers.Logs(AuditStage::kRequestReceived));
  EXPECT_FALSE(hers.Logs(AuditStage::kResponseStarted));
  EXPECT_TRUE(hers.Logs(AuditStage::kResponseComplete));
  const UserInfo joe{.name = "joe", .uid = "", .groups = {}, .extra = {}};
  EXPECT_FALSE(policy->Decide(joe, PodLog()).Logs(AuditStage::kResponseComplete));
  const UserInfo ann{.name = "ann", .uid = "", .groups = {}, .extra = {}};
  EXPECT_TRUE(policy->Decide(ann, PodLog()).Logs(AuditStage::kResponseStarted));
}

TEST(AuditPolicyTest, WrongPoliciesAreRefusedWithTheField) {
  const auto problem = [](const std::string& text) {
    const auto policy = AuditPolicy::Parse(text);
    return policy ? std::string("none") : policy.error().message;
  };
  EXPECT_THAT(problem("kind: Policy"), HasSubstr("it is no Policy of audit.k8s.io/v1"));
  EXPECT_THAT(problem(PolicyText("rules: []")), HasSubstr("rules: write one rule or more"));
  EXPECT_THAT(problem(PolicyText("rules: [{level: All}]")),
              HasSubstr("rules[0].level: \"All\" is unknown"));
  EXPECT_THAT(problem(PolicyText("rules: [{level: None, user: [a]}]")),
              HasSubstr("rules[0].user is unknown"));
  EXPECT_THAT(problem(PolicyText("rules: [{level: None, omitStages: [Late]}]")),
              HasSubstr("rules[0].omitStages: \"Late\" is unknown"));
  EXPECT_THAT(problem(PolicyText("rules: [{level: None, users: [1]}]")),
              HasSubstr("rules[0].users has an item that is no text"));
  EXPECT_THAT(
      problem(PolicyText("rules: [{level: None, namespaces: [a], nonResourceURLs: ['/a']}]")),
      HasSubstr("write two rules"));
  EXPECT_THAT(problem(PolicyText("rules: [{level: None, resources: {}}]")),
              HasSubstr("rules[0].resources is no list"));
  EXPECT_THAT(problem("rules: [\n"), HasSubstr("yaml"));
  EXPECT_NE(problem("[]"), "none");
  EXPECT_NE(problem(""), "none");
}

}  // namespace
}  // namespace berth::local
