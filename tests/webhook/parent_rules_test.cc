// Goal: reviews of Deployments, StatefulSets and LeaderWorkerSets: what their pods' metadata gets,
// and which changes are refused. Method: AdmissionReviews as the API server sends them; tables.
#include "webhook/parent_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "base/strings.h"
#include "webhook/review.h"

namespace berth::webhook::parent_rules_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Json Ready(const Json& object) { return object.value("/status/readyReplicas"_json_pointer, 0); }

ReviewedKind Kind(const std::string& framework, const std::string& path, ParentMarks marks) {
  ReviewedKind kind{.name = framework, .framework = framework, .path = path, .prebuilt = false};
  kind.read = [](const Json& object) -> Result<ReviewedJob> {
    BERTH_TRY(api::ObjectMeta meta, api::Decode<api::ObjectMeta>(object));
    return ReviewedJob{.meta = std::move(meta), .suspended = Ready(object) == 0};
  };
  AddServingRules(framework, marks);
  return ParentKind(std::move(kind), std::move(marks));
}

JobReviews Knowing(const JobFacts& facts) {
  const ParentMarks::Keys of_template{"spec", "template", "metadata"};
  return {
      .facts = [facts](const ReviewedKind&, const api::ObjectMeta&) { return facts; },
      .kinds = {Kind("deployment", "apps-v1-deployment",
                     {.metadata = {of_template}, .labels = true, .managed = true}),
                Kind("statefulset", "apps-v1-statefulset", {.metadata = {of_template}}),
                Kind("leaderworkerset.x-k8s.io/leaderworkerset",
                     "leaderworkerset-x-k8s-io-v1-leaderworkerset",
                     {.metadata = {{"spec", "leaderWorkerTemplate", "leaderTemplate", "metadata"},
                                   {"spec", "leaderWorkerTemplate", "workerTemplate", "metadata"}},
                      .labels = true,
                      .serving = true})}};
}

Json Answer(const std::string& path, const Json& object, const Json& old, const JobFacts& facts) {
  const Json review = {{"request", {{"uid", "u"}, {"object", object}, {"oldObject", old}}}};
  const Result<Json> answer = Review(path, review, Knowing(facts));
  EXPECT_TRUE(answer);
  return (*answer)["response"];
}

Json Mutated(const std::string& name, const Json& object, const JobFacts& facts = {}) {
  const Json response = Answer("/mutate-" + name, object, nullptr, facts);
  EXPECT_EQ(response["allowed"], true);
  if (!response.contains("patch")) return object;
  return object.patch(Json::parse(*Base64Decode(response["patch"].get<std::string>())));
}

// The message of the refusal; empty: allowed.
std::string Refusal(const std::string& name, const Json& object, const Json& old,
                    const JobFacts& facts = {}) {
  const Json response = Answer("/validate-" + name, object, old, facts);
  return response["allowed"] == true ? "" : response["status"]["message"].get<std::string>();
}

constexpr char kDeployments[] = "apps-v1-deployment";
constexpr char kStatefulSets[] = "apps-v1-statefulset";
constexpr char kLwss[] = "leaderworkerset-x-k8s-io-v1-leaderworkerset";

Json Serving(const char* change = "{}") {
  Json object = Json::parse(R"({
    "metadata": {"name": "s", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
    "spec": {"replicas": 2, "template": {"metadata": {"labels": {"app": "x"}}, "spec": {
      "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}}})");
  object.merge_patch(Json::parse(change));
  return object;
}

Json Groups(const char* change = "{}") {
  Json object = Json::parse(R"({
    "metadata": {"name": "s", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
    "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 2,
      "leaderTemplate": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
      "workerTemplate": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}}})");
  object.merge_patch(Json::parse(change));
  return object;
}

const char* kNoQueue = R"({"metadata": {"labels": null}})";
const char* kClass = R"({"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}})";

