// Goal: a kind that a user declares is managed while the controller runs, and its JobKind says why
// it is not: the description is wrong, does not fit the schema, or the kind is not served. Method:
// the fixture of described kinds, with a kind of another group and with its own names for
// everything.
#include "integrations/controller/user_kinds.h"

#include <map>

#include "integrations/declared_kind.h"
#include "integrations/kind_schema.h"
#include "tests/integrations/controller/described_jobs_fixture.h"

namespace berth::integrations::described_jobs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class UserKindsTest : public DescribedJobsTest {
 protected:
  static constexpr char kKinds[] = "/apis/integrations.berth.dev/v1alpha1/jobkinds";
  static constexpr char kKind[] = "/apis/integrations.berth.dev/v1alpha1/jobkinds/sweeps";
  static constexpr char kSweeps[] = "/apis/science.example/v1/namespaces/default/sweeps";
  static constexpr char kSweep[] = "/apis/science.example/v1/namespaces/default/sweeps/s";

  void SetUp() override {
    DescribedJobsTest::SetUp();
    Json crd = JobSetCrd();
    crd["metadata"]["name"] = "sweeps.science.example";
    crd["spec"]["group"] = "science.example";
    crd["spec"]["names"] = {
        {"kind", "Sweep"}, {"plural", "sweeps"}, {"singular", "sweep"}, {"listKind", "SweepList"}};
    crd["spec"]["versions"][0]["name"] = "v1";
    crd_ = crd;
  }
  static Json Kind(const std::string& count = "self.spec.trials") {
    return {{"metadata", {{"name", "sweeps"}}},
            {"spec",
             {{"group", "science.example"},
              {"version", "v1"},
              {"kind", "Sweep"},
              {"suspend", "spec.paused"},
              {"podSets",
               Json::array({{{"name", "'trial'"}, {"template", "spec.pod"}, {"count", count}}})},
              {"active", "self.?status.?running.orValue(0) > 0"},
              {"finished", Json::array({{{"when", "self.?status.?phase.orValue('') == 'Done'"},
                                         {"succeeded", "true"}}})}}}};
  }
  void SubmitSweep() {
    api_.Put(kSweeps, Json::parse(R"({"metadata": {"name": "s", "namespace": "default",
        "labels": {"kueue.x-k8s.io/queue-name": "lq"}}, "spec": {"paused": true, "trials": 7,
        "pod": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}})"));
    Settle();
  }
  std::string Ready() {
    const Json* kind = api_.Find(kKind);
    if (kind == nullptr || !kind->contains("status")) return "";
    const Json& condition = (*kind)["status"]["conditions"][0];
    return condition["status"].get<std::string>() + " " + condition["reason"].get<std::string>() +
           " " + condition["message"].get<std::string>();
  }

  Json crd_;
};

TEST_F(UserKindsTest, JobKindIsManagedOnceServedAndUntilItsDeletion) {
  Start();
  api_.Put(kKinds, Kind());
  Settle();
  EXPECT_THAT(Ready(),
              HasSubstr("False NotServed the API server does not serve science.example/v1 sweeps"));
  api_.Put(kCrds, crd_);
  Settle();
  EXPECT_THAT(Ready(), HasSubstr("True Managed"));

  SubmitSweep();
  const Json pods = Workload()["spec"]["podSets"][0];
  EXPECT_EQ(pods["name"], "trial");
  EXPECT_EQ(pods["count"], 7);

  // Another description: the waiting job's Workload follows.
  api_.Put(kKinds, Kind("self.spec.trials * 2"));
  Settle();
  EXPECT_EQ(Workload()["spec"]["podSets"][0]["count"], 14);

  // Without the JobKind its jobs are left as they are; with the JobKind they are queued again.
  api_.Remove(kKind);
  Settle();
  const std::string workload = WorkloadPath();
  api_.Remove(workload);
  Settle();
  EXPECT_EQ(api_.Find(workload), nullptr);
  api_.Put(kKinds, Kind());
  Settle();
  ASSERT_NE(api_.Find(workload), nullptr);
  EXPECT_EQ((*api_.Find(workload))["spec"]["podSets"][0]["count"], 7);
}

