// Goal: the special rules of Jobs, Pods and the small kinds.
#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

const std::string kJobPath = std::string(kJobs) + "/j";

class KindsTest : public ServerTest {
 protected:
  Json CreateJob() {
    const Answer created = Post(kJobs, JobJson("j"));
    EXPECT_EQ(created.status, 201) << created.text;
    return created.json;
  }
};

TEST_F(KindsTest, JobsGetSelectorAndLabels) {
  const Json job = CreateJob();
  const Json& uid = job["metadata"]["uid"];
  EXPECT_EQ(job["spec"]["selector"]["matchLabels"],
            (Json{{"batch.kubernetes.io/controller-uid", uid}}));
  EXPECT_EQ(job["spec"]["template"]["metadata"]["labels"],
            (Json{{"batch.kubernetes.io/controller-uid", uid},
                  {"controller-uid", uid},
                  {"batch.kubernetes.io/job-name", "j"},
                  {"job-name", "j"}}));
  EXPECT_EQ(job["spec"]["backoffLimit"], 6);
  EXPECT_EQ(job["metadata"]["generation"], 1);
  EXPECT_EQ(job["status"], Json::object());
}

TEST_F(KindsTest, JobWithoutLabelsHasThoseOfItsTemplate) {
  const Json job = CreateJob();
  EXPECT_EQ(job["metadata"]["labels"], job["spec"]["template"]["metadata"]["labels"]);
  EXPECT_EQ(Get(kJobPath).json["metadata"]["labels"], job["metadata"]["labels"]);
  Json named = JobJson("named");
  named["metadata"]["labels"] = {{"team", "a"}};
  const Answer created = Post(kJobs, named);
  EXPECT_EQ(created.json["metadata"]["labels"], (Json{{"team", "a"}})) << created.text;
}

TEST_F(KindsTest, EmptyJobIsRefusedWithThreeCauses) {
  const Answer refused = Post(kJobs, Json::object());
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(refused.message(),
            "Job.batch \"\" is invalid: [metadata.name: Required value: name or generateName is "
            "required, spec.template.spec.containers: Required value, "
            "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", "
            "\"Never\"]");
}

TEST_F(KindsTest, ReplacingAJobFromItsManifestIsRefused) {
  CreateJob();
  const Answer refused = Put(kJobPath, JobJson("j"));
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(
      refused.message(),
      "Job.batch \"j\" is invalid: [spec.selector: Required value, "
      "spec.template.metadata.labels: Invalid value: null: `selector` does not match template "
      "`labels`, spec.selector: Invalid value: null: field is immutable]");
}

struct TemplateCase {
  const char* name;
  Json status;  // written first
  bool suspended;
  Json template_spec;
  int want;
};

TEST_F(KindsTest, TemplateIsMutableOnlyWhileSuspendedWithoutPods) {
  const Json selector{{"nodeSelector", {{"pool", "t4"}}}};
  const Json started{{"startTime", "2026-11-20T07:00:00Z"}};
  const Json parked{{"startTime", "2026-11-20T07:00:00Z"},
                    {"conditions", Json::array({{{"type", "Suspended"}, {"status", "True"}}})}};
  const Json busy{{"active", 1}};
  const Json image{{"containers", Json::array({{{"name", "c"}, {"image", "other"}}})}};
  const std::vector<TemplateCase> cases = {
      {"fresh and suspended", Json::object(), true, selector, 200},
      {"started, no condition yet", started, true, selector, 422},
      {"suspended again", parked, true, selector, 200},
      {"pods are still there", busy, true, selector, 422},
      {"running", Json::object(), false, selector, 422},
      {"an image never changes", Json::object(), true, image, 422},
  };
  int number = 0;
  for (const TemplateCase& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string name = "t" + std::to_string(number++);
    Json job = JobJson(name);
    job["spec"]["suspend"] = c.suspended;
    ASSERT_EQ(Post(kJobs, job).status, 201);
    const std::string path = std::string(kJobs) + "/" + name;
    ASSERT_EQ(Patch(path + "/status", "merge", {{"status", c.status}}).status, 200);
    EXPECT_EQ(Patch(path, "strategic",
                    {{"spec", {{"suspend", false}, {"template", {{"spec", c.template_spec}}}}}})
                  .status,
              c.want);
  }
}

TEST_F(KindsTest, GenerationCountsSpecChangesOnly) {
  CreateJob();
  EXPECT_EQ(
      Patch(kJobPath, "merge", {{"spec", {{"parallelism", 2}}}}).json["metadata"]["generation"], 2);
  EXPECT_EQ(Patch(kJobPath, "merge", {{"metadata", {{"labels", {{"a", "b"}}}}}})
                .json["metadata"]["generation"],
            2);
  EXPECT_EQ(Patch(kJobPath + "/status", "merge", {{"status", {{"ready", 0}}}})
                .json["metadata"]["generation"],
            2);
}

TEST_F(KindsTest, CompleteNeedsSuccessCriteriaMet) {
  CreateJob();
  const Json complete{{"type", "Complete"}, {"status", "True"}};
  const Answer early =
      Patch(kJobPath + "/status", "merge", {{"status", {{"conditions", Json::array({complete})}}}});
  EXPECT_EQ(early.status, 422);
  EXPECT_THAT(early.message(), HasSubstr("without the SuccessCriteriaMet"));
}

