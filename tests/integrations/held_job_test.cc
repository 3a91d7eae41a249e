// Goal: the plan of a job that is held by its pods: one unit, growth, preemption, shrinking, a
// restart. Method: a state of object, pods and Workloads, and the actions that follow from it, as
// words.
#include "integrations/held_job.h"

#include <list>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/held_jobs.h"
#include "tests/integrations/fixtures.h"

namespace berth::integrations::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Counts = std::vector<std::pair<std::string, int>>;

// A kind with a pod whose end ends the job.
KindPtr Kind() {
  static const KindPtr kind = *ParseKind(nlohmann::json::parse(R"({
    "group": "example.com", "version": "v1", "kind": "Cluster",
    "hold": {"podLabel": "example.com/cluster",
      "groups": {"kind": "Group", "job": "spec.cluster", "replicas": "spec.size", "podSet": "'worker'",
        "template": "spec", "count": "1", "deployments": true},
      "restart": {"podSet": "runner", "hideLabel": "part", "when": "true", "status": {"phase": "New"}}},
    "podSets": [{"template": "spec.template"}]})"));
  return kind;
}

std::vector<api::JobPodSet> Sets(const Counts& counts) {
  std::vector<api::JobPodSet> sets;
  for (const auto& [name, count] : counts) {
    api::JobPodSet& pods = sets.emplace_back();
    pods.name = name;
    pods.count = count;
    pods.pod_template.spec.containers.emplace_back().requests = {{"cpu", 1000}};
  }
  return sets;
}

class HeldJobTest : public ::testing::Test {
 protected:
  HeldJobTest() {
    job_.kind = Kind();
    job_.view.kind = &job_.kind->kind;
    job_.view.meta = {.namespace_name = "default", .name = "c", .uid = "uid-c"};
    job_.view.meta.labels[api::kQueueLabel] = "lq";
    job_.view.suspended = true;
    Want({{"scheduler", 1}, {"worker", 2}});
  }

  void Want(const Counts& counts) { job_.view.pod_sets = Sets(counts); }
  // `count` pods of the set; `words`: "running", "deleting", or gated.
  void Pods(const std::string& set, int count, const std::string& words = "",
            const std::string& workload = "") {
    for (int i = 0; i < count; ++i) {
      QueuedPod pod;
      const std::string name = set + "-" + std::to_string(next_++);
      pod.meta = {.namespace_name = "default", .name = name, .uid = "uid-" + name};
      pod.role = set;
      const bool running = words.find("running") != std::string::npos;
      if (running) {
        pod.phase = QueuedPod::Phase::kRunning;
        pod.ready = true;
        pod.pod_template.spec.node_name = "node";
        if (!workload.empty()) pod.meta.annotations[api::kPodWorkloadAnnotation] = workload;
      } else {
        pod.pod_template.spec.scheduling_gates = {api::kAdmissionGate};
      }
      if (words.find("deleting") != std::string::npos) pod.meta.deletion_timestamp = At(100);
      job_.pods.push_back(std::make_shared<const QueuedPod>(pod));
    }
  }
  // A pod whose review did not know the job.
  QueuedPod& Missed(int created_at) {
    const auto pod = std::make_shared<QueuedPod>();
    pod->meta = {.namespace_name = "default", .name = "worker-missed", .uid = "uid-missed"};
    pod->meta.creation_timestamp = At(created_at);
    pod->role = "worker";
    pod->phase = QueuedPod::Phase::kRunning;
    job_.missed_pods = {pod};
    return *pod;
  }
  api::Workload& Has(const std::string& name, const Counts& counts, int growth = 0) {
    api::Workload workload;
    workload.meta = {.namespace_name = "default", .name = name, .uid = "uid-" + name};
    workload.meta.owner_references = {{.api_version = "example.com/v1",
                                       .kind = "Cluster",
                                       .name = "c",
                                       .uid = "uid-c",
                                       .controller = true}};
    if (growth != 0) workload.meta.annotations[api::kGrowthAnnotation] = std::to_string(growth);
    workload.spec.queue_name = "lq";
    api::SetPodSets(Sets(counts), workload.spec);
    workloads_.push_back(workload);
    return workloads_.back();
  }
  void Group(int replicas, const std::string& retired = "") {
    PodGroupSize group{.pod_set = "worker", .replicas = replicas};
    group.meta.name = "g";
    group.meta.annotations[api::kRetiredAnnotation] = retired;
    group.retired = RetiredPods(group.meta.annotations, replicas);
    job_.groups = {group};
  }

