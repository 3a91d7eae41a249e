// Goal: the whole life of a job of each described kind with a field that holds it: created running,
// held, queued, admitted, preempted and as before, admitted again, ended.
// Method: the real API in memory, in virtual time, with open CRDs; the test plays the scheduler and
// the kind's operator. A table of the kinds: their objects, and where the additions of a start
// stand.
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "integrations/controller/job_controllers.h"
#include "integrations/kind_catalogue.h"
#include "kube/runtime/manager.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr char kDefinitions[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr char kWorkloadsOfLives[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
constexpr char kQueued[] =
    "metadata: {name: j, namespace: default, labels: "
    "{kueue.x-k8s.io/queue-name: lq}}\n";

struct KindLife {
  std::string framework;
  std::string spec;      // the spec of the object, held
  std::string running;   // the status while it runs
  std::string at_rest;   // the status when nothing of it runs
  std::string over;      // the status at its end; empty: it has none
  std::string finished;  // "Succeeded: message"
  // A node selector of the object after a start.
  std::string selector;
  // What the kind reads: resource, kind, and object.
  std::string read_plural, read_kind, read;
  std::string kept = "";  // merge patch: what of a start stays after a stop
};
std::ostream& operator<<(std::ostream& out, const KindLife& life) { return out << life.framework; }

Json Yaml(const std::string& text) {
  const auto parsed = api::ParseYaml(text);
  return parsed ? parsed->value : Json("cannot be parsed: " + parsed.error().message);
}

