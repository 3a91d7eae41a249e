// Goal: reviews as the API server sends them: patches, denials, odd input; and the paths that
// manifests/webhook registers.
#include "webhook/review.h"

#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace berth::webhook {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

const JobReviews kNoFacts{
    .facts = [](const ReviewedKind&, const api::ObjectMeta&) { return JobFacts{}; }};

Json ReviewOf(const Json& object, const Json& old = nullptr) {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"request", {{"uid", "u-1"}, {"object", object}, {"oldObject", old}}}};
}

Json ResponseTo(std::string_view path, const Json& review) {
  const Result<Json> answer = Review(path, review, kNoFacts);
  EXPECT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)["response"]["uid"], "u-1");
  return (*answer)["response"];
}

const Json kJob = {{"metadata", {{"name", "j"}, {"labels", {{"kueue.x-k8s.io/queue-name", "lq"}}}}},
                   {"spec", {{"template", {{"spec", {{"x", 1}}}}}}}};

TEST(ReviewTest, AQueuedJobIsSuspended) {
  const Json response = ResponseTo("/mutate-batch-v1-job", ReviewOf(kJob));
  EXPECT_EQ(response["allowed"], true);
  EXPECT_EQ(response["patchType"], "JSONPatch");
  const Json patch = Json::parse(*Base64Decode(response["patch"].get<std::string>()));
  EXPECT_EQ(patch, Json::parse(R"([{"op": "add", "path": "/spec/suspend", "value": true}])"));
}

TEST(ReviewTest, UnchangedObjectGetsNoPatch) {
  Json job = kJob;
  job["spec"]["suspend"] = true;
  const Json response = ResponseTo("/mutate-batch-v1-job", ReviewOf(job));
  EXPECT_EQ(response["allowed"], true);
  EXPECT_FALSE(response.contains("patch"));
}

TEST(ReviewTest, AnElasticJobIsGated) {
  Json job = kJob;
  job["metadata"]["annotations"] = {{"kueue.x-k8s.io/elastic-job", "true"}};
  const auto patch_of = [](const Json& review, const ReviewGates& gates) {
    const Json answer = *Review("/mutate-batch-v1-job", review, kNoFacts, gates);
    return Json::parse(*Base64Decode(answer["response"]["patch"].get<std::string>()));
  };
  const Json gated = Json::parse(R"([
      {"op": "add", "path": "/spec/template/spec/schedulingGates",
       "value": [{"name": "kueue.x-k8s.io/elastic-job"}]},
      {"op": "add", "path": "/spec/suspend", "value": true}])");
  EXPECT_EQ(patch_of(ReviewOf(job), {}), gated);
  EXPECT_EQ(patch_of(ReviewOf(job), {.elastic_jobs = false}).size(), 1U);
  job["spec"]["suspend"] = true;
  job["spec"]["template"]["spec"]["schedulingGates"] = {{{"name", "kueue.x-k8s.io/elastic-job"}}};
  EXPECT_FALSE(ResponseTo("/mutate-batch-v1-job", ReviewOf(job)).contains("patch"));
  EXPECT_FALSE(ResponseTo("/validate-batch-v1-job", ReviewOf(job)).contains("warnings"));
}

TEST(ReviewTest, WarnsOfAnElasticJobWithoutSlices) {
  const auto response_to = [](const Json& review) {
    const Json answer =
        *Review("/validate-batch-v1-job", review, kNoFacts, {.elastic_jobs = false});
    return answer["response"];
  };
  Json job = kJob;
  EXPECT_FALSE(response_to(ReviewOf(job)).contains("warnings"));
  job["metadata"]["annotations"] = {{"kueue.x-k8s.io/elastic-job", "true"}};
  const Json response = response_to(ReviewOf(job));
  EXPECT_EQ(response["allowed"], true);
  ASSERT_EQ(response["warnings"].size(), 1U);
  EXPECT_THAT(response["warnings"][0].get<std::string>(),
              HasSubstr("metadata.annotations[kueue.x-k8s.io/elastic-job]: "));
  EXPECT_FALSE(response_to(ReviewOf(job, job)).contains("warnings"));
  job["metadata"]["labels"] = Json::object();
  EXPECT_FALSE(response_to(ReviewOf(job)).contains("warnings")) << "somebody else's job";
}

