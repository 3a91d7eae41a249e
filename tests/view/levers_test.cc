// Goal: every obstacle of a queue is named, with the object to change; pods without progress name
// the cause.
#include "view/screens/levers.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/reasons.h"
#include "tests/view/view_builder.h"
#include "view/screens/items.h"
#include "view/screens/reason.h"
#include "view/screens/status.h"
#include "view/screens/why.h"

namespace berth::view {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A job in an open queue with quota, not looked at yet.
ClusterView OpenView() {
  ClusterView view;
  view.now = ViewTime();
  view.cluster_queues = {MakeQueue("team", "", {{"cpu", 4000}}, {})};
  view.local_queues = {MakeLocalQueue("default", "team-queue", "team")};
  api::ResourceFlavor flavor;
  flavor.meta.name = "t4";
  view.flavors = {flavor};
  view.workloads = {MakeWorkload("default", "train", "team-queue", 60)};
  view.jobs = {MakeJob(view.workloads[0])};
  return view;
}

void AddCheck(ClusterView& view, bool exists, std::optional<api::Condition> active) {
  view.cluster_queues[0].spec.admission_checks = {{.check = "prov", .on_flavors = {}}};
  if (!exists) return;
  api::AdmissionCheck check;
  check.meta.name = "prov";
  check.controller_name = "example.com/checker";
  if (active) check.conditions = {*active};
  view.admission_checks = {check};
}

void Deactivate(ClusterView& view, const std::string& reason) {
  view.cluster_queues[0].status.conditions = {
      FalseCondition(api::kActive, reason, "Can't admit new workloads: …", SecondsAgo(9))};
}

struct LeverRow {
  std::string name;
  std::function<void(ClusterView&)> change;
  std::string fact;  // empty: nothing is closed
  std::vector<std::string> levers;
};

std::vector<LeverRow> ClosedQueues() {
  return {{"open", [](ClusterView&) {}, "", {}},
          {"no LocalQueue",
           [](ClusterView& view) { view.workloads[0].spec.queue_name = "nope"; },
           "LocalQueue default/nope does not exist",
           {"LocalQueue nope existed in namespace default",
            "its label kueue.x-k8s.io/queue-name named a queue of this namespace: team-queue"}},
          {"LocalQueue on hold",
           [](ClusterView& view) { view.local_queues[0].stop_policy = api::StopPolicy::kHold; },
           "LocalQueue default/team-queue has stopPolicy Hold",
           {"LocalQueue default/team-queue had stopPolicy None"}},
          {"no ClusterQueue",
           [](ClusterView& view) { view.cluster_queues.clear(); },
           "ClusterQueue team, to which LocalQueue default/team-queue points, does not exist",
           {"ClusterQueue team existed"}},
          {"ClusterQueue drains",
           [](ClusterView& view) {
             view.cluster_queues[0].spec.stop_policy = api::StopPolicy::kHoldAndDrain;
           },
           "ClusterQueue team has stopPolicy HoldAndDrain",
           {"ClusterQueue team had stopPolicy None"}}};
}

std::vector<LeverRow> ClosedByWhatItNames() {
  return {
      {"no flavor",
       [](ClusterView& view) {
         view.flavors.clear();
         Deactivate(view, "FlavorNotFound");
       },
       "ClusterQueue team is inactive (FlavorNotFound): Can't admit new workloads: …",
       {"ResourceFlavor t4 existed"}},
      {"flavors that the caller may not see",
       [](ClusterView& view) {
         view.flavors.clear();
         view.hidden = {"resourceflavors"};
         Deactivate(view, "FlavorNotFound");
       },
       "ClusterQueue team is inactive (FlavorNotFound): Can't admit new workloads: …",
       {}},
      {"no check",
       [](ClusterView& view) {
         AddCheck(view, false, std::nullopt);
         Deactivate(view, "AdmissionCheckNotFound");
       },
       "ClusterQueue team is inactive (AdmissionCheckNotFound): Can't admit new workloads: …",
       {"AdmissionCheck prov existed"}},
      {"a check without its controller",
       [](ClusterView& view) {
         AddCheck(view, true, std::nullopt);
         Deactivate(view, "AdmissionCheckInactive");
       },
       "ClusterQueue team is inactive (AdmissionCheckInactive): Can't admit new workloads: …",
       {"AdmissionCheck prov became active: no controller example.com/checker has answered for "
        "it"}},
      {"a check that says what it lacks",
       [](ClusterView& view) {
         AddCheck(
             view, true,
             FalseCondition(api::kActive, "BadParametersRef", "config x not found", SecondsAgo(9)));
         Deactivate(view, "AdmissionCheckInactive");
       },
       "ClusterQueue team is inactive (AdmissionCheckInactive): Can't admit new workloads: …",
       {"AdmissionCheck prov became active: config x not found"}},
  };
}

TEST(Levers, NameTheCauseWhyAQueueIsClosed) {
  std::vector<LeverRow> rows = ClosedQueues();
  for (LeverRow& row : ClosedByWhatItNames()) rows.push_back(std::move(row));
  for (const LeverRow& row : rows) {
    SCOPED_TRACE(row.name);
    ClusterView view = OpenView();
    row.change(view);
    const std::vector<QueueTrouble> troubles = QueueTroubles(view, view.workloads[0]);
    ASSERT_EQ(troubles.size(), row.fact.empty() ? 0 : 1);
    if (row.fact.empty()) continue;
    EXPECT_EQ(troubles[0].fact, row.fact);
    EXPECT_EQ(troubles[0].levers, row.levers);
    const auto story = TellStory(view, "default", "job/train", {});
    ASSERT_TRUE(story.has_value()) << story.error().message;
    EXPECT_EQ(story->would_start_if, row.levers);
    EXPECT_THAT(story->steps[1].lines, testing::Contains(row.fact));
  }
}

// A job with a decision: `reason` and `explanation` as the controllers write them.
void Refuse(ClusterView& view, const char* reason, const std::string& message,
            const std::string& explanation) {
  view.workloads[0].status.conditions = {
      FalseCondition(api::kQuotaReserved, reason, message, SecondsAgo(9))};
  view.workloads[0].meta.annotations[api::kExplanationAnnotation] = explanation;
}

struct RefusedRow {
  std::string name;
  std::function<void(ClusterView&)> change;
  std::vector<std::string> levers;
};

std::vector<RefusedRow> RefusedFlavors() {
  return {{"no room now",
           [](ClusterView& view) {
             Refuse(view, api::kWaitingForQuota, "…",
                    R"({"tried": [{"flavor": "t4", "resource": "cpu", "asked": 3000,
                               "available": 1000, "limit": "nominalQuota"}]})");
           },
           {"2 more cpu became free in flavor t4", "it asked for 1 cpu in flavor t4 or less"}},
          {"never any room",
           [](ClusterView& view) {
             Refuse(view, api::kExceedsMaxQuota, "…",
                    R"({"tried": [{"flavor": "t4", "resource": "cpu", "asked": 6000,
                               "available": 0, "limit": "never more than 4 in this queue"}]})");
           },
           {"ClusterQueue team could get 6 cpu in flavor t4"}},
          {"a taint",
           [](ClusterView& view) {
             view.flavors[0].node_taints = {{"gpu", "yes", "NoSchedule"}, {"x", "y", "NoExecute"}};
             Refuse(view, api::kNoMatchingFlavor, "…",
                    R"({"tried": [{"flavor": "t4", "message":
                    "untolerated taint {gpu yes NoSchedule <nil>} in flavor t4"}]})");
           },
           {"it tolerated the taint gpu=yes:NoSchedule of flavor t4"}},
          {"another node",
           [](ClusterView& view) {
             view.flavors[0].node_labels = {{"zone", "a"}};
             Refuse(view, api::kNoMatchingFlavor, "…",
                    R"({"tried": [{"flavor": "t4",
                               "message": "flavor t4 doesn't match node affinity"}]})");
           },
           {"its node selector and affinity matched flavor t4 (zone=a)"}},
          {"a resource that the queue does not have",
           [](ClusterView& view) {
             Refuse(view, api::kNoMatchingFlavor, "…",
                    R"({"tried": [{"message": "resource gpu unavailable in ClusterQueue"}]})");
           },
           {"ClusterQueue team had quota for gpu"}},
          {"a flavor that the caller may not see",
           [](ClusterView& view) {
             view.flavors.clear();
             Refuse(view, api::kNoMatchingFlavor, "…",
                    R"({"tried": [{"flavor": "t4",
                               "message": "flavor t4 doesn't match node affinity"}]})");
           },
           {}}};
}

