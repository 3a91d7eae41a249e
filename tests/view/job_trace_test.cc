// Goal: `berth trace` splits the time of a job into steps that follow one another, tells the step
// that lasts, and says which step took most of the wait.
#include "view/screens/job_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/reasons.h"
#include "tests/view/view_builder.h"

namespace berth::view {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::vector<std::string> NamesOf(const Trace& trace) {
  std::vector<std::string> names;
  for (const TraceSpan& span : trace.spans) names.push_back(span.name);
  return names;
}

Duration LengthOf(const Trace& trace, const std::string& name) {
  for (const TraceSpan& span : trace.spans) {
    if (span.name == name && span.end) return *span.end - span.begin;
  }
  return std::chrono::seconds(-1);
}

PodView PodOf(const std::string& name, std::int64_t created, std::int64_t scheduled,
              std::int64_t started) {
  return {.namespace_name = "default",
          .name = name,
          .job_name = "h100-train",
          .created = SecondsAgo(created),
          .scheduled = SecondsAgo(scheduled),
          .started = SecondsAgo(started)};
}

// The job of the DWS story 1,000 s after its creation: quota at once, capacity after 600 s, nodes
// 100 s later, containers 40 s after that.
ClusterView RunningView() {
  ClusterView view = DwsView();
  api::Workload& workload = view.workloads.front();
  workload.meta.creation_timestamp = SecondsAgo(999);
  workload.status.conditions = {
      TrueCondition(api::kQuotaReserved, api::kQuotaReserved, "", SecondsAgo(998)),
      TrueCondition(api::kAdmitted, api::kAdmitted, "", SecondsAgo(398))};
  workload.status.admission_checks.front().state = api::CheckState::kReady;
  workload.status.admission_checks.front().last_transition_time = SecondsAgo(398);
  api::ProvisioningRequest& request = view.provisioning_requests.front();
  request.meta.creation_timestamp = SecondsAgo(997);
  request.conditions = {TrueCondition("Accepted", "Accepted", "", SecondsAgo(990)),
                        TrueCondition("Provisioned", "Provisioned", "", SecondsAgo(400))};
  view.jobs.front().meta.creation_timestamp = SecondsAgo(1000);
  view.jobs.front().start_time = SecondsAgo(397);
  workload.status.admission->pod_set_assignments.front().count = 2;
  view.pods = {PodOf("h100-train-0", 396, 300, 280), PodOf("h100-train-1", 396, 296, 256)};
  return view;
}

TEST(Trace, SplitsTheTimeUntilTheContainersRun) {
  const ClusterView view = RunningView();
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_THAT(NamesOf(*trace), ElementsAre("seen", "quota", "capacity", "admission", "start",
                                           "pods", "nodes", "containers", "run"));
  EXPECT_EQ(LengthOf(*trace, "capacity"), std::chrono::seconds(600));
  EXPECT_EQ(LengthOf(*trace, "nodes"), std::chrono::seconds(100));
  EXPECT_EQ(LengthOf(*trace, "containers"), std::chrono::seconds(40));
  EXPECT_EQ(trace->running, SecondsAgo(256));
  EXPECT_FALSE(trace->spans.back().end);
  for (std::size_t i = 1; i < trace->spans.size(); ++i) {
    EXPECT_EQ(trace->spans[i].begin, *trace->spans[i - 1].end) << trace->spans[i].name;
  }
  EXPECT_THAT(trace->spans[2].detail, HasSubstr("Accepted after 7s, Provisioned after 9m57s"));
}

TEST(Trace, SaysWhichStepTookMostOfTheWait) {
  const ClusterView view = RunningView();
  const std::string text = RenderTrace(view, *TraceJob(view, "default", "h100-train"), {});
  EXPECT_THAT(text, HasSubstr("default/h100-train ran 12m after its creation.\n"
                              "Most of the wait: capacity, 10m.\n"));
  EXPECT_THAT(text, HasSubstr("nodes"));
  const std::string ascii =
      RenderTrace(view, *TraceJob(view, "default", "h100-train"), {.ascii = true});
  EXPECT_THAT(ascii, HasSubstr("####"));
}

TEST(Trace, EndsWithTheStepThatIsOpen) {
  ClusterView view = DwsView();
  view.jobs.front().meta.creation_timestamp = view.workloads.front().meta.creation_timestamp;
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value());
  EXPECT_THAT(NamesOf(*trace), ElementsAre("seen", "quota", "capacity"));
  EXPECT_FALSE(trace->spans.back().end);
  EXPECT_FALSE(trace->running);
  EXPECT_THAT(RenderTrace(view, *trace, {}), HasSubstr("the step lasts: capacity"));
}

TEST(Trace, EndsWithTheJob) {
  ClusterView view = RunningView();
  view.workloads.front().status.conditions.push_back(
      TrueCondition(api::kFinished, api::kSucceeded, "", SecondsAgo(56)));
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->ended, SecondsAgo(56));
  EXPECT_EQ(LengthOf(*trace, "run"), std::chrono::seconds(200));
  EXPECT_THAT(RenderTrace(view, *trace, {}), HasSubstr("and ended 3m20s later"));
}