  JobPlan Plan(int at = 10) {
    JobSituation situation;
    situation.workloads = {workloads_.begin(), workloads_.end()};
    situation.pods_ready_rule = PodsReadyRule::kIgnore;
    flavors_ = SpotFlavor();
    situation.flavors = &flavors_;
    situation.job = job_.view;
    return PlanHeldJob(job_, situation, At(at));
  }
  static std::string Text(const std::vector<std::string>& names) {
    std::map<std::string, int> counts;
    for (const std::string& name : names) ++counts[name.substr(0, name.find('-'))];
    std::string text;
    for (const auto& [set, count] : counts) text += " " + set + ":" + std::to_string(count);
    return text;
  }
  template <typename Sets>
  static std::string TextOfSets(const Sets& sets) {
    std::string text;
    for (const auto& each : sets) text += " " + each.name + ":" + std::to_string(each.count);
    return text;
  }
  // The actions but events.
  std::vector<std::string> Words(int at = 10) {
    std::vector<std::string> words;
    for (const JobAction& action : Plan(at).actions) {
      if (const auto* a = std::get_if<CreateWorkload>(&action)) {
        const auto& annotations = a->workload.meta.annotations;
        const std::string* growth = api::FindValue(annotations, api::kGrowthAnnotation);
        words.push_back("create " + (growth == nullptr ? "main" : "growth " + *growth) +
                        TextOfSets(a->workload.spec.pod_sets));
      } else if (const auto* start = std::get_if<StartJob>(&action)) {
        words.push_back("start " + start->workload + Text(start->pods));
      } else if (const auto* stop = std::get_if<StopJob>(&action)) {
        words.push_back("stop" + Text(stop->pods));
      } else if (const auto* resize = std::get_if<ResizeGroup>(&action)) {
        words.push_back("resize " + std::to_string(resize->replicas) + " " + resize->retired);
      } else if (const auto* reclaim = std::get_if<SetReclaimablePods>(&action)) {
        std::string text = "reclaim " + reclaim->key.name;
        for (const auto& each : reclaim->pods)
          text += " " + each.pod_set + ":" + std::to_string(each.count);
        words.push_back(text);
      } else if (const auto* rewrite = std::get_if<UpdateWorkloadSpec>(&action)) {
        words.push_back("rewrite " + rewrite->key.name + TextOfSets(rewrite->spec.pod_sets));
      } else if (const auto* drop = std::get_if<DeleteWorkload>(&action)) {
        words.push_back("drop " + drop->key.name);
      } else if (const auto* release = std::get_if<ReleaseQuota>(&action)) {
        words.push_back("give back " + release->key.name);
      } else if (const auto* makers = std::get_if<DeleteMakers>(&action)) {
        words.push_back("delete makers" + Text(makers->pods));
      } else if (std::holds_alternative<RestartJob>(action)) {
        words.emplace_back("restart");
      } else if (!std::holds_alternative<EmitEvent>(action)) {
        words.emplace_back("other");
      }
    }
    return words;
  }

  static void Evict(api::Workload& workload) { SetTrue(workload, api::kEvicted, "Preempted"); }

  HeldJob job_;
  std::list<api::Workload> workloads_;
  FlavorsByName flavors_;
  int next_ = 0;
};