TEST_F(KindsTest, PodsGetTheirDefaultsAtCreation) {
  const Json pod = Post(kPods, PodJson("p")).json;
  EXPECT_EQ(pod["status"]["phase"], "Pending");
  EXPECT_EQ(pod["status"]["qosClass"], "BestEffort");
  EXPECT_EQ(pod["spec"]["serviceAccountName"], "default");
  const std::string volume = pod["spec"]["volumes"][0]["name"];
  EXPECT_TRUE(volume.starts_with("kube-api-access-")) << volume;
  EXPECT_EQ(pod["spec"]["containers"][0]["volumeMounts"][0]["name"], volume);
  EXPECT_EQ(pod["spec"]["priority"], 0);
  EXPECT_EQ(pod["spec"]["preemptionPolicy"], "PreemptLowerPriority");
  EXPECT_EQ(pod["spec"]["tolerations"].size(), 2U);
  Json gated = PodJson("g");
  gated["spec"]["schedulingGates"] = Json::array({{{"name", "hold"}}});
  EXPECT_EQ(Post(kPods, gated).json["status"]["conditions"][0]["reason"], "SchedulingGated");
  const std::string g = std::string(kPods) + "/g";
  EXPECT_EQ(Patch(g, "merge", {{"spec", {{"nodeSelector", {{"a", "b"}}}}}}).status, 200);
  EXPECT_EQ(Patch(g, "merge", {{"spec", {{"nodeSelector", {{"a", "c"}}}}}}).status, 422);
  EXPECT_EQ(Patch(g, "merge", {{"spec", {{"schedulingGates", nullptr}}}}).status, 200);
  const Answer hostname = Patch(g, "merge", {{"spec", {{"hostname", "h"}}}});
  EXPECT_EQ(hostname.status, 422);
  EXPECT_THAT(hostname.message(), HasSubstr("pod updates may not change fields other than"));
}

TEST_F(KindsTest, PodPriorityIsThatOfItsClass) {
  constexpr const char* kClasses = "/apis/scheduling.k8s.io/v1/priorityclasses";
  ASSERT_EQ(Post(kClasses, {{"metadata", {{"name", "high"}}}, {"value", 1000}}).status, 201);
  Json pod = PodJson("p");
  pod["spec"]["priorityClassName"] = "high";
  EXPECT_EQ(Post(kPods, pod).json["spec"]["priority"], 1000);
  pod["metadata"]["name"] = "q";
  pod["spec"]["priorityClassName"] = "none";
  const Answer refused = Post(kPods, pod);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.message(), HasSubstr("no PriorityClass with name none was found"));
}

TEST_F(KindsTest, RequestsAboveLimitsAreRefused) {
  Json pod = PodJson("p");
  pod["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "2"}}},
                                               {"limits", {{"cpu", "1"}}}};
  const Answer refused = Post(kPods, pod);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(), HasSubstr("must be less than or equal to cpu limit of 1"));
}

TEST_F(KindsTest, ATableOfJobsShowsCompletionsAndImages) {
  CreateJob();
  const Answer table = Get(kJobs, {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  const Json& cells = table.json["rows"][0]["cells"];
  EXPECT_EQ(cells[0], "j");
  EXPECT_EQ(cells[2], "0/1");
  EXPECT_EQ(cells[6], "busybox");
}

TEST_F(KindsTest, EventIsServedInBothGroups) {
  constexpr const char* kNew = "/apis/events.k8s.io/v1/namespaces/default/events";
  constexpr const char* kCore = "/api/v1/namespaces/default/events";
  const Answer created = Post(kNew, {{"metadata", {{"name", "e"}}},
                                     {"eventTime", "2026-11-20T07:03:22.589518Z"},
                                     {"reportingController", "tester"},
                                     {"reportingInstance", "t-1"},
                                     {"action", "Testing"},
                                     {"reason", "Because"},
                                     {"note", "hello"},
                                     {"type", "Normal"},
                                     {"regarding", {{"kind", "Job"}, {"name", "j"}}}});
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["note"], "hello");
  const Json core = Get(std::string(kCore) + "/e").json;
  EXPECT_EQ(core["message"], "hello");
  EXPECT_EQ(core["involvedObject"]["name"], "j");
  EXPECT_EQ(core["reportingComponent"], "tester");
  EXPECT_FALSE(core.contains("note"));
  EXPECT_EQ(Get(std::string(kCore) + "?fieldSelector=involvedObject.name%3Dj").json["items"].size(),
            1U);
  EXPECT_EQ(Get(std::string(kNew) + "?fieldSelector=regarding.name%3Dj").json["items"][0]["note"],
            "hello");
  EXPECT_EQ(Patch(std::string(kNew) + "/e", "merge", {{"note", "bye"}}).json["note"], "bye");
  EXPECT_EQ(Get(std::string(kCore) + "/e").json["message"], "bye");
}

TEST_F(KindsTest, SecretTextsAreEncodedAndNamespaceNamesChecked) {
  const Answer secret = Post("/api/v1/namespaces/default/secrets",
                             {{"metadata", {{"name", "s"}}}, {"stringData", {{"k", "v"}}}});
  EXPECT_EQ(secret.json["data"]["k"], "dg==");
  EXPECT_EQ(secret.json["type"], "Opaque");
  EXPECT_FALSE(secret.json.contains("stringData"));
  const Answer upper = Post("/api/v1/namespaces", {{"metadata", {{"name", "Foo"}}}});
  EXPECT_EQ(upper.status, 422);
  EXPECT_THAT(upper.message(), HasSubstr("a lowercase RFC 1123 label must consist of"));
}

}  // namespace
}  // namespace berth::local
