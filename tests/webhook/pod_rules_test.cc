// Goal: reviews of pods that are queued themselves. Method: AdmissionReviews as the API server
// sends them; tables of changes and of refusals.
#include "webhook/pod_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "webhook/review.h"

namespace berth::webhook {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

Json PodObject() {
  return Json::parse(R"({"metadata": {"name": "p", "namespace": "default", "labels": {"app": "x"}},
    "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}})");
}

Json Patched(const char* patch) {
  Json pod = PodObject();
  pod.merge_patch(Json::parse(patch));
  return pod;
}

constexpr char kQueued[] = R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "lq"}}})";

JobReviews Knowing(const JobFacts& facts) {
  return {.facts = [facts](const ReviewedKind&, const api::ObjectMeta&) { return facts; },
          .kinds = {PodKind([](const Json&) { return "c0ffee00"; })}};
}

Json Answer(std::string_view path, const Json& object, const Json& old, const JobFacts& facts) {
  const Json review = {{"request", {{"uid", "u"}, {"object", object}, {"oldObject", old}}}};
  const Result<Json> answer = Review(path, review, Knowing(facts));
  EXPECT_TRUE(answer);
  return (*answer)["response"];
}

// The pod after its review.
Json Mutated(const Json& pod, const JobFacts& facts) {
  const Json response = Answer("/mutate--v1-pod", pod, nullptr, facts);
  EXPECT_EQ(response["allowed"], true);
  if (!response.contains("patch")) return pod;
  return pod.patch(Json::parse(*Base64Decode(response["patch"].get<std::string>())));
}

std::size_t GateCount(const Json& pod) {
  return pod["spec"].value("schedulingGates", Json::array()).size();
}

TEST(PodReviewTest, QueueNamespaceAndOwnerDecideWhetherAPodIsGated) {
  JobFacts all;
  all.manage_without_queue_name = true;
  JobFacts unmanaged;
  unmanaged.namespace_managed = false;
  JobFacts owned = all;
  owned.ancestor_managed = true;
  JobFacts with_default;
  with_default.default_local_queue = true;
  JobFacts held;
  held.held_by = "example.com/cluster";
  struct Case {
    const char* what;
    Json pod;
    JobFacts facts;
    bool gated, taken;
  };
  const char* by_parent =
      R"({"metadata": {"annotations": {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}}})";
  for (const Case& each : {
           Case{"no queue", PodObject(), {}, false, false},
           Case{"queue", Patched(kQueued), {}, true, true},
           Case{"all are managed", PodObject(), all, true, true},
           Case{"namespace", Patched(kQueued), unmanaged, false, false},
           Case{"owner is queued", Patched(kQueued), owned, false, false},
           Case{"default queue", PodObject(), with_default, true, true},
           Case{"parent queues", Patched(by_parent), {}, true, false},
           Case{"a held job's", PodObject(), held, true, false},
           Case{"a held job's, with a queue", Patched(kQueued), held, true, false},
           Case{"parent queues, other namespace", Patched(by_parent), unmanaged, true, false},
       }) {
    const Json pod = Mutated(each.pod, each.facts);
    EXPECT_EQ(GateCount(pod), each.gated ? 2U : 0U) << each.what;
    EXPECT_EQ(pod["metadata"]["labels"].value("kueue.x-k8s.io/managed", ""),
              each.taken ? "true" : "")
        << each.what;
    EXPECT_EQ(pod["metadata"].contains("finalizers"), each.taken) << each.what;
    EXPECT_EQ(pod["metadata"].contains("annotations") &&
                  pod["metadata"]["annotations"].contains("kueue.x-k8s.io/role-hash"),
              each.gated)
        << each.what;
    EXPECT_EQ(Mutated(pod, each.facts), pod) << each.what << ", twice";
  }
}

TEST(PodReviewTest, PodOfAHeldJobGetsTheParentAnnotation) {
  JobFacts facts;
  facts.held_by = "example.com/cluster";
  const char* key = "kueue.x-k8s.io/pod-suspending-parent";
  EXPECT_EQ(Mutated(PodObject(), facts)["metadata"]["annotations"][key], "example.com/cluster");
  const Json marked = Patched(
      R"({"metadata": {"annotations": {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}}})");
  EXPECT_EQ(Mutated(marked, facts)["metadata"]["annotations"][key], "statefulset");
}

