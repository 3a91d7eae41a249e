// Goal: the rules of pods and pod groups: roles, which pods belong to a group, its state, starts.
// Method: tables; pods as the API server shows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "integrations/pods/role_hash.h"
#include "tests/integrations/pod_fixtures.h"

namespace berth::integrations::pods_test {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Sha256, AgreesWithPublishedDigests) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

Json Spec() {
  return Json::parse(R"({"containers": [{"name": "c", "image": "i",
                         "resources": {"requests": {"cpu": "1"}}}]})");
}

TEST(RoleHash, AgreesWithKueue) { EXPECT_EQ(RoleHash(Spec()), "dc85db45"); }

TEST(RoleHash, DependsOnTheSchedulingFieldsAlone) {
  const std::string plain = RoleHash(Spec());
  struct Case {
    const char* what;
    const char* patch;
    bool same;
  };
  for (
      const Case& each : {
          Case{"image",
               R"({"containers": [{"image": "j", "resources": {"requests": {"cpu": "1"}}}]})",
               true},
          Case{"volumes", R"({"volumes": [{"name": "v"}]})", true},
          Case{"restart policy", R"({"restartPolicy": "Never"})", true},
          Case{
              "limits",
              R"({"containers": [{"resources": {"limits": {"cpu": "9"}, "requests": {"cpu": "1"}}}]})",
              true},
          Case{"requests", R"({"containers": [{"resources": {"requests": {"cpu": "2"}}}]})", false},
          Case{"ports",
               R"({"containers": [{"ports": [{"containerPort": 80}],
                    "resources": {"requests": {"cpu": "1"}}}]})",
               false},
          Case{"node selector", R"({"nodeSelector": {"a": "b"}})", false},
          Case{"tolerations", R"({"tolerations": [{"key": "k", "operator": "Exists"}]})", false},
          Case{"priority", R"({"priority": 0})", false},
          Case{"pod resources", R"({"resources": {"requests": {"cpu": "2"}}})", false},
          Case{"runtime class", R"({"runtimeClassName": "gvisor"})", false},
      }) {
    Json spec = Spec();
    spec.merge_patch(Json::parse(each.patch));
    EXPECT_EQ(RoleHash(spec) == plain, each.same) << each.what;
  }
}

// The structs of the API are written in the order of their fields, not of their names.
TEST(RoleHash, WritesFieldsInTheOrderOfTheApi) {
  Json spec = Spec();
  spec["tolerations"] = Json::parse(
      R"([{"effect": "NoExecute", "key": "k", "operator": "Exists", "tolerationSeconds": 300}])");
  const std::string text =
      R"({"spec":{"affinity":null,"containers":[{"ports":null,"resources":{"requests":{"cpu":"1"}}}],)"
      R"("initContainers":null,"nodeSelector":null,"overhead":null,"priority":null,)"
      R"("resourceClaims":null,"runtimeClassName":null,"tolerations":[{"key":"k",)"
      R"("operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],)"
      R"("topologySpreadConstraints":null}})";
  EXPECT_EQ(RoleHash(spec), Sha256Hex(text).substr(0, 8));
}

TEST(RoleHash, AcceptsAnyJson) {
  for (const char* text : {"null", "[]", "{}", "7", R"({"containers": 3})",
                           R"({"containers": [null, 4, {"resources": []}]})"}) {
    EXPECT_EQ(RoleHash(Json::parse(text)).size(), 8U) << text;
  }
}

