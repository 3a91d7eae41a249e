// Goal: the plan for a pod and for a group of pods: each step of their lives. Method: tables of a
// state of pods and Workload, and the actions that follow from it.
#include "integrations/pods/pod_plan.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integrations/pod_fixtures.h"

namespace berth::integrations::pods_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// The actions of a plan, one word each.
std::vector<std::string> Words(const JobPlan& plan) {
  std::vector<std::string> words;
  for (const JobAction& action : plan.actions) {
    if (const auto* a = std::get_if<CreateWorkload>(&action)) {
      words.push_back("create " + a->workload.meta.name);
    } else if (const auto* stop = std::get_if<StopJob>(&action)) {
      words.push_back("stop " + stop->reason);
    } else if (std::holds_alternative<StartJob>(action)) {
      words.emplace_back("start");
    } else if (const auto* release = std::get_if<ReleasePods>(&action)) {
      std::string word = release->then == ReleasePods::Then::kDelete ? "delete" : "release";
      for (const std::string& name : release->names) word += " " + name;
      words.push_back(word);
    } else if (const auto* owners = std::get_if<AddOwners>(&action)) {
      words.push_back("owners " + std::to_string(owners->owners.size()));
    } else if (const auto* condition = std::get_if<SetWorkloadCondition>(&action)) {
      words.push_back(condition->condition.type + "=" + condition->condition.reason);
    } else if (std::holds_alternative<ReleaseQuota>(action)) {
      words.emplace_back("give back");
    } else if (std::holds_alternative<RemoveWorkloadFinalizer>(action)) {
      words.emplace_back("let go");
    } else if (std::holds_alternative<UpdateWorkloadSpec>(action)) {
      words.emplace_back("rewrite");
    } else if (std::holds_alternative<DeleteWorkload>(action)) {
      words.emplace_back("drop");
    } else if (const auto* event = std::get_if<EmitEvent>(&action)) {
      words.push_back("event " + event->reason);
    } else if (std::holds_alternative<SetReclaimablePods>(action)) {
      words.emplace_back("reclaim");
    } else if (std::holds_alternative<SetQueueName>(action)) {
      words.emplace_back("queue");
    }
  }
  return words;
}

JobSituation Situation(std::vector<api::Workload> workloads = {}) {
  JobSituation situation;
  situation.workloads = std::move(workloads);
  situation.pods_ready_rule = PodsReadyRule::kIgnore;
  return situation;
}

api::Workload Of(api::Workload workload, const std::string& words) {
  const auto says = [&words](const char* word) { return words.find(word) != std::string::npos; };
  const auto set = [&workload](const char* type, const char* reason) {
    api::SetCondition(workload.status.conditions, {.type = type,
                                                   .status = api::ConditionStatus::kTrue,
                                                   .reason = reason,
                                                   .message = "M",
                                                   .last_transition_time = At(0)});
  };
  if (says("reserved") || says("admitted")) {
    set(api::kQuotaReserved, "R");
    api::Admission admission{.cluster_queue = "cq"};
    for (const api::PodSet& pods : workload.spec.pod_sets) {
      admission.pod_set_assignments.push_back({.name = pods.name, .count = pods.count});
    }
    workload.status.admission = admission;
  }
  if (says("admitted")) set(api::kAdmitted, "R");
  if (says("evicted")) set(api::kEvicted, "Preempted");
  if (says("finished")) set(api::kFinished, "Succeeded");
  if (says("deleting")) workload.meta.deletion_timestamp = At(10);
  return workload;
}

api::Workload Owned(api::Workload workload, const std::vector<QueuedPodPtr>& pods) {
  for (const QueuedPodPtr& pod : pods) {
    workload.meta.owner_references.push_back(
        {.api_version = "v1", .kind = "Pod", .name = pod->meta.name, .uid = pod->meta.uid});
  }
  return workload;
}

struct GroupStep {
  const char* what;
  std::vector<QueuedPodPtr> pods;
  const char* workload;  // words; null: none
  std::vector<std::string> words;
};

