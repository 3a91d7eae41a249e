// Goal: what the controllers of all kinds have in common holds for each of them: labels that are
// copied to the Workload, jobs without a queue's name in selected namespaces, prebuilt Workloads by
// label and by annotation, and a change of the controller that restarts nothing.
//
// Method: a table of the kinds; their objects are the samples of tests/integrations/kinds, as their
// review leaves them. The real API in memory, in virtual time, with open CRDs; the test plays the
// scheduler.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "integrations/controller/job_controllers.h"
#include "integrations/kind_catalogue.h"
#include "kube/runtime/manager.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::integrations::every_kind_test {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr char kKueueApi[] = "/apis/kueue.x-k8s.io/v1beta2/";

struct KindRow {
  std::string framework;
  // Merge patch of the sample: what Kubernetes and the review of a new object ask for.
  std::string patch = "{}";
  std::string held = "";  // JSON pointer to the boolean that holds a job; empty: pods are held
  bool prebuilt = true;
  std::string also = "";  // a further kind of the same group: "Kind plural", "Kind plural cluster"
};
void PrintTo(const KindRow& row, std::ostream* out) { *out << row.framework; }

std::vector<KindRow> Rows() {
  const std::string run = "/spec/runPolicy/suspend";
  const std::string queued_pod =
      "{metadata: {finalizers: [kueue.x-k8s.io/managed], labels: {kueue.x-k8s.io/managed: 'true'}, "
      "annotations: {kueue.x-k8s.io/role-hash: r1}}, spec: {schedulingGates: [{name: "
      "kueue.x-k8s.io/admission}]}}";
  const std::string set =
      "{spec: {serviceName: db, selector: {matchLabels: {app: db}}, template: {metadata: {labels: "
      "{app: db}}}}}";
  const std::string group = "DaskWorkerGroup daskworkergroups";
  return {
      {"batch/job", "{spec: {suspend: true}}", "/spec/suspend"},
      {"jobset.x-k8s.io/jobset", "{}", "/spec/suspend"},
      {"kubeflow.org/pytorchjob", "{}", run},
      {"kubeflow.org/tfjob", "{}", run},
      {"kubeflow.org/xgboostjob", "{}", run},
      {"kubeflow.org/paddlejob", "{}", run},
      {"kubeflow.org/jaxjob", "{}", run, false},
      {"kubeflow.org/mpijob", "{}", run},
      {"trainer.kubeflow.org/trainjob", "{}", "/spec/suspend", true,
       "ClusterTrainingRuntime clustertrainingruntimes cluster"},
      {"ray.io/raycluster", "{}", "/spec/suspend"},
      {"ray.io/rayjob", "{}", "/spec/suspend"},
      {"ray.io/rayservice", "{}", "/spec/rayClusterConfig/suspend"},
      {"workload.codeflare.dev/appwrapper", "{}", "/spec/suspend"},
      {"sparkoperator.k8s.io/sparkapplication", "{}", "/spec/suspend", false},
      {"pod", queued_pod},
      {"statefulset", set, "", false},
      {"leaderworkerset.x-k8s.io/leaderworkerset", "{spec: {replicas: 1}}", "", false},
      {"kubernetes.dask.org/daskcluster", "{}", "", false, group},
      {"kubernetes.dask.org/daskjob", "{}", "", false, group},
  };
}

Json Yaml(const std::string& text) {
  const auto parsed = api::ParseYaml(text);
  return parsed ? parsed->value : Json("cannot be parsed: " + parsed.error().message);
}

// The first document of each file of samples, by framework.
const std::map<std::string, Json>& Samples() {
  static const std::map<std::string, Json> samples = [] {
    std::map<std::string, Json> found;
    for (const auto& entry : std::filesystem::directory_iterator(BERTH_KIND_CASES)) {
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      const auto documents = api::ParseYamlStream(text.str());
      if (!documents || documents->empty()) throw std::runtime_error(entry.path().string());
      const Json& sample = documents->front().value;
      found[sample.at("framework").get<std::string>()] = sample;
    }
    const std::string pod =
        "{restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: "
        "'1'}}}]}";
    found["batch/job"]["object"] = Yaml("metadata: {}\nspec: {template: {spec: " + pod + "}}\n");
    found["pod"]["object"] = Yaml("metadata: {}\nspec: " + pod + "\n");
    return found;
  }();
  return samples;
}

