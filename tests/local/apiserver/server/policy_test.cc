// Goal: ValidatingAdmissionPolicies are validated, and enforced as Kubernetes does it.
// Method: policies and bindings over HTTPS; ConfigMaps, Jobs and namespaces are the requests.
#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kRegistration = "/apis/admissionregistration.k8s.io/v1/";
const std::string kPolicies = kRegistration + "validatingadmissionpolicies";
const std::string kPolicyBindings = kRegistration + "validatingadmissionpolicybindings";

Json RuleFor(const char* group, const char* resource) {
  return {{"apiGroups", {group}},
          {"apiVersions", {"v1"}},
          {"operations", {"CREATE", "UPDATE"}},
          {"resources", {resource}}};
}

Json PolicyJson(const std::string& expression) {
  return {{"metadata", {{"name", "p"}}},
          {"spec",
           {{"matchConstraints", {{"resourceRules", Json::array({RuleFor("", "configmaps")})}}},
            {"validations", Json::array({{{"expression", expression}}})}}}};
}

Json PolicyBindingJson(const Json& actions = {"Deny"}) {
  return {{"metadata", {{"name", "b"}}},
          {"spec", {{"policyName", "p"}, {"validationActions", actions}}}};
}

class PolicyTest : public ServerTest {
 protected:
  void Enforce(const Json& policy, const Json& binding) {
    Delete(kPolicies + "/p");
    Delete(kPolicyBindings + "/b");
    const Answer stored = Post(kPolicies, policy);
    ASSERT_EQ(stored.status, 201) << stored.text;
    const Answer bound = Post(kPolicyBindings, binding);
    ASSERT_EQ(bound.status, 201) << bound.text;
  }
  Answer Try(const Json& data = Json::object()) {
    return Post(std::string(kMaps) + "?dryRun=All", ConfigMapJson("m", data));
  }
  std::string Problem(const std::string& path, const Json& object) {
    const Answer refused = Post(path, object);
    EXPECT_EQ(refused.status, 422) << refused.text;
    return refused.message();
  }
};

constexpr const char* kDenied =
    "configmaps \"m\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
    "request: ";