TEST(ParentReviewTest, DeploymentsPodTemplateGetsQueueAndPriorityClass) {
  const Json now = Mutated(kDeployments, Serving(kClass));
  const Json& metadata = now["spec"]["template"]["metadata"];
  EXPECT_EQ(metadata["labels"], (Json{{"app", "x"},
                                      {"kueue.x-k8s.io/managed", "true"},
                                      {"kueue.x-k8s.io/queue-name", "lq"},
                                      {"kueue.x-k8s.io/priority-class", "high"}}));
  EXPECT_EQ(metadata["annotations"],
            (Json{{"kueue.x-k8s.io/pod-suspending-parent", "deployment"}}));
}

TEST(ParentReviewTest, ObjectsQueueReplacesThatOfTheTemplate) {
  const Json now = Mutated(
      kDeployments,
      Serving(
          R"({"spec": {"template": {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "mine"}}}}})"));
  EXPECT_EQ(now["spec"]["template"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "lq");
}

TEST(ParentReviewTest, StatefulSetsTemplateGetsOnlyTheAnnotation) {
  const Json now = Mutated(kStatefulSets, Serving(kClass));
  EXPECT_EQ(now["spec"]["template"]["metadata"],
            (Json{{"labels", {{"app", "x"}}},
                  {"annotations", {{"kueue.x-k8s.io/pod-suspending-parent", "statefulset"}}}}));
}

TEST(ParentReviewTest, MarksBothTemplatesOfALeaderWorkerSet) {
  const Json now = Mutated(kLwss, Groups());
  const Json& parts = now["spec"]["leaderWorkerTemplate"];
  const Json annotations = {
      {"kueue.x-k8s.io/pod-suspending-parent", "leaderworkerset.x-k8s.io/leaderworkerset"},
      {"kueue.x-k8s.io/pod-group-serving", "true"}};
  EXPECT_EQ(
      parts["leaderTemplate"]["metadata"],
      (Json{{"labels", {{"kueue.x-k8s.io/queue-name", "lq"}}}, {"annotations", annotations}}));
  Json with_offset = annotations;
  with_offset["kueue.x-k8s.io/pod-index-offset"] = "1";
  EXPECT_EQ(parts["workerTemplate"]["metadata"]["annotations"], with_offset);
}

TEST(ParentReviewTest, LeaderWorkerSetWithoutLeaderTemplateNeedsNoOffset) {
  const Json now =
      Mutated(kLwss, Groups(R"({"spec": {"leaderWorkerTemplate": {"leaderTemplate": null}}})"));
  const Json& parts = now["spec"]["leaderWorkerTemplate"];
  EXPECT_FALSE(parts.contains("leaderTemplate"));
  EXPECT_FALSE(parts["workerTemplate"]["metadata"]["annotations"].contains(
      "kueue.x-k8s.io/pod-index-offset"));
}

TEST(ParentReviewTest, AGroupOfPodSetsNeedsNoOffset) {
  const Json now = Mutated(kLwss, Groups(R"({"spec": {"leaderWorkerTemplate": {"workerTemplate":
      {"metadata": {"annotations": {"kueue.x-k8s.io/podset-group-name": "g"}}}}}})"));
  EXPECT_FALSE(
      now["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["annotations"].contains(
          "kueue.x-k8s.io/pod-index-offset"));
}