TEST_F(HeldJobTest, WorkloadIsCreatedBeforeAnyPod) {
  EXPECT_THAT(Words(), ElementsAre("create main scheduler:1 worker:2"));
}

TEST_F(HeldJobTest, UnmarkedObjectIsLeftAlone) {
  job_.view.suspended = false;
  Pods("worker", 1, "running");
  EXPECT_THAT(Words(), IsEmpty());
}

TEST_F(HeldJobTest, PodsWaitForTheAdmission) {
  Has("main", {{"scheduler", 1}, {"worker", 2}});
  Pods("scheduler", 1);
  Pods("worker", 2);
  EXPECT_THAT(Words(), IsEmpty());
  Reserve(workloads_.back());
  EXPECT_THAT(Words(), IsEmpty());
  Admit(workloads_.back());
  EXPECT_THAT(Words(), ElementsAre("start main scheduler:1 worker:2"));
}

TEST_F(HeldJobTest, PodsThatRunWithoutAWorkloadStopFirst) {
  Pods("scheduler", 1, "running");
  EXPECT_THAT(Words(), ElementsAre("stop scheduler:1"));
}

TEST_F(HeldJobTest, AWaitingJobMayChangeItsSize) {
  Has("main", {{"scheduler", 1}, {"worker", 2}});
  Want({{"scheduler", 1}, {"worker", 5}});
  EXPECT_THAT(Words(), ElementsAre("rewrite main scheduler:1 worker:5"));
}

TEST_F(HeldJobTest, NoMorePodsStartThanHaveQuota) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 2}}));
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 1, "running", "main");
  Pods("worker", 1, "running deleting", "main");  // it uses its node
  Pods("worker", 1);
  EXPECT_THAT(Words(), IsEmpty());
  job_.pods.erase(job_.pods.begin() + 2);
  EXPECT_THAT(Words(), ElementsAre("start main worker:1"));
}

TEST_F(HeldJobTest, GrowthIsASeparateWorkload) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 2}}));
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 2, "running", "main");
  Pods("worker", 2);
  Want({{"scheduler", 1}, {"worker", 4}});
  EXPECT_THAT(Words(), ElementsAre("create growth 1 worker:2"));
  Has("more", {{"worker", 2}}, 1);
  EXPECT_THAT(Words(), IsEmpty());
  Want({{"scheduler", 1}, {"worker", 5}});  // it waits: it asks for more
  EXPECT_THAT(Words(), ElementsAre("rewrite more worker:3"));
  Want({{"scheduler", 1}, {"worker", 3}});
  EXPECT_THAT(Words(), ElementsAre("rewrite more worker:1"));
  Want({{"scheduler", 1}, {"worker", 2}});
  EXPECT_THAT(Words(), ElementsAre("drop more"));
  Want({{"scheduler", 1}, {"worker", 4}});
  Admit(workloads_.back());
  EXPECT_THAT(Words(), ElementsAre("start more worker:2"));
  Want({{"scheduler", 1}, {"worker", 5}});
  EXPECT_THAT(Words(), ElementsAre("start more worker:2", "create growth 2 worker:1"));
}

// At equal times of reservation either could be preempted.
TEST_F(HeldJobTest, GrowthIsCreatedInALaterSecondThanTheAdmission) {
  api::Workload& main = Has("main", {{"scheduler", 1}, {"worker", 2}});
  Admit(main);
  for (api::Condition& each : main.status.conditions) each.last_transition_time = At(10);
  Want({{"scheduler", 1}, {"worker", 4}});
  EXPECT_THAT(Words(10), IsEmpty());
  EXPECT_EQ(Plan(10).look_again, std::chrono::seconds(1));
  EXPECT_THAT(Words(11), ElementsAre("create growth 1 worker:2"));
}