Json Crd(const std::string& group, const std::string& version, const std::string& kind,
         const std::string& plural, bool namespaced) {
  return {{"metadata", {{"name", plural + "." + group}}},
          {"spec",
           {{"group", group},
            {"scope", namespaced ? "Namespaced" : "Cluster"},
            {"names",
             {{"kind", kind}, {"plural", plural}, {"singular", kind}, {"listKind", kind + "List"}}},
            {"versions",
             {{{"name", version},
               {"served", true},
               {"storage", true},
               {"schema",
                {{"openAPIV3Schema",
                  {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}}},
               {"subresources", {{"status", Json::object()}}}}}}}}};
}

class KindLifeTest : public ::testing::TestWithParam<KindLife> {
 protected:
  void SetUp() override {
    kind_ = FindBuiltInKind(GetParam().framework);
    ASSERT_NE(kind_, nullptr);
    controllers_.emplace(
        manager_, clock_, events_,
        JobControllersOptions{
            .kinds = {kind_},
            .job = {.namespace_selector = DefaultManagedNamespaces("kueue-system")}});
    api_.Put(
        "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
        {{"metadata", {{"name", "spot"}}}, {"spec", {{"nodeLabels", {{"capacity", "spot"}}}}}});
    const JobKind& names = kind_->kind;
    const std::string group(names.group);
    const std::string version(names.version);
    api_.Put(kDefinitions,
             Crd(group, version, std::string(names.kind), std::string(names.plural), true));
    jobs_ = "/apis/" + group + "/" + version + "/namespaces/default/" + std::string(names.plural);
    if (!GetParam().read.empty()) {
      api_.Put(kDefinitions,
               Crd(group, version, GetParam().read_kind, GetParam().read_plural, false));
    }
    manager_.StartInformers();
    manager_.StartControllers();
    Settle();
  }
  void Settle() { executor_.RunFor(40s); }
  void Read() {
    const KindLife& life = GetParam();
    if (life.read.empty()) return;
    api_.Put("/apis/" + std::string(kind_->kind.group) + "/" + std::string(kind_->kind.version) +
                 "/" + life.read_plural,
             Yaml(life.read));
    Settle();
  }
  Json Job() { return *api_.Find(jobs_ + "/j"); }
  void Status(const std::string& status) {
    Json job = Job();
    job["status"] = Yaml(status);
    api_.Put(jobs_, job);
    Settle();
  }
  std::string WorkloadName() {
    std::string name;
    for (const auto& request : api_.requests()) {
      if (request.method == "POST" && request.path == kWorkloadsOfLives) {
        name = request.body["metadata"]["name"];
      }
    }
    return name;
  }
  Json Workload() {
    const std::string name = WorkloadName();
    if (name.empty()) return {};
    const Json* workload = api_.Find(std::string(kWorkloadsOfLives) + "/" + name);
    return workload == nullptr ? Json() : *workload;
  }
  // Does what the scheduler does: quota for each pod set; `reason` of an eviction.
  void Admit(const std::string& evicted = "") {
    Json workload = Workload();
    Json assignments = Json::array();
    for (const Json& pods : workload["spec"]["podSets"]) {
      assignments.push_back(
          {{"name", pods["name"]}, {"count", pods["count"]}, {"flavors", {{"cpu", "spot"}}}});
    }
    Json conditions = Json::array();
    std::vector<std::string> types{"QuotaReserved", "Admitted"};
    if (!evicted.empty()) types.emplace_back("Evicted");
    for (const std::string& type : types) {
      conditions.push_back({{"type", type},
                            {"status", "True"},
                            {"reason", evicted.empty() ? "Test" : evicted},
                            {"message", "said by the test"},
                            {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
    }
    workload.erase("spec");
    workload["metadata"].erase("managedFields");
    workload["status"] = {
        {"admission", {{"clusterQueue", "cq"}, {"podSetAssignments", assignments}}},
        {"conditions", conditions}};
    client_.Patch(
        api::KindOf<api::Workload>(), {"default", WorkloadName()}, kube::PatchType::kApply,
        workload,
        {.field_manager = "kueue-admission", .force = kube::Force::kYes, .subresource = "status"},
        [](const Result<kube::JsonPtr>& done) { EXPECT_TRUE(done); });
    Settle();
  }
  bool IsHeld() {
    const Json job = Job();
    const Json* at = &job;
    for (const std::string& key : kind_->suspend) at = &at->at(key);
    return at->get<bool>();
  }
  Json Selector() { return Job().value(Json::json_pointer(GetParam().selector), Json("absent")); }

  KindPtr kind_;
  std::string jobs_;
  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::EventRecorder events_{
      client_, clock_, {.controller = "kueue-job", .first_api = kube::EventApi::kCore}};
  kube::Manager manager_{client_, executor_};
  std::optional<JobControllers> controllers_;
};

TEST_P(KindLifeTest, JobIsHeldStartedStoppedAndFinished) {
  const KindLife& life = GetParam();
  Json job = Yaml(kQueued);
  job["spec"] = Yaml(life.spec);
  const Json original = job["spec"];
  Json running = job;
  Json* at = &running;
  for (const std::string& key : kind_->suspend) at = &(*at)[key];
  *at = false;
  api_.Put(jobs_, running);
  Settle();
  EXPECT_TRUE(IsHeld()) << "created running, it has no quota";
  EXPECT_EQ(Workload().is_null(), !life.read.empty()) << "what it reads is missing";
  Read();
  ASSERT_FALSE(Workload().is_null());
  EXPECT_EQ(Workload()["metadata"]["ownerReferences"][0]["kind"], std::string(kind_->kind.kind));

  for (int round = 0; round < 2; ++round) {
    Admit();
    EXPECT_FALSE(IsHeld());
    EXPECT_EQ(Selector().value("capacity", ""), "spot") << Job()["spec"].dump(1);
    Status(life.running);
    Admit("Preempted");
    EXPECT_TRUE(IsHeld());
    EXPECT_TRUE(Workload()["status"].contains("admission")) << "its pods are there";
    Status(life.at_rest);
    EXPECT_FALSE(Workload()["status"].contains("admission"));
    Json expected = original;
    if (!life.kept.empty()) expected.merge_patch(Yaml(life.kept));
    EXPECT_EQ(Job()["spec"], expected) << Json::diff(expected, Job()["spec"]).dump(1);
  }

  Admit();
  if (life.over.empty()) return;
  Status(life.over);
  std::string finished;
  const Json workload = Workload();
  for (const Json& condition : workload["status"]["conditions"]) {
    if (condition["type"] == "Finished") {
      finished =
          condition["reason"].get<std::string>() + ": " + condition["message"].get<std::string>();
    }
  }
  EXPECT_EQ(finished, life.finished);
}

constexpr char kRayGroups[] = R"(
    headGroupSpec: {template: {spec: {containers: [{name: h, image: ray}]}}}
    workerGroupSpecs: [{groupName: w, replicas: 2, template: {spec: {containers: [{name: w, image: ray}]}}}]
)";
constexpr char kReady[] =
    "conditions: [{type: Ready, status: 'True', reason: R, message: m, "
    "lastTransitionTime: '2026-01-01T00:00:00Z'}]";

// A job of Kubeflow: its roles are members of `field`, the last one has two pods.
KindLife KubeflowLife(const std::string& framework, const std::string& field,
                      const std::vector<std::string>& roles, bool succeeds) {
  std::string spec = "runPolicy: {suspend: true}\n" + field + ":\n";
  for (const std::string& role : roles) {
    const std::string replicas = role == roles.back() ? "2" : "1";
    spec += "  " + role + ": {replicas: " + replicas +
            ", template: {spec: {containers: [{name: c, image: i}]}}}\n";
  }
  const std::string type = succeeds ? "Succeeded" : "Failed";
  return {framework,
          spec,
          "replicaStatuses: {" + roles.back() + ": {active: 2}}",
          "replicaStatuses: {" + roles.back() + ": {active: 0}}",
          "conditions: [{type: " + type +
              ", status: 'True', reason: R, message: so it ended, lastTransitionTime: "
              "'2026-01-01T00:00:00Z', lastUpdateTime: '2026-01-01T00:00:00Z'}]",
          type + ": so it ended",
          "/spec/" + field + "/" + roles.back() + "/template/spec/nodeSelector",
          "",
          "",
          ""};
}

std::vector<KindLife> KubeflowLives() {
  return {
      KubeflowLife("kubeflow.org/pytorchjob", "pytorchReplicaSpecs", {"Master", "Worker"}, true),
      KubeflowLife("kubeflow.org/tfjob", "tfReplicaSpecs",
                   {"Chief", "Master", "PS", "Worker", "Evaluator"}, false),
      KubeflowLife("kubeflow.org/xgboostjob", "xgbReplicaSpecs", {"Master", "Worker"}, true),
      KubeflowLife("kubeflow.org/paddlejob", "paddleReplicaSpecs", {"Master", "Worker"}, false),
      KubeflowLife("kubeflow.org/jaxjob", "jaxReplicaSpecs", {"Worker"}, true),
      KubeflowLife("kubeflow.org/mpijob", "mpiReplicaSpecs", {"Launcher", "Worker"}, false)};
}

std::vector<KindLife> OtherLives() {
  const std::string groups = kRayGroups;
  return {
      {"jobset.x-k8s.io/jobset", R"(
suspend: true
replicatedJobs:
- {name: a, replicas: 2, template: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}})",
       "replicatedJobsStatus: [{name: a, active: 2}]",
       "{replicatedJobsStatus: [{name: a, active: 0}], conditions: [{type: Suspended, status: "
       "'True', "
       "reason: R, message: held, lastTransitionTime: '2026-01-01T00:00:00Z'}]}",
       "conditions: [{type: Completed, status: 'True', reason: R, message: all done, "
       "lastTransitionTime: '2026-01-01T00:00:00Z'}]",
       "Succeeded: all done", "/spec/replicatedJobs/0/template/spec/template/spec/nodeSelector", "",
       "", ""},
      {"ray.io/raycluster", "    suspend: true" + groups, "state: ready", "state: suspended", "",
       "", "/spec/headGroupSpec/template/spec/nodeSelector", "", "", ""},
      {"ray.io/rayjob", R"(
suspend: true
shutdownAfterJobFinishes: true
submissionMode: K8sJobMode
rayClusterSpec:)" + groups,
       "jobDeploymentStatus: Running", "jobDeploymentStatus: Suspended",
       "{jobDeploymentStatus: Complete, jobStatus: SUCCEEDED, message: done}", "Succeeded: done",
       "/spec/submitterPodTemplate/spec/nodeSelector", "", "", "",
       R"({submitterPodTemplate: {spec: {restartPolicy: Never, containers: [{name: ray-job-submitter,
            image: ray, resources: {requests: {cpu: 500m, memory: 200Mi},
            limits: {cpu: "1", memory: 1Gi}}}]}}})"},
      {"ray.io/rayservice", "rayClusterConfig:\n    suspend: true" + groups, kReady,
       "conditions: []", "", "", "/spec/rayClusterConfig/headGroupSpec/template/spec/nodeSelector",
       "", "", ""},
      {"workload.codeflare.dev/appwrapper", R"(
suspend: true
components: [{template: {apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}}])",
       "{phase: Running, conditions: [{type: QuotaReserved, status: 'True'}]}",
       "{phase: Suspended, conditions: [{type: QuotaReserved, status: 'False'}]}",
       "phase: Succeeded", "Succeeded: AppWrapper finished successfully",
       "/spec/components/0/podSetInfos/0/nodeSelector", "", "", ""},
      {"sparkoperator.k8s.io/sparkapplication", R"(
suspend: true
mode: cluster
driver: {coreRequest: 100m, memory: 512m}
executor: {instances: 2, coreRequest: "1", memory: 1g})",
       "applicationState: {state: RUNNING}", "applicationState: {state: SUSPENDED}",
       "applicationState: {state: FAILED, errorMessage: broken}", "Failed: broken",
       "/spec/executor/nodeSelector", "", "", ""},
      {"trainer.kubeflow.org/trainjob", R"(
suspend: true
runtimeRef: {name: torch}
runtimePatches:
- {manager: kueue.x-k8s.io/manager, trainingRuntimeSpec: {template: {spec: {}}}})",
       "jobsStatus: [{name: node, active: 1}]", "jobsStatus: [{name: node, active: 0}]",
       "conditions: [{type: Complete, status: 'True', reason: R, message: all done, "
       "lastTransitionTime: '2026-01-01T00:00:00Z'}]",
       "Succeeded: all done",
       "/spec/runtimePatches/0/trainingRuntimeSpec/template/spec/replicatedJobs/0/template/spec/"
       "template/spec/nodeSelector",
       "clustertrainingruntimes", "ClusterTrainingRuntime", R"(