const JobKind& NamesOf(const std::string& framework) {
  if (framework == kBatchJob.framework) return kBatchJob;
  if (framework == kPod.framework) return kPod;
  return FindBuiltInKind(framework)->kind;
}

class EveryKindTest : public ::testing::TestWithParam<KindRow> {
 protected:
  EveryKindTest() : names_(NamesOf(GetParam().framework)) {
    api_.Put(std::string(kKueueApi) + "resourceflavors",
             {{"metadata", {{"name", "spot"}}}, {"spec", {{"nodeLabels", {{"a", "spot"}}}}}});
    api_.Put("/api/v1/namespaces",
             {{"metadata", {{"name", "default"}, {"labels", {{"team", "yes"}}}}}});
    api_.Put("/api/v1/namespaces", {{"metadata", {{"name", "other"}}}});
    api_.Put("/apis/scheduling.k8s.io/v1/priorityclasses",
             {{"metadata", {{"name", "high"}}}, {"value", 7}});  // a sample names it
    if (names_.group.find('.') == std::string::npos) return;
    PutCrd(std::string(names_.kind), std::string(names_.plural), "Namespaced");
    std::istringstream also(GetParam().also);
    std::string kind, plural, scope;
    if (!(also >> kind >> plural)) return;
    also >> scope;
    PutCrd(kind, plural, scope.empty() ? "Namespaced" : "Cluster");
    const Json reads = Samples().at(GetParam().framework).value("reads", Json::array());
    if (!reads.empty()) api_.Put(Root() + plural, reads[0]);
  }
  ~EveryKindTest() override { Crash(); }