TEST(ParentReviewTest, QueueNamespaceAndOwnerDecideWhetherAnObjectIsMarked) {
  JobFacts all;
  all.manage_without_queue_name = true;
  JobFacts with_default;
  with_default.default_local_queue = true;
  JobFacts unmanaged;
  unmanaged.namespace_managed = false;
  JobFacts owned;
  owned.ancestor_managed = true;
  const char* another = R"({"spec": {"template": {"metadata": {"annotations":
      {"kueue.x-k8s.io/pod-suspending-parent": "leaderworkerset.x-k8s.io/leaderworkerset"}}}}})";
  struct Case {
    const char* what;
    Json object;
    JobFacts facts;
    bool marked;
  };
  for (const Case& each : {
           Case{"queue", Serving(), {}, true},
           Case{"no queue", Serving(kNoQueue), {}, false},
           Case{"all are managed", Serving(kNoQueue), all, true},
           Case{"default queue", Serving(kNoQueue), with_default, true},
           Case{"namespace", Serving(), unmanaged, false},
           Case{"owner is queued", Serving(), owned, false},
           Case{"of another parent", Serving(another), {}, false},
       }) {
    const Json now = Mutated(kStatefulSets, each.object, each.facts);
    EXPECT_EQ(now != each.object, each.marked) << each.what;
  }
  const Json defaulted = Mutated(kStatefulSets, Serving(kNoQueue), with_default);
  EXPECT_EQ(defaulted["metadata"]["labels"]["kueue.x-k8s.io/queue-name"], "default");
}

// A class or queue named "default" that comes later must not block the rollouts of what runs.
TEST(ParentReviewTest, ARunningObjectGetsNoDefaults) {
  JobFacts facts;
  facts.default_priority_class = true;
  facts.default_local_queue = true;
  for (const char* kind : {kDeployments, kStatefulSets}) {
    const Json object = Serving(R"({"status": {"readyReplicas": 2}})");
    const Json now = Mutated(kind, object, facts);
    EXPECT_FALSE(now["metadata"]["labels"].contains("kueue.x-k8s.io/priority-class"));
    EXPECT_EQ(Refusal(kind, now, object, facts), "");
    const Json unqueued =
        Serving(R"({"metadata": {"labels": null}, "status": {"readyReplicas": 2}})");
    EXPECT_EQ(Mutated(kind, unqueued, facts), unqueued);
  }
}

TEST(ParentReviewTest, InvalidTemplateIsLeftUnchanged) {
  const Json odd = Groups(R"({"spec": {"leaderWorkerTemplate": {"workerTemplate": "x"}}})");
  EXPECT_EQ(Mutated(kLwss, odd)["spec"]["leaderWorkerTemplate"]["workerTemplate"], "x");
}

TEST(ParentReviewTest, AReviewedObjectIsNotChangedAgain) {
  for (const char* kind : {kDeployments, kStatefulSets}) {
    const Json once = Mutated(kind, Serving());
    EXPECT_EQ(Mutated(kind, once), once);
  }
  const Json once = Mutated(kLwss, Groups());
  EXPECT_EQ(Mutated(kLwss, once), once);
}

struct Change {
  const char* what;
  const char* kind;
  const char* before;
  const char* now;
  const char* refusal;  // empty: allowed
};

class ParentChangeTest : public ::testing::TestWithParam<Change> {};

TEST_P(ParentChangeTest, IsAllowedOrRefusedWithTheReason) {
  const Change& each = GetParam();
  const bool groups = std::string_view(each.kind) == kLwss;
  const Json old = groups ? Groups(each.before) : Serving(each.before);
  const Json now = groups ? Groups(each.now) : Serving(each.now);
  const std::string refusal = Refusal(each.kind, now, old);
  if (std::string_view(each.refusal).empty()) {
    EXPECT_EQ(refusal, "") << each.what;
  } else {
    EXPECT_THAT(refusal, HasSubstr(each.refusal)) << each.what;
  }
}

constexpr char kOtherQueue[] =
    R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}})";
constexpr char kOtherQueueReady[] =
    R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}, "status": {"readyReplicas": 1}})";
constexpr char kReadyNow[] = R"({"status": {"readyReplicas": 1}})";