TEST(ReviewTest, WarnsOfANewJobThatMayMissItsDeadline) {
  const auto warnings = [](const char* deadline, const char* seconds) {
    Json job = kJob;
    job["metadata"]["creationTimestamp"] = "2026-01-05T12:00:00Z";
    job["metadata"]["annotations"] = {{"berth.dev/deadline", deadline}};
    job["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = seconds;
    return ResponseTo("/validate-batch-v1-job", ReviewOf(job)).value("warnings", Json::array());
  };
  EXPECT_EQ(warnings("2026-01-05T13:00:00Z", "3600"), Json::array());
  EXPECT_EQ(
      warnings("2026-01-05T13:00:00Z", "7200"),
      Json::array({"metadata.annotations[berth.dev/deadline]: the job may run for 120m, and its "
                   "deadline is in 60m: it is late unless it ends before its maximum "
                   "execution time"}));
  EXPECT_EQ(warnings("2026-01-05T11:00:00Z", "60"),
            Json::array({"metadata.annotations[berth.dev/deadline]: the deadline is past"}));
}

TEST(ReviewTest, ClusterQueuesGetTheirFinalizer) {
  const Json queue = {{"metadata", {{"name", "q"}}}, {"spec", Json::object()}};
  const Json response = ResponseTo("/mutate-kueue-x-k8s-io-v1beta2-clusterqueue", ReviewOf(queue));
  const Json patch = Json::parse(*Base64Decode(response["patch"].get<std::string>()));
  EXPECT_EQ(queue.patch(patch)["metadata"]["finalizers"][0], "kueue.x-k8s.io/resource-in-use");
}

TEST(ReviewTest, ARefusalNamesTheFields) {
  const Json queue = Json::parse(R"({"metadata": {"name": "q"}, "spec": {"resourceGroups": [
    {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [
      {"name": "cpu", "nominalQuota": "1", "borrowingLimit": "1"}]}]}]}})");
  const Json response =
      ResponseTo("/validate-kueue-x-k8s-io-v1beta2-clusterqueue", ReviewOf(queue));
  EXPECT_EQ(response["allowed"], false);
  EXPECT_EQ(response["status"]["code"], 403);
  EXPECT_EQ(response["status"]["message"],
            "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Invalid value: "
            "\"1\": must be nil when cohort is empty");
}

TEST(ReviewTest, AnUnreadableObjectIsRefusedNotCrashedOn) {
  const Json queue = Json::parse(R"({"metadata": {"name": "q"}, "spec": {"resourceGroups": 7}})");
  const Json response =
      ResponseTo("/validate-kueue-x-k8s-io-v1beta2-clusterqueue", ReviewOf(queue));
  EXPECT_EQ(response["allowed"], false);
  EXPECT_THAT(response["status"]["message"].get<std::string>(), HasSubstr("spec.resourceGroups"));
}

TEST(ReviewTest, DeletionsAreAllowed) {
  EXPECT_EQ(ResponseTo("/validate-batch-v1-job", ReviewOf(nullptr, kJob))["allowed"], true);
}

TEST(ReviewTest, UnmanagedJobsMayChangeFreely) {
  Json job = kJob;
  job["metadata"].erase("labels");
  job["metadata"]["annotations"] = {{"kueue.x-k8s.io/job-min-parallelism", "x"}};
  EXPECT_EQ(ResponseTo("/validate-batch-v1-job", ReviewOf(job, job))["allowed"], true);
}

TEST(ReviewTest, JobsWithoutAQueueAreValidatedIfAllAreManaged) {
  const JobReviews all{.facts = [](const ReviewedKind&, const api::ObjectMeta&) {
    return JobFacts{.manage_without_queue_name = true};
  }};
  const Json before = {{"metadata", {{"name", "j"}}},
                       {"spec", {{"template", {{"spec", Json::object()}}}}}};
  Json now = before;
  now["spec"]["template"]["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"] =
      "b c";
  const Json answer = *Review("/validate-batch-v1-job", ReviewOf(now, before), all);
  EXPECT_EQ(answer["response"]["allowed"], false);
  EXPECT_THAT(answer["response"]["status"]["message"].get<std::string>(),
              HasSubstr("podset-required-topology"));
  EXPECT_EQ(ResponseTo("/validate-batch-v1-job", ReviewOf(now, before))["allowed"], true);
}