TEST_F(PolicyTest, RefusalHasTheTextOfKubernetes) {
  Enforce(PolicyJson("object.data.size() < 2"), PolicyBindingJson());
  EXPECT_EQ(Try({{"a", "1"}}).status, 201);
  const Answer refused = Try({{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.reason(), "Invalid");
  EXPECT_EQ(refused.message(), std::string(kDenied) + "failed expression: object.data.size() < 2");
  EXPECT_EQ(refused.json["details"]["causes"],
            Json::array({{{"message",
                           "ValidatingAdmissionPolicy 'p' with binding 'b' denied "
                           "request: failed expression: object.data.size() < 2"}}}));
  // The policy does not stand in the way of its own removal.
  EXPECT_EQ(Delete(kPolicies + "/p").status, 200);
  EXPECT_EQ(Try({{"a", "1"}, {"b", "2"}}).status, 201);
}

TEST_F(PolicyTest, ExpressionReadsTheFieldsOfTheRequest) {
  struct Row {
    const char* expression;
    bool admits;
  };
  const std::vector<Row> rows = {
      {"object.metadata.name == 'm' && oldObject == null", true},
      {"request.operation == 'CREATE' && request.resource.resource == 'configmaps'", true},
      {"request.userInfo.username == 'kubernetes-admin' && request.dryRun", true},
      {"namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'default'", true},
      {"!has(namespaceObject.metadata.managedFields)", true},
      {"authorizer.group('').resource('pods').namespace('x').check('create').allowed()", true},
      {"authorizer.requestResource.check('any').allowed()", true},
      {"authorizer.path('/metrics').check('get').allowed()", true},
      {"authorizer.serviceAccount('default', 'default').group('').resource('pods')"
       ".check('get').allowed()",
       false},
      {"object.data.missing == 'x'", false},
      {"!has(object.data.missing)", true},
      {"quantity(object.data.a).isGreaterThan(quantity('1Mi'))", true},
  };
  for (const Row& row : rows) {
    Enforce(PolicyJson(row.expression), PolicyBindingJson());
    const Answer answer = Try({{"a", "1Gi"}});
    EXPECT_EQ(answer.status, row.admits ? 201 : 422) << row.expression << answer.text;
  }
}

TEST_F(PolicyTest, VariablesAreEvaluatedWhenTheyAreRead) {
  Json policy = PolicyJson("variables.twice == 4 && variables.n == 2");
  policy["spec"]["variables"] =
      Json::array({{{"name", "n"}, {"expression", "size(object.data)"}},
                   {{"name", "twice"}, {"expression", "variables.n * 2"}},
                   {{"name", "wrong"}, {"expression", "object.data.missing"}}});
  Enforce(policy, PolicyBindingJson());
  EXPECT_EQ(Try({{"a", "1"}, {"b", "2"}}).status, 201);
  EXPECT_EQ(Try({{"a", "1"}}).status, 422);
  policy["spec"]["validations"][0]["expression"] = "variables.wrong == ''";
  Enforce(policy, PolicyBindingJson());
  EXPECT_EQ(Try({{"a", "1"}}).message(),
            std::string(kDenied) +
                "expression 'variables.wrong == ''' resulted in error: composited variable "
                "\"wrong\" fails to evaluate: no such key: missing");
  policy["spec"]["validations"][0]["expression"] = "true || variables.wrong == ''";
  Enforce(policy, PolicyBindingJson());
  EXPECT_EQ(Try({{"a", "1"}}).status, 201);
}

TEST_F(PolicyTest, RefusalHasTheMessageAndReasonOfItsValidation) {
  Json policy = PolicyJson("false");
  Json& validation = policy["spec"]["validations"][0];
  validation["message"] = "  by text ";
  validation["reason"] = "Forbidden";
  Enforce(policy, PolicyBindingJson());
  EXPECT_EQ(Try().status, 403);
  EXPECT_EQ(Try().reason(), "Forbidden");
  EXPECT_EQ(Try().message(), std::string(kDenied) + "by text");
  validation["messageExpression"] = "'by expression of ' + object.metadata.name";
  Enforce(policy, PolicyBindingJson());
  EXPECT_EQ(Try().message(), std::string(kDenied) + "by expression of m");
  // An expression that fails, or makes two lines, gives way to the text.
  for (const char* text : {"object.data.missing", "'a\\nb'", "'  '"}) {
    validation["messageExpression"] = text;
    Enforce(policy, PolicyBindingJson());
    EXPECT_EQ(Try().message(), std::string(kDenied) + "by text") << text;
  }
}

TEST_F(PolicyTest, WarnAndAuditActionsAdmitTheWrite) {
  Enforce(PolicyJson("false"), PolicyBindingJson({"Warn", "Audit"}));
  const Answer warned = Try();
  EXPECT_EQ(warned.status, 201);
  EXPECT_THAT(warned.Warnings(),
              Contains("299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding "
                       "'b': failed expression: false\""));
  Enforce(PolicyJson("false"), PolicyBindingJson({"Audit"}));
  EXPECT_EQ(Try().status, 201);
  EXPECT_THAT(Try().Warnings(), IsEmpty());
}

TEST_F(PolicyTest, FailuresFollowTheFailurePolicy) {
  Json policy = PolicyJson("object.data.missing == 'x'");
  Enforce(policy, PolicyBindingJson());
  EXPECT_EQ(Try().message(),
            std::string(kDenied) +
                "expression 'object.data.missing == 'x'' resulted in error: no such key: data");
  policy["spec"]["failurePolicy"] = "Ignore";
  Enforce(policy, PolicyBindingJson());
  EXPECT_EQ(Try().status, 201);
  // A limit ends what would run for hours.
  const std::string list = "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]";
  std::string loop = "true";
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    loop = list + ".all(" + name + ", " + loop + ")";
  }
  Enforce(PolicyJson(loop), PolicyBindingJson());
  EXPECT_EQ(Try().status, 422);
}

TEST_F(PolicyTest, MatchConstraintsSelectTheRequests) {
  Json policy = PolicyJson("false");
  Json& constraints = policy["spec"]["matchConstraints"];
  const auto status = [&] {
    Enforce(policy, PolicyBindingJson());
    return Try().status;
  };
  EXPECT_EQ(status(), 422);
  constraints["resourceRules"][0]["resourceNames"] = {"other"};
  EXPECT_EQ(status(), 201);
  constraints["resourceRules"][0]["resourceNames"] = {"m"};
  EXPECT_EQ(status(), 422);
  constraints["excludeResourceRules"] = Json::array({RuleFor("*", "*")});
  EXPECT_EQ(status(), 201);
  constraints.erase("excludeResourceRules");
  constraints["objectSelector"] = {{"matchLabels", {{"guarded", "yes"}}}};
  EXPECT_EQ(status(), 201);
  constraints.erase("objectSelector");
  constraints["namespaceSelector"] = {
      {"matchLabels", {{"kubernetes.io/metadata.name", "default"}}}};
  EXPECT_EQ(status(), 422);
  policy["spec"]["matchConditions"] =
      Json::array({{{"name", "c"}, {"expression", "object.metadata.name != 'm'"}}});
  EXPECT_EQ(status(), 201);
  policy["spec"]["matchConditions"][0]["expression"] = "object.data.missing == ''";
  Enforce(policy, PolicyBindingJson());
  EXPECT_EQ(Try().message(),
            std::string(kDenied) +
                "expression 'object.data.missing == ''' resulted in error: no such key: data");
  policy["spec"].erase("matchConditions");
  Json binding = PolicyBindingJson();
  binding["spec"]["matchResources"] = {
      {"namespaceSelector", {{"matchLabels", {{"kubernetes.io/metadata.name", "other"}}}}}};
  Enforce(policy, binding);
  EXPECT_EQ(Try().status, 201);
}

TEST_F(PolicyTest, UpdatesAndDeletionsAreChecked) {
  Json policy = PolicyJson("oldObject == null || object == null || object.data == oldObject.data");
  Enforce(policy, PolicyBindingJson());
  ASSERT_EQ(Post(kMaps, ConfigMapJson("m", {{"a", "1"}})).status, 201);
  const std::string map = std::string(kMaps) + "/m";
  EXPECT_EQ(Patch(map, "merge", {{"data", {{"a", "2"}}}}).status, 422);
  EXPECT_EQ(Patch(map, "merge", {{"metadata", {{"labels", {{"a", "b"}}}}}}).status, 200);
  policy = PolicyJson("request.operation != 'DELETE' || oldObject.metadata.name != 'm'");
  policy["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = {"DELETE"};
  Enforce(policy, PolicyBindingJson());
  EXPECT_EQ(Delete(map).status, 422);
}

TEST_F(PolicyTest, ParamsAreFoundByNameAndBySelector) {
  for (const auto& [name, most] : {std::pair("one", "1"), std::pair("three", "3")}) {
    Json map = ConfigMapJson(name, {{"most", most}});
    map["metadata"]["labels"] = {{"limits", "yes"}};
    ASSERT_EQ(Post("/api/v1/namespaces/kube-public/configmaps", map).status, 201);
  }
  Json policy = PolicyJson("size(object.data) <= int(params.data.most)");
  policy["spec"]["paramKind"] = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  Json binding = PolicyBindingJson();
  Json& reference = binding["spec"]["paramRef"];
  const Json two = {{"a", "1"}, {"b", "2"}};
  reference = {
      {"name", "three"}, {"namespace", "kube-public"}, {"parameterNotFoundAction", "Deny"}};
  Enforce(policy, binding);
  EXPECT_EQ(Try(two).status, 201);
  reference["name"] = "one";
  Enforce(policy, binding);
  EXPECT_EQ(Try(two).status, 422);
  // Every object that the selector selects has to admit the request.
  reference.erase("name");
  reference["selector"] = {{"matchLabels", {{"limits", "yes"}}}};
  Enforce(policy, binding);
  EXPECT_EQ(Try(two).status, 422);
  EXPECT_EQ(Try({{"a", "1"}}).status, 201);
  reference["selector"] = {{"matchLabels", {{"limits", "no"}}}};
  Enforce(policy, binding);
  EXPECT_EQ(Try(two).message(),
            std::string(kDenied) +
                "failed to configure binding: no params found for policy binding with `Deny` "
                "parameterNotFoundAction");
  reference["parameterNotFoundAction"] = "Allow";
  Enforce(policy, binding);
  EXPECT_EQ(Try(two).status, 201);
  policy["spec"]["paramKind"]["kind"] = "Nothing";
  Enforce(policy, binding);
  EXPECT_EQ(Try(two).message(),
            "configmaps \"m\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed "
            "to configure policy: failed to find resource referenced by paramKind: '/v1, "
            "Kind=Nothing'");
}

TEST_F(PolicyTest, CustomKindsAreCheckedInTheVersionOfTheRule) {
  ASSERT_EQ(Post(kCrds, WidgetCrd()).status, 201);
  Json policy = PolicyJson("object.apiVersion == 'example.com/v1' && object.spec.size < 3");
  policy["spec"]["matchConstraints"]["resourceRules"] =
      Json::array({RuleFor("example.com", "widgets")});
  Enforce(policy, PolicyBindingJson());
  const std::string widgets = "/apis/example.com/v1/namespaces/default/widgets";
  EXPECT_EQ(Post(widgets, WidgetJson("w", 2)).status, 201);
  EXPECT_EQ(Post(widgets, WidgetJson("v", 3)).status, 422);
}

TEST_F(PolicyTest, BadPoliciesAreRefused) {
  Json policy = PolicyJson("object.a ==");
  EXPECT_THAT(Problem(kPolicies, policy),
              HasSubstr("spec.validations[0].expression: Invalid value: \"object.a ==\": "
                        "compilation failed: ERROR: <input>:1:12"));
  EXPECT_THAT(Problem(kPolicies, PolicyJson("params.a == 1")),
              HasSubstr("undeclared reference to 'params'"));
  EXPECT_THAT(Problem(kPolicies, PolicyJson("variables.a == 1")),
              HasSubstr("undeclared reference to 'variables'"));
  policy = PolicyJson("variables.b");
  policy["spec"]["variables"] = Json::array({{{"name", "a"}, {"expression", "true"}}});
  EXPECT_THAT(Problem(kPolicies, policy), HasSubstr("undefined field 'b'"));
  policy["spec"]["variables"] = Json::array({{{"name", "a-b"}, {"expression", "variables.c"}}});
  EXPECT_THAT(Problem(kPolicies, policy),
              HasSubstr("spec.variables[0].name: Invalid value: \"a-b\": must be a valid CEL "
                        "identifier"));
  policy = PolicyJson("true");
  policy["spec"]["validations"][0]["messageExpression"] = "authorizer.path('/').check('get')";
  EXPECT_THAT(Problem(kPolicies, policy), HasSubstr("undeclared reference to 'authorizer'"));
  policy = PolicyJson("true");
  policy["spec"]["validations"][0]["reason"] = "Because";
  EXPECT_THAT(Problem(kPolicies, policy),
              HasSubstr("spec.validations[0].reason: Unsupported value: \"Because\": supported "
                        "values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\""));
  policy = PolicyJson("true");
  policy["spec"].erase("validations");
  EXPECT_THAT(Problem(kPolicies, policy),
              HasSubstr("spec.validations: Required value: validations or auditAnnotations must "
                        "contain at least one item"));
  policy = PolicyJson("true");
  policy["spec"].erase("matchConstraints");
  EXPECT_THAT(Problem(kPolicies, policy), HasSubstr("spec.matchConstraints: Required value"));
  EXPECT_THAT(Problem(kPolicyBindings, PolicyBindingJson({"Deny", "Warn"})),
              HasSubstr("must not contain both Deny and Warn"));
  EXPECT_THAT(Problem(kPolicyBindings, PolicyBindingJson(Json::array())),
              HasSubstr("at least one validation action is required"));
  Json binding = PolicyBindingJson();
  binding["spec"]["paramRef"] = Json::object();
  EXPECT_THAT(Problem(kPolicyBindings, binding),
              HasSubstr("spec.paramRef: Required value: one of name or selector must be "
                        "specified"));
}

TEST_F(PolicyTest, AuthorOfAPolicyNeedsTheRightToReadItsParams) {
  const Json anything{
      {"apiGroups", {"admissionregistration.k8s.io"}}, {"resources", {"*"}}, {"verbs", {"*"}}};
  GiveEverywhere("jane", std::vector<Json>{anything});
  Json policy = PolicyJson("params.data.password != 'guess'");
  policy["spec"]["paramKind"] = {{"apiVersion", "v1"}, {"kind", "Secret"}};
  const Answer refused = As("jane", "POST", kPolicies, policy);
  EXPECT_EQ(refused.status, 422) << refused.text;
  EXPECT_THAT(refused.message(),
              HasSubstr("must have \"get\" permission on all objects of the referenced paramKind "
                        "(kind=Secret, apiVersion=v1)"));
  ASSERT_EQ(Post(kPolicies, policy).status, 201);
  Json binding = PolicyBindingJson();
  binding["spec"]["paramRef"] = {
      {"name", "s"}, {"namespace", "kube-system"}, {"parameterNotFoundAction", "Allow"}};
  EXPECT_THAT(As("jane", "POST", kPolicyBindings, binding).message(),
              HasSubstr("spec.paramRef: Forbidden"));
  policy["spec"].erase("paramKind");
  policy["spec"]["validations"][0]["expression"] = "true";
  policy["metadata"]["name"] = "q";
  EXPECT_EQ(As("jane", "POST", kPolicies, policy).status, 201);
}

TEST_F(PolicyTest, StatusReportsExpressionsOfWrongTypes) {
  const auto warnings = [this](const Json& policy) {
    Delete(kPolicies + "/p");
    const Answer stored = Post(kPolicies, policy);
    EXPECT_EQ(stored.status, 201) << stored.text;
    return stored.json["status"]["typeChecking"].value("expressionWarnings", Json::array());
  };
  Json policy = PolicyJson("object.data.a == 'x' && oldObject == null && params.b > variables.c");
  policy["spec"]["variables"] = Json::array({{{"name", "c"}, {"expression", "1"}}});
  policy["spec"]["paramKind"] = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  EXPECT_EQ(warnings(policy), Json::array());
  policy = PolicyJson("object.immutable > 1");
  policy["spec"]["validations"][0]["messageExpression"] = "'a' + object.metadata.generation";
  policy["spec"]["matchConstraints"]["resourceRules"].push_back(RuleFor("apps", "deployments"));
  const Json told = warnings(policy);
  ASSERT_EQ(told.size(), 2U) << told;
  EXPECT_EQ(told[0]["fieldRef"], "spec.validations[0].expression");
  const std::string text = told[0]["warning"];
  EXPECT_THAT(text,
              HasSubstr("/v1, Kind=ConfigMap: ERROR: <input>:1:18: found no matching overload "
                        "for '_>_' applied to '(bool, int)'"));
  EXPECT_THAT(text, HasSubstr("apps/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field "
                              "'immutable'"));
  EXPECT_EQ(told[1]["fieldRef"], "spec.validations[0].messageExpression");
  policy["spec"]["matchConstraints"]["resourceRules"][0]["apiGroups"] = {"*"};
  policy["spec"]["matchConstraints"]["resourceRules"].erase(1);
  EXPECT_EQ(warnings(policy), Json::array()) << "no kind is named";
}

TEST_F(PolicyTest, StatusHasTheObservedGeneration) {
  Enforce(PolicyJson("true"), PolicyBindingJson());
  const Json policy = Get(kPolicies + "/p").json;
  EXPECT_EQ(policy["status"], Json({{"observedGeneration", 1}, {"typeChecking", Json::object()}}));
  EXPECT_EQ(policy["spec"]["failurePolicy"], "Fail");
  EXPECT_EQ(policy["spec"]["matchConstraints"]["matchPolicy"], "Equivalent");
  EXPECT_EQ(policy["spec"]["matchConstraints"]["resourceRules"][0]["scope"], "*");
}

}  // namespace
}  // namespace berth::local