// Without framework "pod" only pods of parents are gated.
TEST(PodReviewTest, PodsWithoutAParentAreLeftAloneIfConfigured) {
  JobFacts facts;
  const JobReviews jobs{
      .facts = [&facts](const ReviewedKind&, const api::ObjectMeta&) { return facts; },
      .kinds = {PodKind([](const Json&) { return "c0ffee00"; }, ReviewedPods::kOfParents)}};
  const auto answer = [&jobs](std::string_view path, const Json& pod) {
    return (*Review(path, {{"request", {{"uid", "u"}, {"object", pod}}}}, jobs))["response"];
  };
  const Json queued = Patched(kQueued);
  EXPECT_FALSE(answer("/mutate--v1-pod", queued).contains("patch"));
  facts.held_by = "example.com/cluster";
  EXPECT_TRUE(answer("/mutate--v1-pod", queued).contains("patch"));
}

TEST(PodReviewTest, AddsDefaultQueueAndPriorityClass) {
  JobFacts facts;
  facts.default_local_queue = true;
  facts.default_priority_class = true;
  const Json labels = Mutated(PodObject(), facts)["metadata"]["labels"];
  EXPECT_EQ(labels["kueue.x-k8s.io/queue-name"], "default");
  EXPECT_EQ(labels["kueue.x-k8s.io/priority-class"], "default");
}

TEST(PodReviewTest, KeepsThePodsFinalizersAnnotationsAndGates) {
  Json pod = Patched(kQueued);
  pod["metadata"]["finalizers"] = {"own"};
  pod["metadata"]["annotations"] = {
      {"kueue.x-k8s.io/role-hash", "main"},
      {"kueue.x-k8s.io/pod-group-pod-index-label", "apps.kubernetes.io/pod-index"}};
  pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] = "3";
  pod["spec"]["schedulingGates"] = Json::parse(R"([{"name": "own/gate"}])");
  pod = Mutated(pod, {});
  EXPECT_EQ(pod["metadata"]["finalizers"], (Json{"own", "kueue.x-k8s.io/managed"}));
  EXPECT_EQ(pod["metadata"]["annotations"]["kueue.x-k8s.io/role-hash"], "main");
  EXPECT_EQ(pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-pod-index"], "3");
  EXPECT_EQ(GateCount(pod), 3U);
  EXPECT_EQ(pod["spec"]["schedulingGates"][0]["name"], "own/gate");
}

TEST(PodReviewTest, AnswersForInvalidObjects) {
  for (const char* text :
       {R"({})", R"({"metadata": {}})", R"({"metadata": {"labels":
           {"kueue.x-k8s.io/queue-name": "lq"}, "finalizers": null}, "spec": {"schedulingGates": [3, null]}})",
        R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "lq"}}, "spec": null})"}) {
    EXPECT_EQ(Answer("/mutate--v1-pod", Json::parse(text), nullptr, {})["allowed"], true) << text;
  }
  EXPECT_EQ(Answer("/mutate--v1-pod", Json::parse(R"({"metadata": 7})"), nullptr, {})["allowed"],
            false);
}

struct Refused {
  const char* what;
  const char* pod;
  const char* old;      // null: on create
  const char* message;  // empty: allowed
};

void Expect(const Refused& each) {
  const Json old = each.old == nullptr ? Json() : Patched(each.old);
  const Json response = Answer("/validate--v1-pod", Patched(each.pod), old, {});
  if (*each.message == '\0') {
    EXPECT_EQ(response["allowed"], true) << each.what << ": " << response.dump();
    return;
  }
  EXPECT_EQ(response["allowed"], false) << each.what;
  EXPECT_THAT(response["status"].value("message", ""), HasSubstr(each.message)) << each.what;
}

constexpr char kGroup[] = R"({"metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "g"},
    "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"}}})";

