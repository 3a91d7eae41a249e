// Goal: what the reviews of all kinds have in common holds for each of them: the default LocalQueue
// and WorkloadPriorityClass, manageJobsWithoutQueueName with the namespace selector, prebuilt
// Workloads by annotation and by label, and the rules of the labels and annotations of jobs.
//
// Method: a table of the kinds (how an object is held, what it is like when it runs, what Kueue's
// package of the kind has) and tables of the rules, each rule for each kind. The objects are the
// samples of tests/integrations/kinds. A new object is defaulted before it is validated, as the API
// server does.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "base/strings.h"
#include "integrations/kind_catalogue.h"
#include "program/job_kinds.h"
#include "webhook/review.h"

namespace berth::webhook {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kParentMark[] = "annotations/kueue.x-k8s.io~1pod-suspending-parent";

struct EveryKind {
  std::string framework;
  std::string held;   // JSON pointer to what holds an object
  Json holding;       // the value there
  std::string fresh;  // merge patch of the sample: as a user writes it
  // Merge patch of the held object: as it runs. Empty: such an object counts as held for ever.
  std::string running;
  bool prebuilt = true;
  bool elastic = false;
  // Whether the rules of new objects hold for updates; kOwn: the kind has rules of its own.
  enum class Recheck { kYes, kNo, kOwn } recheck = Recheck::kOwn;
};
void PrintTo(const EveryKind& kind, std::ostream* out) { *out << kind.framework; }

EveryKind HeldBy(const std::string& framework, const std::string& path, bool prebuilt = true,
                 bool elastic = false) {
  const std::string free = path == "/spec/suspend" ? "{spec: {suspend: false}}"
                           : path == "/spec/runPolicy/suspend"
                               ? "{spec: {runPolicy: {suspend: false}}}"
                               : "{spec: {rayClusterConfig: {suspend: false}}}";
  return {framework, path, true, free, free, prebuilt, elastic, EveryKind::Recheck::kYes};
}

// Kueue's webhook of all kinds has no rules of new objects for updates.
EveryKind OfTheBase(EveryKind kind) {
  kind.recheck = EveryKind::Recheck::kNo;
  return kind;
}

std::vector<EveryKind> Kinds() {
  const std::string ready = "{status: {readyReplicas: 1}}";
  const std::string of_template = std::string("/spec/template/metadata/") + kParentMark;
  const std::string unmarked = "{metadata: {annotations: null}}";
  const std::string dask = "kubernetes.dask.org/";
  const std::string lws = "leaderworkerset.x-k8s.io/leaderworkerset";
  return {
      HeldBy("batch/job", "/spec/suspend", true, true),
      HeldBy("jobset.x-k8s.io/jobset", "/spec/suspend"),
      OfTheBase(HeldBy("kubeflow.org/pytorchjob", "/spec/runPolicy/suspend")),
      OfTheBase(HeldBy("kubeflow.org/tfjob", "/spec/runPolicy/suspend")),
      OfTheBase(HeldBy("kubeflow.org/xgboostjob", "/spec/runPolicy/suspend")),
      OfTheBase(HeldBy("kubeflow.org/paddlejob", "/spec/runPolicy/suspend")),
      OfTheBase(HeldBy("kubeflow.org/jaxjob", "/spec/runPolicy/suspend", false)),
      HeldBy("kubeflow.org/mpijob", "/spec/runPolicy/suspend"),
      HeldBy("trainer.kubeflow.org/trainjob", "/spec/suspend"),
      HeldBy("ray.io/raycluster", "/spec/suspend", true, true),
      HeldBy("ray.io/rayjob", "/spec/suspend", true, true),
      HeldBy("ray.io/rayservice", "/spec/rayClusterConfig/suspend", true, true),
      OfTheBase(HeldBy("workload.codeflare.dev/appwrapper", "/spec/suspend")),
      HeldBy("sparkoperator.k8s.io/sparkapplication", "/spec/suspend", false),
      {"pod", "/spec/schedulingGates/0/name", "kueue.x-k8s.io/admission", "{}",
       "{spec: {schedulingGates: null}, status: {phase: Running}}"},
      {"deployment", of_template, "deployment", "{spec: {template: {metadata: null}}}", ready,
       false},
      {"statefulset", of_template, "statefulset", "{spec: {template: {metadata: null}}}", ready,
       false},
      {lws, std::string("/spec/leaderWorkerTemplate/workerTemplate/metadata/") + kParentMark, lws,
       "{}", ready, false},
      {dask + "daskcluster", std::string("/metadata/") + kParentMark, dask + "daskcluster",
       unmarked, "", false},
      {dask + "daskjob", std::string("/metadata/") + kParentMark, dask + "daskjob", unmarked, "",
       false},
  };
}

// "K/" stands for the prefix of Kueue's keys.
std::string Expanded(std::string text) {
  for (auto at = text.find("K/"); at != std::string::npos; at = text.find("K/", at)) {
    text.replace(at, 2, "kueue.x-k8s.io/");
  }
  return text;
}

Json Yaml(const std::string& text) {
  const auto parsed = api::ParseYaml(Expanded(text));
  return parsed ? parsed->value : Json("cannot be parsed: " + parsed.error().message);
}

// The samples by framework, and those of the kinds that have code of their own.
const std::map<std::string, Json>& Samples() {
  static const std::map<std::string, Json> samples = [] {
    std::map<std::string, Json> found;
    for (const auto& entry : std::filesystem::directory_iterator(BERTH_KIND_CASES)) {
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      const auto documents = api::ParseYamlStream(text.str());
      if (!documents || documents->empty()) throw std::runtime_error(entry.path().string());
      const Json& sample = documents->front().value;
      found[sample.at("framework").get<std::string>()] = sample.at("object");
    }
    const std::string containers =
        "{containers: [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}";
    const std::string metadata =
        "metadata: {name: j, namespace: default, uid: u1, labels: {K/queue-name: lq}}\n";
    found["batch/job"] = Yaml("apiVersion: batch/v1\nkind: Job\n" + metadata +
                              "spec: {template: {spec: " + containers + "}}\n");
    found["pod"] = Yaml("apiVersion: v1\nkind: Pod\n" + metadata + "spec: " + containers + "\n");
    return found;
  }();
  return samples;
}

std::vector<std::string> AllFrameworks() {
  std::vector<std::string> names{"batch/job", "pod"};
  for (const integrations::KindPtr& kind : integrations::BuiltInKinds()) {
    names.emplace_back(kind->kind.framework);
  }
  return names;
}

// "jobset.x-k8s.io/v1alpha2, Kind=JobSet"
std::string NameOf(const Json& object) {
  const std::string version = object.at("apiVersion");
  return (version == "v1" ? "/v1" : version) + ", Kind=" + object.at("kind").get<std::string>();
}

class EveryKindTest : public ::testing::TestWithParam<EveryKind> {
 protected:
  EveryKindTest() {
    object_ = Samples().at(GetParam().framework);
    std::string version = object_.at("apiVersion");
    path_ =
        (version == "v1" ? "-v1" : version) + "-" + ToLower(object_.at("kind").get<std::string>());
    for (char& c : path_) {
      if (c == '.' || c == '/') c = '-';
    }
    object_.merge_patch(Yaml(GetParam().fresh));
    object_["metadata"].erase("labels");
    object_["metadata"].erase("annotations");
  }

