// Goal: faults that the simulation found stay fixed: each story here, shrunk from a seed, has
// broken the rule that it names.
#include <gtest/gtest.h>

#include "base/log/log.h"
#include "tests/faults/episode.h"

namespace berth::sim {
namespace {

using std::chrono::seconds;

Story Told(std::vector<std::string> setup, std::vector<StoryEvent> events) {
  Story story;
  story.seed = 1;
  story.setup = {"node n cpu=64 label=pool=f", "flavor f label=pool=f"};
  story.setup.insert(story.setup.end(), setup.begin(), setup.end());
  story.events = std::move(events);
  story.length = seconds(30);
  return story;
}

void EndsWell(const Story& story) {
  const Outcome outcome = Play(story, {.chronicle = true});
  if (!outcome.violation) return;
  std::string text;
  for (const std::string& line : outcome.chronicle) text += line + "\n";
  ADD_FAILURE() << outcome.violation->rule << ": " << outcome.violation->text << "\n" << text;
}

// quota-exceeded, seed 2: the quota of a deactivated job was released while its pods ran.
TEST(FoundTest, DeactivatedJobHoldsItsQuotaUntilItHasStopped) {
  EndsWell(Told(
      {"cluster-queue cq f/cpu=4", "local-queue q -> cq"},
      {{seconds(1), "job a queue=q cpu=3 runs=56s label=kueue.x-k8s.io/max-exec-time-seconds=9"},
       {seconds(2), "job b queue=q cpu=2 runs=5s"}}));
}

// restless, seed 6: a job admitted with its minimum of pods could not be started, because the
// webhook compared that number with the reduced parallelism.
TEST(FoundTest, ReactivatedJobStartsWithItsMinimumParallelism) {
  EndsWell(Told({"cluster-queue cq f/cpu=1", "local-queue q -> cq", "cluster-queue other f/cpu=9",
                 "local-queue p -> other"},
                {{seconds(1),
                  "job a queue=q cpu=1 parallelism=3 completions=5 runs=5s "
                  "annotate=kueue.x-k8s.io/job-min-parallelism=1"},
                 {seconds(9), "set workload of a active=false"},
                 {seconds(12), "cluster-queue cq f/cpu=3"},
                 {seconds(15), "set workload of a active=true"}}));
}

// request-twice, seed 526: if the answer to a creation was lost, the attempt was not counted, and
// after the request's deletion the next one got the same name.
TEST(FoundTest, LostAnswerOfARequestCountsAsAnAttempt) {
  Story story =
      Told({"pool p machine=n1-standard-8 gpu=nvidia-tesla-t4*1 queued max=2 idle=20 grant=20",
            "flavor dws", "capacity-check prov managed=nvidia.com/gpu",
            "cluster-queue cq checks=prov dws/cpu=5 dws/nvidia.com/gpu=5", "local-queue q -> cq"},
           {{seconds(2), "job a queue=q cpu=1 gpu=1 runs=5s"},
            {seconds(9), "set workload of a active=false"},
            {seconds(12), "set workload of a active=true"}});
  story.faults = {{.at = seconds(1),
                   .length = seconds(5),
                   .fault = Fault::kLostAnswer,
                   .per_mille = 1000,
                   .path = "provisioningrequests",
                   .seed = 1}};
  EndsWell(story);
}

// waits-for-nothing, seed 443: a check's answer to a reservation that was being released was
// ignored, and the job waited for ever.
TEST(FoundTest, CheckAnswersWhileItsJobIsStopping) {
  for (const std::string answer : {"Rejected", "Retry", "Retry retry-after=40"}) {
    SCOPED_TRACE(answer);
    Story story =
        Told({"check budget", "cluster-queue cq within=LowerPriority checks=budget f/cpu=2",
              "local-queue q -> cq"},
             {{seconds(1), "job a queue=q cpu=2 runs=20s"},
              {seconds(3), "answer budget of a Ready"},
              {seconds(8), "job b queue=q cpu=2 priority=9 runs=5s"},
              {seconds(15), "answer budget of a " + answer},
              {seconds(50), "answer budget of b Ready"},
              {seconds(90), "answer budget of a Ready"}});
    story.faults = {
        {.at = seconds(7), .length = seconds(20), .fault = Fault::kSlow, .per_mille = 1000}};
    story.length = seconds(100);
    EndsWell(story);
  }
}

// waits-for-nothing, seed 1088: a job that fitted its first flavor, but had to wait for other
// workloads' pods to be ready, continued its scan at the second one, where it did not fit.
TEST(FoundTest, BlockedAdmissionKeepsItsFlavor) {
  Story story =
      Told({"node m cpu=64 label=pool=g", "flavor g label=pool=g",
            "cluster-queue cq when-can-borrow=MayStopSearch f/cpu=5 g/cpu=1",
            "cluster-queue other f/cpu=5", "local-queue q -> cq", "local-queue p -> other"},
           {{seconds(1), "job a queue=p cpu=2 runs=60s backoff-limit=9"},
            {seconds(10), "delete node n"},
            {seconds(12), "job b queue=q cpu=3 runs=5s"},
            {seconds(30), "node n cpu=64 label=pool=f"}});
  story.config = "waitForPodsReady: {timeout: 40s, blockAdmission: true, recoveryTimeout: 40s}\n";
  EndsWell(story);
}

// hot-loop, seed 22681: the deletion of a request was not seen; its template was created again as
// often as the garbage collector deleted it.
TEST(FoundTest, RequestDeletedDuringABrokenWatchGetsNoTemplate) {
  Story story = Told(
      {"pool p machine=n1-standard-8 gpu=nvidia-tesla-t4*1 queued max=2 boot=6 idle=25 grant=17",
       "flavor dws", "capacity-check prov managed=nvidia.com/gpu",
       "cluster-queue cq checks=prov dws/cpu=6 dws/nvidia.com/gpu=4", "local-queue q -> cq"},
      {{seconds(1), "job a queue=q cpu=3 gpu=1 runs=20s"},
       {seconds(20), "set clusterqueue cq stopPolicy=Hold"},
       {seconds(25), "set clusterqueue cq stopPolicy=None"}});
  story.faults = {{.at = seconds(5),
                   .length = seconds(40),
                   .fault = Fault::kUnavailable,
                   .requests = FaultSpan::Requests::kReads,
                   .per_mille = 1000,
                   .path = "/provisioningrequests?",  // lists and watches of them
                   .seed = 1}};
  story.blows = {{.kind = Blow::Kind::kExpireWatches, .at = seconds(6)}};
  story.length = seconds(60);
  EndsWell(story);
}

// request-twice, seed 32101: a request that the watch did not show for half a minute was taken as
// never created, and a second one was created.
TEST(FoundTest, RequestMissingFromABrokenWatchIsRead) {
  Story story = Told(
      {"pool p machine=n1-standard-8 gpu=nvidia-tesla-t4*1 queued max=2 boot=6 idle=25 grant=60",
       "flavor dws", "capacity-check prov managed=nvidia.com/gpu",
       "cluster-queue cq checks=prov dws/cpu=6 dws/nvidia.com/gpu=4", "local-queue q -> cq"},
      {{seconds(10), "job a queue=q cpu=3 gpu=1 runs=20s"},
       {seconds(50), "set workload of a metadata.annotations.touched=yes"}});
  story.faults = {{.at = seconds(5),
                   .length = seconds(80),
                   .fault = Fault::kUnavailable,
                   .requests = FaultSpan::Requests::kReads,
                   .per_mille = 1000,
                   .path = "/provisioningrequests?",  // lists and watches of them
                   .seed = 1}};
  story.blows = {{.kind = Blow::Kind::kBreakWatches, .at = seconds(6)}};
  story.length = seconds(90);
  const Outcome outcome = Play(story, {});
  EXPECT_FALSE(outcome.violation) << outcome.violation->rule << ": " << outcome.violation->text;
}

// restless, seed 22399: the clock was set back, so an idle node stayed longer than its idle time.
TEST(FoundTest, ClockSetBackKeepsNodesLonger) {
  Story story = Told(
      {"pool p machine=n1-standard-8 gpu=nvidia-tesla-t4*1 queued max=2 boot=6 idle=50 grant=5",
       "flavor dws", "capacity-check prov managed=nvidia.com/gpu",
       "cluster-queue cq checks=prov dws/cpu=6 dws/nvidia.com/gpu=4", "local-queue q -> cq"},
      {{seconds(1), "job a queue=q cpu=3 gpu=1 runs=5s"}});
  story.blows = {
      {.kind = Blow::Kind::kJumpClock, .at = seconds(40), .span = -std::chrono::minutes(7)}};
  story.length = seconds(60);
  EndsWell(story);
}

// seed 109: an admission that a failing server did not write was decided and written again without
// a pause, 230 times a second.
TEST(FoundTest, RequestsToAFailingServerBackOff) {
  for (const std::string path : {"/status", ""}) {
    SCOPED_TRACE(path);
    Story story = Told({"cluster-queue cq within=LowerPriority f/cpu=2", "local-queue q -> cq"},
                       {{seconds(1), "job a queue=q cpu=2 runs=90s"},
                        {seconds(20), "job b queue=q cpu=2 priority=9 runs=5s"}});
    for (const Duration at : {Duration{}, Duration(seconds(20))}) {
      story.faults.push_back({.at = at,
                              .length = seconds(15),
                              .fault = Fault::kServerError,
                              .per_mille = 1000,
                              .path = path,
                              .seed = 1});
    }
    story.length = seconds(60);
    const Outcome outcome = Play(story, {});
    EXPECT_FALSE(outcome.violation) << outcome.violation->rule << ": " << outcome.violation->text;
    EXPECT_LT(outcome.faults.at("server-error"), 150);
  }
}

// template-changed, seed 400920: a toleration that the owner of an admitted job added while it had
// suspended the job is gone after the job's next stop, as in Kueue, and no rule says otherwise.
TEST(FoundTest, AnEditOfAnAdmittedJobsTemplateLastsUntilItsNextStop) {
  EndsWell(Told(
      {"cluster-queue cq f/cpu=4", "local-queue q -> cq"},
      {{seconds(1), "job a queue=q cpu=3 runs=60s stops=5s"},
       {seconds(3), "set job a suspend=true"},
       {seconds(4),
        "patch job a <<EOF\nspec: {template: {spec: {tolerations: [{key: spot, operator: Exists, "
        "effect: NoSchedule}]}}}\nEOF"},
       {seconds(15), "set workload of a active=false"}}));
}

// released-while-running, seed 2002133: the start of a job was written and its answer lost while
// its watch was down: an eviction found it suspended, as before its start.
TEST(FoundTest, JobWithALostStartIsStoppedBeforeItsQuotaIsReleased) {
  Story story = Told({"check gate", "cluster-queue cq checks=gate f/cpu=4", "local-queue q -> cq"},
                     {{seconds(1), "job a queue=q cpu=3 runs=60s"},
                      {seconds(9), "answer gate of a Ready"},
                      {seconds(12), "set clusterqueue cq stopPolicy=HoldAndDrain"}});
  story.faults = {{.at = seconds(5),
                   .length = seconds(20),
                   .fault = Fault::kServerError,
                   .requests = FaultSpan::Requests::kReads,
                   .per_mille = 1000,
                   .path = "/jobs",
                   .seed = 1},
                  {.at = seconds(8),
                   .length = seconds(10),
                   .fault = Fault::kLostAnswer,
                   .per_mille = 1000,
                   .path = "/jobs",
                   .seed = 1}};
  story.blows = {{.kind = Blow::Kind::kBreakWatches, .at = seconds(6)}};
  EndsWell(story);
}

}  // namespace
}  // namespace berth::sim

int main(int argc, char** argv) {
  berth::ConfigureLog(berth::LogLevel::kError);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
