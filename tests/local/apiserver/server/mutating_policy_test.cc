// Goal: MutatingAdmissionPolicies are validated, and change objects as in Kubernetes.
// Method: policies and bindings over HTTPS; ConfigMaps, Deployments and custom objects are changed.
#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

const std::string kGroupPath = "/apis/admissionregistration.k8s.io/v1/";
const std::string kMutatingPoliciesPath = kGroupPath + "mutatingadmissionpolicies";
const std::string kMutatingBindingsPath = kGroupPath + "mutatingadmissionpolicybindings";

Json MutationJson(const std::string& type, const std::string& expression) {
  return {{"patchType", type},
          {type == "JSONPatch" ? "jsonPatch" : "applyConfiguration", {{"expression", expression}}}};
}

class MutatingPolicyTest : public ServerTest {
 protected:
  static Json Policy(const std::string& group, const std::string& resource,
                     const std::vector<Json>& mutations) {
    const Json rule = {{"apiGroups", {group}},
                       {"apiVersions", {"v1"}},
                       {"operations", {"CREATE", "UPDATE"}},
                       {"resources", {resource}}};
    return {{"metadata", {{"name", "p"}}},
            {"spec",
             {{"matchConstraints", {{"resourceRules", Json::array({rule})}}},
              {"reinvocationPolicy", "Never"},
              {"mutations", mutations}}}};
  }
  void Store(const Json& policy, const Json& binding_spec = Json::object()) {
    const Answer stored = Post(kMutatingPoliciesPath, policy);
    ASSERT_EQ(stored.status, 201) << stored.text;
    Json binding = {{"metadata", {{"name", NameOf(policy)}}}, {"spec", binding_spec}};
    binding["spec"]["policyName"] = NameOf(policy);
    const Answer bound = Post(kMutatingBindingsPath, binding);
    ASSERT_EQ(bound.status, 201) << bound.text;
  }
  static std::string NameOf(const Json& object) { return object["metadata"]["name"]; }
  Answer Create(const std::string& name, const Json& data = Json::object()) {
    return Post(kMaps, ConfigMapJson(name.c_str(), data));
  }
};

TEST_F(MutatingPolicyTest, AppliedConfigurationIsMerged) {
  Store(Policy("apps", "deployments",
               {MutationJson("ApplyConfiguration",
                             "Object{metadata: Object.metadata{annotations: {'by': 'policy'}}, "
                             "spec: Object.spec{replicas: object.spec.replicas + 4}}")}));
  const Json deployment = Json::parse(R"({"metadata": {"name": "d", "annotations": {"own": "1"}},
    "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
      "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})");
  const Answer created = Post("/apis/apps/v1/namespaces/default/deployments", deployment);
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["spec"]["replicas"], 5);
  EXPECT_EQ(created.json["metadata"]["annotations"], Json({{"own", "1"}, {"by", "policy"}}));
  EXPECT_EQ(created.json["spec"]["template"]["spec"]["containers"][0]["image"], "i");
}

TEST_F(MutatingPolicyTest, AuthorOfAPolicyNeedsTheRightToReadItsParams) {
  const Json anything{
      {"apiGroups", {"admissionregistration.k8s.io"}}, {"resources", {"*"}}, {"verbs", {"*"}}};
  GiveEverywhere("jane", std::vector<Json>{anything});
  Json policy = Policy(
      "", "configmaps",
      {MutationJson("ApplyConfiguration", "Object{data: {'n': string(size(params.data))}}")});
  policy["spec"]["paramKind"] = {{"apiVersion", "v1"}, {"kind", "Secret"}};
  EXPECT_THAT(As("jane", "POST", kMutatingPoliciesPath, policy).message(),
              HasSubstr("must have \"get\" permission on all objects of the referenced paramKind "
                        "(kind=Secret, apiVersion=v1)"));
  ASSERT_EQ(Post(kMutatingPoliciesPath, policy).status, 201);
  const Json binding = {
      {"metadata", {{"name", "p"}}},
      {"spec",
       {{"policyName", "p"},
        {"paramRef",
         {{"name", "s"}, {"namespace", "kube-system"}, {"parameterNotFoundAction", "Allow"}}}}}};
  EXPECT_THAT(As("jane", "POST", kMutatingBindingsPath, binding).message(),
              HasSubstr("spec.paramRef: Forbidden"));
  policy["spec"].erase("paramKind");
  policy["spec"]["mutations"] = {MutationJson("ApplyConfiguration", "Object{data: {'n': '1'}}")};
  policy["metadata"]["name"] = "q";
  EXPECT_EQ(As("jane", "POST", kMutatingPoliciesPath, policy).status, 201);
}

TEST_F(MutatingPolicyTest, MutationsAreAppliedInOrder) {
  Store(Policy(
      "", "configmaps",
      {MutationJson("JSONPatch",
                    "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'x': 'y'}}, "
                    "JSONPatch{op: 'add', path: '/metadata/annotations/' + "
                    "jsonpatch.escapeKey('example.com/a'), value: object.metadata.name}]"),
       MutationJson("JSONPatch",
                    "[JSONPatch{op: 'test', path: '/data/own', value: 'x'}, "
                    "JSONPatch{op: 'remove', path: '/data'}]"),
       MutationJson("ApplyConfiguration",
                    "Object{data: {'n': string(size(object.metadata.annotations))}}")}));
  Json map = ConfigMapJson("m", {{"own", "1"}});
  map["metadata"]["annotations"] = {{"x", "1"}};
  const Answer created = Post(kMaps, map);
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["metadata"]["annotations"], Json({{"x", "y"}, {"example.com/a", "m"}}));
  EXPECT_EQ(created.json["data"], Json({{"own", "1"}, {"n", "2"}}));
}