TEST_F(UserKindsTest, BuiltInKindsAreManagedBeforeTheCrdOfJobKindsExists) {
  api_.SetMissing(kKinds, true);
  api_.Put(kCrds, crd_);
  Start();
  EXPECT_TRUE(manager_.controllers_running()) << "no controller waits for the CRD";
  EXPECT_TRUE(manager_.NotSynced().empty());
  api_.Put(kCrds, JobSetCrd());
  Settle();
  Submit();
  EXPECT_EQ(Workload()["spec"]["podSets"][0]["name"], "driver");

  api_.SetMissing(kKinds, false);
  api_.Put(kKinds, Kind());
  Settle();
  EXPECT_THAT(Ready(), HasSubstr("True Managed"));
}

// The shadow runs beside the controller that manages the kinds.
TEST_F(UserKindsTest, ShadowReadsReadyKindsAndWritesNothing) {
  kube::Manager manager(client_, executor_);
  std::map<std::string, std::string> told;
  UserKinds kinds(manager, clock_,
                  {.review = [&told](const std::string& name, const KindPtr& kind) {
                    told[name] = kind == nullptr ? "" : std::string(kind->kind.kind);
                  }});
  kinds.Watch();
  manager.StartInformers();
  Json kind = Kind();
  api_.Put(kKinds, kind);
  Settle();
  EXPECT_EQ(told["sweeps"], "") << "not Ready";
  kind["status"]["conditions"] = {{{"type", "Ready"},
                                   {"status", "True"},
                                   {"reason", "Managed"},
                                   {"message", ""},
                                   {"lastTransitionTime", "2026-01-01T00:00:00Z"}}};
  api_.Put(kKinds, kind);
  Settle();
  EXPECT_EQ(told["sweeps"], "Sweep");
  api_.Remove(kKind);
  Settle();
  EXPECT_EQ(told["sweeps"], "");
  EXPECT_EQ(api_.CountWrites(), 0U);
}

TEST_F(UserKindsTest, KindWhoseCrdIsDeletedIsNotReady) {
  Start();
  api_.Put(kKinds, Kind());
  api_.Put(kCrds, crd_);
  Settle();
  EXPECT_THAT(Ready(), HasSubstr("True Managed"));
  api_.Remove(std::string(kCrds) + "/sweeps.science.example");
  executor_.RunFor(150s);
  EXPECT_THAT(Ready(), HasSubstr("False NotServed"));
  api_.Put(kCrds, crd_);
  executor_.RunFor(150s);
  EXPECT_THAT(Ready(), HasSubstr("True Managed"));
}

// Another kind's informer has objects of another type.
TEST_F(UserKindsTest, AKindThatIsReadForAnotherPurposeIsRefused) {
  Start();
  Json kind = Kind();
  kind["spec"]["group"] = "kueue.x-k8s.io";
  kind["spec"]["version"] = "v1beta2";
  kind["spec"]["plural"] = "workloads";
  api_.Put(kKinds, kind);
  Settle();
  EXPECT_THAT(Ready(),
              HasSubstr("False AlreadyDescribed Berth reads kueue.x-k8s.io/v1beta2 workloads"));
}

TEST_F(UserKindsTest, UnservedKindDoesNotBlockAnotherKind) {
  api_.Put(kCrds, crd_);
  Start();
  Json other = Kind();
  other["metadata"]["name"] = "others";
  other["spec"]["kind"] = "Other";
  api_.Put(kKinds, other);
  Settle();
  api_.Put(kKinds, Kind());
  Settle();
  SubmitSweep();
  EXPECT_NE(WorkloadPath(), "");
}