std::vector<RefusedRow> RefusedForOthers() {
  const auto namespace_mismatch = [](ClusterView& view) {
    Refuse(view, api::kMisconfigured, "Workload namespace doesn't match ClusterQueue selector", "");
  };
  return {
      {"labels",
       [=](ClusterView& view) {
         view.cluster_queues[0].spec.namespace_selector = {{{"team", "x"}},
                                                           {{"env", "In", {"a", "b"}}}};
         namespace_mismatch(view);
       },
       {"namespace default had the labels that ClusterQueue team asks for: team=x, env In (a, b)"}},
      {"no namespace at all",
       [=](ClusterView& view) {
         view.cluster_queues[0].spec.namespace_selector.reset();
         namespace_mismatch(view);
       },
       {"ClusterQueue team had a namespaceSelector"}},
      {"others' pods",
       [](ClusterView& view) {
         view.workloads.push_back(MakeWorkload("default", "slow", "team-queue", 90));
         view.workloads[1].status.conditions = {
             TrueCondition(api::kAdmitted, api::kAdmitted, "", SecondsAgo(80))};
         Refuse(view, api::kWaitingForPodsReady, "waiting for all admitted workloads …", "");
       },
       {"the pods of default/slow became ready"}},
      {"a strict queue",
       [](ClusterView& view) {
         view.cluster_queues[0].spec.queueing_strategy = api::QueueingStrategy::kStrictFifo;
         view.workloads.push_back(MakeWorkload("default", "first", "team-queue", 90));
       },
       {"default/first, which is ahead of it, were admitted or withdrawn"}},
      {"deactivated",
       [](ClusterView& view) { view.workloads[0].spec.active = false; },
       {"spec.active of its Workload were true again"}}};
}