TEST(PodReviewTest, RejectsInvalidNewPods) {
  for (
      const Refused& each : {
          Refused{"plain", "{}", nullptr, ""},
          Refused{"group", kGroup, nullptr, ""},
          Refused{"queue name", R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "No!"}}})",
                  nullptr, "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value"},
          Refused{
              "managed", R"({"metadata": {"labels": {"kueue.x-k8s.io/managed": "no"}}})", nullptr,
              "metadata.labels[kueue.x-k8s.io/managed]: Forbidden: managed label value can only be "
              "'true'"},
          Refused{
              "name alone", R"({"metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}}})",
              nullptr,
              "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: Required value: both "
              "the 'kueue.x-k8s.io/pod-group-total-count' annotation and the "
              "'kueue.x-k8s.io/pod-group-name' label should be set"},
          Refused{
              "name alone by annotation",
              R"({"metadata": {"annotations": {"kueue.x-k8s.io/pod-group-name": "g"}}})", nullptr,
              "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: Required value: both "
              "the 'kueue.x-k8s.io/pod-group-total-count' annotation and the "
              "'kueue.x-k8s.io/pod-group-name' annotation should be set"},
          Refused{"count alone",
                  R"({"metadata": {"annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"}}})",
                  nullptr, "metadata.labels[kueue.x-k8s.io/pod-group-name]: Required value"},
          Refused{"count 0",
                  R"({"metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                    "annotations": {"kueue.x-k8s.io/pod-group-total-count": "0"}}})",
                  nullptr, "group total count should be greater than zero"},
          Refused{"count of words",
                  R"({"metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                    "annotations": {"kueue.x-k8s.io/pod-group-total-count": "two"}}})",
                  nullptr, "group total count should be greater than zero"},
          Refused{"bad name",
                  R"({"metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "G!"},
                    "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"}}})",
                  nullptr, "metadata.labels[kueue.x-k8s.io/pod-group-name]: Invalid value: \"G!\""},
          Refused{"bad name by annotation",
                  R"({"metadata": {"annotations": {"kueue.x-k8s.io/pod-group-name": "G!",
                    "kueue.x-k8s.io/pod-group-total-count": "2"}}})",
                  nullptr, "metadata.annotations[kueue.x-k8s.io/pod-group-name]: Invalid value"},
          Refused{"prebuilt of another name",
                  R"({"metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "g",
                    "kueue.x-k8s.io/prebuilt-workload-name": "h"},
                    "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"}}})",
                  nullptr, "prebuilt workload and pod group should be equal"},
          Refused{"topology",
                  R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "lq"}, "annotations": {
                    "kueue.x-k8s.io/podset-required-topology": "rack",
                    "kueue.x-k8s.io/podset-preferred-topology": "rack"}}})",
                  nullptr, "metadata.annotations"},
      }) {
    Expect(each);
  }
}

TEST(PodReviewTest, RejectsInvalidChanges) {
  for (const Refused& each : {
           Refused{"joins a group", kGroup, "{}", ""},
           Refused{"leaves its group", "{}", kGroup,
                   "metadata.labels[kueue.x-k8s.io/pod-group-name]: Invalid value: \"\": field is "
                   "immutable"},
           Refused{
               "retriable again", kGroup,
               R"({"metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}, "annotations": {
                    "kueue.x-k8s.io/pod-group-total-count": "2",
                    "kueue.x-k8s.io/retriable-in-group": "false"}}})",
               "metadata.annotations[kueue.x-k8s.io/retriable-in-group]: Forbidden: unretriable "
               "pod "
               "group can't be converted to retriable"},
           Refused{"queue of a running pod", kQueued,
                   R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}})",
                   "field is immutable"},
           Refused{"queue of a gated pod",
                   R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "lq"}},
                    "spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}})",
                   R"({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}})", ""},
       }) {
    Expect(each);
  }
}

TEST(PodReviewTest, WarnsOfALabelledPodOfAQueuedOwner) {
  JobFacts owned;
  owned.ancestor_managed = true;
  const Json pod = Patched(R"({"metadata": {"labels": {"kueue.x-k8s.io/managed": "true"}}})");
  const Json response = Answer("/validate--v1-pod", pod, nullptr, owned);
  ASSERT_EQ(response["warnings"].size(), 1U);
  EXPECT_THAT(response["warnings"][0].get<std::string>(), HasSubstr("pod owner is managed"));
  EXPECT_FALSE(Answer("/validate--v1-pod", pod, nullptr, {}).contains("warnings"));
}

TEST(PodReviewTest, WithoutTheFrameworkEveryPodIsAllowed) {
  const Json review = {{"request", {{"uid", "u"}, {"object", Patched(kQueued)}}}};
  const Result<Json> answer = Review("/mutate--v1-pod", review, {});
  ASSERT_TRUE(answer);
  EXPECT_FALSE((*answer)["response"].contains("patch"));
}

}  // namespace
}  // namespace berth::webhook
