// Goal: status and list answer "is mine running; if not, why". Method: whole screens as text.
#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "admission/bypassed_message.h"
#include "api/codec/start_forecast.h"
#include "api/reasons.h"
#include "tests/view/view_builder.h"
#include "view/screens/eta_cell.h"
#include "view/screens/list.h"
#include "view/screens/reason.h"
#include "view/screens/status.h"
#include "view/screens/why.h"

namespace berth::view {
namespace {

constexpr TextStyle kAscii{.ascii = true};

// Two teams in a cohort: team-a borrows two GPUs from team-b; two of its jobs wait for the same.
ClusterView TwoTeams() {
  ClusterView view;
  view.now = ViewTime();
  view.cluster_name = "prod";
  view.cluster_queues = {MakeQueue("team-a", "org", {{"cpu", 20000}, {"nvidia.com/gpu", 8}},
                                   {{"cpu", 16000}, {"nvidia.com/gpu", 10}}),
                         MakeQueue("team-b", "org", {{"cpu", 20000}, {"nvidia.com/gpu", 8}},
                                   {{"cpu", 6000}, {"nvidia.com/gpu", 2}})};
  view.cluster_queues[1].spec.queueing_strategy = api::QueueingStrategy::kStrictFifo;
  view.local_queues = {MakeLocalQueue("team-a", "a-queue", "team-a"),
                       MakeLocalQueue("team-b", "b-queue", "team-b")};
  view.workloads = {
      MakeRunning("team-a", "train", "team-a", {{"cpu", 16000}, {"nvidia.com/gpu", 10}}),
      MakeRunning("team-b", "eval", "team-b", {{"cpu", 6000}, {"nvidia.com/gpu", 2}})};
  for (int i = 0; i < 2; ++i) {
    api::Workload workload =
        MakeWorkload("team-a", "sweep-" + std::to_string(17 + i), "a-queue", 720 - 60 * i);
    workload.spec.priority = 50;
    workload.status.conditions = {FalseCondition(
        api::kQuotaReserved, api::kWaitingForQuota,
        "couldn't assign flavors to pod set main: insufficient unused quota", SecondsAgo(100))};
    workload.meta.annotations["berth.dev/explanation"] =
        R"({"tried":[{"podSet":"main","flavor":"t4","resource":"nvidia.com/gpu","asked":4,)"
        R"("available":0,"nominal":8,"limit":"borrowingLimit 2"}]})";
    view.workloads.push_back(workload);
  }
  return view;
}

TEST(Status, ShowsQueuesAndWhyEachJobWaits) {
  EXPECT_EQ(RenderStatus(TwoTeams(), {}, kAscii),
            "prod - 2 waiting, 2 running - oldest wait 12m (team-a/sweep-17)\n"
            "\n"
            "QUEUE                  WAITING  RUNNING  OLDEST  cpu               nvidia.com/gpu\n"
            "org (cohort)\n"
            "|- team-a                    2        1     12m  ########.. 16/20  ########## 10/8 "
            "borrows 2\n"
            "`- team-b  StrictFIFO        0        1       -  ###....... 6/20   ##........ 2/8 "
            "lends 2\n"
            "\n"
            "WAITING          QUEUE    PRIO  NEXT  AGE  REASON\n"
            "team-a/sweep-17  a-queue    50     1  12m  quota: nvidia.com/gpu in flavor t4: needs "
            "4, 0 free of 8 (borrowingLimit 2)\n"
            "team-a/sweep-18  a-queue    50     2  11m  behind team-a/sweep-17 (same request)\n");
}

TEST(Status, ShowsTheAgeOfTheCluster) {
  ClusterView view = DwsView();
  view.cluster_since = view.now - std::chrono::seconds(5);
  EXPECT_EQ(RenderStatus(view, {}, {}).find("local cluster, age 5s · "), 0U);
  view.cluster_since = view.now + std::chrono::seconds(5);
  EXPECT_EQ(RenderStatus(view, {}, {}).find("local cluster, age 0s · "), 0U)
      << "the server's clock is ahead";
}

TEST(Status, ShowsCapacityRequestsAndPools) {
  const std::string screen = RenderStatus(DwsView(), {}, {});
  EXPECT_NE(screen.find("local cluster, age 3d · 1 waiting, 0 running · oldest wait 3d2h "
                        "(default/h100-train)\n"),
            std::string::npos)
      << screen;
  EXPECT_NE(screen.find("░░░░░░░░░░ 8/∞"), std::string::npos) << screen;
  EXPECT_NE(screen.find("capacity: asked 3d2h ago, \"Waiting for resources.\"; pool "
                        "dws-h100-nodepool 0/1 nodes"),
            std::string::npos)
      << screen;
  EXPECT_NE(screen.find("dws-h100-nodepool  a3-highgpu-8g  8 × H100  0 of 1      0  -"),
            std::string::npos)
      << screen;
}

TEST(Status, NarrowsToOneQueueAndNamesHiddenResources) {
  ClusterView view = TwoTeams();
  view.hidden = {"nodes"};
  const std::string screen = RenderStatus(view, {.only = "team-b"}, kAscii);
  EXPECT_EQ(screen.find("sweep-17  a-queue"), std::string::npos) << screen;
  EXPECT_NE(screen.find("hidden (no right to list them): nodes"), std::string::npos);
  EXPECT_TRUE(IsKnownQueue(view, "org"));
  EXPECT_FALSE(IsKnownQueue(view, "nope"));
}

TEST(Status, JsonHasStableKeysWithUnits) {
  const nlohmann::json out = StatusJson(TwoTeams(), {});
  EXPECT_EQ(out["waiting"][0]["waitSeconds"], 720);
  EXPECT_EQ(out["waiting"][1]["position"], 2);
  EXPECT_EQ(out["waiting"][0]["reason"]["kind"], "quota");
  EXPECT_EQ(out["clusterQueues"][0]["resources"][0], nlohmann::json({{"resource", "cpu"},
                                                                     {"unit", "milliCPU"},
                                                                     {"used", 16000},
                                                                     {"nominal", 20000},
                                                                     {"borrowed", 0},
                                                                     {"lent", 0}}));
  EXPECT_EQ(out["waiting"][0]["reason"]["tried"][0],
            nlohmann::json({{"podSet", "main"},
                            {"flavor", "t4"},
                            {"resource", "nvidia.com/gpu"},
                            {"unit", "items"},
                            {"asked", 4},
                            {"available", 0},
                            {"nominal", 8},
                            {"limit", "borrowingLimit 2"}}));
}

// A ClusterQueue's status is written later than its Workloads'.
TEST(Status, UsageAndRunningJobsComeFromTheWorkloads) {
  ClusterView view = TwoTeams();
  view.workloads[0].status.conditions.push_back(
      TrueCondition(api::kFinished, api::kSucceeded, "Job finished", SecondsAgo(1)));
  const std::string screen = RenderStatus(view, {.only = "team-a"}, kAscii);
  EXPECT_NE(screen.find("team-a        2        0     12m  .......... 0/20  .......... 0/8"),
            std::string::npos)
      << screen;
}

TEST(Status, ReclaimablePodsHoldNoQuota) {
  ClusterView view = TwoTeams();
  api::Workload& running = view.workloads[1];
  running.spec.pod_sets = {{.name = "main", .count = 2}};
  running.status.admission->pod_set_assignments[0].count = 2;
  running.status.reclaimable_pods = {{.pod_set = "main", .count = 1}};
  const nlohmann::json out = StatusJson(view, {.only = "team-b"});
  EXPECT_EQ(out["clusterQueues"][0]["resources"][0]["used"], 3000);
  EXPECT_EQ(out["clusterQueues"][0]["resources"][1]["used"], 1);
}

// Usage cannot be summed from one namespace's Workloads: the ClusterQueue's status is shown.
TEST(Status, ViewOfOneNamespaceShowsTheStatusOfClusterQueues) {
  ClusterView view = TwoTeams();
  view.namespace_name = "team-a";
  view.cluster_queues[1].status.admitted_workloads = 7;
  view.cluster_queues[1].status.pending_workloads = 4;
  std::erase_if(view.workloads, [](const auto& w) { return w.meta.namespace_name != "team-a"; });
  const nlohmann::json out = StatusJson(view, {});
  EXPECT_EQ(out["clusterQueues"][1]["running"], 7);
  EXPECT_EQ(out["clusterQueues"][1]["waiting"], 4);
  EXPECT_EQ(out["clusterQueues"][1]["resources"][0]["used"], 6000);
  EXPECT_EQ(out["namespace"], "team-a");
}

// TwoTeams, with what a controller has forecast for both waiting jobs.
ClusterView WithForecasts() {
  ClusterView view = TwoTeams();
  const auto at = [&view](std::int64_t seconds) {
    return view.now + std::chrono::seconds(seconds);
  };
  view.workloads[2].meta.annotations[api::kEtaAnnotation] =
      api::EncodeStartForecast({.at = at(-60), .p10 = at(-30), .p50 = at(720), .p90 = at(7200)});
  view.workloads[3].meta.annotations[api::kEtaAnnotation] =
      api::EncodeStartForecast({.at = at(-60)});
  return view;
}

TEST(Status, ShowsForecastsOfTheController) {
  const std::string screen = RenderStatus(WithForecasts(), {}, kAscii);
  EXPECT_NE(screen.find("WAITING          QUEUE    PRIO  NEXT  AGE    ETA  REASON\n"
                        "team-a/sweep-17  a-queue    50     1  12m   ~12m  quota: "),
            std::string::npos)
      << screen;
  EXPECT_NE(screen.find("a-queue    50     2  11m  never  behind"), std::string::npos) << screen;
  const auto waiting = StatusJson(WithForecasts(), {})["waiting"];
  EXPECT_EQ(waiting[0]["eta"]["p50"], "2026-11-20T08:24:00Z");
  EXPECT_EQ(waiting[1]["eta"]["p50"], nullptr);
  EXPECT_EQ(StatusJson(TwoTeams(), {})["waiting"][0]["eta"], nullptr);
}

TEST(Status, StaleAndUnreadableForecastsAreNotShown) {
  ClusterView view = WithForecasts();
  view.workloads[2].meta.annotations[api::kEtaAnnotation] = "soon";
  view.workloads[3].meta.annotations[api::kEtaAnnotation] = api::EncodeStartForecast(
      {.at = view.now - kStaleForecast - std::chrono::seconds(1), .p10 = view.now});
  EXPECT_EQ(RenderStatus(view, {}, kAscii), RenderStatus(TwoTeams(), {}, kAscii));
}

TEST(List, ShowsForecastsOfWaitingJobsOnly) {
  ClusterView view = WithForecasts();
  view.workloads[0].meta.annotations = view.workloads[2].meta.annotations;  // it runs
  const auto screen = RenderList(view, {}, kAscii);
  ASSERT_TRUE(screen);
  EXPECT_NE(screen->find("AGE    ETA  WHERE/REASON"), std::string::npos) << *screen;
  EXPECT_NE(screen->find("~12m  quota: "), std::string::npos) << *screen;
  const auto items = ListJson(view, {})["items"];
  EXPECT_EQ(items[0]["eta"]["p50"], "2026-11-20T08:24:00Z");
  EXPECT_TRUE(items[2].at("eta").is_null());
}

TEST(List, ShowsStatesAndRefusesUnknownOrders) {
  ClusterView view = DwsView();
  api::Workload done = MakeWorkload("default", "done", "dws-local-queue", 500);
  done.status.conditions = {
      TrueCondition(api::kAdmitted, api::kAdmitted, "", SecondsAgo(400)),
      TrueCondition(api::kFinished, api::kSucceeded, "Job finished", SecondsAgo(358))};
  view.workloads.push_back(done);
  const auto all = RenderList(view, {}, kAscii);
  ASSERT_TRUE(all.has_value());
  EXPECT_NE(all->find("default    h100-train  Job   dws-local-queue     0  reserved    3d2h  "
                      "capacity: asked 3d2h ago"),
            std::string::npos)
      << *all;
  EXPECT_NE(all->find("succeeded  8m20s  ok in 42s"), std::string::npos) << *all;
  EXPECT_EQ(RenderList(view, {.finished = true}, kAscii)->find("h100"), std::string::npos);
  EXPECT_EQ(*RenderList(view, {.namespace_name = "other"}, kAscii), "nothing is queued here\n");
  EXPECT_EQ(RenderList(view, {.sort = "size"}, kAscii).error().code, ErrorCode::kInvalid);
}

// Three jobs of one request, of which the first was tried, and another job before the last.
ClusterView EqualJobs() {
  ClusterView view = DwsView();
  view.workloads.clear();
  for (const char* name : {"a", "b", "other", "c"}) {
    api::Workload job = MakeWorkload("default", name, "dws-local-queue",
                                     500 - static_cast<std::int64_t>(view.workloads.size()));
    const bool is_tried = name == std::string("a") || name == std::string("other");
    job.status.conditions = {
        FalseCondition(api::kQuotaReserved, api::kWaitingForQuota,
                       is_tried ? "insufficient unused quota for cpu" : admission::kBypassedMessage,
                       SecondsAgo(400))};
    job.status.resource_requests = {
        {"main", {{"cpu", name == std::string("other") ? 9000 : 1000}}}};
    view.workloads.push_back(job);
  }
  return view;
}

// The scheduler's own order: an eviction moves a workload behind others for some reasons only.
TEST(List, PreemptedWorkloadKeepsItsPlace) {
  const auto order_after = [](const char* reason) {
    ClusterView view;
    view.now = ViewTime();
    view.cluster_queues = {MakeQueue("gpus", "", {{"cpu", 1000}}, {})};
    view.local_queues = {MakeLocalQueue("team-a", "main", "gpus")};
    view.workloads = {MakeWorkload("team-a", "young", "main", 500),
                      MakeWorkload("team-a", "old", "main", 900)};
    view.workloads[1].status.conditions = {
        TrueCondition(api::kEvicted, reason, "", SecondsAgo(10))};
    std::string order;
    for (const api::Workload* each : InQueueOrder(view)) {
      order += api::ControllerOf(each->meta)->name + " ";
    }
    return order;
  };
  EXPECT_EQ(order_after(api::kPreempted), "old young ");
  EXPECT_EQ(order_after(api::kPodsReadyTimeout), "young old ");
  EXPECT_EQ(order_after(api::kAdmissionCheckReason), "young old ");
}

TEST(List, JobWithEqualRequestsNamesTheFirstOfThemAndItsPosition) {
  const ClusterView view = EqualJobs();
  const std::string list = *RenderList(view, {}, kAscii);
  EXPECT_NE(list.find("behind default/a (same request), 2nd of 4"), std::string::npos) << list;
  EXPECT_NE(list.find("behind default/a (same request), 4th of 4"), std::string::npos) << list;
  EXPECT_EQ(list.find("3rd of 4"), std::string::npos) << list;
  const nlohmann::json items = ListJson(view, {})["items"];
  EXPECT_EQ(items[3]["positionInLocalQueue"], 4);
  EXPECT_EQ(items[3]["waitingInLocalQueue"], 4);
}

TEST(Why, JobWithEqualRequestsNamesTheFirstOfThemAndItsPosition) {
  const auto story = TellStory(EqualJobs(), "default", "workload/job-c-5c1f2", {});
  ASSERT_TRUE(story.has_value()) << story.error().message;
  EXPECT_NE(std::find(story->steps[1].lines.begin(), story->steps[1].lines.end(),
                      "behind default/a (same request), 4th of 4 in LocalQueue "
                      "default/dws-local-queue"),
            story->steps[1].lines.end());
  const auto tried = TellStory(EqualJobs(), "default", "workload/job-a-5c1f2", {});
  ASSERT_TRUE(tried.has_value()) << tried.error().message;
  for (const std::string& line : tried->steps[1].lines) {
    EXPECT_EQ(line.find("behind"), std::string::npos) << line;
  }
}

TEST(Status, JobWithEqualRequestsNamesTheFirstOfThem) {
  const std::string screen = RenderStatus(EqualJobs(), {}, kAscii);
  EXPECT_NE(screen.find("behind default/a (same request)"), std::string::npos) << screen;
  EXPECT_EQ(screen.find("behind default/b"), std::string::npos) << screen;
}

}  // namespace
}  // namespace berth::view