TEST(Levers, NameTheChangesThatLetAWorkloadStart) {
  std::vector<RefusedRow> rows = RefusedFlavors();
  for (RefusedRow& row : RefusedForOthers()) rows.push_back(std::move(row));
  for (const RefusedRow& row : rows) {
    SCOPED_TRACE(row.name);
    ClusterView view = OpenView();
    row.change(view);
    const auto story = TellStory(view, "default", "job/train", {});
    ASSERT_TRUE(story.has_value()) << story.error().message;
    EXPECT_EQ(story->would_start_if, row.levers);
  }
}

TEST(Levers, TheStoryTellsWhatStopsCostWhereThisIsMoreThanTheClaim) {
  const auto lines_with = [](const std::string& claim) {
    ClusterView view = OpenView();
    Refuse(view, api::kWaitingForQuota, "…",
           R"({"tried": [], "stops": {"lostSeconds": 7800, "count": 12}})");
    view.workloads[0].meta.annotations["berth.dev/checkpoint-every"] = claim;
    const auto story = TellStory(view, "default", "job/train", {});
    EXPECT_TRUE(story.has_value());
    EXPECT_EQ(StoryJson(*story)["steps"][1]["reason"]["stops"],
              nlohmann::json({{"lostSeconds", 7800}, {"count", 12}}));
    return story->steps[1].lines;
  };
  const std::string told =
      "checkpoints: each 30m, says its annotation berth.dev/checkpoint-every; but each of 12 stops "
      "of jobs like it cost 130m of work (median), so rules on victims count this time";
  EXPECT_THAT(lines_with("30m"), testing::Contains(told));
  EXPECT_THAT(lines_with("3h"), testing::Not(testing::Contains(testing::HasSubstr("checkpoints"))));
}

TEST(Levers, HiddenQueueIsNotReportedAsMissing) {
  ClusterView view = OpenView();
  view.local_queues.clear();
  view.hidden = {"localqueues"};
  EXPECT_THAT(QueueTroubles(view, view.workloads[0]), IsEmpty());
}

TEST(Why, JobThatAsksForMoreThanItsQueueCanEverGetIsOfItsOwnCause) {
  ClusterView view = OpenView();
  Refuse(view, api::kExceedsMaxQuota, "…",
         R"({"tried": [{"flavor": "t4", "resource": "cpu", "asked": 6000, "available": 1000,
                        "nominal": 4000, "limit": "never more than 4 in this queue"}]})");
  const Reason reason = WaitingReason(view, view.workloads[0], {});
  EXPECT_EQ(reason.Line(),
            "too large: cpu in flavor t4: needs 6, 1 free of 4 (never more than 4 in this queue)");
  const auto story = TellStory(view, "default", "job/train", {});
  ASSERT_TRUE(story.has_value()) << story.error().message;
  EXPECT_THAT(story->headline, HasSubstr(": for more quota than its queue can ever get"));
}

TEST(Why, NamesThePreemptorOfAPreemptedJob) {
  ClusterView view = OpenView();
  api::Workload urgent = MakeWorkload("default", "urgent", "team-queue", 5);
  urgent.spec.priority = 100;
  view.workloads.push_back(urgent);
  view.workloads[0].status.conditions = {
      TrueCondition(api::kEvicted, api::kPreempted,
                    "Preempted to accommodate a workload (UID: uid-urgent, JobUID: j) due to "
                    "prioritization in the ClusterQueue",
                    SecondsAgo(5))};
  const auto story = TellStory(view, "default", "job/train", {});
  ASSERT_TRUE(story.has_value());
  EXPECT_THAT(story->steps[1].lines,
              testing::Contains("made room for default/urgent (priority 100)"));
}