TEST(ReviewTest, WarnsOfAJobThatMultiKueueRuns) {
  Json job = kJob;
  job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue";
  EXPECT_FALSE(ResponseTo("/mutate-batch-v1-job", ReviewOf(job)).contains("patch"));
  const Json response = ResponseTo("/validate-batch-v1-job", ReviewOf(job));
  EXPECT_EQ(response["allowed"], true);
  ASSERT_EQ(response["warnings"].size(), 1U);
  EXPECT_THAT(response["warnings"][0].get<std::string>(),
              HasSubstr("spec.managedBy: kueue.x-k8s.io/multikueue: Berth has no MultiKueue"));
  job["spec"]["managedBy"] = "example.com/another";
  EXPECT_TRUE(ResponseTo("/mutate-batch-v1-job", ReviewOf(job)).contains("patch"));
  EXPECT_FALSE(ResponseTo("/validate-batch-v1-job", ReviewOf(job)).contains("warnings"));
}

TEST(ReviewTest, RequestThatIsNoReviewIsAnError) {
  EXPECT_FALSE(Review("/validate-batch-v1-job", Json("x"), kNoFacts));
  EXPECT_FALSE(Review("/validate-batch-v1-job", Json::object(), kNoFacts));
  EXPECT_FALSE(Review("/nowhere", ReviewOf(kJob), kNoFacts));
}

TEST(ReviewTest, UserOfAQueuedJobIsRecordedAndImmutable) {
  ReviewGates gates{.record_users = true};
  const auto answer_to = [&gates](const char* path, const Json& object, const Json& old = nullptr) {
    Json review = ReviewOf(object, old);
    review["request"]["userInfo"] = {{"username", "ann"}};
    return (*Review(path, review, kNoFacts, gates))["response"];
  };
  const auto user_of = [&answer_to](const Json& job) {
    const Json response = answer_to("/mutate-batch-v1-job", job);
    const Json patch = response.contains("patch")
                           ? Json::parse(*Base64Decode(response["patch"].get<std::string>()))
                           : Json::array();
    return job.patch(patch)["metadata"]
        .value("annotations", Json::object())
        .value("berth.dev/user", "");
  };
  EXPECT_EQ(user_of(kJob), "ann");
  Json forged = kJob;
  forged["metadata"]["annotations"]["berth.dev/user"] = "bob";
  EXPECT_EQ(user_of(forged), "ann");
  Json plain = kJob;
  plain["metadata"].erase("labels");
  EXPECT_EQ(user_of(plain), "") << "no queue has the job";

  Json noted = kJob;
  noted["metadata"]["annotations"]["berth.dev/user"] = "ann";
  EXPECT_EQ(answer_to("/validate-batch-v1-job", noted, noted)["allowed"], true);
  EXPECT_EQ(answer_to("/validate-batch-v1-job", kJob, noted)["allowed"], true);
  for (const Json& old : {noted, kJob}) {
    const Json refused = answer_to("/validate-batch-v1-job", forged, old);
    EXPECT_EQ(refused["allowed"], false);
    EXPECT_THAT(refused["status"]["message"].get<std::string>(), HasSubstr("berth.dev/user"));
  }
  gates.record_users = false;
  EXPECT_EQ(user_of(kJob), "") << "without the gate no user is recorded";
  EXPECT_EQ(user_of(forged), "bob");
}

TEST(ReviewTest, EveryRegisteredPathIsServed) {
  std::ifstream file(WEBHOOK_MANIFEST);
  ASSERT_TRUE(file.good());
  std::set<std::string> registered;
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find("path: ");
    if (at == std::string::npos) continue;
    registered.insert(line.substr(at + 6));
    EXPECT_TRUE(IsReviewPath(line.substr(at + 6), kNoFacts)) << line;
  }
  for (const std::string_view path : ReviewPaths()) {
    // A Workload of the scheduler's own making has no minCount where the gate is off.
    if (path == "/mutate-kueue-x-k8s-io-v1beta2-workload") continue;
    EXPECT_TRUE(registered.contains(std::string(path))) << path;
  }
}