std::vector<GroupStep> GroupSteps() {
  return {
      {"created", {Pod("a"), Pod("b")}, nullptr, {"create g", "event CreatedWorkload"}},
      {"incomplete", {Pod("a")}, nullptr, {"event ErrWorkloadCompose"}},
      {"surplus before creation",
       {Pod("a", "", 1), Pod("b", "", 2), Pod("c", "", 3)},
       nullptr,
       {"delete c", "event ExcessPodDeleted", "create g", "event CreatedWorkload"}},
      {"runs without a workload",
       {Pod("a", "running"), Pod("b", "running")},
       nullptr,
       {"stop NoMatchingWorkload", "event Stopped"}},
      {"waits", {Pod("a"), Pod("b")}, "", {}},
      {"started", {Pod("a"), Pod("b")}, "admitted", {"start", "event Started"}},
      {"runs", {Pod("a", "running"), Pod("b", "running")}, "admitted", {}},
      {"runs unadmitted",
       {Pod("a", "running"), Pod("b", "running")},
       "",
       {"stop NotAdmitted", "event Stopped"}},
      {"a pod fails",
       {Pod("a", "running"), Pod("b", "failed")},
       "admitted",
       {"WaitingForReplacementPods=PodsFailed"}},
      {"evicted",
       {Pod("a", "running"), Pod("b", "running")},
       "admitted evicted",
       {"stop WorkloadEvictedDueToPreempted", "event Stopped"}},
      {"evicted, gone", {Pod("a"), Pod("b")}, "admitted evicted", {"give back"}},
      {"evicted and waiting for quota", {Pod("a"), Pod("b")}, "evicted", {}},
      {"one succeeded", {Pod("a", "running"), Pod("b", "succeeded")}, "admitted", {"reclaim"}},
      {"finished",
       {Pod("a", "succeeded"), Pod("b", "succeeded")},
       "admitted",
       {"Finished=Succeeded", "event FinishedWorkload", "release"}},
      {"over", {Pod("a", "succeeded"), Pod("b", "succeeded")}, "finished", {"let go", "release"}},
      {"deleted workload",
       {Pod("a", "succeeded"), Pod("b", "running")},
       "admitted deleting",
       {"stop WorkloadDeleted", "event Stopped", "release"}},
      {"deleted workload, gated pods",
       {Pod("a"), Pod("b")},
       "deleting",
       {"stop WorkloadDeleted", "event Stopped", "release", "let go"}},
      {"surplus of an admitted group",
       {Pod("a", "running", 1), Pod("b", "running", 2), Pod("c", "", 3)},
       "admitted",
       {"delete c", "event ExcessPodDeleted"}},
      {"a successor",
       {Pod("a", "running"), Pod("b", "failed"), Pod("c")},
       "admitted",
       {"release b", "start", "event Started"}},
      {"other pods, all gated",
       {Pod("a", "", 0, "r2"), Pod("b", "", 0, "r2")},
       "",
       {"rewrite", "event UpdatedWorkload"}},
  };
}

TEST(PlanGroupTest, TheStatesOfPodsAndWorkloadDecideTheSteps) {
  for (const GroupStep& each : GroupSteps()) {
    std::vector<api::Workload> workloads;
    if (each.workload != nullptr) {
      workloads.push_back(Owned(Of(WorkloadOf({{"r1", 2}}), each.workload), each.pods));
    }
    const JobPlan plan = PlanPods(Group(each.pods), Situation(std::move(workloads)), At(50));
    EXPECT_EQ(Words(plan), each.words) << each.what;
  }
}