// Only as many pods start as there is quota for; the others are a growth that waits.
TEST_F(HeldJobTest, GrowthMayBeAdmittedInPart) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 1}}));
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 1, "running", "main");
  Pods("worker", 3);
  Want({{"scheduler", 1}, {"worker", 4}});
  const JobPlan plan = Plan();
  const auto* create = std::get_if<CreateWorkload>(&plan.actions.front());
  ASSERT_NE(create, nullptr);
  EXPECT_EQ(create->workload.spec.pod_sets.front().min_count, 1);
  api::Workload& more = Has("more", {{"worker", 3}}, 1);
  std::vector<api::JobPodSet> sets = Sets({{"worker", 3}});
  sets.front().min_count = 1;
  api::SetPodSets(sets, more.spec);
  Admit(more);
  more.status.admission->pod_set_assignments[0].count = 2;
  EXPECT_THAT(Words(), ElementsAre("start more worker:2", "create growth 2 worker:1"));
  Has("most", {{"worker", 1}}, 2);
  job_.pods.erase(job_.pods.begin() + 2, job_.pods.begin() + 4);
  Pods("worker", 2, "running", "more");
  EXPECT_THAT(Words(), IsEmpty());
  // One less than it asked for has quota: reclaimable counts from what it asked for.
  Want({{"scheduler", 1}, {"worker", 2}});
  job_.pods.pop_back();
  job_.pods.erase(job_.pods.begin() + 2);
  EXPECT_THAT(Words(), ElementsAre("reclaim more worker:2", "drop most"));
}

TEST_F(HeldJobTest, GroupAddedAfterAdmissionIsAGrowth) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 2}}));
  Want({{"scheduler", 1}, {"worker", 2}, {"late", 3}});
  EXPECT_THAT(Words(), ElementsAre("create growth 1 late:3"));
}

TEST_F(HeldJobTest, EndedPodsOfASmallerJobAreReclaimable) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 2}}));
  Admit(Has("more", {{"worker", 2}}, 1));
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 2, "running", "main");
  Pods("worker", 2, "running", "more");
  Want({{"scheduler", 1}, {"worker", 1}});
  EXPECT_THAT(Words(), IsEmpty());                                // all run
  job_.pods.erase(job_.pods.begin() + 1, job_.pods.begin() + 3);  // those of the main one
  EXPECT_THAT(Words(), ElementsAre("reclaim main worker:2"));
  job_.pods.pop_back();
  EXPECT_THAT(Words(), ElementsAre("reclaim main worker:2", "reclaim more worker:1"));
}

TEST_F(HeldJobTest, PreemptedGrowthIsRetiredByTheOperatorAndThenStopped) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 2}}));
  api::Workload& more = Has("more", {{"worker", 2}}, 1);
  Admit(more);
  Evict(more);
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 2, "running", "main");
  Pods("worker", 2, "running", "more");
  Group(4);
  Want({{"scheduler", 1}, {"worker", 4}});
  EXPECT_THAT(Words(), ElementsAre("resize 2 2@2"));
  Group(2, "2@2");
  EXPECT_THAT(Words(), IsEmpty());                                // the operator is at it
  EXPECT_THAT(Words(200), ElementsAre("stop worker:2"));          // it did nothing
  job_.pods.erase(job_.pods.begin() + 1, job_.pods.begin() + 3);  // it chose those of the main one
  EXPECT_THAT(Words(), ElementsAre("give back more"));
}

TEST_F(HeldJobTest, MainWorkloadFirstTakesPodsWhoseGrowthHasNoQuota) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 1}}));
  Evict(Has("more", {{"worker", 1}}, 1));
  api::Workload& most = Has("most", {{"worker", 1}}, 2);
  Admit(most);
  Evict(most);
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 1, "running", "most");
  Pods("worker", 1, "running", "more");
  Group(2, "1@2");
  Want({{"scheduler", 1}, {"worker", 3}});
  EXPECT_THAT(Words(), ElementsAre("resize 1 2@1"));
}