TEST(QueuedPodTest, ReadsGroupRoleGatesAndState) {
  const Json object = Json::parse(R"({
    "metadata": {"name": "p", "namespace": "default", "uid": "u",
                 "annotations": {"kueue.x-k8s.io/pod-group-name": "by-annotation"},
                 "labels": {"kueue.x-k8s.io/pod-group-name": "by-label"},
                 "finalizers": ["kueue.x-k8s.io/managed"]},
    "spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}], "volumes": [{"name": "v"}],
             "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
    "status": {"phase": "Failed", "message": "OOM", "conditions": [
      {"type": "Ready", "status": "False"},
      {"type": "ContainersReady", "status": "False", "reason": "PodFailed",
       "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})");
  const Result<QueuedPod> pod = DecodeQueuedPod(object);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->role, "dc85db45");
  EXPECT_TRUE(IsGated(*pod));
  EXPECT_TRUE(IsHeld(*pod));
  EXPECT_TRUE(HasEnded(*pod));
  EXPECT_FALSE(IsRunnable(*pod));
  EXPECT_FALSE(pod->ready);
  EXPECT_TRUE(pod->failed_at);
  EXPECT_EQ(pod->message, "OOM");
  EXPECT_EQ(PodGroupOf(pod->meta), "by-annotation");
  EXPECT_THAT(*pod->pod_template.json, HasSubstr("volumes"));
  EXPECT_TRUE(DecodeQueuedPod(Json::parse(R"({"metadata": {"name": "p"}})")));
  EXPECT_FALSE(DecodeQueuedPod(Json::parse(R"({"metadata": {"name": "p"}, "spec": 7})")));
}

TEST(ComposeGroupTest, AnIncompleteOrInconsistentGroupIsRefusedWithItsProblem) {
  struct Case {
    const char* what;
    PodsOfJob job;
    const char* problem;
  };
  std::vector<QueuedPodPtr> many;
  for (int i = 0; i < 19; ++i) {
    QueuedPod pod = *Pod("p" + std::to_string(i), "", 0, "r" + std::to_string(i));
    pod.meta.annotations[api::kPodGroupTotalCountAnnotation] = "19";
    many.push_back(std::make_shared<const QueuedPod>(std::move(pod)));
  }
  std::vector<QueuedPodPtr> thousand;
  for (int i = 0; i < 1000; ++i) {
    QueuedPod pod = *Pod("p" + std::to_string(i), "", 0, "r" + std::to_string(i));
    pod.meta.annotations[api::kPodGroupTotalCountAnnotation] = "1000";
    thousand.push_back(std::make_shared<const QueuedPod>(std::move(pod)));
  }
  for (const Case& each : {
           Case{"a thousand roles", Group(thousand), "more than 18 roles"},
           Case{"too few", Group({Pod("a")}), "'g' group has fewer runnable pods than expected"},
           Case{"failed ones do not count", Group({Pod("a"), Pod("b", "failed")}),
                "fewer runnable"},
           Case{"deleted before they ran", Group({Pod("a"), Pod("b", "deleting")}),
                "fewer runnable"},
           Case{"queues", Group({Pod("a"), Pod("b", "queue2")}),
                "pods 'a' and 'b' has different queue names: lq!=lq2"},
           Case{"queue of a failed pod", Group({Pod("a"), Pod("b"), Pod("c", "failed queue2")}),
                ""},
           Case{"counts", Group({Pod("a"), Pod("b", "total3")}), "values: 2!=3"},
           Case{"no count", Group({Pod("a", "nototal"), Pod("b")}), "failed to extract"},
           Case{"no count of another", Group({Pod("a"), Pod("b", "nototal")}), "of the pod 'b'"},
           Case{"index", Group({Pod("a"), Pod("b", "index2")}), "from 0 to 1"},
           Case{"index in range", Group({Pod("a"), Pod("b", "index1")}), ""},
           Case{"roles", Group(many), "pod group can't include more than 18 roles"},
           Case{"fast", Group({Pod("a", "fast")}), ""},
           Case{"whole", Group({Pod("a"), Pod("b")}), ""},
       }) {
    const GroupComposition composed = ComposeGroup(each.job, {});
    if (*each.problem == '\0') {
      EXPECT_EQ(composed.problem, "") << each.what;
      EXPECT_FALSE(composed.pod_sets.empty()) << each.what;
    } else {
      EXPECT_THAT(composed.problem, HasSubstr(each.problem)) << each.what;
    }
  }
}

TEST(ComposeGroupTest, MakesOnePodSetForEachRole) {
  const PodsOfJob job =
      Group({Pod("a", "total3", 0, "z"), Pod("b", "total3", 0, "y"), Pod("c", "total3", 0, "z")});
  const GroupComposition composed = ComposeGroup(job, {});
  ASSERT_EQ(composed.pod_sets.size(), 2U);
  EXPECT_EQ(composed.pod_sets[0].name, "y");
  EXPECT_EQ(composed.pod_sets[0].count, 1);
  EXPECT_EQ(composed.pod_sets[1].name, "z");
  EXPECT_EQ(composed.pod_sets[1].count, 2);
  ASSERT_TRUE(composed.pod_sets[1].topology_request);
  EXPECT_EQ(composed.pod_sets[1].topology_request->pod_index_label, api::kPodGroupPodIndexLabel);
  EXPECT_FALSE(composed.pod_sets[1].topology_request->required);
}

TEST(ComposeGroupTest, FastAdmissionComposesTheGroupFromItsFirstPod) {
  const GroupComposition composed = ComposeGroup(Group({Pod("a", "fast total3", 0, "r")}), {});
  ASSERT_EQ(composed.pod_sets.size(), 1U);
  EXPECT_EQ(composed.pod_sets[0].count, 3);
  EXPECT_EQ(composed.pod_sets[0].name, "r");
}

TEST(ComposeGroupTest, TheYoungestPodsAreSurplus) {
  const GroupComposition composed =
      ComposeGroup(Group({Pod("a", "", 3), Pod("b", "", 1), Pod("c", "", 2)}), {});
  EXPECT_THAT(NamesOf(composed.members), ElementsAre("b", "c"));
  EXPECT_THAT(NamesOf(composed.surplus), ElementsAre("a"));
}

TEST(ComposeGroupTest, CopiedLabelsMayNotDiffer) {
  QueuedPod one = *Pod("a");
  QueuedPod other = *Pod("b");
  one.meta.labels["team"] = "x";
  const auto compose = [&] {
    return ComposeGroup(
        Group({std::make_shared<const QueuedPod>(one), std::make_shared<const QueuedPod>(other)}),
        {"team"});
  };
  EXPECT_EQ(compose().labels, (api::StringMap{{"team", "x"}}));
  other.meta.labels["team"] = "y";
  EXPECT_THAT(compose().problem, HasSubstr("pods have different label values"));
}

// metrics.customLabels may tell an annotation of the Workload.
TEST(ComposeGroupTest, CopiedAnnotationsMayNotDiffer) {
  QueuedPod one = *Pod("a");
  QueuedPod other = *Pod("b");
  one.meta.annotations["a"] = "value1";
  const auto problem = [&] {
    return ComposeGroup(Group({std::make_shared<const QueuedPod>(one),
                               std::make_shared<const QueuedPod>(other)}),
                        {}, {"a"})
        .problem;
  };
  EXPECT_EQ(problem(), "");
  other.meta.annotations["a"] = "value2";
  EXPECT_THAT(problem(), HasSubstr("pods have different annotation values: a=value1 and a=value2"));
}

struct Membership {
  const char* what;
  PodsOfJob job;
  std::vector<std::pair<std::string, int>> roles;
  std::vector<std::string> surplus, replaced;
  int absent;
  bool matches;
};

std::vector<Membership> Memberships() {
  return {
      {"whole", Group({Pod("a"), Pod("b")}), {{"r1", 2}}, {}, {}, 0, true},
      {"one absent", Group({Pod("a")}), {{"r1", 2}}, {}, {}, 1, true},
      {"fast: one is enough", Group({Pod("a", "fast")}), {{"r1", 2}}, {}, {}, 0, true},
      {"fast: none", Group({Pod("a", "fast failed")}), {{"r1", 2}}, {}, {}, 1, true},
      {"a failed pod waits for its successor",
       Group({Pod("a"), Pod("b", "failed")}),
       {{"r1", 2}},
       {},
       {},
       1,
       true},
      {"a failed pod with a successor",
       Group({Pod("a"), Pod("b", "failed"), Pod("c")}),
       {{"r1", 2}},
       {},
       {"b"},
       0,
       true},
      {"group of one pod",
       Group({Pod("a", "failed total1"), Pod("b", "total1")}),
       {{"r1", 1}},
       {},
       {"a"},
       0,
       true},
      {"of two failed pods the one without finalizer first",
       Group({Pod("a", "failed free", 1), Pod("b", "failed", 2), Pod("c")}),
       {{"r1", 2}},
       {},
       {"a"},
       1,
       true},
      {"succeeded pods are active",
       Group({Pod("a", "succeeded"), Pod("b", "running")}),
       {{"r1", 2}},
       {},
       {},
       0,
       true},
      {"another role alone",
       Group({Pod("a", "", 0, "r2"), Pod("b", "", 0, "r2")}),
       {{"r1", 2}},
       {},
       {},
       2,
       false},
  };
}

std::vector<Membership> MembershipsOfSurplus() {
  return {
      {"surplus: gated pods before started ones",
       Group({Pod("a", "", 1), Pod("b", "running", 5), Pod("c", "running", 6)}),
       {{"r1", 2}},
       {"a"},
       {},
       0,
       true},
      {"surplus: the youngest",
       Group({Pod("a", "", 3), Pod("b", "", 1), Pod("c", "", 2)}),
       {{"r1", 2}},
       {"a"},
       {},
       0,
       true},
      {"surplus: pods without finalizer first",
       Group({Pod("a", "free", 1), Pod("b", "", 2), Pod("c", "", 3)}),
       {{"r1", 2}},
       {"a"},
       {},
       0,
       true},
      {"surplus: gated pods before one that has succeeded",
       Group({Pod("a", "succeeded free", 1), Pod("b", "running", 2), Pod("c", "", 3)}),
       {{"r1", 2}},
       {"c"},
       {},
       0,
       true},
      {"surplus: one that has succeeded before those that run",
       Group({Pod("a", "succeeded free", 1), Pod("b", "running", 2), Pod("c", "running", 3)}),
       {{"r1", 2}},
       {"a"},
       {},
       0,
       true},
  };
}

TEST(CompareGroupTest, SortsPodsIntoSurplusReplacedAndAbsent) {
  std::vector<Membership> rows = Memberships();
  for (Membership& each : MembershipsOfSurplus()) rows.push_back(std::move(each));
  for (const Membership& each : rows) {
    const GroupComparison compared = CompareGroup(each.job, WorkloadOf(each.roles), At(50));
    EXPECT_EQ(NamesOf(compared.surplus), each.surplus) << each.what;
    EXPECT_EQ(NamesOf(compared.replaced), each.replaced) << each.what;
    EXPECT_EQ(compared.absent, each.absent) << each.what;
    EXPECT_EQ(compared.matches, each.matches) << each.what;
  }
}

TEST(CompareGroupTest, ARoleMayBeWithoutPods) {
  const GroupComparison compared =
      CompareGroup(Group({Pod("a")}), WorkloadOf({{"r1", 1}, {"r2", 1}}), At(50));
  EXPECT_TRUE(compared.matches);
  EXPECT_EQ(compared.absent, 1);
}

TEST(CompareGroupTest, ComparesTheMaximumExecutionTime) {
  api::Workload workload = WorkloadOf({{"r1", 2}});
  workload.spec.maximum_execution_time_seconds = 7;
  EXPECT_FALSE(CompareGroup(Group({Pod("a"), Pod("b")}), workload, At(0)).matches);
}

struct GroupState {
  const char* what;
  std::vector<QueuedPodPtr> pods;
  bool suspended, active, ready;
  const char* finished;  // message; empty: not finished
  int reclaimable;
};

std::vector<GroupState> GroupStates() {
  return {
      {"gated", {Pod("a"), Pod("b")}, true, false, false, "", 0},
      {"running", {Pod("a", "running ready"), Pod("b", "running ready")}, false, true, true, "", 0},
      {"not all ready",
       {Pod("a", "running ready"), Pod("b", "running")},
       false,
       true,
       false,
       "",
       0},
      {"one gated", {Pod("a", "running ready"), Pod("b")}, true, true, false, "", 0},
      {"too few are not ready", {Pod("a", "running ready")}, false, true, false, "", 0},
      {"succeeded",
       {Pod("a", "succeeded"), Pod("b", "succeeded")},
       true,
       false,
       true,
       "Pods succeeded: 2/2.",
       2},
      {"one succeeded", {Pod("a", "succeeded"), Pod("b", "running")}, true, true, false, "", 1},
      {"a failed pod is replaced",
       {Pod("a", "succeeded"), Pod("b", "failed")},
       true,
       false,
       false,
       "",
       1},
      {"unretriable",
       {Pod("a", "succeeded"), Pod("b", "failed unretriable")},
       true,
       false,
       false,
       "Pods succeeded: 1/2.",
       1},
      {"unretriable, and one still runs",
       {Pod("a", "running"), Pod("b", "failed unretriable")},
       true,
       true,
       false,
       "",
       0},
      {"serving",
       {Pod("a", "succeeded serving"), Pod("b", "succeeded serving")},
       true,
       false,
       false,
       "",
       0},
      {"in its grace",
       {Pod("a", "running deleting"), Pod("b", "running deleting")},
       false,
       true,
       false,
       "",
       0},
  };
}

TEST(ViewOfGroupTest, APodThatHasSucceededIsReadyUnlessTheGroupServes) {
  const std::vector<QueuedPodPtr> batch{Pod("a", "succeeded"), Pod("b", "running ready")};
  EXPECT_TRUE(ViewOfGroup(Group(batch), batch, At(50)).pods_ready);
  const std::vector<QueuedPodPtr> serving{Pod("a", "succeeded serving"),
                                          Pod("b", "running ready serving")};
  EXPECT_FALSE(ViewOfGroup(Group(serving), serving, At(50)).pods_ready);
}

TEST(ViewOfGroupTest, TheStateOfAGroupFollowsFromItsPods) {
  for (const GroupState& each : GroupStates()) {
    const JobView view = ViewOfGroup(Group(each.pods), each.pods, At(50));
    EXPECT_EQ(view.suspended, each.suspended) << each.what;
    EXPECT_EQ(view.active, each.active) << each.what;
    EXPECT_EQ(view.pods_ready, each.ready) << each.what;
    EXPECT_EQ(view.finished ? view.finished->message : "", each.finished) << each.what;
    int reclaimable = 0;
    for (const api::ReclaimablePod& pods : view.reclaimable_pods) reclaimable += pods.count;
    EXPECT_EQ(reclaimable, each.reclaimable) << each.what;
  }
  const std::vector<QueuedPodPtr> stuck{Pod("a", "running deleting")};
  EXPECT_FALSE(ViewOfGroup(Group(stuck), stuck, At(101)).active);
}

TEST(WaitingConditionTest, TheConditionChangesWhenPodsAreLostEvictedOrReplaced) {
  const auto with = [](bool waiting, const char* reason, bool evicted) {
    api::Workload workload = WorkloadOf({{"r1", 2}});
    if (reason != nullptr) {
      workload.status.conditions.push_back(
          {.type = api::kWaitingForReplacementPods,
           .status = waiting ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
           .reason = reason,
           .message = std::string(reason) == "Preempted" ? "told" : ""});
    }
    if (evicted) {
      workload.status.conditions.push_back({.type = api::kEvicted,
                                            .status = api::ConditionStatus::kTrue,
                                            .reason = "Preempted",
                                            .message = "told"});
    }
    return workload;
  };
  struct Case {
    const char* what;
    api::Workload workload;
    int absent;
    const char* result;  // status/reason; empty: no change
  };
  for (const Case& each : {
           Case{"never", with(false, nullptr, false), 0, ""},
           Case{"first loss", with(false, nullptr, false), 1, "True/PodsFailed"},
           Case{"by an eviction", with(false, nullptr, true), 1, "True/Preempted"},
           Case{"still", with(true, "PodsFailed", false), 1, ""},
           Case{"then evicted", with(true, "PodsFailed", true), 1, "True/Preempted"},
           Case{"still evicted", with(true, "Preempted", true), 1, ""},
           Case{"back", with(true, "Preempted", true), 0, "False/PodsReady"},
           Case{"stays back", with(false, "PodsReady", false), 0, ""},
           Case{"lost again", with(false, "PodsReady", false), 2, "True/PodsFailed"},
       }) {
    const auto condition = WaitingCondition(each.workload, each.absent);
    const std::string result =
        !condition ? ""
                   : (condition->status == api::ConditionStatus::kTrue ? "True/" : "False/") +
                         condition->reason;
    EXPECT_EQ(result, each.result) << each.what;
  }
}

TEST(StartedPodTest, MergesTheChangeOfItsRole) {
  PodSetChange change{.name = "r1", .node_selector = {{"zone", "a"}}};
  change.labels = {{api::kPodSetLabel, "r1"}};
  change.tolerations = {{.key = "spot", .op = "Exists"}};
  const Result<PodSetChange> started = StartedPod(*Pod("a"), true, {change});
  ASSERT_TRUE(started);
  EXPECT_EQ(started->node_selector, (api::StringMap{{"zone", "a"}}));
  EXPECT_EQ(started->labels.at(api::kPodSetLabel), "r1");
  EXPECT_EQ(started->labels.at(api::kQueueLabel), "lq");
  EXPECT_EQ(started->tolerations.size(), 1U);
  EXPECT_THAT(started->scheduling_gates, IsEmpty());

  change.annotations[api::kWorkloadAnnotation] = "g";
  EXPECT_THAT(StartedPod(*Pod("a"), true, {change})->scheduling_gates, IsEmpty());
  QueuedPod copied = *Pod("a");
  copied.meta.annotations[api::kWorkloadAnnotation] = "earlier";
  EXPECT_EQ(StartedPod(copied, true, {change})->annotations.at(api::kWorkloadAnnotation), "g");
  change.is_placed = true;
  EXPECT_THAT(StartedPod(*Pod("a"), true, {change})->scheduling_gates,
              ElementsAre(api::kTopologyGate));
  EXPECT_THAT(StartedPod(*Pod("a", "", 0, "other"), true, {change}).error().message,
              HasSubstr("'other' is not found"));
  change.labels[api::kQueueLabel] = "lq2";
  EXPECT_THAT(StartedPod(*Pod("a"), true, {change}).error().message,
              HasSubstr("conflict for labels"));
}

}  // namespace
}  // namespace berth::integrations::pods_test