// Retries and pods after others that are complete do not move the start; a failed pod is none.
TEST(Trace, LaterPodsDoNotMoveTheStart) {
  ClusterView view = RunningView();
  PodView failed = PodOf("h100-train-2", 390, 389, 388);
  failed.scheduled.reset();
  failed.started.reset();
  view.pods.push_back(failed);
  view.pods.push_back(PodOf("h100-train-3", 100, 90, 80));
  PodView earlier =
      PodOf("h100-train-4", 900, 899, 898);  // it belongs to an attempt before this admission
  view.pods.push_back(earlier);
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->running, SecondsAgo(256));
}

TEST(Trace, WaitsForAllWantedPods) {
  ClusterView view = RunningView();
  view.pods.pop_back();
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->spans.back().name, "pods");
  EXPECT_FALSE(trace->spans.back().end);
}

// A Workload that ended in its queue was neither admitted nor started.
TEST(Trace, EndsInTheStepInWhichTheWorkloadEnded) {
  ClusterView view = RunningView();
  view.workloads.front().status.conditions = {
      TrueCondition(api::kFinished, api::kFailed, "", SecondsAgo(900))};
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value());
  EXPECT_THAT(NamesOf(*trace), ElementsAre("seen", "quota"));
  EXPECT_EQ(trace->spans.back().end, SecondsAgo(900));
  ClusterView checked = RunningView();
  checked.workloads.front().status.conditions = {
      TrueCondition(api::kQuotaReserved, api::kQuotaReserved, "", SecondsAgo(998)),
      TrueCondition(api::kFinished, api::kFailed, "", SecondsAgo(900))};
  checked.workloads.front().status.admission_checks.front().state = api::CheckState::kPending;
  const auto in_check = TraceJob(checked, "default", "job/h100-train");
  ASSERT_TRUE(in_check.has_value());
  EXPECT_THAT(NamesOf(*in_check), ElementsAre("seen", "quota", "capacity"));
  EXPECT_EQ(in_check->spans.back().end, SecondsAgo(900));
}

TEST(Trace, LastStepNamesEarlierAttemptsAndDeactivation) {
  ClusterView view = DwsView();
  api::Workload& workload = view.workloads.front();
  workload.status.conditions.clear();
  workload.status.evictions = {{.reason = "Preempted", .underlying_cause = "", .count = 2}};
  workload.spec.active = false;
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->spans.back().name, "quota, attempts");
  EXPECT_THAT(trace->spans.back().detail, HasSubstr("it is deactivated; stopped 2 times"));
}

// The Workload of a slice is younger than its job, which ran all the time.
TEST(Trace, CapacityIsTheCheckThatMadeTheRequest) {
  ClusterView view = RunningView();
  api::Workload& workload = view.workloads.front();
  workload.status.admission_checks.push_back(
      {.name = "prov", .state = api::CheckState::kReady, .last_transition_time = SecondsAgo(398)});
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value());
  EXPECT_THAT(NamesOf(*trace), IsSupersetOf({"capacity", "check prov"}));
}

TEST(Trace, BeginsWithTheWorkloadSlice) {
  ClusterView view = RunningView();
  view.jobs.front().meta.creation_timestamp = SecondsAgo(50'000);
  view.workloads.front().meta.annotations[api::kSliceReplacementForAnnotation] = "default/old";
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->created, SecondsAgo(999));
  EXPECT_EQ(trace->spans.front().name, "quota");
}

// A pod that has not started keeps the whole job from running.
TEST(Trace, WaitsForTheLastPod) {
  ClusterView view = RunningView();
  view.pods.back().started.reset();
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->spans.back().name, "containers");
  EXPECT_FALSE(trace->running);
}

// Pods of a finished job may be gone: the run lasts from the start of the job.
TEST(Trace, RunOfAFinishedJobNeedsNoPods) {
  ClusterView view = RunningView();
  view.pods.clear();
  view.workloads.front().status.conditions.push_back(
      TrueCondition(api::kFinished, api::kSucceeded, "", SecondsAgo(7)));
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(LengthOf(*trace, "run"), std::chrono::seconds(390));
  EXPECT_THAT(trace->spans.back().detail, HasSubstr("no pods are seen"));
}

// Clocks of two machines differ: no step has a negative length.
TEST(Trace, StepsNeverHaveANegativeLength) {
  ClusterView view = RunningView();
  view.jobs.front().start_time = SecondsAgo(500);
  view.pods.front().scheduled = SecondsAgo(999);
  const auto trace = TraceJob(view, "default", "job/h100-train");
  ASSERT_TRUE(trace.has_value());
  for (const TraceSpan& span : trace->spans) {
    EXPECT_GE(span.end.value_or(span.begin), span.begin) << span.name;
  }
}

TEST(Trace, JsonHasStepsWithSeconds) {
  const ClusterView view = RunningView();
  const auto json = TraceJson(view, *TraceJob(view, "default", "h100-train"));
  EXPECT_EQ(json["steps"][2]["name"], "capacity");
  EXPECT_EQ(json["steps"][2]["seconds"], 600);
  EXPECT_TRUE(json["steps"].back()["end"].is_null());
  EXPECT_TRUE(json["ended"].is_null());
}

TEST(Trace, UnknownJobIsRefusedWithTheNearestName) {
  EXPECT_THAT(TraceJob(DwsView(), "default", "job/h100-trian").error().message,
              HasSubstr("did you mean h100-train?"));
}

}  // namespace
}  // namespace berth::view