  void PutCrd(const std::string& kind, const std::string& plural, const std::string& scope) {
    const Json open = {
        {"openAPIV3Schema", {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}};
    const Json version = {{"name", names_.version},
                          {"served", true},
                          {"storage", true},
                          {"schema", open},
                          {"subresources", {{"status", Json::object()}}}};
    const Json named = {
        {"kind", kind}, {"plural", plural}, {"singular", plural}, {"listKind", kind + "List"}};
    api_.Put(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {{"metadata", {{"name", plural + "." + std::string(names_.group)}}},
         {"spec",
          {{"group", names_.group}, {"scope", scope}, {"names", named}, {"versions", {version}}}}});
  }

  // A controller process, with nothing in its memory.
  void Boot(JobReconcilerOptions job) {
    JobControllersOptions options;
    if (GetParam().framework != kBatchJob.framework) {
      options.batch_jobs = JobControllersOptions::BatchJobs::kLeftAlone;
    }
    const KindPtr kind = FindBuiltInKind(GetParam().framework);
    if (kind != nullptr) options.kinds = {kind};
    if (kind != nullptr && kind->pods) options.pods = JobControllersOptions::Pods::kOfParents;
    if (kind == nullptr && GetParam().framework == kPod.framework) {
      options.pods = JobControllersOptions::Pods::kManaged;
    }
    options.job = std::move(job);
    manager_ = std::make_unique<kube::Manager>(client_, executor_);
    controllers_ = std::make_unique<JobControllers>(*manager_, clock_, events_, options);
    manager_->StartInformers();
    manager_->StartControllers();
    Settle();
  }
  void Crash() {
    if (manager_ != nullptr) manager_->Stop();
    controllers_.reset();
    manager_.reset();
  }
  static JobReconcilerOptions Defaults() {
    return {.namespace_selector = DefaultManagedNamespaces("kueue-system")};
  }
  void Settle() { executor_.RunFor(40s); }

  std::string Root() const {
    const std::string group(names_.group);
    return (group.empty() ? "/api/" : "/apis/" + group + "/") + std::string(names_.version) + "/";
  }
  std::string Jobs(const std::string& space = "default") const {
    return Root() + "namespaces/" + space + "/" + std::string(names_.plural);
  }
  // The sample, held; `metadata`: merge patch.
  Json Sample(const std::string& name, const std::string& metadata) const {
    Json object = Samples().at(GetParam().framework).at("object");
    object.merge_patch(Yaml(GetParam().patch));
    object["metadata"].erase("uid");
    if (object["metadata"].contains("labels")) {
      object["metadata"]["labels"].erase("kueue.x-k8s.io/queue-name");
    }
    object["metadata"]["name"] = name;
    object["metadata"]["namespace"] = "default";
    object["metadata"].merge_patch(Yaml(metadata));
    return object;
  }
  Json Submit(const std::string& name, const std::string& metadata,
              const std::string& space = "default") {
    Json object = Sample(name, metadata);
    object["metadata"]["namespace"] = space;
    const Json made = api_.Put(Jobs(space), object);
    Settle();
    return made;
  }
  // The paths of the Workloads that Berth has created.
  std::vector<std::string> Created() const {
    std::vector<std::string> paths;
    for (const auto& request : api_.requests()) {
      if (request.method == "POST" && request.path.ends_with("/workloads")) {
        paths.push_back(request.path + "/" + request.body["metadata"]["name"].get<std::string>());
      }
    }
    return paths;
  }
  Json Object(const std::string& path) const {
    const Json* found = api_.Find(path);
    return found == nullptr ? Json() : *found;
  }
  // Does what the scheduler does.
  void Admit(const std::string& path) {
    Json status = {{"admission", {{"clusterQueue", "cq"}}}};
    const Json workload = Object(path);
    for (const Json& pods : workload["spec"]["podSets"]) {
      status["admission"]["podSetAssignments"].push_back(
          {{"name", pods["name"]}, {"count", pods["count"]}, {"flavors", {{"cpu", "spot"}}}});
    }
    for (const char* type : {"QuotaReserved", "Admitted"}) {
      status["conditions"].push_back({{"type", type},
                                      {"status", "True"},
                                      {"reason", "Test"},
                                      {"message", "said by the test"},
                                      {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
    }
    const std::string name = workload["metadata"]["name"];
    const Json applied = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                          {"kind", "Workload"},
                          {"metadata", {{"name", name}, {"namespace", "default"}}},
                          {"status", status}};
    client_.Patch(
        api::KindOf<api::Workload>(), {"default", name}, kube::PatchType::kApply, applied,
        {.field_manager = "kueue-admission", .force = kube::Force::kYes, .subresource = "status"},
        [](const Result<kube::JsonPtr>& done) { EXPECT_TRUE(done) << done.error().message; });
    Settle();
  }
  bool IsHeld(const std::string& name) const {
    const std::string& pointer = GetParam().held;
    return pointer.empty() || Object(Jobs() + "/" + name).at(Json::json_pointer(pointer)) == true;
  }

  const JobKind& names_;
  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::EventRecorder events_{
      client_, clock_, {.controller = "kueue-job", .first_api = kube::EventApi::kCore}};
  std::unique_ptr<kube::Manager> manager_;
  std::unique_ptr<JobControllers> controllers_;
};

constexpr char kQueued[] = "{labels: {kueue.x-k8s.io/queue-name: lq}}";

TEST_P(EveryKindTest, LabelsAreCopied) {
  JobReconcilerOptions options = Defaults();
  options.build.label_keys_to_copy = {"team", "absent"};
  Boot(std::move(options));
  Submit("j", "{labels: {kueue.x-k8s.io/queue-name: lq, team: a, other: b}}");
  ASSERT_EQ(Created().size(), 1U);
  const Json labels = Object(Created()[0])["metadata"]["labels"];
  EXPECT_EQ(labels.value("team", ""), "a");
  EXPECT_FALSE(labels.contains("other"));
  EXPECT_FALSE(labels.contains("absent"));
}

TEST_P(EveryKindTest, JobsWithoutAQueueAreLeftAlone) {
  Boot(Defaults());
  const Json made = Submit("j", "{}");
  EXPECT_TRUE(Created().empty());
  EXPECT_EQ(Object(Jobs() + "/j"), made);
}

TEST_P(EveryKindTest, JobsWithoutAQueueAreManagedInSelectedNamespaces) {
  JobReconcilerOptions options;
  options.namespace_selector.match_labels = {{"team", "yes"}};
  options.queue_name_rule = QueueNameRule::kManageWithoutName;
  Boot(std::move(options));
  const Json foreign = Submit("j", "{}", "other");
  const Json queued = Submit("k", kQueued, "other");
  EXPECT_TRUE(Created().empty()) << "the namespace is not selected";
  EXPECT_EQ(Object(Jobs("other") + "/j"), foreign);
  EXPECT_EQ(Object(Jobs("other") + "/k"), queued);
  Submit("j", "{}");
  ASSERT_EQ(Created().size(), 1U);
  EXPECT_EQ(Object(Created()[0])["spec"].value("queueName", ""), "");
}

TEST_P(EveryKindTest, TakesAPrebuiltWorkload) {
  if (!GetParam().prebuilt) return;  // the review refuses it
  Boot(Defaults());
  Submit("model", kQueued);
  ASSERT_EQ(Created().size(), 1U);
  const Json model = Object(Created()[0]);
  for (const std::string by : {"labels", "annotations"}) {
    SCOPED_TRACE(by);
    const std::string workloads = std::string(kKueueApi) + "namespaces/default/workloads";
    const std::string name = "by-" + by;
    const std::string named = by == "labels"
                                  ? "{labels: {kueue.x-k8s.io/queue-name: lq, "
                                    "kueue.x-k8s.io/prebuilt-workload-name: by-labels}}"
                                  : "{labels: {kueue.x-k8s.io/queue-name: lq}, annotations: "
                                    "{kueue.x-k8s.io/prebuilt-workload-name: by-annotations}}";
    Submit(name, named);
    EXPECT_TRUE(IsHeld(name)) << "its Workload is missing";
    api_.Put(workloads, {{"metadata", {{"name", name}, {"namespace", "default"}}},
                         {"spec", {{"queueName", "lq"}, {"podSets", model["spec"]["podSets"]}}}});
    Settle();
    const Json taken = Object(workloads + "/" + name);
    ASSERT_TRUE(taken["metadata"].contains("ownerReferences")) << taken.dump(1);
    EXPECT_EQ(taken["metadata"]["ownerReferences"][0]["kind"], std::string(names_.kind));
    EXPECT_EQ(taken["metadata"]["ownerReferences"][0]["name"], name);
    Admit(workloads + "/" + name);
    EXPECT_EQ(IsHeld(name), GetParam().held.empty());
    EXPECT_EQ(Created().size(), 1U) << "that of the model";
  }
}

// What Kueue, or another replica, has left behind: the same names, owners and starts.
TEST_P(EveryKindTest, RestartedControllerWritesNothing) {
  Boot(Defaults());
  Submit("running", kQueued);
  ASSERT_EQ(Created().size(), 1U);
  Admit(Created()[0]);
  Submit("waiting", kQueued);
  EXPECT_EQ(IsHeld("running"), GetParam().held.empty());
  EXPECT_TRUE(IsHeld("waiting"));
  Crash();
  api_.ClearRequests();
  Boot(Defaults());
  executor_.RunFor(120s);
  std::string writes;
  for (const auto& request : api_.requests()) {
    if (request.method != "GET") writes += request.method + " " + request.path + "\n";
  }
  EXPECT_EQ(writes, "");
}

std::string RowName(const ::testing::TestParamInfo<KindRow>& info) {
  return info.param.framework.substr(info.param.framework.find('/') + 1);
}
INSTANTIATE_TEST_SUITE_P(Kinds, EveryKindTest, ::testing::ValuesIn(Rows()), RowName);

// A Deployment has no Workload of its own: its pods have.
TEST(EveryKindRowsTest, CoverEveryBuiltInKind) {
  std::set<std::string> tested{"deployment"};
  for (const KindRow& row : Rows()) tested.insert(row.framework);
  std::set<std::string> all{"batch/job", "pod"};
  for (const KindPtr& kind : BuiltInKinds()) all.emplace(kind->kind.framework);
  EXPECT_EQ(tested, all);
}

}  // namespace
}  // namespace berth::integrations::every_kind_test