TEST(RunningPlace, ReportsPodsThatDoNotRunYetAndWhy) {
  ClusterView view = OpenView();
  const auto pod = [](const char* node, const char* phase) {
    return PodView{.namespace_name = "default",
                   .name = "p",
                   .job_name = "train",
                   .node_name = node,
                   .phase = phase};
  };
  api::Workload& workload = view.workloads[0];
  workload.status.admission =
      api::Admission{"team", {{.name = "main", .flavors = {{"cpu", "t4"}}, .count = 4}}};
  EXPECT_EQ(RunningPlace(view, workload), "t4");
  workload.status.admission->pod_set_assignments[0].topology_assignment =
      api::TopologyAssignment{.levels = {"rack", api::kHostnameLabel},
                              .domains = {{{"r1", "n6"}, 2}, {{"r1", "n5"}, 2}, {{"r2", "n6"}, 1}}};
  EXPECT_EQ(RunningPlace(view, workload), "t4: n5, n6") << "no pod is known";
  view.pods = {pod("n1", "Running"), pod("n1", "Running"), pod("n2", "Running"),
               pod("n3", "Succeeded")};
  EXPECT_EQ(RunningPlace(view, workload), "t4: n1, n2");
  view.pods.push_back(pod("n4", "Pending"));
  view.pods.back().waiting_reason = "ContainerCreating";
  EXPECT_EQ(RunningPlace(view, workload), "t4: n1, n2; 1 pod starting");
  view.pods = {pod("", "Pending"), pod("", "Pending")};
  view.pods[0].unschedulable_message = "0/3 nodes are available: 3 Insufficient cpu.";
  EXPECT_EQ(RunningPlace(view, workload),
            "t4: 2 pods without a node; 0/3 nodes are available: 3 Insufficient cpu.");
  view.pods = {pod("n1", "Pending")};
  view.pods[0].waiting_reason = "ErrImagePull";
  view.pods[0].waiting_message = "no program for image x";
  EXPECT_EQ(RunningPlace(view, workload),
            "t4: 1 pod starting; ErrImagePull: no program for image x");
}

// What the controller of a job could not make since the job was admitted.
ClusterView RefusedView(const std::string& owner_kind, const std::string& owner_name) {
  ClusterView view = OpenView();
  view.now = ViewTime();
  api::Workload workload = MakeRunning("default", "train", "team", {{"cpu", 2000}});
  workload.status.admission->pod_set_assignments.front().count = 2;
  view.workloads = {workload};
  view.refused_pods = {{.namespace_name = "default",
                        .owner_kind = owner_kind,
                        .owner_name = owner_name,
                        .message = "exceeded quota: small",
                        .last = SecondsAgo(10)}};
  return view;
}

TEST(RefusedPods, AdmittedJobWithoutPodsIsNotRunning) {
  ClusterView view = RefusedView("Job", "train");
  EXPECT_EQ(TellStory(view, "default", "job/train", {})->headline,
            "is admitted since 60s; no pod was made: exceeded quota: small");
  EXPECT_EQ(WorkloadStateOf(view, view.workloads[0]), "admitted");
  const std::string screen = RenderStatus(view, {}, {});
  EXPECT_THAT(screen, testing::HasSubstr("0 running, 1 without pods"));
  EXPECT_THAT(screen, testing::ContainsRegex(
                          "default/train +queue +60s +no pod was made: exceeded quota: small"));
  EXPECT_EQ(StatusJson(view, {})["podsRefused"][0]["remark"],
            "t4: no pod was made: exceeded quota: small");
}

TEST(RefusedPods, JobWithOneOfTwoPodsReportsTheMissingPod) {
  ClusterView view = RefusedView("Job", "train");
  view.pods = {PodView{.namespace_name = "default",
                       .name = "p",
                       .job_name = "train",
                       .node_name = "n1",
                       .phase = "Running"}};
  EXPECT_EQ(TellStory(view, "default", "job/train", {})->headline,
            "runs since 60s; 1 of 2 pods was made: exceeded quota: small");
  EXPECT_EQ(WorkloadStateOf(view, view.workloads[0]), "running");
  view.pods.push_back(view.pods[0]);
  EXPECT_EQ(TellStory(view, "default", "job/train", {})->headline, "runs since 60s");
}

TEST(RefusedPods, EventsOfOtherJobsAndOfEarlierStartsDoNotCount) {
  ClusterView view = RefusedView("Job", "train-2");
  EXPECT_EQ(LackOfPods(view, view.workloads[0]), "");
  view = RefusedView("Job", "train");
  view.refused_pods[0].last = SecondsAgo(100);
  EXPECT_EQ(LackOfPods(view, view.workloads[0]), "");
  view = RefusedView("Job", "train-workers-0");
  view.workloads[0].meta.owner_references[0].kind = "JobSet";
  EXPECT_EQ(LackOfPods(view, view.workloads[0]), "no pod was made: exceeded quota: small");
}

}  // namespace
}  // namespace berth::view