// The namespace deletes Workloads when its pods are gone.
TEST(PlanGroupTest, DeletedPodsOfATerminatingNamespaceLoseTheirFinalizer) {
  const std::vector<QueuedPodPtr> pods{Pod("a", "deleting"), Pod("b", "deleting")};
  JobSituation situation = Situation({Owned(Of(WorkloadOf({{"r1", 2}}), "admitted"), pods)});
  EXPECT_THAT(Words(PlanPods(Group(pods), situation, At(50))), Not(Contains("release a b")));
  situation.namespace_terminates = true;
  EXPECT_THAT(Words(PlanPods(Group(pods), situation, At(50))), Contains("release a b"));
}

TEST(PlanGroupTest, CreatesTheWorkloadOfAGroup) {
  const JobPlan plan = PlanPods(Group({Pod("a"), Pod("b")}), Situation(), At(0));
  const api::Workload& workload = std::get<CreateWorkload>(plan.actions.front()).workload;
  EXPECT_EQ(workload.meta.name, "g");
  EXPECT_EQ(workload.meta.annotations.at(api::kIsGroupWorkloadAnnotation), "true");
  EXPECT_EQ(workload.meta.labels.count(api::kJobUidLabel), 0U);
  ASSERT_EQ(workload.meta.owner_references.size(), 2U);
  EXPECT_FALSE(workload.meta.owner_references[0].controller);
  EXPECT_EQ(workload.meta.owner_references[1].name, "b");
  EXPECT_EQ(workload.spec.queue_name, "lq");
}

TEST(PlanGroupTest, ForeignWorkloadOfTheGroupsNameIsLeftAlone) {
  api::Workload workload = WorkloadOf({{"r1", 2}});
  workload.meta.annotations.clear();
  const JobPlan plan =
      PlanPods(Group({Pod("a"), Pod("b", "failed")}), Situation({workload}), At(0));
  EXPECT_THAT(Words(plan), ElementsAre("release b", "event WorkloadNameConflict"));
  EXPECT_EQ(std::get<EmitEvent>(plan.actions.back()).message,
            "A Workload named \"g\" already exists but is not a pod group workload; this pod group "
            "cannot be admitted");
}

TEST(PlanGroupTest, NewPodsBecomeOwners) {
  const std::vector<QueuedPodPtr> pods{Pod("a", "running"), Pod("b")};
  const JobPlan plan = PlanPods(
      Group(pods), Situation({Owned(Of(WorkloadOf({{"r1", 2}}), "admitted"), {pods[0]})}), At(0));
  EXPECT_THAT(Words(plan), ElementsAre("owners 1", "start", "event Started"));
}

// An admission counts the pods that had not succeeded when it was made.
TEST(PlanGroupTest, AdmissionStartsAsManyRemainingPodsAsItGrants) {
  const std::vector<QueuedPodPtr> pods{Pod("a", "succeeded total3"), Pod("b", "total3", 1),
                                       Pod("c", "total3", 2)};
  for (const auto& [left_at_admission, started_before, names] :
       {std::tuple<int, bool, std::vector<std::string>>{2, false, {"b", "c"}},
        {3, false, {"b", "c"}},
        {1, false, {"b"}},
        {2, true, {"c"}},
        {3, true, {"c"}}}) {
    SCOPED_TRACE(left_at_admission);
    std::vector<QueuedPodPtr> now = pods;
    if (started_before) now[1] = Pod("b", "running total3", 1);
    api::Workload workload = Owned(Of(WorkloadOf({{"r1", 3}}), "admitted"), now);
    workload.status.admission->pod_set_assignments[0].count = left_at_admission;
    workload.status.reclaimable_pods = {{"r1", 1}};
    const JobPlan plan = PlanPods(Group(now), Situation({workload}), At(0));
    ASSERT_THAT(Words(plan), ElementsAre("start", "event Started"));
    EXPECT_EQ(NamesOf(PodsToStart(Group(now), std::get<StartJob>(plan.actions[0]).pod_sets)),
              names);
  }
}

