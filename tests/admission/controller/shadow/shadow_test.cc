// Goal: the shadow decides as Berth does, sends no write, and says of each decision whether the
// incumbent did the same. Method: the shadow on the real API in memory, in virtual time, with a
// transport of its own that counts writes; the incumbent is a second Berth, or the test writes as
// an incumbent with other decisions does.

#include "admission/controller/shadow/shadow.h"

#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WitnessTransport final : public kube::Transport {
 public:
  explicit WitnessTransport(kube::Transport& inner) : inner_(inner) {}
  void Send(kube::ApiRequest request, Duration timeout,
            std::function<void(Result<kube::ApiResponse>)> done) override {
    if (request.method != "GET") writes.push_back(request.method + " " + request.path);
    inner_.Send(std::move(request), timeout, std::move(done));
  }
  std::unique_ptr<kube::WatchHandle> Watch(kube::ApiRequest request, Duration silence,
                                           kube::WatchCallbacks callbacks) override {
    return inner_.Watch(std::move(request), silence, std::move(callbacks));
  }
  std::vector<std::string> writes;

 private:
  kube::Transport& inner_;
};

class ShadowTest : public AdmissionFixture {
 protected:
  ~ShadowTest() override {
    EXPECT_THAT(witness_.writes, ElementsAre());
    shadow_manager_.Stop();
  }