  Json Respond(const std::string& door, const Json& object, const Json& old,
               const JobFacts& facts) const {
    static const std::vector<ReviewedKind> kinds = program::ReviewedKinds(AllFrameworks());
    const JobReviews reviews{
        .facts = [&facts](const ReviewedKind&, const api::ObjectMeta&) { return facts; },
        .kinds = kinds,
        .declared = nullptr};
    const Json review = {{"request", {{"uid", "r"}, {"object", object}, {"oldObject", old}}}};
    const Result<Json> answer = Review(door + path_, review, reviews);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? (*answer)["response"] : Json();
  }
  // The object as the review of its creation leaves it.
  Json Defaulted(const Json& object, const JobFacts& facts) const {
    const Json response = Respond("/mutate-", object, nullptr, facts);
    EXPECT_EQ(response["allowed"], true) << response;
    if (!response.contains("patch")) return object;
    return object.patch(Json::parse(*Base64Decode(response["patch"].get<std::string>())));
  }
  // Empty: allowed.
  std::string ErrorOf(const Json& object, const Json& old, const JobFacts& facts) const {
    const Json response = Respond("/validate-", object, old, facts);
    if (response["allowed"] == true) return "";
    return response["status"]["message"];
  }
  Json With(const std::string& metadata) const {
    Json object = object_;
    object["metadata"].merge_patch(Yaml(metadata));
    return object;
  }