metadata: {name: torch}
spec:
  mlPolicy: {numNodes: 2}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: i}]}}})"},
  };
}

std::vector<KindLife> Lives() {
  std::vector<KindLife> lives = KubeflowLives();
  const std::vector<KindLife> others = OtherLives();
  lives.insert(lives.end(), others.begin(), others.end());
  return lives;
}

std::string LifeName(const ::testing::TestParamInfo<KindLife>& info) {
  return info.param.framework.substr(info.param.framework.find('/') + 1);
}

INSTANTIATE_TEST_SUITE_P(Kinds, KindLifeTest, ::testing::ValuesIn(Lives()), LifeName);

TEST(KindLivesTest, EveryKindWithASuspendFieldHasALife) {
  std::set<std::string> lived;
  for (const KindLife& life : Lives()) lived.insert(life.framework);
  for (const KindPtr& kind : BuiltInKinds()) {
    if (kind->suspend.empty()) continue;
    EXPECT_EQ(lived.count(std::string(kind->kind.framework)), 1U) << kind->kind.framework;
  }
}

// The RayCluster of an elastic RayJob is read beside it, and is of a job kind itself.
TEST(ChildOfAnElasticJobTest, ScaledChildClusterScalesTheJobsWorkload) {
  FakeClock clock;
  SimExecutor executor{clock};
  kube::RegistryTransport api{executor, clock};
  kube::ApiClient client{api, executor};
  kube::EventRecorder events{
      client, clock, {.controller = "kueue-job", .first_api = kube::EventApi::kCore}};
  kube::Manager manager{client, executor};
  JobControllers controllers{
      manager, clock, events,
      JobControllersOptions{
          .kinds = {FindBuiltInKind("ray.io/raycluster"), FindBuiltInKind("ray.io/rayjob")},
          .job = {.namespace_selector = DefaultManagedNamespaces("kueue-system")}}};
  api.Put(kDefinitions, Crd("ray.io", "v1", "RayJob", "rayjobs", true));
  api.Put(kDefinitions, Crd("ray.io", "v1", "RayCluster", "rayclusters", true));
  manager.StartInformers();
  manager.StartControllers();
  executor.RunFor(40s);
  const std::string path = "/apis/ray.io/v1/namespaces/default/";
  const std::string groups =
      "{headGroupSpec: {template: {spec: {containers: [{name: h}]}}}, enableInTreeAutoscaling: "
      "true, workerGroupSpecs: [{groupName: w, replicas: ";
  const std::string end = ", template: {spec: {containers: [{name: w}]}}}]}";
  api.Put(path + "rayjobs",
          Yaml("metadata: {name: j, namespace: default, labels: {kueue.x-k8s.io/queue-name: lq}, "
               "annotations: {kueue.x-k8s.io/elastic-job: 'true'}}\n"
               "spec: {suspend: true, shutdownAfterJobFinishes: true, rayClusterSpec: " +
               groups + "1" + end + "}\nstatus: {rayClusterName: child}\n"));
  executor.RunFor(40s);
  const auto workers = [&] {
    const auto& found = manager.InformerFor<api::Workload>().objects();
    return found.size() == 1 ? (*found.begin())->spec.pod_sets.at(1).count : -1;
  };
  EXPECT_EQ(workers(), 1);
  for (const char* replicas : {"4", "2"}) {
    api.Put(path + "rayclusters", Yaml("metadata: {name: child, namespace: default}\nspec: " +
                                       groups + replicas + end + "\n"));
    executor.RunFor(40s);
    EXPECT_EQ(workers(), std::stoi(replicas));
  }
}

}  // namespace
}  // namespace berth::integrations