  void StartShadow() {
    shadow_ = std::make_unique<Shadow>(shadow_manager_, clock_, shadow_metrics_, shadow_options_);
    shadow_manager_.StartInformers();
    shadow_manager_.StartControllers();
    executor_.RunFor(1s);
  }
  // From now on the test is the incumbent.
  void StopIncumbent() { manager_->Stop(); }
  // Flavors "default" and "spot"; one ClusterQueue with `cpu` of each.
  void PutTwoFlavors(int cpu) {
    PutQueues(cpu, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
    Put("resourceflavors", "spot", Json::object());
    Json flavors = Json::array();
    for (const char* name : {"default", "spot"}) {
      flavors.push_back(
          {{"name", name}, {"resources", {{{"name", "cpu"}, {"nominalQuota", cpu}}}}});
    }
    PutClusterQueue("cq", cpu,
                    {{"preemption", {{"withinClusterQueue", "LowerPriority"}}},
                     {"resourceGroups", {{{"coveredResources", {"cpu"}}, {"flavors", flavors}}}}});
  }
  void Admit(const std::string& name, int cpu, const std::string& flavor = "default") {
    Edit(name, [&](Json& object) {
      api::Workload workload = *api::Decode<api::Workload>(object);
      ReserveQuota(workload.status,
                   {"cq",
                    {{.name = "main",
                      .flavors = {{"cpu", flavor}},
                      .resource_usage = {{"cpu", cpu * 1000}},
                      .count = 1}}},
                   {}, 1, clock_.Now());
      object["status"]["conditions"] = api::Encode(workload.status.conditions);
      object["status"]["admission"] = {{"clusterQueue", "cq"},
                                       {"podSetAssignments",
                                        {{{"name", "main"},
                                          {"count", 1},
                                          {"flavors", {{"cpu", flavor}}},
                                          {"resourceUsage", {{"cpu", cpu}}}}}}};
    });
  }
  void PreemptFor(const std::string& preemptor, const std::string& victim) {
    Edit(victim, [&](Json& object) {
      api::Workload workload = *api::Decode<api::Workload>(object);
      Preempt(workload.status, "InClusterQueue",
              "Preempted to accommodate a workload (UID: " + Get(preemptor).meta.uid +
                  ", JobUID: UNKNOWN) due to prioritization in the ClusterQueue",
              1, clock_.Now());
      object["status"]["conditions"] = api::Encode(workload.status.conditions);
    });
  }

  Json Report() const { return Json::parse(shadow_->report().JsonText(clock_.Now())); }
  // result → count, over admissions and preemptions.
  std::map<std::string, int> Counts() const {
    std::map<std::string, int> counts;
    const Json report = Report();
    for (const auto& [subject, results] : report["counts"].items()) {
      for (const auto& [result, count] : results.items()) {
        if (count != 0) counts[subject + "." + result] = count.get<int>();
      }
    }
    return counts;
  }
  using Map = std::map<std::string, int>;

  WitnessTransport witness_{api_};
  kube::ApiClient shadow_client_{witness_, executor_};
  kube::Manager shadow_manager_{shadow_client_, executor_};
  kube::Metrics shadow_metrics_;
  ShadowOptions shadow_options_;
  std::unique_ptr<Shadow> shadow_;
};

TEST_F(ShadowTest, AgreesWithTheDecisionsOfAnEqualIncumbent) {
  PutQueues(4, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  PutWorkload("before", 1);
  executor_.RunFor(2s);
  StartShadow();
  for (const char* name : {"a", "b", "c", "d"}) PutWorkload(name, 1);
  executor_.RunFor(5s);
  EXPECT_EQ(Counts(), (Map{{"admission.same", 3}})) << Report().dump(1);
  PutWorkload("high", 2, {{"priority", 5}});
  executor_.RunFor(3s);
  EXPECT_EQ(Counts(), (Map{{"admission.same", 3}, {"preemption.same", 1}})) << Report().dump(1);
  for (const char* name : {"before", "a", "b", "c", "d"}) {
    if (Is(name, api::kEvicted)) Release(name);
  }
  executor_.RunFor(60s);
  EXPECT_EQ(Counts(), (Map{{"admission.same", 4}, {"preemption.same", 1}})) << Report().dump(1);
  EXPECT_TRUE(Is("high", api::kAdmitted));
  const Json report = Report();
  EXPECT_EQ(report["agreement"], 1);
  EXPECT_EQ(report["open"], 0);
  EXPECT_EQ(report["agreements"][0]["workload"], "team/high");
  EXPECT_THAT(shadow_metrics_.Text(), HasSubstr("berth_shadow_agreement_ratio 1\n"));
}

TEST_F(ShadowTest, AdmissionOnAnotherFlavorIsADifferenceAndTheIncumbentsUsageCounts) {
  StopIncumbent();
  PutTwoFlavors(4);
  StartShadow();
  PutWorkload("a", 4);
  executor_.RunFor(2s);
  Admit("a", 4, "spot");
  executor_.RunFor(2s);
  EXPECT_EQ(Counts(), (Map{{"admission.differs", 1}}));
  const Json difference = Report()["differences"][0];
  EXPECT_EQ(difference["workload"], "team/a");
  EXPECT_EQ(difference["berth"]["admission"]["podSets"][0]["flavors"]["cpu"], "default");
  EXPECT_EQ(difference["incumbent"]["admission"]["podSets"][0]["flavors"]["cpu"], "spot");
  // "default" is free.
  PutWorkload("b", 4);
  executor_.RunFor(2s);
  Admit("b", 4, "default");
  executor_.RunFor(2s);
  EXPECT_EQ(Counts(), (Map{{"admission.differs", 1}, {"admission.same", 1}}));
}

TEST_F(ShadowTest, AWorkloadThatTheIncumbentLeavesWaitingIsOneDifference) {
  StopIncumbent();
  PutQueues(4);
  StartShadow();
  PutWorkload("a", 4);
  executor_.RunFor(5s);
  EXPECT_EQ(Counts(), Map{});
  EXPECT_EQ(Report()["open"], 1);
  SetConditionOf("a", api::kQuotaReserved, false, "WaitingForQuota");
  executor_.RunFor(6s);
  EXPECT_EQ(Counts(), (Map{{"admission.onlyBerth", 1}}));
  EXPECT_EQ(Report()["differences"][0]["incumbent"],
            (Json{{"verdict", "waiting"}, {"reason", "WaitingForQuota"}}));
  // The workload that is aside takes no quota in the shadow.
  PutWorkload("b", 4);
  executor_.RunFor(1s);
  Admit("b", 4);
  executor_.RunFor(2s);
  EXPECT_EQ(Counts(), (Map{{"admission.onlyBerth", 1}, {"admission.same", 1}}));
  SetConditionOf("b", api::kFinished, true, "Succeeded");
  executor_.RunFor(600s);
  EXPECT_EQ(Counts(), (Map{{"admission.onlyBerth", 1}, {"admission.same", 1}}))
      << "repeated decisions are not counted again";
  Admit("a", 4);
  executor_.RunFor(5s);
  EXPECT_EQ(Counts(), (Map{{"admission.onlyBerth", 1}, {"admission.same", 1}}));
  EXPECT_EQ(Report()["differences"][0]["incumbent"]["verdict"], "reserved") << "it followed later";
}

TEST_F(ShadowTest, DifferenceShowsWhyBerthWouldNotAdmit) {
  StopIncumbent();
  PutQueues(4);
  PutWorkload("a", 3);
  Admit("a", 3);
  StartShadow();
  PutWorkload("b", 3);
  executor_.RunFor(2s);
  Admit("b", 3);
  executor_.RunFor(3s);
  EXPECT_EQ(Counts(), (Map{{"admission.onlyIncumbent", 1}}));
  const Json difference = Report()["differences"][0];
  EXPECT_EQ(difference["berth"]["verdict"], "waiting");
  EXPECT_EQ(difference["berth"]["reason"], "WaitingForQuota");
  EXPECT_THAT(difference["berth"]["message"].get<std::string>(), HasSubstr("2 more needed"));
  EXPECT_EQ(shadow_->scheduler().state().cluster_queues().Find("cq").has_value(), true);
}

TEST_F(ShadowTest, PreemptionsAreComparedByVictim) {
  StopIncumbent();
  PutTwoFlavors(4);
  PutWorkload("low", 4, {{"priority", 1}});
  PutWorkload("middle", 4, {{"priority", 2}});
  Admit("low", 4);
  Admit("middle", 4, "spot");
  StartShadow();
  PutWorkload("high", 4, {{"priority", 5}});
  executor_.RunFor(2s);
  PreemptFor("high", "middle");
  executor_.RunFor(15s);
  EXPECT_EQ(Counts(), (Map{{"preemption.differs", 1}})) << Report().dump(1);
  const Json difference = Report()["differences"][0];
  EXPECT_EQ(difference["workload"], "team/high");
  EXPECT_EQ(difference["berth"]["preempted"], Json({"team/low"}));
  EXPECT_EQ(difference["incumbent"]["preempted"], Json({"team/middle"}));
  EXPECT_EQ(difference["berth"]["admission"]["podSets"][0]["flavors"]["cpu"], "default");
  Release("middle");
  executor_.RunFor(1s);
  Admit("high", 4, "spot");
  executor_.RunFor(3s);
  EXPECT_EQ(Counts(), (Map{{"preemption.differs", 1}})) << Report().dump(1);
  const Json later = Report()["differences"][0]["incumbent"];
  EXPECT_EQ(later["verdict"], "reserved");
  EXPECT_EQ(later["preempted"], Json({"team/middle"}));
}

// Two queues of one cohort, the victim in a third: both programs preempt the victim, each for
// another workload.
TEST_F(ShadowTest, APreemptionForAnotherWorkloadIsADifference) {
  StopIncumbent();
  PutTwoFlavors(4);
  PutWorkload("low", 4, {{"priority", 1}});
  PutWorkload("spot", 4, {{"priority", 9}});
  Admit("low", 4);
  Admit("spot", 4, "spot");
  StartShadow();
  PutWorkload("high", 4, {{"priority", 5}});
  executor_.RunFor(2s);
  PutWorkload("other", 4, {{"priority", 4}});
  executor_.RunFor(1s);
  PreemptFor("other", "low");
  executor_.RunFor(3s);
  EXPECT_EQ(Counts(), (Map{{"preemption.differs", 1}})) << Report().dump(1);
  const Json difference = Report()["differences"][0];
  EXPECT_EQ(difference["workload"], "team/high");
  EXPECT_EQ(difference["incumbent"]["preempted"], Json({"team/low"}));
  EXPECT_EQ(difference["incumbent"]["message"], "preempted for team/other");
}

// The incumbent's decision may be the one that Berth had no room for.
TEST_F(ShadowTest, DecisionsBeyondTheBoundAreNotJudged) {
  StopIncumbent();
  shadow_options_.max_open_decisions = 2;
  PutQueues(9);
  StartShadow();
  for (const char* name : {"a", "b", "c", "d"}) PutWorkload(name, 1);
  executor_.RunFor(1s);
  EXPECT_EQ(Report()["open"], 2);
  Admit("d", 1);
  executor_.RunFor(3s);
  EXPECT_EQ(Counts(), Map{}) << Report().dump(1);
  EXPECT_EQ(Report()["unjudged"], 1);
  EXPECT_THAT(shadow_metrics_.Text(), HasSubstr("berth_shadow_unjudged_total 1\n"));
  Admit("a", 1);
  executor_.RunFor(1s);
  Admit("c", 1);
  executor_.RunFor(1s);
  EXPECT_EQ(Counts(), (Map{{"admission.same", 2}})) << Report().dump(1);
}

TEST_F(ShadowTest, PreemptionByTheIncumbentAloneIsADifference) {
  StopIncumbent();
  PutQueues(4);
  PutWorkload("low", 4, {{"priority", 1}});
  Admit("low", 4);
  StartShadow();
  PutWorkload("high", 4, {{"priority", 5}});
  executor_.RunFor(2s);
  PreemptFor("high", "low");
  executor_.RunFor(3s);
  EXPECT_EQ(Counts(), (Map{{"preemption.onlyIncumbent", 1}})) << Report().dump(1);
  const Json difference = Report()["differences"][0];
  EXPECT_EQ(difference["workload"], "team/high");
  EXPECT_EQ(difference["berth"]["verdict"], "waiting");
  EXPECT_EQ(difference["incumbent"]["preempted"], Json({"team/low"}));
}

TEST_F(ShadowTest, PreemptionByBerthAloneIsADifference) {
  StopIncumbent();
  PutQueues(4, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  PutWorkload("low", 4, {{"priority", 1}});
  Admit("low", 4);
  StartShadow();
  PutWorkload("high", 4, {{"priority", 5}});
  executor_.RunFor(600s);
  EXPECT_EQ(Counts(), (Map{{"preemption.onlyBerth", 1}})) << Report().dump(1);
  EXPECT_EQ(Report()["differences"][0]["berth"]["reason"], "InClusterQueue");
  PreemptFor("high", "low");
  Release("low");
  executor_.RunFor(1s);
  Admit("high", 4);
  executor_.RunFor(60s);
  EXPECT_EQ(Counts(), (Map{{"preemption.onlyBerth", 1}})) << Report().dump(1);
  EXPECT_EQ(Report()["differences"][0]["incumbent"]["verdict"], "reserved");
}

TEST_F(ShadowTest, DecisionsOvertakenByFinishOrDeletionAreNotCompared) {
  StopIncumbent();
  PutQueues(4, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  PutWorkload("low", 4, {{"priority", 1}});
  Admit("low", 4);
  StartShadow();
  PutWorkload("high", 4, {{"priority", 5}});
  executor_.RunFor(2s);
  SetConditionOf("low", api::kFinished, true, "Succeeded");
  executor_.RunFor(2s);
  EXPECT_EQ(Report()["open"], 1) << "the admission of high";
  api_.Remove(PathOf("high"));
  executor_.RunFor(30s);
  EXPECT_EQ(Counts(), Map{});
  EXPECT_EQ(Report()["overtaken"], 2);
  EXPECT_EQ(Report()["open"], 0);
}

TEST_F(ShadowTest, IncumbentMayWakeParkedWorkloadsSoonerWithoutADifference) {
  shadow_options_.driver.wake_up_batch = 60s;
  PutQueues(4);
  PutWorkload("a", 4);
  executor_.RunFor(2s);
  StartShadow();
  PutWorkload("b", 4);
  executor_.RunFor(5s);
  SetConditionOf("a", api::kFinished, true, "Succeeded");
  executor_.RunFor(10s);
  EXPECT_EQ(Counts(), (Map{{"admission.same", 1}})) << Report().dump(1);
}

TEST_F(ShadowTest, AdmissionThatArrivesBeforeItsQueueIsNoDifference) {
  StopIncumbent();
  StartShadow();
  PutWorkload("a", 4);
  executor_.RunFor(1s);
  Admit("a", 4);  // the watch of Workloads is faster than that of ClusterQueues
  executor_.RunFor(500ms);
  PutQueues(4);
  executor_.RunFor(5s);
  EXPECT_EQ(Counts(), (Map{{"admission.same", 1}})) << Report().dump(1);
}

// Three queues of a cohort that borrow, reclaim and preempt; jobs come, end and stop at random
// times. Every difference is false: both are the same program.
TEST_F(ShadowTest, AgreesWithAnEqualIncumbentUnderLoad) {
  const Json preemption = {{"withinClusterQueue", "LowerPriority"}, {"reclaimWithinCohort", "Any"}};
  PutQueues(8);
  for (const char* name : {"a", "b", "c"}) {
    PutClusterQueue(name, 6, {{"cohortName", "all"}, {"preemption", preemption}});
    PutLocalQueue(std::string("lq-") + name, name);
  }
  executor_.RunFor(2s);
  StartShadow();
  std::uint64_t random = 7;
  const auto draw = [&random](std::uint64_t below) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return (random >> 33) % below;
  };
  std::vector<std::string> names;
  for (int step = 0; step < 400; ++step) {
    if (step < 250 && draw(2) == 0) {
      names.push_back("w" + std::to_string(names.size()));
      PutWorkload(names.back(), static_cast<int>(1 + draw(4)),
                  {{"queueName", std::string("lq-") + "abc"[draw(3)]},
                   {"priority", static_cast<int>(draw(3))}});
    }
    for (const std::string& name : names) {
      if (Is(name, api::kEvicted) && Is(name, api::kQuotaReserved)) Release(name);
    }
    if (!names.empty() && draw(3) == 0) {
      const std::string& name = names[draw(names.size())];
      if (Is(name, api::kAdmitted) && !Is(name, api::kFinished)) {
        SetConditionOf(name, api::kFinished, true, "Succeeded");
      }
    }
    executor_.RunFor(std::chrono::milliseconds(100 + draw(900)));
  }
  executor_.RunFor(120s);
  const ShadowReport::Counts counts = shadow_->report().counts();
  EXPECT_GT(counts.Of(ShadowResult::kSame), 60) << Report()["counts"];
  EXPECT_GT(counts.by_kind.at({ShadowSubject::kPreemption, ShadowResult::kSame}), 10);
  EXPECT_EQ(counts.agreement(), 1.0) << Report()["counts"] << Report()["differences"].dump(1);
  EXPECT_EQ(counts.open, 0U);
}

// An incumbent that admits, preempts and removes at random. The shadow may differ in everything,
// but it follows: what the API holds is what its scheduler holds, and no decision stays open.
TEST_F(ShadowTest, FollowsAnIncumbentThatDecidesAtRandom) {
  StopIncumbent();
  PutTwoFlavors(6);
  shadow_options_.window = 3s;
  StartShadow();
  std::uint64_t random = 11;
  const auto draw = [&random](std::uint64_t below) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return (random >> 33) % below;
  };
  std::vector<std::string> names;
  for (int step = 0; step < 500; ++step) {
    if (names.size() < 12 || draw(6) == 0) {
      names.push_back("w" + std::to_string(step));
      PutWorkload(names.back(), static_cast<int>(1 + draw(4)),
                  {{"priority", static_cast<int>(draw(3))}});
    }
    const std::size_t at = draw(names.size());
    const std::string name = names[at];
    const bool has_quota = Is(name, api::kQuotaReserved);
    switch (draw(6)) {
      case 0:
      case 1:
        if (!has_quota)
          Admit(name, 1 + static_cast<int>(draw(4)), draw(2) == 0 ? "default" : "spot");
        break;
      case 2:
        if (has_quota && !Is(name, api::kEvicted)) PreemptFor(names[draw(names.size())], name);
        break;
      case 3:
        if (has_quota && Is(name, api::kEvicted)) Release(name);
        break;
      case 4: SetConditionOf(name, api::kFinished, true, "Succeeded"); break;
      default:
        api_.Remove(PathOf(name));
        names.erase(names.begin() + static_cast<std::ptrdiff_t>(at));
    }
    executor_.RunFor(std::chrono::milliseconds(draw(1500)));
  }
  EXPECT_GT(shadow_->report().counts().Of(ShadowResult::kOnlyIncumbent), 10);
  for (const std::string& name : names) api_.Remove(PathOf(name));
  executor_.RunFor(30s);
  EXPECT_EQ(Report()["open"], 0);
  EXPECT_FALSE(shadow_->scheduler().HasHeads());
  for (const std::string& name : names) {
    EXPECT_FALSE(shadow_->scheduler().workloads().Find({"team", name}).has_value()) << name;
  }
  // The shadow still decides, on empty queues.
  const std::int64_t same = shadow_->report().counts().Of(ShadowResult::kSame);
  PutWorkload("last", 6);
  executor_.RunFor(1s);
  Admit("last", 6);
  executor_.RunFor(5s);
  EXPECT_EQ(shadow_->report().counts().Of(ShadowResult::kSame), same + 1) << Report().dump(1);
}

TEST(ShadowReportTest, KeepsABoundedNumberOfComparisons) {
  kube::Metrics metrics;
  ShadowReport report(metrics, 10s);
  const std::size_t extra = 3;
  for (std::size_t i = 0; i < ShadowReport::kMaxDifferences + extra; ++i) {
    report.Add({.result = ShadowResult::kOnlyBerth,
                .workload = {"team", "w" + std::to_string(i)},
                .berth = {.at = WallTime{}, .verdict = "reserved"},
                .incumbent = {.verdict = "waiting"}});
    report.Add({.result = ShadowResult::kSame, .workload = {"team", "w"}});
  }
  const Json shown = Json::parse(report.JsonText(WallTime{}));
  EXPECT_EQ(shown["differences"].size(), ShadowReport::kMaxDifferences);
  EXPECT_EQ(shown["agreements"].size(), ShadowReport::kMaxAgreements);
  EXPECT_EQ(shown["olderDifferences"], extra);
  EXPECT_EQ(shown["agreement"], 0.5);
  EXPECT_EQ(shown["differences"][0]["workload"],
            "team/w" + std::to_string(ShadowReport::kMaxDifferences + extra - 1));
  report.Follow(1, {.verdict = "reserved"});  // dropped meanwhile
  EXPECT_THAT(report.Lines(1), ElementsAre(HasSubstr("Berth: reserved; the incumbent: waiting")));
}

}  // namespace
}  // namespace berth::admission