TEST_F(UserKindsTest, DeletedJobOfADeletedKindLeavesNoWorkload) {
  api_.Put(kCrds, crd_);
  Start();
  api_.Put(kKinds, Kind());
  Settle();
  SubmitSweep();
  const std::string path = WorkloadPath();
  api_.Remove(kKind);
  Settle();
  client_.Delete(api::KindOf<api::Workload>(), {"default", path.substr(path.rfind('/') + 1)}, {},
                 [](const berth::Status&) {});
  Settle();
  ASSERT_NE(api_.Find(path), nullptr);  // the finalizer holds it
  api_.Remove(kSweep);
  Settle();
  EXPECT_EQ(api_.Find(path), nullptr);
}

TEST_F(UserKindsTest, SecondDescriptionIsUsedOnceTheFirstIsDeleted) {
  api_.Put(kCrds, crd_);
  Start();
  api_.Put(kKinds, Kind());
  Settle();
  Json second = Kind();
  second["metadata"]["name"] = "second";
  api_.Put(kKinds, second);
  Settle();
  api_.Remove(kKind);
  Settle();
  SubmitSweep();
  EXPECT_NE(WorkloadPath(), "");
}

// A new leader reads the jobs before the kinds of their owners.
TEST_F(UserKindsTest, AChildIsNotStoppedBeforeTheKindOfItsOwnerIsRead) {
  api_.Put(kCrds, crd_);
  api_.Put(kKinds, Kind());
  const Json sweep = api_.Put(kSweeps, Json::parse(R"({"metadata": {"name": "s",
      "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}, "spec": {"paused": false,
      "trials": 1, "pod": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}})"));
  Json child = Json::parse(R"({"metadata": {"name": "s-run", "namespace": "default",
      "labels": {"kueue.x-k8s.io/queue-name": "lq"}}, "spec": {"suspend": false, "template": {"spec":
      {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}})");
  child["metadata"]["ownerReferences"] = {{{"apiVersion", "science.example/v1"},
                                           {"kind", "Sweep"},
                                           {"name", "s"},
                                           {"uid", sweep["metadata"]["uid"]},
                                           {"controller", true}}};
  api_.Put("/apis/batch/v1/namespaces/default/jobs", child);
  Start();
  for (const auto& request : api_.requests()) {
    EXPECT_FALSE(request.method == "POST" && request.path == kWorkloadsPath &&
                 request.body["metadata"]["ownerReferences"][0]["kind"] == "Job");
  }
}

// A state that cannot be read: whether the job runs, or is over, is not known.
TEST_F(UserKindsTest, AnExpressionThatFailsWaitsWithTheReason) {
  api_.Put(kCrds, crd_);
  Start();
  Json kind = Kind();
  kind["spec"]["active"] = "self.status.running > 0";
  api_.Put(kKinds, kind);
  Settle();
  SubmitSweep();
  EXPECT_EQ(WorkloadPath(), "");
  EXPECT_THAT(Told("ErrWorkloadCompose"), ElementsAre(HasSubstr("active")));
  const std::size_t writes = api_.CountWrites();
  executor_.RunFor(120s);
  EXPECT_EQ(api_.CountWrites(), writes) << "nothing spins";
  api_.Put(kKinds, Kind());
  Settle();
  EXPECT_NE(WorkloadPath(), "");
}