  Json object_;  // fresh, without labels and annotations
  std::string path_;
};

// What the cluster says, by words.
JobFacts FactsOf(const std::string& words) {
  const auto has = [&words](const char* word) { return words.find(word) != std::string::npos; };
  return {.default_local_queue = has("default-queue"),
          .default_priority_class = has("default-class"),
          .namespace_managed = !has("other-namespace"),
          .manage_without_queue_name = has("manage-all"),
          .ancestor_managed = has("child")};
}

struct Default {
  std::string name;
  std::string facts;  // words of FactsOf
  std::string metadata;
  bool held = false;
  std::string queue, priority_class;  // labels afterwards
};

const Default kDefaults[] = {
    {"a queue holds", "", "{labels: {K/queue-name: lq}}", true, "lq", ""},
    {"no queue", "", "{}", false, "", ""},
    {"default queue", "default-queue", "{}", true, "default", ""},
    {"the user's queue stays", "default-queue", "{labels: {K/queue-name: lq}}", true, "lq", ""},
    {"default queue of a namespace that is not selected", "default-queue other-namespace", "{}",
     false, "", ""},
    {"default queue for the child of a queued object", "default-queue child", "{}", false, "", ""},
    {"all jobs are managed", "manage-all", "{}", true, "", ""},
    {"all jobs are managed, the namespace is not selected", "other-namespace manage-all", "{}",
     false, "", ""},
    {"all jobs are managed, the child of a queued object", "manage-all child", "{}", false, "", ""},
    {"a queue in a namespace that is not selected", "other-namespace",
     "{labels: {K/queue-name: lq}}", false, "lq", ""},
    {"default class", "default-class", "{labels: {K/queue-name: lq}}", true, "lq", "default"},
    {"default queue and class", "default-queue default-class", "{}", true, "default", "default"},
    {"default class where all jobs are managed", "default-class manage-all", "{}", true, "",
     "default"},
    {"the user's class stays", "default-class",
     "{labels: {K/queue-name: lq, K/priority-class: high}}", true, "lq", "high"},
    {"default class without a queue", "default-class", "{}", false, "", ""},
    {"default class for the child of a queued object", "default-class child",
     "{labels: {K/queue-name: lq}}", false, "lq", ""},
};

TEST_P(EveryKindTest, GetsItsDefaults) {
  const EveryKind& kind = GetParam();
  const Json::json_pointer place(kind.held);
  for (const Default& row : kDefaults) {
    SCOPED_TRACE(row.name);
    const Json made = Defaulted(With(row.metadata), FactsOf(row.facts));
    const Json labels = made["metadata"].value("labels", Json::object());
    EXPECT_EQ(labels.value("kueue.x-k8s.io/queue-name", ""), row.queue);
    EXPECT_EQ(labels.value("kueue.x-k8s.io/priority-class", ""), row.priority_class);
    EXPECT_EQ(made.contains(place) && made.at(place) == kind.holding, row.held) << made.dump(1);
    if (row.held) {
      EXPECT_EQ(ErrorOf(made, nullptr, FactsOf(row.facts)), "");
    }
  }
}

enum class Prebuilt { kAny, kSupported, kUnsupported };

struct Creation {
  std::string name;
  std::string metadata;  // beside the label of the queue
  std::string error;     // a part; empty: allowed
  Prebuilt prebuilt = Prebuilt::kAny;
};

const Creation kCreations[] = {
    {"queue", "{}", ""},
    {"bad queue", "{labels: {K/queue-name: No_Good}}",
     "metadata.labels[K/queue-name]: Invalid value: \"No_Good\": a lowercase RFC 1123 subdomain"},
    {"prebuilt by label", "{labels: {K/prebuilt-workload-name: w}}", "", Prebuilt::kSupported},
    {"prebuilt by annotation", "{annotations: {K/prebuilt-workload-name: w}}", "",
     Prebuilt::kSupported},
    {"bad prebuilt by label", "{labels: {K/prebuilt-workload-name: No_Good}}",
     "metadata.labels[K/prebuilt-workload-name]: Invalid value: \"No_Good\"", Prebuilt::kSupported},
    {"bad prebuilt by annotation", "{annotations: {K/prebuilt-workload-name: No_Good}}",
     "metadata.annotations[K/prebuilt-workload-name]: Invalid value: \"No_Good\"",
     Prebuilt::kSupported},
    {"the annotation goes before the label",
     "{labels: {K/prebuilt-workload-name: No_Good}, annotations: {K/prebuilt-workload-name: w}}",
     "", Prebuilt::kSupported},
    {"no prebuilt by label", "{labels: {K/prebuilt-workload-name: w}}",
     "metadata.labels[K/prebuilt-workload-name]: Forbidden: Is not supported for \"NAME\"",
     Prebuilt::kUnsupported},
    {"no prebuilt by annotation", "{annotations: {K/prebuilt-workload-name: w}}",
     "metadata.annotations[K/prebuilt-workload-name]: Forbidden: Is not supported for \"NAME\"",
     Prebuilt::kUnsupported},
    {"maximum execution time", "{labels: {K/max-exec-time-seconds: '60'}}", ""},
    {"no time at all", "{labels: {K/max-exec-time-seconds: '0'}}",
     "metadata.labels[K/max-exec-time-seconds]: Invalid value: 0: should be greater than 0"},
    {"a time that is no number", "{labels: {K/max-exec-time-seconds: 10m}}",
     "metadata.labels[K/max-exec-time-seconds]: Invalid value: \"10m\""},
    {"checkpoints", "{annotations: {berth.dev/checkpoint-every: 30m}}", ""},
    {"checkpoints all the time", "{annotations: {berth.dev/checkpoint-every: 0s}}",
     "metadata.annotations[berth.dev/checkpoint-every]: Invalid value: \"0s\": must be a duration "
     "above zero such as 30m"},
    {"a deadline", "{annotations: {berth.dev/deadline: '2026-01-05T14:20:00Z'}}", ""},
    {"a deadline that nobody can read", "{annotations: {berth.dev/deadline: tomorrow}}",
     "metadata.annotations[berth.dev/deadline]: Invalid value: \"tomorrow\": must be a time such "
     "as 2026-01-05T14:20:00Z"},
    {"gates", "{annotations: {K/admission-gated-by: 'a.b/c, a.b/d'}}", ""},
    {"an empty gate", "{annotations: {K/admission-gated-by: 'a.b/c,'}}",
     "metadata.annotations[K/admission-gated-by]: Invalid value: \"a.b/c,\": cannot contain empty "
     "gate names"},
    {"a gate twice", "{annotations: {K/admission-gated-by: 'a.b/c,a.b/c'}}",
     "duplicate gate name: a.b/c"},
};

TEST_P(EveryKindTest, IsValidatedWhenItIsCreated) {
  const EveryKind& kind = GetParam();
  for (const Creation& row : kCreations) {
    if (row.prebuilt != Prebuilt::kAny && kind.prebuilt != (row.prebuilt == Prebuilt::kSupported)) {
      continue;
    }
    SCOPED_TRACE(row.name);
    Json object = object_;
    object["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "lq";
    object["metadata"].merge_patch(Yaml(row.metadata));
    const std::string error = ErrorOf(Defaulted(object, {}), nullptr, {});
    std::string wanted = Expanded(row.error);
    if (const auto at = wanted.find("NAME"); at != std::string::npos) {
      wanted.replace(at, 4, NameOf(object));
    }
    if (wanted.empty()) {
      EXPECT_EQ(error, "");
    } else {
      EXPECT_THAT(error, HasSubstr(wanted));
    }
  }
}

TEST_P(EveryKindTest, AllowsElasticJobsOnlyIfTheKindSupportsThem) {
  const Json object = With("{labels: {K/queue-name: lq}, annotations: {K/elastic-job: 'true'}}");
  const std::string error = ErrorOf(Defaulted(object, {}), nullptr, {});
  if (GetParam().elastic) {
    EXPECT_EQ(error, "");
  } else {
    EXPECT_THAT(error, HasSubstr(Expanded("metadata.annotations[K/elastic-job]: Forbidden: elastic "
                                          "job is not supported for \"") +
                                 NameOf(object) + "\""));
  }
}

struct Change {
  std::string name;
  std::string state;
  std::string facts;          // words of FactsOf
  std::string before, after;  // metadata beside the label of the queue
  std::string error;          // a part; empty: allowed
  bool prebuilt = false;      // only kinds that take prebuilt Workloads alone
};

const Change kChanges[] = {
    {"another queue", "held", "", "{}", "{labels: {K/queue-name: other}}", ""},
    {"another queue while it runs", "running", "", "{}", "{labels: {K/queue-name: other}}",
     "metadata.labels[K/queue-name]: Invalid value: \"other\": field is immutable"},
    {"no queue where there is a default one", "held", "default-queue", "{}",
     "{labels: {K/queue-name: null}}",
     "queue-name must not be empty in namespace with default queue"},
    {"another prebuilt Workload", "held", "", "{annotations: {K/prebuilt-workload-name: v}}",
     "{annotations: {K/prebuilt-workload-name: w}}", "", true},
    {"another prebuilt Workload while it runs", "running", "",
     "{annotations: {K/prebuilt-workload-name: v}}", "{annotations: {K/prebuilt-workload-name: w}}",
     "metadata.annotations[K/prebuilt-workload-name]: Invalid value: \"w\": field is immutable",
     true},
    {"the same prebuilt Workload by annotation instead of label", "running", "",
     "{labels: {K/prebuilt-workload-name: w}}", "{annotations: {K/prebuilt-workload-name: w}}", "",
     true},
    {"a maximum time while it runs", "running", "", "{}",
     "{labels: {K/max-exec-time-seconds: '60'}}",
     "metadata.labels[K/max-exec-time-seconds]: Invalid value: \"60\": field is immutable"},
    {"a class", "held", "", "{}", "{labels: {K/priority-class: high}}", ""},
    {"a class while it runs", "running", "", "{}", "{labels: {K/priority-class: high}}",
     "WorkloadPriorityClass cannot be added to a non-suspended workload"},
    {"another class while it runs", "running", "", "{labels: {K/priority-class: low}}",
     "{labels: {K/priority-class: high}}", ""},
    {"no class any more", "held", "", "{labels: {K/priority-class: low}}",
     "{labels: {K/priority-class: null}}",
     "WorkloadPriorityClass cannot be removed from a workload"},
    {"a gate of admission", "held", "", "{}", "{annotations: {K/admission-gated-by: a.b/c}}",
     "metadata.annotations[K/admission-gated-by]: Forbidden: cannot add admission gate after "
     "creation"},
    {"one gate more", "held", "", "{annotations: {K/admission-gated-by: a.b/c}}",
     "{annotations: {K/admission-gated-by: 'a.b/c,a.b/d'}}",
     "can only remove gates, not add new ones"},
    {"gates in another order, and fewer", "held", "",
     "{annotations: {K/admission-gated-by: 'a.b/c,a.b/d,a.b/e'}}",
     "{annotations: {K/admission-gated-by: 'a.b/e,a.b/c'}}", ""},
    {"elastic from now on", "held", "", "{}", "{annotations: {K/elastic-job: 'true'}}",
     "metadata.annotations[K/elastic-job]: Invalid value: \"true\": field is immutable"},
    {"a label of the user's own", "running", "", "{}", "{labels: {example.com/team: a}}", ""},
};

TEST_P(EveryKindTest, IsValidatedWhenItChanges) {
  const EveryKind& kind = GetParam();
  for (const Change& row : kChanges) {
    if (row.prebuilt && !kind.prebuilt) continue;
    if (row.state == "running" && kind.running.empty()) continue;
    SCOPED_TRACE(row.name);
    Json old = object_;
    old["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "lq";
    old["metadata"].merge_patch(Yaml(row.before));
    old = Defaulted(old, FactsOf(row.facts));
    if (row.state == "running") old.merge_patch(Yaml(kind.running));
    Json object = old;
    object["metadata"].merge_patch(Yaml(row.after));
    const std::string error = ErrorOf(object, old, FactsOf(row.facts));
    if (row.error.empty()) {
      EXPECT_EQ(error, "");
    } else {
      EXPECT_THAT(error, HasSubstr(Expanded(row.error)));
    }
  }
}

struct Recheck {
  std::string name;
  std::string metadata;  // the object's, before and after a change of another label
  std::string error;     // a part; where the rules of new objects hold for updates
  Prebuilt prebuilt = Prebuilt::kAny;
  bool no_slices = false;  // only kinds without slices
};

const Recheck kRechecks[] = {
    {"a bad queue", "{labels: {K/queue-name: No_Good}}",
     "metadata.labels[K/queue-name]: Invalid value: \"No_Good\""},
    {"a bad prebuilt Workload", "{labels: {K/prebuilt-workload-name: No_Good}}",
     "metadata.labels[K/prebuilt-workload-name]: Invalid value: \"No_Good\"", Prebuilt::kSupported},
    {"a prebuilt Workload of a kind without", "{labels: {K/prebuilt-workload-name: w}}",
     "metadata.labels[K/prebuilt-workload-name]: Forbidden", Prebuilt::kUnsupported},
    {"no time at all", "{labels: {K/max-exec-time-seconds: '0'}}", "should be greater than 0"},
    {"a gate twice", "{annotations: {K/admission-gated-by: 'a.b/c,a.b/c'}}",
     "duplicate gate name: a.b/c"},
    {"slices of a kind without", "{annotations: {K/elastic-job: 'true'}}",
     "elastic job is not supported", Prebuilt::kAny, true},
};

TEST_P(EveryKindTest, ValidatesUpdatesByTheRulesOfCreationAsKueueDoes) {
  const EveryKind& kind = GetParam();
  if (kind.recheck == EveryKind::Recheck::kOwn) return;
  for (const Recheck& row : kRechecks) {
    if (row.prebuilt != Prebuilt::kAny && kind.prebuilt != (row.prebuilt == Prebuilt::kSupported)) {
      continue;
    }
    if (row.no_slices && kind.elastic) continue;
    SCOPED_TRACE(row.name);
    Json old = object_;
    old["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "lq";
    old["metadata"].merge_patch(Yaml(row.metadata));
    old = Defaulted(old, {});
    Json object = old;
    object["metadata"]["labels"]["example.com/team"] = "a";
    const std::string error = ErrorOf(object, old, {});
    EXPECT_THAT(ErrorOf(object, nullptr, {}), HasSubstr(Expanded(row.error))) << "of a new object";
    if (kind.recheck == EveryKind::Recheck::kYes) {
      EXPECT_THAT(error, HasSubstr(Expanded(row.error)));
    } else {
      EXPECT_EQ(error, "");
    }
  }
}

TEST_P(EveryKindTest, IsLeftAloneIfItsFrameworkIsNotEnabled) {
  const Json object = With("{labels: {K/queue-name: No_Good}}");
  const JobReviews none{
      .facts = [](const ReviewedKind&,
                  const api::ObjectMeta&) { return JobFacts{.kind_managed = false}; },
      .kinds = {},
      .declared = nullptr};
  for (const char* door : {"/mutate-", "/validate-"}) {
    const Json review = {{"request", {{"uid", "r"}, {"object", object}, {"oldObject", nullptr}}}};
    const Result<Json> answer = Review(door + path_, review, none);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ((*answer)["response"]["allowed"], true);
    EXPECT_FALSE((*answer)["response"].contains("patch"));
  }
}

std::string KindName(const ::testing::TestParamInfo<EveryKind>& info) {
  return info.param.framework.substr(info.param.framework.find('/') + 1);
}
INSTANTIATE_TEST_SUITE_P(Kinds, EveryKindTest, ::testing::ValuesIn(Kinds()), KindName);

TEST(EveryKindTableTest, HasEveryKind) {
  std::set<std::string> tested;
  for (const EveryKind& kind : Kinds()) tested.insert(kind.framework);
  const std::vector<std::string> all = AllFrameworks();
  EXPECT_EQ(tested, std::set<std::string>(all.begin(), all.end()));
}

}  // namespace
}  // namespace berth::webhook