INSTANTIATE_TEST_SUITE_P(
    Rows, ParentChangeTest,
    ::testing::Values(
        Change{"queue without ready pods", kStatefulSets, "{}", kOtherQueue, ""},
        Change{"queue with ready pods", kStatefulSets, kReadyNow, kOtherQueueReady,
               "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"other\": field is "
               "immutable"},
        Change{"queue of a Deployment", kDeployments, kReadyNow, kOtherQueueReady,
               "field is immutable"},
        Change{
            "a queue is removed", kStatefulSets, "{}", R"({"metadata": {"labels": null}})",
            "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"\": field is immutable"},
        Change{"a queue is added", kStatefulSets, R"({"metadata": {"labels": null}})", "{}", ""},
        Change{"a class is removed", kDeployments,
               R"({"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}})", "{}",
               "WorkloadPriorityClass cannot be removed"},
        Change{
            "a class is added to ready pods", kStatefulSets, kReadyNow,
            R"({"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}, "status": {"readyReplicas": 1}})",
            "WorkloadPriorityClass cannot be added"},
        Change{"an image", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "new",
               "resources": {"requests": {"cpu": "1"}}}]}}}})",
               ""},
        Change{
            "requests", kStatefulSets, "{}",
            R"({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i",
               "resources": {"requests": {"cpu": "2"}}}]}}}})",
            "spec.template.spec.containers[0].resources.requests: Invalid value: {\"cpu\":\"2\"}: "
            "field is immutable"},
        Change{"a container", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"containers": []}}}})",
               "spec.template.spec.containers: Invalid value: []: field is immutable"},
        Change{"ports", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i",
               "ports": [{"containerPort": 1}], "resources": {"requests": {"cpu": "1"}}}]}}}})",
               "spec.template.spec.containers[0].ports"},
        Change{"an init container", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"initContainers": [{"name": "i"}]}}}})",
               "spec.template.spec.initContainers"},
        Change{"node selector", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}})",
               "spec.template.spec.nodeSelector: Invalid value: {\"a\":\"b\"}: field is immutable"},
        Change{"affinity", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"affinity": {"nodeAffinity": {}}}}}})",
               "spec.template.spec.affinity"},
        Change{"tolerations", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"tolerations": [{"key": "a"}]}}}})",
               "spec.template.spec.tolerations"},
        Change{"priority", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"priority": 1}}}})",
               "spec.template.spec.priority"},
        Change{"runtime class", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"runtimeClassName": "gvisor"}}}})",
               "spec.template.spec.runtimeClassName: Invalid value: \"gvisor\""},
        Change{"overhead", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"overhead": {"cpu": "1"}}}}})",
               "spec.template.spec.overhead"},
        Change{"claims", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"resourceClaims": [{"name": "a"}]}}}})",
               "spec.template.spec.resourceClaims"},
        Change{
            "spread", kStatefulSets, "{}",
            R"({"spec": {"template": {"spec": {"topologySpreadConstraints": [{"maxSkew": 1}]}}}})",
            "spec.template.spec.topologySpreadConstraints"},
        Change{"requests of the pod", kStatefulSets, "{}",
               R"({"spec": {"template": {"spec": {"resources": {"requests": {"cpu": "1"}}}}}})",
               "spec.template.spec.resources.requests"},
        Change{"the shape of a Deployment", kDeployments, "{}",
               R"({"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}})", ""},
        Change{
            "the shape of a set without queue", kStatefulSets, R"({"metadata": {"labels": null}})",
            R"({"metadata": {"labels": null}, "spec": {"replicas": 5, "template": {"spec": {"nodeSelector": {"a": "b"}}}}})",
            ""},
        Change{"scaled", kStatefulSets, "{}", R"({"spec": {"replicas": 3}})",
               "spec.replicas: Invalid value: 3: field is immutable"},
        Change{"scaled to zero", kStatefulSets, "{}", R"({"spec": {"replicas": 0}})", ""},
        Change{"scaled from zero", kStatefulSets, R"({"spec": {"replicas": 0}})",
               R"({"spec": {"replicas": 5}})", ""},
        Change{"scaled from zero while pods end", kStatefulSets,
               R"({"spec": {"replicas": 0}, "status": {"replicas": 1}})",
               R"({"spec": {"replicas": 5}, "status": {"replicas": 1}})",
               "spec.replicas: Forbidden: scaling down is still in progress"},
        Change{"a Deployment is scaled", kDeployments, "{}", R"({"spec": {"replicas": 3}})", ""},
        Change{"groups are scaled", kLwss, "{}", R"({"spec": {"replicas": 5}})", ""},
        Change{"too few groups", kLwss, "{}", R"({"spec": {"replicas": -1}})",
               "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
        Change{"too many groups", kLwss, "{}", R"({"spec": {"replicas": 1000001}})",
               "spec.replicas: Invalid value: 1000001"},
        Change{"size", kLwss, "{}", R"({"spec": {"leaderWorkerTemplate": {"size": 3}}})",
               "spec.leaderWorkerTemplate.size: Invalid value: 3: field is immutable"},
        Change{"the leader template goes", kLwss, "{}",
               R"({"spec": {"leaderWorkerTemplate": {"leaderTemplate": null}}})",
               "spec.leaderWorkerTemplate.leaderTemplate: Invalid value: null: field is immutable"},
        Change{
            "the leader's shape", kLwss, "{}",
            R"({"spec": {"leaderWorkerTemplate": {"leaderTemplate": {"spec": {"nodeSelector": {"a": "b"}}}}}})",
            "spec.leaderWorkerTemplate.leaderTemplate.spec.nodeSelector"},
        Change{
            "the workers' shape", kLwss, "{}",
            R"({"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"nodeSelector": {"a": "b"}}}}}})",
            "spec.leaderWorkerTemplate.workerTemplate.spec.nodeSelector"},
        Change{"size of a set without queue", kLwss, R"({"metadata": {"labels": null}})",
               R"({"metadata": {"labels": null}, "spec": {"leaderWorkerTemplate": {"size": 3}}})",
               ""}));