// The names under which kueue-mutating-webhook-configuration and kueue-validating-… of Kueue
// register them.
constexpr const char* kKueuesKinds[] = {"-v1-pod",
                                        "apps-v1-deployment",
                                        "apps-v1-statefulset",
                                        "batch-v1-job",
                                        "jobset-x-k8s-io-v1alpha2-jobset",
                                        "kubeflow-org-v1-jaxjob",
                                        "kubeflow-org-v1-paddlejob",
                                        "kubeflow-org-v1-pytorchjob",
                                        "kubeflow-org-v1-tfjob",
                                        "kubeflow-org-v1-xgboostjob",
                                        "kubeflow-org-v2beta1-mpijob",
                                        "kueue-x-k8s-io-v1beta2-clusterqueue",
                                        "kueue-x-k8s-io-v1beta2-resourceflavor",
                                        "kueue-x-k8s-io-v1beta2-workload",
                                        "leaderworkerset-x-k8s-io-v1-leaderworkerset",
                                        "ray-io-v1-raycluster",
                                        "ray-io-v1-rayjob",
                                        "ray-io-v1-rayservice",
                                        "sparkoperator-k8s-io-v1beta2-sparkapplication",
                                        "trainer-kubeflow-org-v1alpha1-trainjob",
                                        "workload-codeflare-dev-v1beta2-appwrapper"};

TEST(ReviewTest, EveryPathOfKueuesManifestsAllowsAPlainObject) {
  const Json object = {{"metadata", {{"name", "x"}}}, {"spec", {{"template", Json::object()}}}};
  std::vector<std::string> paths{"/validate-kueue-x-k8s-io-v1beta2-cohort"};
  for (const std::string kind : kKueuesKinds) {
    paths.push_back("/mutate-" + kind);
    paths.push_back("/validate-" + kind);
  }
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    EXPECT_TRUE(IsReviewPath(path, kNoFacts));
    for (const Json& old : {Json(), object}) {
      EXPECT_EQ(ResponseTo(path, ReviewOf(object, old))["allowed"], true);
    }
    EXPECT_EQ(ResponseTo(path, ReviewOf(nullptr, object))["allowed"], true);
  }
  EXPECT_FALSE(IsReviewPath("/mutate-apps-v1-daemonset", kNoFacts));
}

TEST(ReviewTest, MinCountIsRemovedIfPartialAdmissionIsOff) {
  const Json workload = Json::parse(R"({"metadata": {"name": "w"}, "spec": {"podSets": [
    {"name": "a", "count": 3, "minCount": 1}, {"name": "b", "count": 2}]}})");
  constexpr char kPath[] = "/mutate-kueue-x-k8s-io-v1beta2-workload";
  EXPECT_FALSE(ResponseTo(kPath, ReviewOf(workload)).contains("patch"));
  const Result<Json> answer =
      Review(kPath, ReviewOf(workload), kNoFacts, {.partial_admission = false});
  ASSERT_TRUE(answer);
  const Json patch = Json::parse(*Base64Decode((*answer)["response"]["patch"].get<std::string>()));
  EXPECT_EQ(patch, Json::parse(R"([{"op": "remove", "path": "/spec/podSets/0/minCount"}])"));
}

TEST(ReviewTest, ClusterNameMustBeANominatedCluster) {
  static constexpr char kPath[] = "/validate-kueue-x-k8s-io-v1beta2-workload";
  const Json workload = Json::parse(R"({"metadata": {"name": "w"}, "spec": {"podSets": [
    {"name": "main", "count": 1, "template": {"spec": {"containers": []}}}]}})");
  const auto with_status = [&workload](const char* status) {
    Json changed = workload;
    changed["status"] = Json::parse(status);
    return changed;
  };
  const Json nominated = with_status(R"({"nominatedClusterNames": ["a", "b"]})");
  const auto message_of = [](const Json& now, const Json& old) {
    const Json response = ResponseTo(kPath, ReviewOf(now, old));
    return response["allowed"] == true ? "" : response["status"]["message"].get<std::string>();
  };
  EXPECT_EQ(message_of(with_status(R"({"clusterName": "b"})"), nominated), "");
  for (const Json& old : {workload, nominated, with_status(R"({"clusterName": "a"})"),
                          with_status(R"({"nominatedClusterNames": "c"})")}) {
    Json now = with_status(R"({"clusterName": "c"})");
    EXPECT_THAT(message_of(now, old),
                HasSubstr("when setting clusterName it must be one of the nominatedClusterNames"));
    EXPECT_EQ(message_of(now, now), "") << "no change";
    EXPECT_EQ(message_of(workload, now), "") << "an eviction clears the field";
    now["metadata"]["annotations"] = {{"kueue.x-k8s.io/workload-slice-replacement-for", "ns/s"}};
    EXPECT_EQ(message_of(now, old), "") << "a slice follows the one that it replaces";
  }
}

}  // namespace
}  // namespace berth::webhook
