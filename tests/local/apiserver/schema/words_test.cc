// Goal: selectors, names, quantities and field errors in Kubernetes' words.
// Method: rows; the texts were compared with k8s.io/apimachinery v0.36.
#include <gmock/gmock.h>

#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/schema/name_rules.h"
#include "local/apiserver/schema/quantity_text.h"
#include "local/apiserver/schema/selector.h"
#include "tests/local/apiserver/vectors.h"

namespace berth::local {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct SelectorCase {
  std::string text;
  std::string labels;
  bool want;
};
class LabelSelectorTest : public ::testing::TestWithParam<SelectorCase> {};
TEST_P(LabelSelectorTest, TextSelectorMatchesLabelsThatMeetItsRequirements) {
  const auto selector = ParseLabelSelector(GetParam().text);
  ASSERT_TRUE(selector) << selector.error().message;
  EXPECT_EQ(Matches(*selector, Json::parse(GetParam().labels)), GetParam().want) << GetParam().text;
}
INSTANTIATE_TEST_SUITE_P(
    Table, LabelSelectorTest,
    ::testing::Values(
        SelectorCase{"", "null", true}, SelectorCase{"a=b", R"({"a":"b"})", true},
        SelectorCase{"a==b", R"({"a":"c"})", false}, SelectorCase{"a!=b", R"({})", true},
        SelectorCase{"a in (x, y)", R"({"a":"y"})", true},
        SelectorCase{"a notin (x,y),b", R"({"b":""})", true},
        SelectorCase{"!a", R"({"a":""})", false}, SelectorCase{"a", "{}", false},
        SelectorCase{"a=", R"({"a":""})", true}, SelectorCase{"a in (x,,y)", R"({"a":""})", true},
        SelectorCase{"a notin ()", R"({"a":""})", false}, SelectorCase{"n>3", R"({"n":"4"})", true},
        SelectorCase{"n<3", R"({"n":"x"})", false},
        SelectorCase{"in in (in)", R"({"in":"in"})", true},
        SelectorCase{"kueue.x-k8s.io/queue-name=q, b", R"({"b":"1"})", false}));

struct BadSelector {
  std::string text;
  std::string want;
};
class BadLabelSelectorTest : public ::testing::TestWithParam<BadSelector> {};
TEST_P(BadLabelSelectorTest, IsRefusedWithTheReason) {
  const auto selector = ParseLabelSelector(GetParam().text);
  ASSERT_FALSE(selector);
  EXPECT_EQ(selector.error().code, 400);
  EXPECT_THAT(selector.error().message, HasSubstr(GetParam().want));
}
INSTANTIATE_TEST_SUITE_P(
    Table, BadLabelSelectorTest,
    ::testing::Values(
        BadSelector{"a=b,", "found '', expected: identifier after ','"},
        BadSelector{"a b",
                    "unable to parse requirement: found 'b', expected: in, notin, =, ==, "
                    "!=, gt, lt"},
        BadSelector{"a in b", "unable to parse requirement: found 'b' expected: '('"},
        BadSelector{"=b", "found '=', expected: !, identifier, or 'end of string'"},
        BadSelector{"a in (x", "unable to parse requirement: found ''"},
        BadSelector{"-a=b",
                    "unable to parse requirement: <nil>: Invalid value: \"-a\": name part "
                    "must consist of alphanumeric characters"},
        BadSelector{"a=b/c",
                    "unable to parse requirement: values[0][a]: Invalid value: \"b/c\": a "
                    "valid label must be an empty string or consist of"},
        BadSelector{"n>x",
                    "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value "
                    "must be an integer"}));

TEST(LabelSelectorTest, ReadsMatchLabelsAndMatchExpressions) {
  const auto selector = LabelSelectorFromJson(Json::parse(R"({
      "matchLabels": {"b": "1"},
      "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]},
                           {"key": "c", "operator": "DoesNotExist"}]})"));
  ASSERT_TRUE(selector);
  EXPECT_EQ(FormatLabelSelector(*selector), "a in (x,y),b=1,!c");
  EXPECT_TRUE(Matches(*selector, Json::parse(R"({"a":"x","b":"1"})")));
  EXPECT_FALSE(Matches(*LabelSelectorFromJson(nullptr), Json::object()));
  EXPECT_TRUE(Matches(*LabelSelectorFromJson(Json::object()), Json::object()));
  EXPECT_FALSE(
      LabelSelectorFromJson(Json::parse(R"({"matchExpressions":[{"key":"a","operator":"in"}]})")));
}

TEST(Selector, SelectorOfAnObjectMatchesLabels) {
  const Json pod = {{"metadata", {{"labels", {{"app", "x"}}}}}};
  const auto owner = [](const Json& selector) { return Json{{"spec", {{"selector", selector}}}}; };
  EXPECT_TRUE(SelectorMatches(owner({{"matchLabels", {{"app", "x"}}}}), pod));
  EXPECT_FALSE(SelectorMatches(owner({{"matchLabels", {{"app", "y"}}}}), pod));
  EXPECT_TRUE(SelectorMatches(owner(Json::object()), Json::object())) << "empty: everything";
  EXPECT_FALSE(SelectorMatches(owner(nullptr), pod));
  EXPECT_FALSE(SelectorMatches(Json{{"spec", Json::object()}}, pod));
  EXPECT_FALSE(SelectorMatches(owner({{"matchExpressions", {{{"operator", "No"}}}}}), pod));
}