TEST(PlanGroupTest, ConflictingLabelFinishesTheWorkloadAsFailedToStart) {
  QueuedPod pod = *Pod("b");
  pod.meta.labels[api::kClusterQueueNameLabel] = "other";
  const std::vector<QueuedPodPtr> pods{Pod("a"), std::make_shared<const QueuedPod>(pod)};
  const JobPlan plan = PlanPods(
      Group(pods), Situation({Owned(Of(WorkloadOf({{"r1", 2}}), "admitted"), pods)}), At(0));
  EXPECT_THAT(Words(plan), ElementsAre("Finished=FailedToStart"));
}

// A change of a LeaderWorkerSet's template, or of the queue's name, leads to this.
TEST(PlanGroupTest, PodsMayHaveOtherLabelsThanTheirWorkload) {
  QueuedPod pod = *Pod("b");
  pod.meta.labels["team"] = "b";
  pod.meta.annotations["restarted"] = "today";
  const std::vector<QueuedPodPtr> pods{Pod("a"), std::make_shared<const QueuedPod>(pod)};
  api::Workload workload = Owned(Of(WorkloadOf({{"r1", 2}}), "admitted"), pods);
  std::vector<api::PodSet> pod_sets = workload.spec.pod_sets;
  pod_sets[0].pod_template.labels = {{"team", "a"}, {api::kQueueLabel, "old"}};
  pod_sets[0].pod_template.annotations = {{"restarted", "yesterday"}};
  workload.spec.pod_sets = pod_sets;
  const JobPlan plan = PlanPods(Group(pods), Situation({workload}), At(0));
  EXPECT_THAT(Words(plan), ElementsAre("start", "event Started"));
  const auto started = StartedPod(pod, true, std::get<StartJob>(plan.actions[0]).pod_sets);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(started->labels.at("team"), "b");
  EXPECT_EQ(started->annotations.at("restarted"), "today");
}

TEST(PlanGroupTest, PrebuiltWorkloadIsNeverDeletedOrCreated) {
  std::vector<QueuedPodPtr> pods;
  for (const char* name : {"a", "b", "c"}) {
    QueuedPod pod = *Pod(name);
    pod.meta.annotations[api::kPrebuiltWorkloadLabel] = "g";
    pods.push_back(std::make_shared<const QueuedPod>(std::move(pod)));
  }
  EXPECT_THAT(Words(PlanPods(Group(pods), Situation({WorkloadOf({{"r1", 3}})}), At(0))),
              ElementsAre("owners 3"));
  EXPECT_THAT(
      Words(PlanPods(Group(pods), Situation({Owned(WorkloadOf({{"r9", 3}}), pods)}), At(0))),
      ElementsAre("Finished=OutOfSync"));
  EXPECT_THAT(Words(PlanPods(Group(pods), Situation(), At(0))), IsEmpty());
}

TEST(PlanGroupTest, UnmanagedGroupsAreLeftAlone) {
  JobSituation situation = Situation();
  situation.namespace_rule = NamespaceRule::kUnmanaged;
  EXPECT_THAT(Words(PlanPods(Group({Pod("a"), Pod("b")}), situation, At(0))), IsEmpty());
  QueuedPod pod = *Pod("a");
  pod.meta.labels.erase(api::kQueueLabel);
  const PodsOfJob job = Group({std::make_shared<const QueuedPod>(pod)});
  EXPECT_THAT(Words(PlanPods(job, Situation(), At(0))), IsEmpty());
}

PodsOfJob Single(const std::string& words) { return {{Pod("p", words)}, ""}; }

api::Workload WorkloadOfPod(const std::string& words) {
  const JobPlan plan = PlanPods(Single(""), Situation(), At(0));
  return Of(std::get<CreateWorkload>(plan.actions.front()).workload, words);
}

