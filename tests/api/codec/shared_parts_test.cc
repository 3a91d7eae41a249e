// Goal: parts that Workloads share are decoded once, and each Workload keeps its own template.
// Method: texts that differ in one place, decoded with one cache; and random jobs of few templates,
// decoded with and without a cache.

#include "api/codec/shared_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/job_pod_set.h"
#include "base/random.h"

namespace berth::api {
namespace {

using ::testing::HasSubstr;

class SharedPartsTest : public ::testing::Test {
 protected:
  Result<Workload> DecodeText(const std::string& whole) {
    JsonText text;
    const auto root = text.Parse(whole);
    EXPECT_TRUE(root) << whole;
    return Decode<Workload>({**root, parts_});
  }
  Result<Workload> WithPodSets(const std::string& pod_sets) {
    return DecodeText(R"({"metadata":{"name":"w"},"spec":{"podSets":)" + pod_sets + "}}");
  }

  SharedParts parts_;
};

std::string Running(const std::string& container) {
  return R"([{"name":"a","count":2,"template":{"spec":{"containers":[{"name":"c",)" + container +
         "}]}}}]";
}

const PodSet* FieldsOf(const Workload& workload) { return workload.spec.pod_sets.begin(); }

TEST_F(SharedPartsTest, EqualPodSetsAreDecodedOnce) {
  const std::string two = Running(R"("args":["x"])");
  const auto first = WithPodSets(two);
  auto second = WithPodSets(two);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(FieldsOf(*first), FieldsOf(*second));
  EXPECT_EQ(TemplateOf(first->spec, 0).json, TemplateOf(second->spec, 0).json) << "not its copy";
  second->spec.pod_sets[0].count = 3;  // copies the shared elements
  EXPECT_EQ(FieldsOf(*first)->count, 2);
  EXPECT_EQ(FieldsOf(*WithPodSets(two))->count, 2);
  const auto other = WithPodSets(R"([{"name":"b"}])");
  ASSERT_TRUE(other);
  EXPECT_EQ(FieldsOf(*other)->name, "b");
  EXPECT_EQ(TemplateOf(other->spec, 0).json, nullptr);
}

TEST_F(SharedPartsTest, ErrorsAreNotCached) {
  for (int i = 0; i < 2; ++i) {
    const auto wrong = WithPodSets(R"([{"name":"a"},{"count":"two"}])");
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().message, HasSubstr("spec.podSets[1].count"));
  }
  EXPECT_TRUE(WithPodSets("null"));
  EXPECT_TRUE(WithPodSets("[]")->spec.pod_sets.empty());
}

TEST_F(SharedPartsTest, JobsThatDifferInWhatNoDecisionReadsShareFields) {
  struct PairRow {
    const char* first;
    const char* second;
    bool shared;
  };
  const PairRow rows[] = {
      {R"("args":["--seed=1"])", R"("args":["--seed=2","--fast"])", true},
      {R"("args":[])", R"("args":["[","{","\"]"])", true},
      {R"("command":["a"],"env":[{"name":"A"}])", R"("command":["b"],"env":[{"name":"B"}])", true},
      {R"("lifecycle":{"preStop":{"exec":{"command":["a"]}}})",
       R"("lifecycle":{"preStop":{"exec":{"command":["b"]}}})", true},
      {R"("args":["--seed=1"])", R"("env":["--seed=1"])", false},
      {R"("args":["--seed=1"])", R"("args":null)", false},
      {R"("image":"a","args":["x"])", R"("image":"b","args":["x"])", false},
      {R"("resources":{"requests":{"cpu":"1"}},"args":["x"])",
       R"("resources":{"requests":{"cpu":"2"}},"args":["y"])", false},
  };
  for (const PairRow& row : rows) {
    SCOPED_TRACE(row.second);
    const auto first = WithPodSets(Running(row.first));
    const auto second = WithPodSets(Running(row.second));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(FieldsOf(*first) == FieldsOf(*second), row.shared);
    for (const auto& [workload, container] :
         {std::pair(&*first, row.first), {&*second, row.second}}) {
      EXPECT_EQ(Encode(*workload)["spec"]["podSets"],
                Encode(*Decode<Workload>(Json{
                    {"spec", {{"podSets", Json::parse(Running(container))}}}}))["spec"]["podSets"]);
    }
  }
}

TEST_F(SharedPartsTest, ListsOfManyObjectsAreInMemoryOnce) {
  const std::string text =
      R"({"metadata":{"name":"w","finalizers":["f"]},"status":{"resourceRequests":[)"
      R"({"name":"main","resources":{"cpu":"2"}}]}})";
  const auto first = DecodeText(text);
  const auto second = DecodeText(text);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->meta.finalizers.begin(), second->meta.finalizers.begin());
  EXPECT_EQ(first->status.resource_requests.begin(), second->status.resource_requests.begin());
  EXPECT_EQ(first->status.resource_requests,
            (std::vector<PodSetRequests>{{"main", {{"cpu", 2000}}}}));
}

// Jobs of few templates with arguments and commands of their own.
TEST_F(SharedPartsTest, CacheChangesNoWorkload) {
  Random random(7);
  const auto pick = [&random](std::initializer_list<const char*> texts) {
    return std::string(*(texts.begin() + random.Below(texts.size())));
  };
  for (int round = 0; round < 500; ++round) {
    Json pod_sets = Json::array();
    for (std::uint64_t i = random.Below(3); i < 3; ++i) {
      Json container = {{"name", pick({"c", "d"})}, {"image", pick({"i", "j"})}};
      if (random.Below(2) == 0) container["command"] = {pick({"a", "b"}), "\"]},{\\"};
      if (random.Below(2) == 0) container["args"] = {std::to_string(random.Below(1000)), "-v"};
      Json made = {{"name", "p" + std::to_string(i)}, {"count", 1 + random.Below(2)}};
      if (random.Below(8) != 0) made["template"]["spec"]["containers"] = {container};
      pod_sets.push_back(made);
    }
    const Json object = {{"metadata", {{"name", "w"}, {"finalizers", {pick({"f", "g"})}}}},
                         {"spec", {{"podSets", pod_sets}}}};
    const auto cached = DecodeText(object.dump());
    ASSERT_TRUE(cached);
    EXPECT_EQ(Encode(*cached), Encode(*Decode<Workload>(object)));
  }
}

}  // namespace
}  // namespace berth::api