TEST_F(MutatingPolicyTest, ConditionsVariablesParamsAndBindingsDecideTheMutation) {
  ASSERT_EQ(Post(kMaps, ConfigMapJson("params", {{"word", "given"}})).status, 201);
  Json policy = Policy("", "configmaps",
                       {MutationJson("ApplyConfiguration", "Object{data: {'w': variables.word}}")});
  policy["spec"]["paramKind"] = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  policy["spec"]["variables"] =
      Json::array({{{"name", "word"}, {"expression", "params.data.word + '!'"}}});
  policy["spec"]["matchConditions"] =
      Json::array({{{"name", "not-b"}, {"expression", "object.metadata.name != 'b'"}}});
  Store(policy, {{"paramRef", {{"name", "params"}, {"parameterNotFoundAction", "Deny"}}},
                 {"matchResources", {{"objectSelector", {{"matchLabels", {{"x", "y"}}}}}}}});
  Json labelled = ConfigMapJson("a", {{"own", "1"}});
  labelled["metadata"]["labels"] = {{"x", "y"}};
  EXPECT_EQ(Post(kMaps, labelled).json["data"], Json({{"own", "1"}, {"w", "given!"}}));
  labelled["metadata"]["name"] = "b";
  EXPECT_EQ(Post(kMaps, labelled).json["data"], Json({{"own", "1"}}));
  EXPECT_EQ(Create("c", {{"own", "1"}}).json["data"], Json({{"own", "1"}}));
}

TEST_F(MutatingPolicyTest, PolicyIsReinvokedAfterALaterChange) {
  Json first = Policy("", "configmaps",
                      {MutationJson("ApplyConfiguration",
                                    "Object{data: {'seen': string(has(object.data.late))}}")});
  first["metadata"]["name"] = "a";
  first["spec"]["reinvocationPolicy"] = "IfNeeded";
  Store(first);
  Json second =
      Policy("", "configmaps", {MutationJson("ApplyConfiguration", "Object{data: {'late': '1'}}")});
  second["metadata"]["name"] = "b";
  Store(second);
  EXPECT_EQ(Create("m", {{"own", "1"}}).json["data"],
            Json({{"late", "1"}, {"own", "1"}, {"seen", "true"}}));
}

TEST_F(MutatingPolicyTest, FailuresFollowTheFailurePolicy) {
  Json policy =
      Policy("", "configmaps",
             {MutationJson("ApplyConfiguration", "Object{data: {'x': object.data.none}}")});
  Store(policy);
  const Answer refused = Create("m", {{"own", "1"}});
  EXPECT_EQ(refused.status, 422) << refused.text;
  EXPECT_THAT(
      refused.message(),
      HasSubstr("policy 'p' with binding 'p' denied request: expression 'Object{data: {'x': "
                "object.data.none}}' resulted in error: no such key: none"));
  EXPECT_EQ(Delete(kMutatingPoliciesPath + "/p").status, 200) << "no policy checks policies";
  policy["spec"]["failurePolicy"] = "Ignore";
  ASSERT_EQ(Post(kMutatingPoliciesPath, policy).status, 201);
  EXPECT_EQ(Create("m", {{"own", "1"}}).json["data"], Json({{"own", "1"}}));
}

TEST_F(MutatingPolicyTest, AtomicListsAreNotMerged) {
  Store(Policy("", "pods",
               {MutationJson("ApplyConfiguration",
                             "Object{spec: Object.spec{tolerations: "
                             "[Object.spec.tolerations{key: 'k', operator: 'Exists'}]}}")}));
  const Json pod = Json::parse(
      R"({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})");
  const Answer refused = Post("/api/v1/namespaces/default/pods", pod);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(),
              HasSubstr("may not mutate atomic arrays, maps or structs: .spec.tolerations"));
}

TEST_F(MutatingPolicyTest, BadPoliciesAreRefused) {
  struct MutationRow {
    Json mutation;
    const char* problem;
  };
  const std::vector<MutationRow> rows = {
      {MutationJson("JSONPatch", "[JSONPatch{"), "spec.mutations[0].jsonPatch.expression"},
      {MutationJson("ApplyConfiguration", "Other{}"), "undeclared reference to 'Other'"},
      {MutationJson("ApplyConfiguration", " "),
       "spec.mutations[0].applyConfiguration.expression: Required value"},
      {{{"patchType", "JSONPatch"}}, "must be specified when patchType is JSONPatch"},
      {{{"patchType", "Merge"}}, "Unsupported value: \"Merge\""},
  };
  for (const MutationRow& row : rows) {
    const Answer refused = Post(kMutatingPoliciesPath, Policy("", "configmaps", {row.mutation}));
    EXPECT_EQ(refused.status, 422) << refused.text;
    EXPECT_THAT(refused.message(), HasSubstr(row.problem));
  }
  Json none = Policy("", "configmaps", {});
  none["spec"]["mutations"] = Json::array();
  EXPECT_THAT(Post(kMutatingPoliciesPath, none).message(),
              HasSubstr("mutations must contain at least one item"));
  Json deletes =
      Policy("", "configmaps", {MutationJson("ApplyConfiguration", "Object{data: {'a': 'b'}}")});
  deletes["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = {"DELETE"};
  EXPECT_THAT(Post(kMutatingPoliciesPath, deletes).message(),
              HasSubstr("Unsupported value: \"DELETE\""));
}

}  // namespace
}  // namespace berth::local
