// Goal: objects without a boolean are held by their numbers of pods, whoever writes them and when.
// Method: a table of objects, each with the object after Hold and after Release; then descriptions.
#include "integrations/object_hold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integrations/described_job.h"
#include "integrations/kind_description.h"
#include "integrations/sample_play.h"

namespace berth::integrations {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// {"spec": …} with the annotation of a held object; empty: without.
Json Crew(const std::string& spec, const std::string& kept = "") {
  Json object = {{"apiVersion", "science.example/v1"},
                 {"kind", "Crew"},
                 {"metadata", {{"name", "crew"}}},
                 {"spec", Json::parse(spec)}};
  if (!kept.empty()) object["metadata"]["annotations"]["berth.dev/held-replicas"] = kept;
  return object;
}

struct HoldRow {
  std::string name;
  Json object;
  bool held = false;
  bool loose = false;
  Json after_hold, after_release;
};
void PrintTo(const HoldRow& row, std::ostream* out) { *out << row.name; }

class ReplicasHoldTest : public ::testing::TestWithParam<HoldRow> {};

TEST_P(ReplicasHoldTest, HoldsAndReleasesObjectsByTheirReplicas) {
  const HoldRow& row = GetParam();
  const ObjectHoldPtr hold = HoldByReplicas({{{}, {}, {"spec", "replicas"}},
                                             {{"spec", "groups"}, {}, {"size"}},
                                             {{"spec", "roles"}, {"A", "B"}, {"replicas"}}});
  EXPECT_EQ(hold->IsHeld(row.object), row.held);
  EXPECT_EQ(hold->IsLoose(row.object), row.loose);
  EXPECT_TRUE(hold->Check(row.object)) << hold->Check(row.object).error().message;
  Json object = row.object;
  hold->Hold(object);
  EXPECT_EQ(object, row.after_hold);
  EXPECT_TRUE(hold->IsHeld(object));
  EXPECT_FALSE(hold->IsLoose(object));
  hold->Hold(object);
  EXPECT_EQ(object, row.after_hold) << "a held object stays as it is";
  hold->Release(object);
  EXPECT_EQ(object, row.after_release);
  EXPECT_EQ(*WantedObject(*hold, row.after_hold), row.after_release);
  EXPECT_EQ(*WantedObject(*hold, row.after_release), row.after_release);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ReplicasHoldTest,
    ::testing::ValuesIn(std::vector<HoldRow>{
        {"One", Crew(R"({"replicas": 3})"), false, false,
         Crew(R"({"replicas": 0})", R"({"spec.replicas":3})"), Crew(R"({"replicas": 3})")},
        {"Held", Crew(R"({"replicas": 0})", R"({"spec.replicas":3})"), true, false,
         Crew(R"({"replicas": 0})", R"({"spec.replicas":3})"), Crew(R"({"replicas": 3})")},
        {"ScaledWhileHeld", Crew(R"({"replicas": 5})", R"({"spec.replicas":3})"), false, true,
         Crew(R"({"replicas": 0})", R"({"spec.replicas":5})"), Crew(R"({"replicas": 5})")},
        {"Absent", Crew("{}"), false, false,
         Crew(R"({"replicas": 0})", R"({"spec.replicas":null})"), Crew("{}")},
        {"NoPods", Crew(R"({"replicas": 0})"), false, false,
         Crew(R"({"replicas": 0})", R"({"spec.replicas":0})"), Crew(R"({"replicas": 0})")},
        {"Lists", Crew(R"({"replicas": 1, "groups": [{"size": 2}, null, {"size": 4}]})"), false,
         false,
         Crew(R"({"replicas": 0, "groups": [{"size": 0}, null, {"size": 0}]})",
              R"({"spec.groups[0].size":2,"spec.groups[2].size":4,"spec.replicas":1})"),
         Crew(R"({"replicas": 1, "groups": [{"size": 2}, null, {"size": 4}]})")},
        {"OneOfSeveralScaled",
         Crew(R"({"replicas": 0, "groups": [{"size": 7}]})",
              R"({"spec.groups[0].size":2,"spec.replicas":1})"),
         false, true,
         Crew(R"({"replicas": 0, "groups": [{"size": 0}]})",
              R"({"spec.groups[0].size":7,"spec.replicas":1})"),
         Crew(R"({"replicas": 1, "groups": [{"size": 7}]})")},
        {"Maps", Crew(R"({"replicas": 1, "roles": {"A": {"replicas": 2}, "C": {"replicas": 9}}})"),
         false, false,
         Crew(R"({"replicas": 0, "roles": {"A": {"replicas": 0}, "C": {"replicas": 9}}})",
              R"({"spec.replicas":1,"spec.roles.A.replicas":2})"),
         Crew(R"({"replicas": 1, "roles": {"A": {"replicas": 2}, "C": {"replicas": 9}}})")},
    }),
    [](const auto& row) { return row.param.name; });

Json CrewKind() {
  return Json::parse(R"({"group": "science.example", "version": "v1", "kind": "Crew",
      "podSets": [{"template": "spec.template", "replicas": "spec.replicas"}],
      "ready": "self.?status.?running.orValue(0) == self.spec.replicas",
      "review": {"rules": [{"when": "self.spec.replicas > 9", "type": "Invalid",
                            "field": "spec.replicas", "message": "'too many'"}]}})");
}