TEST_F(HeldJobTest, PreemptedGrowthStopsATakenOverPodBeforeItsRelease) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 1}}));
  Evict(Has("more", {{"worker", 1}}, 1));
  Admit(Has("most", {{"worker", 1}}, 2));
  Evict(workloads_.back());
  Pods("scheduler", 1, "running", "main");
  for (const char* workload : {"main", "more"}) Pods("worker", 1, "running", workload);
  Want({{"scheduler", 1}, {"worker", 3}});
  EXPECT_THAT(Words(), ElementsAre("stop worker:1"));
}

// Dask's operator counts Deployments, and retires workers that run.
TEST_F(HeldJobTest, WaitingPodsAreDeletedBeforeWorkersAreRetired) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 2}}));
  Admit(Has("more", {{"worker", 1}}, 1));
  Evict(workloads_.back());
  Has("most", {{"worker", 2}}, 2);
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 2, "running", "main");
  Pods("worker", 1, "running", "more");
  Pods("worker", 2);
  Group(5);
  Want({{"scheduler", 1}, {"worker", 5}});
  EXPECT_THAT(Words(), ElementsAre("delete makers worker:2"));
  job_.pods.resize(4);
  EXPECT_THAT(Words(), ElementsAre("resize 2 3@2"));
}

TEST_F(HeldJobTest, AdmissionRestoresRetiredWorkers) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 2}}));
  api::Workload& more = Has("more", {{"worker", 2}}, 1);
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 2, "running", "more");  // they are counted by the main one
  Group(2, "2@2");
  Want({{"scheduler", 1}, {"worker", 4}});
  EXPECT_THAT(Words(), IsEmpty());
  Admit(more);
  EXPECT_THAT(Words(), ElementsAre("resize 4 "));
}

TEST_F(HeldJobTest, PodOfAnotherFlavorIsNotTakenOver) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 2}}));
  api::Workload& more = Has("more", {{"worker", 1}}, 1);
  Admit(more);
  more.status.admission->pod_set_assignments[0].flavors = {{"nvidia.com/gpu", "other"}};
  Evict(more);
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 1, "running", "main");
  Pods("worker", 1, "running", "more");
  Want({{"scheduler", 1}, {"worker", 3}});
  EXPECT_THAT(Words(), ElementsAre("stop worker:1"));  // no group sizes it
}

TEST_F(HeldJobTest, PreemptedJobStopsAllPodsAndKeepsItsSize) {
  api::Workload& main = Has("main", {{"scheduler", 1}, {"worker", 2}});
  Admit(main);
  Evict(main);
  Admit(Has("more", {{"worker", 2}}, 1));
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 2, "running", "main");
  Pods("worker", 2, "running", "more");
  Want({{"scheduler", 1}, {"worker", 4}});
  EXPECT_THAT(Words(), ElementsAre("stop scheduler:1 worker:4"));
  job_.pods.clear();
  EXPECT_THAT(Words(), ElementsAre("give back main", "drop more"));
  main.status.conditions.clear();
  main.status.admission.reset();
  Evict(main);
  workloads_.pop_back();
  Pods("runner", 1);
  EXPECT_THAT(Words(), IsEmpty());  // the size of the main one
  Want({{"scheduler", 1}, {"worker", 1}});
  EXPECT_THAT(Words(), ElementsAre("rewrite main scheduler:1 worker:1"));
}

TEST_F(HeldJobTest, WaitingJobHasNoReclaimablePods) {
  api::Workload& main = Has("main", {{"scheduler", 1}, {"worker", 1}});
  Evict(main);
  main.status.reclaimable_pods = {{"worker", 1}};
  Want({{"scheduler", 1}, {"worker", 1}});
  Pods("scheduler", 1);
  EXPECT_THAT(Words(), ElementsAre("reclaim main"));
  Want({{"scheduler", 1}, {"worker", 0}});
  EXPECT_THAT(Words(), ElementsAre("reclaim main", "rewrite main scheduler:1 worker:0"));
}