TEST(FieldSelectorTest, ParsesMatchesAndRefusesFieldSelectors) {
  const auto selector = ParseFieldSelector(R"(metadata.name=x,status.phase!=Run\,ning)");
  ASSERT_TRUE(selector);
  EXPECT_THAT(*selector, ElementsAre(FieldRequirement{"metadata.name", "x", false},
                                     FieldRequirement{"status.phase", "Run,ning", true}));
  const Json object = Json::parse(R"({"metadata":{"name":"x"},"status":{"phase":"Pending"}})");
  EXPECT_TRUE(Matches(*selector, [&](std::string_view f) { return FieldText(object, f); }));
  EXPECT_EQ(ParseFieldSelector("a").error().message, "invalid selector: 'a'; can't understand 'a'");
  EXPECT_FALSE(ParseFieldSelector("a=b=c"));
  EXPECT_FALSE(ParseFieldSelector(R"(a=\b)"));
  EXPECT_EQ(
      CheckFieldSelector({{"spec.foo", "", false}}, {"metadata.name"}, "Job", KindOrigin::kBuiltin)
          ->message,
      "field label \"spec.foo\" not supported for Job");
  EXPECT_EQ(CheckFieldSelector({{"spec.q", "", false}}, {}, "W", KindOrigin::kCustom)->message,
            "field label not supported: spec.q");
  EXPECT_EQ(FieldText(Json::parse(R"({"spec":{"hostNetwork":true}})"), "spec.hostNetwork"), "true");
}

TEST(NamesTest, NameErrorsHaveTheTextsOfKubernetes) {
  EXPECT_THAT(Dns1123SubdomainErrors("a.b-c.1"), IsEmpty());
  EXPECT_THAT(
      Dns1123SubdomainErrors("A_b"),
      ElementsAre("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                  "characters, '-' or '.', and must start and end with an alphanumeric character "
                  "(e.g. 'example.com', regex used for validation is "
                  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"));
  EXPECT_THAT(Dns1123LabelErrors("a.b"), ElementsAre("must not contain dots"));
  EXPECT_THAT(Dns1123LabelErrors(std::string(64, 'a')),
              ElementsAre("must be no more than 63 bytes"));
  EXPECT_THAT(PathSegmentNameErrors(".."), ElementsAre("may not be '..'"));
  EXPECT_THAT(PathSegmentNameErrors("a/b%"),
              ElementsAre("may not contain '/'", "may not contain '%'"));
  EXPECT_THAT(LabelKeyErrors("kueue.x-k8s.io/queue-name"), IsEmpty());
  EXPECT_THAT(LabelKeyErrors("/a"), ElementsAre("prefix part must be non-empty"));
  EXPECT_THAT(ValidateLabels(Json::parse(R"({"a b":"x"})"), "metadata.labels").at(0).field,
              "metadata.labels");
}

TEST(QuantityTest, AQuantityIsWrittenInItsCanonicalFormOrRefused) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"0.5", "500m"},
      {"1024Mi", "1Gi"},
      {"1500m", "1500m"},
      {"0.5Gi", "512Mi"},
      {"0", "0"},
      {"1000m", "1"},
      {"1e3", "1e3"},
      {"12e2", "1200"},
      {"1E", "1E"},
      {"-0.5", "-500m"},
      {"1000", "1k"},
      {"100", "100"},
      {"1.500", "1.500"},
      {"0.1Ki", "102400m"},
      {"8Gi", "8Gi"},
      {"1000Gi", "1000Gi"},
      {"1000000000Gi", "1000000000Gi"},
      {"1023Mi", "1023Mi"},
      {"9223372036854775808", "9223372036854775808"},
      {"0.0000000001", "1n"},
      {"+5", "+5"},
      {"16Ei", "9223372036854775807"},
      {"0Gi", "0"}};
  for (const auto& [text, want] : rows) EXPECT_EQ(CanonicalQuantity(text), want) << text;
  for (const std::string bad : {"", "x", "1x", "1 ", " 1", "1Gib", "Gi", "--1", "1e", "1e9999"}) {
    EXPECT_EQ(CanonicalQuantity(bad), std::nullopt) << bad;
  }
}

TEST(QuantityTest, AgreesWithKubernetes) {
  const std::vector<Json> vectors = ReadVectors("quantity.jsonl");
  ASSERT_GT(vectors.size(), 1000U);
  for (const Json& vector : vectors) {
    const auto got = CanonicalQuantity(vector["text"].get<std::string>());
    EXPECT_EQ(got ? Json(*got) : Json(), vector["want"]) << vector["text"];
  }
}

TEST(FieldErrorTest, InvalidStatusJoinsItsCauses) {
  const ApiError error =
      InvalidStatus("batch", "Job", "",
                    {RequiredError("metadata.name", "name or generateName is required"),
                     NotSupportedError("spec.stopPolicy", "X", {"None", "Hold"}),
                     InvalidError("", Json::parse(R"({"a":"<"})"), "no")});
  EXPECT_EQ(error.code, 422);
  EXPECT_EQ(error.message,
            "Job.batch \"\" is invalid: [metadata.name: Required value: name or generateName is "
            "required, spec.stopPolicy: Unsupported value: \"X\": supported values: \"None\", "
            "\"Hold\", <nil>: Invalid value: {\"a\":\"\\u003c\"}: no]");
  EXPECT_EQ(error.details["causes"].size(), 3U);
  EXPECT_EQ(error.details["causes"][1]["reason"], "FieldValueNotSupported");
  EXPECT_EQ(InvalidError("a", 1.0, "").message, "Invalid value: 1");
  EXPECT_EQ(InvalidError("a", 1e-7, "").message, "Invalid value: 1e-07");
  EXPECT_EQ(TooManyError("a", 20, 16).message, "Too many: 20: must have at most 16 items");
}

}  // namespace
}  // namespace berth::local