Json CrewOf(const std::string& replicas, const std::string& kept = "") {
  return Crew(R"({"replicas": )" + replicas + R"(, "template": {"spec": {"containers":
      [{"name": "c", "image": "i"}]}}})",
              kept);
}

// Held or not, the pod sets and the state are those of the numbers that the owner wants.
TEST(HeldByReplicasTest, ExpressionsSeeTheWantedNumbers) {
  const KindPtr kind = *ParseKind(CrewKind());
  for (const auto& [object, held] :
       {std::pair{CrewOf("3"), false}, std::pair{CrewOf("0", R"({"spec.replicas":3})"), true}}) {
    const Result<JobView> view = ViewOf(kind, object);
    ASSERT_TRUE(view) << view.error().message;
    EXPECT_EQ(view->problem, "");
    EXPECT_EQ(view->suspended, held);
    ASSERT_EQ(view->pod_sets.size(), 1U);
    EXPECT_EQ(view->pod_sets[0].count, 3);
    EXPECT_FALSE(view->pods_ready);
    EXPECT_EQ(PodSetsOf(*kind, object)->front().pods.count, 3);
    EXPECT_TRUE(PlaySample(kind, object)) << PlaySample(kind, object).error().message;
  }
  const Json absent = Crew(R"({"template": {"spec": {"containers": [{"name": "c"}]}}})");
  const auto pod_sets = PodSetsOf(*kind, absent);
  ASSERT_TRUE(pod_sets) << pod_sets.error().message;
  EXPECT_EQ(pod_sets->front().pods.count, 1) << "an absent number is 1";
}

TEST(HeldByReplicasTest, ProblemNamesTheFieldThatCannotBeRead) {
  const KindPtr kind = *ParseKind(CrewKind());
  for (const char* kept : {"3", "[]", "no JSON", "null"}) {
    const Result<JobView> view = ViewOf(kind, CrewOf("0", kept));
    ASSERT_TRUE(view);
    EXPECT_EQ(view->problem,
              "metadata.annotations[berth.dev/held-replicas]: expected the numbers of pods by "
              "field, as JSON");
    EXPECT_TRUE(view->suspended) << "nothing of it runs";
  }
  for (const char* number : {"-1", "1.5", "\"many\"", "[]"}) {
    EXPECT_EQ(ViewOf(kind, CrewOf(number))->problem, "spec.replicas: expected a number of pods");
    EXPECT_EQ(
        ViewOf(kind, CrewOf("0", std::string(R"({"spec.replicas":)") + number + "}"))->problem,
        "spec.replicas: expected a number of pods");
  }
}

PodSetChange Granted(std::int32_t count, bool partial) {
  return {.name = "main", .count = count, .count_is_partial = partial};
}

// Partial admission, of a Workload that the job names.
TEST(HeldByReplicasTest, AStartWritesTheGrantedNumberAStopTheWantedOne) {
  const KindPtr kind = *ParseKind(CrewKind());
  const Json held = CrewOf("0", R"({"spec.replicas":4})");
  EXPECT_EQ(Started(*kind, held, {Granted(4, false)})->back(), CrewOf("4"));
  EXPECT_EQ(Started(*kind, held, {Granted(2, false)})->back(), CrewOf("4"));
  const Json started = Started(*kind, held, {Granted(2, true)})->back();
  EXPECT_EQ(started, CrewOf("2"));
  EXPECT_EQ(Stopped(*kind, started, {Granted(4, true)}, false).back(), held);
  EXPECT_EQ(Stopped(*kind, started, {}, false).back(), CrewOf("0", R"({"spec.replicas":2})"));
  EXPECT_EQ(Stopped(*kind, held, {Granted(4, true)}, false).back(), held);

  Json description = CrewKind();
  description["podSets"][0]["count"] = "self.spec.replicas * 4";
  const KindPtr hosts = *ParseKind(description);
  EXPECT_EQ(Started(*hosts, held, {Granted(10, true)})->back(), CrewOf("2"))
      << "no more pods than are granted";
}

TEST(HeldByReplicasTest, DescriptionMustHaveExactlyOneHold) {
  const auto problem = [](const char* patch) {
    Json description = CrewKind();
    description.merge_patch(Json::parse(patch));
    const Result<KindPtr> kind = ParseKind(description);
    return kind ? std::string() : kind.error().message;
  };
  EXPECT_EQ(problem("{}"), "");
  EXPECT_EQ(problem(R"({"podSets": [{"template": "spec.template"}]})"),
            "suspend: the path of the field that holds a job is missing");
  EXPECT_EQ(problem(R"({"suspend": "spec.paused"})"),
            "podSets[0].replicas: not allowed: `suspend`, or the scheduling gates of the pods, "
            "hold the job already");
  EXPECT_THAT(problem(R"({"podSets": [{"template": "spec.a", "replicas": "spec.n"},
                                      {"template": "spec.b", "name": "'b'"}]})"),
              HasSubstr("podSets[1].replicas: is missing"));
  EXPECT_THAT(problem(R"({"podSets": [{"template": "a", "replicas": "spec..n"}]})"),
              HasSubstr("podSets[0].replicas: expected field names joined by dots"));
  EXPECT_EQ(problem(R"({"podSets": [{"each": "spec.groups", "template": "pod", "replicas": "n-1",
                                     "name": "item.name"}]})"),
            "");
}

}  // namespace
}  // namespace berth::integrations
