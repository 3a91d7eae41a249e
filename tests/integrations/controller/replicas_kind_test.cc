// Goal: the whole life of a job of a declared kind that its numbers of pods hold: held although no
// review saw it, queued, admitted, preempted, resumed, finished, failed; and what its user does to
// it meanwhile. Method: the fixture of described kinds; the test plays the scheduler, the operator
// and the user.
#include "tests/integrations/controller/described_jobs_fixture.h"

namespace berth::integrations::described_jobs_test {
namespace {

class ReplicasKindTest : public DescribedJobsTest {
 protected:
  static constexpr char kCrews[] = "/apis/science.example/v1/namespaces/default/crews";
  static constexpr char kCrew[] = "/apis/science.example/v1/namespaces/default/crews/c";

  void SetUp() override {
    DescribedJobsTest::SetUp();
    Json crd = JobSetCrd();
    crd["metadata"]["name"] = "crews.science.example";
    crd["spec"]["group"] = "science.example";
    crd["spec"]["names"] = {
        {"kind", "Crew"}, {"plural", "crews"}, {"singular", "crew"}, {"listKind", "CrewList"}};
    crd["spec"]["versions"][0]["name"] = "v1";
    api_.Put(kCrds, crd);
    api_.Put("/apis/integrations.berth.dev/v1alpha1/jobkinds", Json::parse(R"({
        "metadata": {"name": "crews"}, "spec": {"group": "science.example", "version": "v1",
        "kind": "Crew", "podSets": [
          {"name": "'head'", "template": "spec.head.pod", "replicas": "spec.head.replicas"},
          {"name": "item.name", "each": "spec.groups", "template": "pod", "replicas": "size"}],
        "active": "self.?status.?running.orValue(0) > 0",
        "ready": "self.?status.?running.orValue(0) == self.spec.head.replicas",
        "finished": [{"condition": "Completed", "succeeded": "true"},
                     {"condition": "Failed", "succeeded": "false"}]}})"));
    Start();
  }
  static Json Pod(const Json& selector = nullptr) {
    Json pod = {{"spec", {{"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
    if (!selector.is_null()) pod["spec"]["nodeSelector"] = selector;
    return pod;
  }
  static Json Spec(int head, int workers) {
    return {{"head", {{"replicas", head}, {"pod", Pod()}}},
            {"groups", {{{"name", "workers"}, {"size", workers}, {"pod", Pod({{"p", "q"}})}}}}};
  }
  void SubmitCrew(const Json& spec) {
    api_.Put(kCrews, {{"apiVersion", "science.example/v1"},
                      {"kind", "Crew"},
                      {"metadata",
                       {{"name", "c"},
                        {"namespace", "default"},
                        {"labels", {{"kueue.x-k8s.io/queue-name", "lq"}}}}},
                      {"spec", spec}});
    Settle();
  }
  Json Crew() { return *api_.Find(kCrew); }
  // "HEAD WORKERS", and what the annotation keeps.
  std::string Numbers() {
    const Json crew = Crew();
    std::string text =
        crew["spec"]["head"]["replicas"].dump() + " " + crew["spec"]["groups"][0]["size"].dump();
    const Json annotations = crew["metadata"].value("annotations", Json::object());
    const std::string kept = annotations.value("berth.dev/held-replicas", "");
    return kept.empty() ? text : text + " " + kept;
  }
  void Edit(const std::function<void(Json&)>& edit) {
    Json crew = Crew();
    edit(crew);
    api_.Put(kCrews, crew);
    Settle();
  }
  void Running(int pods) {
    Edit([pods](Json& crew) { crew["status"]["running"] = pods; });
  }
  void End(const char* condition, const char* message) {
    Edit([condition, message](Json& crew) {
      crew["status"] = {
          {"running", 0},
          {"conditions", {{{"type", condition}, {"status", "True"}, {"message", message}}}}};
    });
  }
  void Admit(int head, int workers, const std::vector<std::string>& more = {}) {
    std::vector<std::string> conditions{"QuotaReserved", "Admitted"};
    conditions.insert(conditions.end(), more.begin(), more.end());
    Apply(conditions, {{{"name", "head"}, {"count", head}, {"flavors", {{"cpu", "spot"}}}},
                       {{"name", "workers"}, {"count", workers}, {"flavors", {{"cpu", "spot"}}}}});
  }
  // The JobKind and its CRD are looked at once a minute.
  void ExpectNoWrites() {
    const std::size_t writes = api_.CountWrites();
    executor_.RunFor(120s);
    EXPECT_EQ(api_.CountWrites(), writes) << "nothing spins";
  }
  std::string State(const std::string& type) {
    for (const Json& each : Workload()["status"].value("conditions", Json::array())) {
      if (each["type"] != type) continue;
      return each["status"].get<std::string>() + " " + each["reason"].get<std::string>() + " " +
             each["message"].get<std::string>();
    }
    return "";
  }
  static constexpr char kHeld13[] = R"(0 0 {"spec.groups[0].size":3,"spec.head.replicas":1})";
};

TEST_F(ReplicasKindTest, ObjectIsHeldStartedStoppedAndFinishedByItsReplicas) {
  SubmitCrew(Spec(1, 3));
  EXPECT_EQ(Numbers(), kHeld13) << "no review has seen it";
  const Json pod_sets = Workload()["spec"]["podSets"];
  ASSERT_EQ(pod_sets.size(), 2U);
  EXPECT_EQ(pod_sets[0]["name"], "head");
  EXPECT_EQ(pod_sets[0]["count"], 1);
  EXPECT_EQ(pod_sets[1]["count"], 3);
  ExpectNoWrites();

  Admit(1, 3);
  EXPECT_EQ(Numbers(), "1 3");
  EXPECT_EQ(Crew()["spec"]["groups"][0]["pod"]["spec"]["nodeSelector"],
            (Json{{"p", "q"}, {"capacity", "spot"}}));
  Running(4);
  ExpectNoWrites();

  // Preempted: its quota waits for its pods.
  Admit(1, 3, {"Evicted"});
  EXPECT_EQ(Numbers(), kHeld13);
  EXPECT_EQ(Crew()["spec"]["groups"][0]["pod"], Pod({{"p", "q"}}));
  EXPECT_TRUE(State("QuotaReserved").starts_with("True"));
  Running(0);
  EXPECT_TRUE(State("QuotaReserved").starts_with("False"));

  Admit(1, 3);
  EXPECT_EQ(Numbers(), "1 3") << "it is back";
  End("Completed", "all done");
  EXPECT_EQ(State("Finished"), "True Succeeded all done");
  EXPECT_EQ(Numbers(), "1 3") << "what is over stays as it is";
  ExpectNoWrites();
}

TEST_F(ReplicasKindTest, FailedObjectFinishesItsWorkloadWithTheMessage) {
  SubmitCrew(Spec(1, 3));
  Admit(1, 3);
  End("Failed", "no luck");
  EXPECT_EQ(State("Finished"), "True Failed no luck");
}

// Through the sub-resource scale, which no review of the object sees.
TEST_F(ReplicasKindTest, ScaledHeldObjectStaysHeldAndResizesItsWorkload) {
  SubmitCrew(Spec(1, 3));
  Edit([](Json& crew) { crew["spec"]["groups"][0]["size"] = 5; });
  EXPECT_EQ(Numbers(), R"(0 0 {"spec.groups[0].size":5,"spec.head.replicas":1})");
  EXPECT_EQ(Workload()["spec"]["podSets"][1]["count"], 5);
  ExpectNoWrites();
}

TEST_F(ReplicasKindTest, ScaledRunningObjectIsHeldAndQueuedAgain) {
  SubmitCrew(Spec(1, 3));
  Admit(1, 3);
  Edit([](Json& crew) { crew["spec"]["groups"][0]["size"] = 5; });
  EXPECT_EQ(Numbers(), R"(0 0 {"spec.groups[0].size":5,"spec.head.replicas":1})");
  EXPECT_EQ(Workload()["spec"]["podSets"][1]["count"], 5);
  Admit(1, 5);
  EXPECT_EQ(Numbers(), "1 5");
}

TEST_F(ReplicasKindTest, AnObjectWithoutPodsIsAJobOfNoPods) {
  SubmitCrew(Spec(0, 0));
  EXPECT_EQ(Workload()["spec"]["podSets"][0]["count"], 0);
  Admit(0, 0);
  EXPECT_EQ(Numbers(), "0 0");
  ExpectNoWrites();
  Edit([](Json& crew) { crew["spec"]["head"]["replicas"] = 2; });
  EXPECT_EQ(Workload()["spec"]["podSets"][0]["count"], 2);
  EXPECT_EQ(Numbers(), R"(0 0 {"spec.groups[0].size":0,"spec.head.replicas":2})");
  ExpectNoWrites();
}

TEST_F(ReplicasKindTest, AnAnnotationThatCannotBeReadWaitsWithTheReason) {
  SubmitCrew(Spec(1, 3));
  Edit([](Json& crew) { crew["metadata"]["annotations"]["berth.dev/held-replicas"] = "three"; });
  EXPECT_EQ(Numbers(), "0 0 three");
  EXPECT_THAT(Told("ErrWorkloadCompose"),
              ::testing::Contains(::testing::HasSubstr("metadata.annotations[berth.dev/")));
  ExpectNoWrites();
  Edit([](Json& crew) { crew["spec"] = Spec(1, 3); });
  EXPECT_EQ(Numbers(), kHeld13) << "its user has given it a size again";
}

}  // namespace
}  // namespace berth::integrations::described_jobs_test