// Each expression of a description, with one that compiles and fails on the object.
TEST_F(UserKindsTest, EachExpressionThatFailsIsNamed) {
  struct ExpressionRow {
    const char* place;  // in the description
    Json expression;
    const char* field;  // in the message
  };
  const ExpressionRow rows[] = {
      {"/active", "self.status.x", "active"},
      {"/ready", "self.status.x", "ready"},
      {"/onHold", "self.status.x", "onHold"},
      {"/skip", "self.status.x", "skip"},
      {"/priorityClass", "self.status.x", "priorityClass"},
      {"/reclaimable", "1 / (podSet.count - 7)", "reclaimable"},
      {"/finished/0/when", "self.status.x", "finished.when"},
      {"/podSets/0/name", "self.status.x", "podSets.name"},
      {"/podSets/0/count", "self.spec.trials / 0", "podSets.count"},
      {"/podSets/0/when", "self.status.x", "podSets.when"},
      {"/podSets/0/count", "-1", "podSets.count"},
      {"/podSets/0/count", "'7'", "podSets.count"},
  };
  api_.Put(kCrds, crd_);
  Start();
  SubmitSweep();
  for (const ExpressionRow& row : rows) {
    SCOPED_TRACE(row.place + row.expression.dump());
    Json kind = Kind();
    kind["spec"][Json::json_pointer(row.place)] = row.expression;
    const std::size_t known = Told("ErrWorkloadCompose").size();
    api_.Put(kKinds, kind);
    Settle();
    EXPECT_THAT(Ready(), HasSubstr("True Managed"));
    EXPECT_EQ(WorkloadPath(), "");
    const auto told = Told("ErrWorkloadCompose");
    ASSERT_EQ(told.size(), known + 1);
    EXPECT_THAT(told.back(), HasSubstr(row.field));
    const std::size_t writes = api_.CountWrites();
    executor_.RunFor(120s);
    EXPECT_EQ(api_.CountWrites(), writes) << "nothing spins";
  }
}

// An expression that can be evaluated while the job is held, and not at once after its start.
TEST_F(UserKindsTest, AStateThatCannotBeReadStopsNoRunningJob) {
  api_.Put(kCrds, crd_);
  Start();
  Json kind = Kind();
  kind["spec"]["ready"] = "self.spec.paused || self.status.running == self.spec.trials";
  api_.Put(kKinds, kind);
  Settle();
  SubmitSweep();
  ASSERT_NE(WorkloadPath(), "");
  Apply({"QuotaReserved", "Admitted"}, Json::array({{{"name", "trial"}, {"count", 7}}}));
  const Json* sweep = api_.Find(kSweep);
  ASSERT_NE(sweep, nullptr);
  EXPECT_EQ((*sweep)["spec"]["paused"], false) << "it runs on";
  EXPECT_THAT(Told("ErrWorkloadCompose"), ElementsAre(HasSubstr("ready")));
  const std::size_t writes = api_.CountWrites();
  executor_.RunFor(120s);
  EXPECT_EQ(api_.CountWrites(), writes) << "nothing spins";
  EXPECT_NE(WorkloadPath(), "") << "it keeps its quota";
}