TEST(ParentReviewTest, AWorkloadThatIsNotOnHoldBlocksTheScaleUp) {
  JobFacts facts;
  facts.parent_holds_workload = true;
  EXPECT_THAT(
      Refusal(kStatefulSets, Serving(), Serving(R"({"spec": {"replicas": 0}})"), facts),
      HasSubstr("spec.replicas: Forbidden: workload from previous scale-down is still being "
                "deleted"));
}

TEST(ParentReviewTest, StatefulSetOfAnotherParentIsNotValidated) {
  const char* another = R"({"spec": {"replicas": 3, "template": {"metadata": {"annotations":
      {"kueue.x-k8s.io/pod-suspending-parent": "leaderworkerset.x-k8s.io/leaderworkerset"}}}}})";
  EXPECT_EQ(Refusal(kStatefulSets, Serving(another), Serving()), "");
}

TEST(ParentReviewTest, AMistakeInANewObjectIsRefused) {
  EXPECT_EQ(Refusal(kStatefulSets, Serving(), nullptr), "");
  EXPECT_THAT(
      Refusal(kStatefulSets,
              Serving(R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "A_"}}})"), nullptr),
      HasSubstr("metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value"));
  EXPECT_THAT(
      Refusal(kDeployments,
              Serving(R"({"metadata": {"annotations": {"kueue.x-k8s.io/elastic-job": "true"}}})"),
              nullptr),
      HasSubstr("elastic job is not supported"));
  EXPECT_THAT(
      Refusal(
          kDeployments,
          Serving(R"({"metadata": {"annotations": {"kueue.x-k8s.io/admission-gated-by": ","}}})"),
          nullptr),
      HasSubstr("cannot contain empty gate names"));
  EXPECT_THAT(Refusal(kLwss, Groups(R"({"spec": {"replicas": -1}})"), nullptr),
              HasSubstr("spec.replicas"));
}

}  // namespace
}  // namespace berth::webhook::parent_rules_test