TEST(PlanPodTest, TheStatesOfPodAndWorkloadDecideTheSteps) {
  struct Case {
    const char* what;
    const char* pod;
    const char* workload;  // null: none
    std::vector<std::string> words;
  };
  for (const Case& each : std::vector<Case>{
           {"waits", "", "", {}},
           {"started", "", "admitted", {"start", "event Started"}},
           {"runs", "running", "admitted", {}},
           {"runs unadmitted", "running", "", {"stop NotAdmitted", "event Stopped"}},
           {"runs without a workload",
            "running",
            nullptr,
            {"stop NoMatchingWorkload", "event Stopped"}},
           {"evicted: its quota goes back at once",
            "running",
            "admitted evicted",
            {"stop WorkloadEvictedDueToPreempted", "event Stopped", "give back"}},
           {"finished",
            "succeeded",
            "admitted",
            {"Finished=Succeeded", "event FinishedWorkload", "release"}},
           {"failed",
            "failed",
            "admitted",
            {"Finished=Failed", "event FinishedWorkload", "release"}},
           {"ended unadmitted",
            "failed",
            "",
            {"Finished=Failed", "event FinishedWorkload", "release"}},
           {"over", "succeeded", "finished", {"let go", "release"}},
           {"over and released", "succeeded free", "finished", {"let go"}},
           {"being deleted",
            "running deleting",
            "admitted",
            {"Finished=OwnerNotFound", "let go", "release p"}},
           {"deleted workload",
            "",
            "admitted deleting",
            {"stop WorkloadDeleted", "event Stopped", "release", "let go"}},
       }) {
    std::vector<api::Workload> workloads;
    if (each.workload != nullptr) workloads.push_back(WorkloadOfPod(each.workload));
    const JobPlan plan = PlanPods(Single(each.pod), Situation(std::move(workloads)), At(50));
    EXPECT_EQ(Words(plan), each.words) << each.what;
  }
}

TEST(PlanPodTest, ADeletedPodLeavesTheWorkloadOfAnotherJobAlone) {
  api::Workload workload = WorkloadOfPod("admitted");
  workload.meta.owner_references[0].name = "another";
  EXPECT_THAT(Words(PlanPods(Single("running deleting"), Situation({workload}), At(50))),
              ElementsAre("release p"));
  workload.meta.owner_references[0] = {.api_version = "batch/v1", .kind = "Job", .name = "p"};
  workload.meta.owner_references[0].controller = true;
  EXPECT_THAT(Words(PlanPods(Single("running deleting"), Situation({workload}), At(50))),
              ElementsAre("release p"));
}

// An eviction deletes a pod that has started; one that waits at its gate stays, and is queued
// again.
TEST(PlanPodTest, OnlyAWaitingPodsWorkloadIsRequeued) {
  for (const auto& [pod, queued] : {std::pair{"running", false}, std::pair{"", true}}) {
    const JobPlan plan =
        PlanPods(Single(pod), Situation({WorkloadOfPod("admitted evicted")}), At(50));
    const auto release = std::find_if(
        plan.actions.begin(), plan.actions.end(),
        [](const JobAction& action) { return std::holds_alternative<ReleaseQuota>(action); });
    ASSERT_NE(release, plan.actions.end()) << "the quota stays: '" << pod << "'";
    EXPECT_EQ(api::IsTrue(std::get<ReleaseQuota>(*release).status.conditions, api::kRequeued),
              queued)
        << pod;
  }
}

TEST(PlanPodTest, WorkloadHasKueuesName) {
  QueuedPod pod = *Pod("p");
  pod.meta.uid = "0001";
  const PodsOfJob job{{std::make_shared<const QueuedPod>(pod)}, ""};
  const JobPlan plan = PlanPods(job, Situation(), At(0));
  const api::Workload& workload = std::get<CreateWorkload>(plan.actions.front()).workload;
  EXPECT_EQ(workload.meta.name, "pod-p-fdf5e");
  EXPECT_EQ(workload.meta.labels.at(api::kJobUidLabel), "0001");
  EXPECT_TRUE(workload.meta.owner_references.front().controller);
  EXPECT_EQ(workload.meta.owner_references.front().api_version, "v1");
  EXPECT_EQ(workload.spec.pod_sets[0].name, "main");
}

}  // namespace
}  // namespace berth::integrations::pods_test
