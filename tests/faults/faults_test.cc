// Goal: the simulation can fail. Every rule has a history that breaks it; a server with false
// answers is detected; a seed gives the same story and the same history each time. Method:
// histories are written into a store by hand; whole episodes run with a saboteur.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log/log.h"
#include "tests/faults/episode.h"
#include "tests/faults/history.h"
#include "tests/faults/shrink.h"

namespace berth::sim {
namespace {

using local::Json;
using ::testing::HasSubstr;

TEST_F(HistoryTest, AllowsAJobStartedAfterItsAdmission) {
  PutJob("j", true);
  PutWorkload("w", "j", "", false);
  PutWorkload("w", "j", "4", true);
  PutJob("j", false);
  PutJob("j", true);
  PutWorkload("w", "j", "", false);
  EXPECT_EQ(Broken(), "");
}

TEST_F(HistoryTest, DetectsAJobStartedWithoutAdmission) {
  PutJob("j", true);
  PutWorkload("w", "j", "4", false);
  PutJob("j", false);
  EXPECT_EQ(Broken(), "job-without-admission");
}

TEST_F(HistoryTest, DetectsAJobStartedOnNodesOfAnotherFlavor) {
  Put("resourceflavors.kueue.x-k8s.io", "", "f", {{"spec", {{"nodeLabels", {{"pool", "g"}}}}}});
  PutJob("j", true);
  PutWorkload("w", "j", "4", true);
  PutJob("j", false);
  EXPECT_EQ(Broken(), "wrong-place");
}

TEST_F(HistoryTest, DetectsReservationsAboveTheQuota) {
  PutWorkload("a", "j", "3", true);
  PutWorkload("b", "k", "1", true);
  EXPECT_EQ(Broken(), "");
  PutWorkload("c", "l", "1m", true);
  EXPECT_EQ(Broken(), "quota-exceeded");
  EXPECT_THAT(invariants_.violation()->text, HasSubstr("default/c gets f/cpu=1 in cq"));
}

TEST_F(HistoryTest, AllowsReservationsOnQuotaThatWasJustRemoved) {
  Put("clusterqueues.kueue.x-k8s.io", "", "cq", {{"spec", QueueSpec("1")}});
  now_ += std::chrono::seconds(1);
  PutWorkload("a", "j", "4", true);
  EXPECT_EQ(Broken(), "");
  now_ += std::chrono::seconds(9);
  PutWorkload("b", "k", "1", true);
  EXPECT_EQ(Broken(), "quota-exceeded");
}

TEST_F(HistoryTest, DetectsAReservationOnAFlavorAboveItsQuota) {
  PutWorkload("a", "j", "4", true);
  Put("clusterqueues.kueue.x-k8s.io", "", "cq", {{"spec", QueueSpec("1")}});
  now_ += std::chrono::seconds(9);
  PutWorkload("b", "k", "0", true);
  EXPECT_EQ(Broken(), "");
  PutWorkload("c", "l", "1m", true);
  EXPECT_EQ(Broken(), "quota-exceeded");
}

TEST_F(HistoryTest, DetectsAReservationInAStoppedQueue) {
  Json spec = QueueSpec("4");
  spec["stopPolicy"] = "Hold";
  Put("clusterqueues.kueue.x-k8s.io", "", "cq", {{"spec", spec}});
  now_ += std::chrono::seconds(9);
  PutWorkload("a", "j", "4", true);
  EXPECT_EQ(Broken(), "reserved-in-stopped");
}

TEST_F(HistoryTest, DetectsAReservationFromANamespaceThatIsNotSelected) {
  Put("namespaces", "", "default", {{"metadata", {{"labels", {{"dept", "b"}}}}}});
  Json spec = QueueSpec("4");
  spec["namespaceSelector"]["matchLabels"]["dept"] = "b";
  Put("clusterqueues.kueue.x-k8s.io", "", "cq", {{"spec", spec}});
  PutWorkload("a", "j", "1", true);
  EXPECT_EQ(Broken(), "");
  now_ += std::chrono::seconds(5);
  Put("namespaces", "", "default", {{"metadata", {{"labels", {{"dept", "c"}}}}}});
  now_ += std::chrono::seconds(1);
  PutWorkload("b", "k", "1", true);
  EXPECT_EQ(Broken(), "") << "the news may still be on its way";
  now_ += std::chrono::seconds(5);
  PutWorkload("c", "l", "1", true);
  EXPECT_EQ(Broken(), "wrong-namespace");
}

TEST_F(HistoryTest, DetectsANodeAssignedBeyondItsCapacity) {
  Put("nodes", "", "n", {{"status", {{"allocatable", {{"cpu", "2"}}}}}});
  const auto promise = [this](const std::string& name) {
    PutWorkload(name, "job-" + name, "1", true);
    Json placed = *store_->GetLatest({kWorkloads, "default", name})->json();
    placed["apiVersion"] = "kueue.x-k8s.io/v1beta2";
    placed["kind"] = "Workload";
    placed["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = {
        {"levels", {"kubernetes.io/hostname"}},
        {"slices",
         {{{"domainCount", 1},
           {"podCounts", {{"universal", 1}}},
           {"valuesPerLevel", {{{"universal", "n"}}}}}}}};
    Put(kWorkloads, "default", name, placed);
  };
  promise("a");
  promise("b");
  EXPECT_EQ(Broken(), "");
  promise("c");
  EXPECT_EQ(Broken(), "node-promised-twice");
}

TEST_F(HistoryTest, DetectsAWriteWithoutTheLease) {
  const auto lease = [this](const std::string& holder) {
    Put("leases.coordination.k8s.io", "kueue-system", "l",
        {{"spec", {{"holderIdentity", holder}}}});
  };
  const kube::ApiRequest write{"PATCH", "/apis/kueue.x-k8s.io/v1beta2/x", "", nullptr};
  lease("a");
  invariants_.OnRequest(write, "a");
  invariants_.OnRequest({"GET", write.path, "", nullptr}, "b");
  invariants_.OnRequest({"PUT", "/apis/coordination.k8s.io/v1/namespaces/n/leases/l", "", nullptr},
                        "b");
  EXPECT_EQ(Broken(), "");
  lease("b");
  EXPECT_EQ(invariants_.leader_changes(), 2);
  invariants_.OnRequest(write, "a");
  EXPECT_EQ(Broken(), "write-without-lease");
}

TEST_F(HistoryTest, DetectsTwoWorkloadsOfOneJob) {
  PutWorkload("a", "j", "", false);
  PutWorkload("b", "j", "", false);
  EXPECT_EQ(Broken(), "two-workloads");
}

TEST_F(HistoryTest, DetectsAnAdmissionBeforeItsCheckIsReady) {
  PutWorkload("a", "j", "1", true, "Pending");
  EXPECT_EQ(Broken(), "unready-check");
}

TEST_F(HistoryTest, AllowsOneWriteToAdmitAndEvictOnlyAfterAReadyCheck) {
  for (const char* check : {"Ready", "Pending"}) {
    const std::string name = std::string("w-") + check;
    PutWorkload(name, "j-" + name, "1", false, check);
    Json status = store_->GetLatest({kWorkloads, "default", name})->json()->at("status");
    status["conditions"] = Json::array({Condition("QuotaReserved", true),
                                        Condition("Admitted", true), Condition("Evicted", true)});
    status["admissionChecks"][0]["state"] = "Pending";
    Change(kWorkloads, "default", name, "/status", status);
    EXPECT_EQ(Broken(), check == std::string("Ready") ? "" : "unready-check");
  }
}

TEST_F(HistoryTest, DetectsQuotaReleasedUnderRunningPods) {
  PutJob("j", true);
  PutWorkload("w", "j", "4", true);
  PutJob("j", false, 1);
  PutJob("j", true, 1);
  PutWorkload("w", "j", "", false);
  EXPECT_EQ(Broken(), "released-while-running");
}

TEST_F(HistoryTest, DetectsQuotaReleasedUnderAJobThatAUserStarted) {
  PutJob("j", true);
  PutWorkload("w", "j", "4", false);
  actor_ = Invariants::Actor::kStory;
  PutJob("j", false, 1);
  actor_ = Invariants::Actor::kPrograms;
  PutWorkload("w", "j", "", false);
  EXPECT_EQ(Broken(), "") << "the edit may not have been heard";
  PutWorkload("w", "j", "4", false);
  now_ += std::chrono::seconds(3);
  PutWorkload("w", "j", "", false);
  EXPECT_EQ(Broken(), "released-while-running");
}

TEST_F(HistoryTest, DetectsTwoRequestsForOneCheck) {
  const Json request{{"metadata",
                      {{"ownerReferences", Json::array({{{"kind", "Workload"},
                                                         {"name", "w"},
                                                         {"uid", "uid-of-w"},
                                                         {"controller", true}}})}}}};
  Put("provisioningrequests.autoscaling.x-k8s.io", "default", "w-prov-1", request);
  EXPECT_EQ(Broken(), "");
  Put("provisioningrequests.autoscaling.x-k8s.io", "default", "w-prov-2", request);
  EXPECT_EQ(Broken(), "request-twice");
}

TEST_F(HistoryTest, DetectsAnObjectThatIsWrittenInALoop) {
  for (int i = 0; i < 21; ++i) PutWorkload("a", "j", "", false);
  EXPECT_EQ(Broken(), "hot-loop");
}

TEST_F(HistoryTest, DetectsALostAcknowledgedWrite) {
  PutWorkload("a", "j", "", false);
  kube::ApiResponse answer;
  answer.body = std::make_shared<const Json>(
      Json{{"kind", "Workload"}, {"metadata", {{"uid", "uid-of-a"}, {"resourceVersion", "999"}}}});
  invariants_.OnAnswer({"PATCH", "/apis/x", "", nullptr}, answer);
  EXPECT_EQ(Broken(), "lost-write");
}

// ---- Whole episodes.

Story ShortStory() {
  Story story;
  story.seed = 7;
  story.setup = {"node n cpu=64 label=pool=f", "flavor f label=pool=f", "cluster-queue cq f/cpu=2",
                 "local-queue q -> cq"};
  story.events = {{std::chrono::seconds(1), "job a queue=q cpu=2 runs=20s"},
                  {std::chrono::seconds(2), "job b queue=q cpu=1 runs=5s"}};
  story.length = std::chrono::seconds(10);
  return story;
}

TEST(EpisodeTest, ShortStoryBreaksNoRule) {
  const Outcome outcome = Play(ShortStory(), {});
  EXPECT_FALSE(outcome.violation) << outcome.violation->rule << ": " << outcome.violation->text;
  EXPECT_EQ(outcome.jobs_finished, 2);
}

TEST(EpisodeTest, AnotherReplicaTakesOverFromACrashedOrCutOffLeader) {
  Blow blow;
  blow.at = std::chrono::seconds(3);
  blow.span = std::chrono::seconds(50);
  blow.count = 1;
  for (const bool write_happens : {false, true}) {
    for (const Blow::Kind kind : {Blow::Kind::kCrash, Blow::Kind::kCutOff}) {
      SCOPED_TRACE(static_cast<int>(kind) * 2 + (write_happens ? 1 : 0));
      Story story = ShortStory();
      story.replicas = 2;
      story.length = std::chrono::seconds(120);
      blow.kind = kind;
      blow.write_happens = write_happens;
      story.blows = {blow};
      const Outcome outcome = Play(story, {});
      EXPECT_FALSE(outcome.violation) << outcome.violation->rule << ": " << outcome.violation->text;
      EXPECT_EQ(outcome.jobs_finished, 2);
      EXPECT_GE(outcome.faults.at("leader changes"), 2);
    }
  }
}

TEST(EpisodeTest, DetectsAServerThatLosesAcknowledgedWrites) {
  EpisodeOptions options;
  int writes = 0;
  options.saboteur = [&writes](const kube::ApiRequest& request) {
    const bool concerned =
        request.method == "PATCH" && request.path.find("/workloads/") != std::string::npos;
    return concerned && ++writes == 2 ? Fault::kFalseAnswer : Fault::kNone;
  };
  const Outcome outcome = Play(ShortStory(), options);
  ASSERT_TRUE(outcome.violation);
  EXPECT_EQ(outcome.violation->rule, "lost-write");
}

TEST(EpisodeTest, DetectsAJobThatNeverFinishes) {
  EpisodeOptions options;
  options.saboteur = [](const kube::ApiRequest& request) {
    const bool concerned =
        request.method == "PATCH" && request.path.find("/jobs/") != std::string::npos;
    return concerned ? Fault::kServerError : Fault::kNone;
  };
  const Outcome outcome = Play(ShortStory(), options);
  ASSERT_TRUE(outcome.violation);
  EXPECT_EQ(outcome.violation->rule, "never-finishes");
}

TEST(EpisodeTest, EqualSeedsGiveEqualEpisodes) {
  for (const std::uint64_t seed : {2U, 65U, 99U}) {
    const Story story = MakeStory(seed);
    EXPECT_EQ(Tell(story), Tell(MakeStory(seed)));
    EXPECT_EQ(Play(story, {}).trace_hash, Play(story, {.chronicle = true}).trace_hash) << seed;
  }
  EXPECT_NE(Tell(MakeStory(1)), Tell(MakeStory(2)));
}

TEST(ShrinkTest, KeepsOnlyTheNeededEvents) {
  Story story;
  for (int i = 0; i < 9; ++i) story.events.push_back({{}, std::to_string(i)});
  story.blows.resize(3);
  const auto has = [](const Story& candidate, const char* line) {
    return std::any_of(candidate.events.begin(), candidate.events.end(),
                       [line](const StoryEvent& event) { return event.line == line; });
  };
  const Story shrunk = Shrink(
      story, [&](const Story& each) { return has(each, "2") && has(each, "7"); }, 1000);
  ASSERT_EQ(shrunk.events.size(), 2U);
  EXPECT_EQ(shrunk.events[0].line + shrunk.events[1].line, "27");
  EXPECT_TRUE(shrunk.blows.empty());
}

}  // namespace
}  // namespace berth::sim

int main(int argc, char** argv) {
  berth::ConfigureLog(berth::LogLevel::kError);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