TEST_F(HeldJobTest, JobRestartsItsRunnerAfterAStop) {
  job_.can_restart = true;
  api::Workload& main = Has("main", {{"scheduler", 1}, {"worker", 2}});
  Evict(main);
  Pods("scheduler", 1);
  EXPECT_THAT(Words(), ElementsAre("restart"));
  Pods("runner", 1);
  EXPECT_THAT(Words(), IsEmpty());
  job_.pods.pop_back();
  job_.view.finished = JobOutcome{true, "done"};
  EXPECT_THAT(Words(), ElementsAre("other"));  // Finished
}

TEST_F(HeldJobTest, PodsOfUnknownWorkloadsStop) {
  Admit(Has("main", {{"scheduler", 1}, {"worker", 1}}));
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 1, "running", "main");
  Pods("worker", 1, "running", "gone");
  Want({{"scheduler", 1}, {"worker", 1}});
  EXPECT_THAT(Words(), ElementsAre("stop worker:1"));
}

// Beside it run as many pods of the job as have quota.
TEST_F(HeldJobTest, PodWithoutItsReviewsMarkIsStoppedAndNotCounted) {
  Has("main", {{"scheduler", 1}, {"worker", 2}});
  job_.view.meta.creation_timestamp = At(0);
  Missed(0);
  EXPECT_THAT(Words(), ElementsAre("stop worker:1"));
  Admit(workloads_.back());
  Pods("scheduler", 1, "running", "main");
  Pods("worker", 2);
  EXPECT_THAT(Words(), ElementsAre("start main worker:2", "stop worker:1"));
  Evict(workloads_.back());
  job_.pods.clear();
  EXPECT_THAT(Words(), ElementsAre("give back main", "stop worker:1"));
  job_.view.meta.deletion_timestamp = At(9);
  EXPECT_THAT(Words(), ::testing::Not(::testing::Contains("stop worker:1")));
}

TEST_F(HeldJobTest, UnmarkedPodOfAnOlderJobIsStoppedLater) {
  struct WaitRow {
    const char* what;
    int job_at;
    int pod_at;
    int wait;  // seconds
  };
  const WaitRow rows[] = {
      {"at once: the informers of reviews follow", 100, 100, 2},
      {"they are 5 s behind", 100, 105, 5},
      {"an old job", 100, 10'000, 30},
      {"the clock was set back in between", 100, 50, 2},
  };
  Has("main", {{"scheduler", 1}, {"worker", 2}});
  for (const WaitRow& row : rows) {
    SCOPED_TRACE(row.what);
    job_.view.meta.creation_timestamp = At(row.job_at);
    Missed(row.pod_at);
    EXPECT_THAT(Words(row.pod_at), IsEmpty());
    EXPECT_EQ(Plan(row.pod_at).look_again, std::chrono::seconds(row.wait));
    EXPECT_THAT(Words(row.pod_at + row.wait - 1), IsEmpty());
    EXPECT_THAT(Words(row.pod_at + row.wait), ElementsAre("stop worker:1"));
    EXPECT_THAT(Words(row.pod_at - 31), ElementsAre("stop worker:1"));  // the age cannot be told
  }
  Missed(100).meta.deletion_timestamp = At(101);
  EXPECT_THAT(Words(200), IsEmpty());
}

TEST(RetiredPodsTest, IsZeroWhenTheSizeHasChanged) {
  const auto of = [](const std::string& text) {
    return RetiredPods({{api::kRetiredAnnotation, text}}, 4);
  };
  EXPECT_EQ(of("2@4"), 2);
  for (const char* text : {"2@5", "2", "", "x@4", "-1@4", "2@4@4", "99999999999@4"}) {
    EXPECT_EQ(of(text), 0) << text;
  }
  EXPECT_EQ(RetiredPods({}, 4), 0);
}

}  // namespace
}  // namespace berth::integrations::testing