// A sample that does not play through, and why. The description is right, but not for this object.
TEST_F(UserKindsTest, SampleOfADescriptionIsChecked) {
  api_.Put(kCrds, crd_);
  Start();
  Json kind = Kind();
  const Json sample = Json::parse(R"({"apiVersion": "science.example/v1", "kind": "Sweep",
      "metadata": {"name": "s"}, "spec": {"paused": false, "trials": 7, "pod": {"metadata":
      {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
      "status": {"running": 7}})");
  kind["spec"]["sample"] = sample;
  api_.Put(kKinds, kind);
  Settle();
  EXPECT_THAT(Ready(), HasSubstr("True Managed"));
  SubmitSweep();
  EXPECT_NE(WorkloadPath(), "") << "a sample is no part of the description";

  struct SampleRow {
    const char* place;  // in the JobKind's spec
    Json value;
    const char* message;
  };
  const Json twice = Json::array(
      {{{"name", "'a'"}, {"template", "spec.pod"}}, {{"name", "'b'"}, {"template", "spec.pod"}}});
  const SampleRow rows[] = {
      {"/sample/kind", "Other",
       "spec.sample: expected an object of science.example/v1 Sweep, got science.example/v1 Other"},
      {"/sample/spec/pod", nullptr, "spec.sample: spec.pod: the pod template is missing"},
      {"/sample/spec/trials", "many", "spec.sample: podSets.count: expected a number of pods"},
      {"/sample/spec/paused", "no", "spec.sample: spec.paused: expected a bool"},
      {"/sample/status/running", "all", "spec.sample: active"},
      {"/podSets", twice,
       "spec.sample: a start does not reach the template of the pod set a: each pod set needs a "
       "template of its own"},
      {"/podSets/0/count", "self.spec.paused ? 1 : 2",
       "spec.sample: the pod sets of the held and of the running object differ"},
  };
  for (const SampleRow& row : rows) {
    SCOPED_TRACE(row.place);
    Json bad = kind;
    bad["spec"][Json::json_pointer(row.place)] = row.value;
    api_.Put(kKinds, bad);
    Settle();
    EXPECT_THAT(Ready(), HasSubstr(std::string("False InvalidSample ") + row.message));
  }
  kind["spec"]["sample"] = 1;
  EXPECT_EQ(ParseDeclaredKind(kind["spec"]).error().message,
            "sample: expected an object of the kind");
  kind["spec"]["sample"] = sample;
  kind["spec"]["sample"]["spec"]["long"] = std::string(65536, 'x');
  EXPECT_EQ(ParseDeclaredKind(kind["spec"]).error().message, "sample: larger than 65536 bytes");
}

TEST_F(UserKindsTest, PathsMustExistInTheSchema) {
  const auto problem = [](const Json& spec, const Json& schema) -> std::string {
    Json openapi = {{"components", {{"schemas", {{"of.Sweep", schema}, {"of.Pod", Json::parse(R"({
        "type": "object", "properties": {"spec": {"type": "object"}}})")}}}}}};
    openapi["components"]["schemas"]["of.Sweep"]["x-kubernetes-group-version-kind"] = {
        {{"group", "science.example"}, {"version", "v1"}, {"kind", "Sweep"}}};
    const Result<KindPtr> kind = ParseDeclaredKind(spec);
    if (!kind) return kind.error().message;
    const Result<bool> fits = CheckPaths(**kind, openapi);
    EXPECT_TRUE(!fits || *fits);
    return fits ? "" : fits.error().message;
  };
  const Json schema = Json::parse(R"({"type": "object", "properties": {"spec": {"type": "object",
      "properties": {"paused": {"type": "boolean"}, "manager": {"type": "string"},
        "pod": {"allOf": [{"$ref": "#/components/schemas/of.Pod"}]},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "roles": {"type": "array", "items": {"type": "object", "properties": {"pod": {}}}},
        "types": {"type": "object", "additionalProperties": {"type": "object",
          "properties": {"pod": {}}}}}}}})");
  Json kind = Kind()["spec"];
  const Json pod_sets = kind["podSets"];
  EXPECT_EQ(problem(kind, schema), "");
  kind["suspend"] = "spec.pausd";
  EXPECT_EQ(problem(kind, schema), "suspend: science.example/v1 Sweep has no field spec.pausd");
  kind["suspend"] = "spec.manager";
  EXPECT_EQ(problem(kind, schema), "suspend: spec.manager is of the type string, expected boolean");
  kind["suspend"] = "spec.open.paused";
  kind["managedBy"] = "spec.manager";
  EXPECT_EQ(problem(kind, schema), "");
  kind["managedBy"] = "managedBy";
  EXPECT_EQ(problem(kind, schema), "managedBy: science.example/v1 Sweep has no field managedBy");
  kind.erase("managedBy");
  kind["podSets"][0]["template"] = "spec.pod.templat";
  EXPECT_EQ(problem(kind, schema),
            "podSets[0].template: science.example/v1 Sweep has no field spec.pod.templat");
  kind["podSets"][0] = {{"each", "spec.roles"}, {"template", "pod"}, {"name", "item.name"}};
  EXPECT_EQ(problem(kind, schema), "");
  kind["podSets"][0]["template"] = "pods";
  EXPECT_EQ(problem(kind, schema),
            "podSets[0].template: science.example/v1 Sweep has no field spec.roles[].pods");
  kind["podSets"][0]["each"] = "spec.rolls";
  EXPECT_EQ(problem(kind, schema),
            "podSets[0].each: science.example/v1 Sweep has no field spec.rolls");
  kind["podSets"][0] = {
      {"each", "spec.types"}, {"keys", {"A"}}, {"template", "pods"}, {"name", "key"}};
  EXPECT_EQ(problem(kind, schema),
            "podSets[0].template: science.example/v1 Sweep has no field spec.types.A.pods");
  kind.erase("suspend");
  kind["podSets"][0] = {{"template", "spec.pod"}, {"replicas", "spec.size"}};
  EXPECT_EQ(problem(kind, schema),
            "podSets[0].replicas: science.example/v1 Sweep has no field spec.size");
  kind["podSets"][0]["replicas"] = "spec.paused";
  EXPECT_EQ(problem(kind, schema),
            "podSets[0].replicas: spec.paused is of the type boolean, expected integer");
  kind["podSets"][0] = {{"each", "spec.roles"}, {"template", "pod"}, {"replicas", "n"}};
  EXPECT_EQ(problem(kind, schema),
            "podSets[0].replicas: science.example/v1 Sweep has no field spec.roles[].n");
  kind["suspend"] = "spec.paused";
  kind["podSets"] = pod_sets;
  EXPECT_EQ(problem(kind, {{"type", "object"}}), "") << "open";
  // References without an end end.
  Json loop = schema;
  loop["properties"]["spec"] = {{"$ref", "#/components/schemas/of.Sweep"}};
  loop["$ref"] = "#/components/schemas/of.Sweep";
  EXPECT_EQ(problem(kind, loop), "");
  EXPECT_FALSE(*CheckPaths(**ParseDeclaredKind(kind), Json::object())) << "no such kind";
  EXPECT_FALSE(*CheckPaths(**ParseDeclaredKind(kind), Json::array({1})));
}

TEST_F(UserKindsTest, FieldsOfBuiltInKindsAreRefused) {
  EXPECT_THAT(ParseDeclaredKind({{"group", "g.example"}, {"hold", Json::object()}}).error().message,
              HasSubstr("hold: the pods of built-in kinds alone are held: give the objects a "
                        "boolean that their operator honours"));
  EXPECT_THAT(ParseDeclaredKind({{"podSets", {{{"hook", "rayClusterHead"}}}}}).error().message,
              HasSubstr("podSets[0].hook: hooks belong to built-in kinds"));
  for (const char* field : {"specOnly", "dropPrefix"}) {
    EXPECT_THAT(ParseDeclaredKind({{"podSets", {{{field, "x"}}}}}).error().message,
                HasSubstr(std::string("podSets[0].") + field + ": is allowed for built-in kinds"));
  }
  Json object = Kind();
  object["apiVersion"] = "integrations.berth.dev/v1alpha1";
  object["kind"] = "JobKind";
  const Result<KindPtr> kind = ParseJobKind(object);
  ASSERT_TRUE(kind) << kind.error().message;
  object["suspend"] = "spec.paused";
  EXPECT_EQ(ParseJobKind(object).error().message,
            "suspend: unknown field: the description is in `spec`");
  EXPECT_TRUE(CheckIsOf(**kind, {{"apiVersion", "science.example/v1"}, {"kind", "Sweep"}}));
  EXPECT_EQ(CheckIsOf(**kind, {{"framework", "sweep"}, {"cases", Json::array()}}).error().message,
            "sample: expected an object of science.example/v1 Sweep, got no apiVersion and kind");
}

TEST_F(UserKindsTest, ConditionNamesTheMistakeOfADescription) {
  Start();
  api_.Put(kCrds, crd_);
  Json kind = Kind("self.spec.trials +");
  api_.Put(kKinds, kind);
  Settle();
  EXPECT_THAT(Ready(),
              HasSubstr("False InvalidDescription spec.podSets[0].count: ERROR: <input>:1:"));
  kind = Kind();
  kind["spec"]["kind"] = "JobSet";
  kind["spec"]["group"] = "jobset.x-k8s.io";
  api_.Remove(kKind);
  api_.Put(kKinds, kind);
  Settle();
  EXPECT_THAT(Ready(), HasSubstr("False AlreadyDescribed the kind is built in"));
}

}  // namespace
}  // namespace berth::integrations::described_jobs_test
