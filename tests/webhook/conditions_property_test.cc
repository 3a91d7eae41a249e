// Goal: the matchConditions of the manifests leave out no write that a rule of the webhook refuses,
// changes or warns of.
//
// Method: random objects, and changes of objects that the rules accept; the conditions are
// evaluated as by the embedded API, and a write that they leave out is reviewed all the same.
// tests/cluster/test_conditions.py shows the same conditions to kube-apiserver, row by row.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "local/apiserver/webhooks/match_conditions.h"
#include "program/job_kinds.h"
#include "tests/support/project_manifests.h"
#include "tests/support/property.h"
#include "webhook/review.h"

namespace berth {
namespace {

using Json = nlohmann::json;
using support::Below;
using support::CheckProperty;

constexpr int kCases = 4000;
constexpr char kKueue[] = "kueue.x-k8s.io/";

// A field of a kind, and the values that a write may give it.
struct FieldChoice {
  std::vector<std::string> path;
  std::vector<Json> values;
};
struct Form {
  std::string hooks;  // the name of its webhooks without the first letter: "job.kb.io"
  Json base;
  std::vector<FieldChoice> fields;
  bool reviews_unqueued = false;  // its defaults may reach objects without a queue's name
};

std::vector<FieldChoice> LabelsAndAnnotations(const std::vector<std::string>& metadata) {
  const auto at = [&metadata](const char* map, const std::string& key) {
    std::vector<std::string> path = metadata;
    path.emplace_back(map);
    path.push_back(key);
    return path;
  };
  const std::string kueue = kKueue;
  return {{at("labels", kueue + "queue-name"), {"q", "q", "r", "", "No_Queue"}},
          {at("labels", kueue + "prebuilt-workload-name"), {"w", "v", "No_Name"}},
          {at("labels", kueue + "max-exec-time-seconds"), {"9", "10", "0"}},
          {at("labels", kueue + "priority-class"), {"p", "o"}},
          {at("labels", "example.com/other"), {"a", "b"}},
          {at("annotations", kueue + "elastic-job"), {"true", "true", "false"}},
          {at("annotations", kueue + "admission-gated-by"), {"a.b/c", "a.b/c,a.b/d", "a.b/c,"}},
          {at("annotations", kueue + "prebuilt-workload-name"), {"w", "v"}},
          {at("annotations", "example.com/other"), {"a", "b"}}};
}

void Add(std::vector<FieldChoice>& fields, std::vector<FieldChoice> more) {
  for (FieldChoice& field : more) fields.push_back(std::move(field));
}

const Json kPodTemplate = {
    {"spec",
     {{"containers",
       {{{"name", "c"}, {"image", "none"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}}}}}};

Form JobForm() {
  Form form{.hooks = "job.kb.io",
            .base = {{"apiVersion", "batch/v1"},
                     {"kind", "Job"},
                     {"metadata", {{"name", "j"}, {"namespace", "n"}, {"uid", "u"}}},
                     {"spec", {{"template", kPodTemplate}}}},
            .fields = LabelsAndAnnotations({"metadata"}),
            .reviews_unqueued = true};
  const std::string kueue = kKueue;
  const std::vector<std::string> pods = {"spec", "template", "metadata", "annotations"};
  const auto of_pods = [&pods](const std::string& key) {
    std::vector<std::string> path = pods;
    path.push_back(key);
    return path;
  };
  Add(form.fields,
      {{{"metadata", "annotations", kueue + "job-min-parallelism"}, {"1", "2", "9"}},
       {{"metadata", "annotations", kueue + "job-completions-equal-parallelism"},
        {"true", "false", "no"}},
       {{"spec", "suspend"}, {true, true, false}},
       {{"spec", "parallelism"}, {3, 4}},
       {{"spec", "completions"}, {3, 4}},
       {{"spec", "completionMode"}, {"Indexed", "NonIndexed"}},
       {{"spec", "managedBy"}, {"kueue.x-k8s.io/multikueue", "example.com/other"}},
       {of_pods(kueue + "podset-required-topology"), {"l", "l", "b c"}},
       {of_pods(kueue + "podset-slice-size"), {"2", "4"}},
       {of_pods(kueue + "podset-slice-required-topology"), {"l"}},
       {of_pods("example.com/other"), {"a", "b"}},
       {{"spec", "template", "spec", "schedulingGates"}, {{{{"name", kueue + "elastic-job"}}}}},
       {{"spec", "template", "spec", "nodeSelector"}, {{{"a", "b"}}}},
       {{"status", "active"}, {1}}});
  return form;
}

Json TrueConditions(const std::vector<std::string>& types) {
  Json conditions = Json::array();
  for (const std::string& type : types) {
    conditions.push_back({{"type", type},
                          {"status", "True"},
                          {"reason", "R"},
                          {"message", ""},
                          {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
  }
  return conditions;
}

Json AdmissionOf(const char* pod_set, const char* cpu, int count) {
  return {{"clusterQueue", "cq"},
          {"podSetAssignments",
           {{{"name", pod_set},
             {"count", count},
             {"flavors", {{"cpu", "f"}}},
             {"resourceUsage", {{"cpu", cpu}}}}}}};
}

Json CheckOf(const char* state, const Json& updates) {
  Json check = {{"name", "c"},
                {"state", state},
                {"message", ""},
                {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
  if (!updates.is_null()) check["podSetUpdates"] = updates;
  return Json::array({check});
}

Form WorkloadForm() {
  const auto pod_sets = [](const char* name, int count) {
    return Json::array({{{"name", name}, {"count", count}, {"template", kPodTemplate}}});
  };
  Form form{.hooks = "workload.kb.io",
            .base = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                     {"kind", "Workload"},
                     {"metadata", {{"name", "w"}, {"namespace", "n"}, {"uid", "u"}}},
                     {"spec", {{"podSets", pod_sets("main", 4)}}}}};
  const std::string kueue = kKueue;
  const Json update = {{{"name", "main"}, {"labels", {{"a", "b"}}}}};
  form.fields = {
      {{"metadata", "labels", "example.com/other"}, {"a", "b"}},
      {{"metadata", "annotations", "example.com/other"}, {"a", "b"}},
      {{"metadata", "annotations", kueue + "admission-gated-by"}, {"a.b/c", "a.b/c,a.b/d"}},
      {{"metadata", "annotations", kueue + "priority-boost"}, {"1", "no"}},
      {{"metadata", "annotations", kueue + "elastic-job"}, {"true"}},
      {{"spec", "podSets"}, {pod_sets("main", 4), pod_sets("main", 3), pod_sets("other", 4)}},
      {{"spec", "active"}, {true, false}},
      {{"spec", "queueName"}, {"q", "r"}},
      {{"spec", "maximumExecutionTimeSeconds"}, {9, 10}},
      {{"spec", "priorityClassRef"},
       {{{"group", "kueue.x-k8s.io"}, {"kind", "WorkloadPriorityClass"}, {"name", "p"}},
        {{"group", "kueue.x-k8s.io"}, {"kind", "WorkloadPriorityClass"}, {"name", "o"}}}},
      {{"status", "conditions"},
       {TrueConditions({"QuotaReserved"}), TrueConditions({"QuotaReserved", "Admitted"}),
        TrueConditions({"Evicted"}), TrueConditions({"QuotaReserved", "PodsReady"})}},
      {{"status", "admission"},
       {AdmissionOf("main", "4", 4), AdmissionOf("main", "4", 4), AdmissionOf("main", "8", 4),
        AdmissionOf("main", "4001m", 4), AdmissionOf("other", "4", 4)}},
      {{"status", "reclaimablePods"},
       {{{{"name", "main"}, {"count", 1}}},
        {{{"name", "main"}, {"count", 2}}},
        {{{"name", "main"}, {"count", 5}}},
        {{{"name", "other"}, {"count", 1}}}}},
      {{"status", "admissionChecks"},
       {CheckOf("Pending", nullptr), CheckOf("Ready", nullptr), CheckOf("Ready", update),
        CheckOf("Pending", update), CheckOf("Ready", {{{"name", "other"}}}),
        CheckOf("Ready", {{{"name", "main"}, {"labels", {{"a", "b c"}}}}})}},
      {{"status", "requeueState"}, {{{"count", 1}}}}};
  return form;
}

Form PodForm() {
  const std::string kueue = kKueue;
  Form form{.hooks = "pod.kb.io",
            .base = {{"apiVersion", "v1"},
                     {"kind", "Pod"},
                     {"metadata", {{"name", "p"}, {"namespace", "n"}, {"uid", "u"}}},
                     {"spec", kPodTemplate["spec"]}},
            .fields = LabelsAndAnnotations({"metadata"})};
  Add(form.fields, {{{"metadata", "labels", kueue + "managed"}, {"true", "false"}},
                    {{"metadata", "labels", kueue + "pod-group-name"}, {"g", "h"}},
                    {{"metadata", "annotations", kueue + "pod-group-total-count"}, {"2", "0"}},
                    {{"metadata", "annotations", kueue + "retriable-in-group"}, {"false"}},
                    {{"metadata", "annotations", kueue + "pod-suspending-parent"}, {"statefulset"}},
                    {{"metadata", "annotations", kueue + "podset-required-topology"}, {"l", "b c"}},
                    {{"spec", "schedulingGates"}, {{{{"name", kueue + "admission"}}}}},
                    {{"spec", "nodeSelector"}, {{{"a", "b"}}}},
                    {{"status", "phase"}, {"Running", "Succeeded"}}});
  return form;
}

Form ServingForm(const char* kind, const char* hooks) {
  Form form{.hooks = hooks,
            .base = {{"apiVersion", "apps/v1"},
                     {"kind", kind},
                     {"metadata", {{"name", "s"}, {"namespace", "n"}, {"uid", "u"}}},
                     {"spec", {{"template", kPodTemplate}}}},
            .fields = LabelsAndAnnotations({"metadata"})};
  const std::string kueue = kKueue;
  Add(form.fields,
      {{{"spec", "replicas"}, {0, 1, 2}},
       {{"spec", "template", "metadata", "annotations", kueue + "podset-required-topology"},
        {"l", "b c"}},
       {{"spec", "template", "metadata", "annotations", kueue + "pod-suspending-parent"},
        {"statefulset", "deployment", "other"}},
       {{"spec", "template", "metadata", "labels", kueue + "queue-name"}, {"q", "r"}},
       {{"spec", "template", "spec", "nodeSelector"}, {{{"a", "b"}}}},
       {{"status", "readyReplicas"}, {1}},
       {{"status", "replicas"}, {1}}});
  return form;
}

void Set(const FieldChoice& field, Json& object) {
  Json* at = &object;
  for (const std::string& key : field.path) at = &(*at)[key];
  *at = field.values[static_cast<std::size_t>(*Below(static_cast<int>(field.values.size())))];
}

void Remove(const FieldChoice& field, Json& object) {
  Json* at = &object;
  for (std::size_t i = 0; i + 1 < field.path.size(); ++i) {
    if (!at->contains(field.path[i])) return;
    at = &(*at)[field.path[i]];
  }
  at->erase(field.path.back());
}

void Draw(const FieldChoice& field, int one_in, Json& object) {
  if (*Below(one_in) == 0) return Set(field, object);
  if (field.path.front() != "spec" || field.path.back() != "podSets") Remove(field, object);
}

bool Sometimes() { return *Below(2) == 1; }

std::vector<std::string> Frameworks() { return {"pod", "deployment", "statefulset"}; }

webhook::JobReviews ReviewsOf(const webhook::JobFacts& facts) {
  return {.facts = [facts](const webhook::ReviewedKind&, const api::ObjectMeta&) { return facts; },
          .kinds = program::ReviewedKinds(Frameworks()),
          .declared = nullptr};
}

Json ResponseTo(const std::string& path, const Json& object, const Json& old,
                const webhook::JobFacts& facts, const webhook::ReviewGates& gates) {
  const Json review = {{"request", {{"uid", "r"}, {"object", object}, {"oldObject", old}}}};
  const auto answer = webhook::Review(path, review, ReviewsOf(facts), gates);
  return answer ? (*answer)["response"] : Json{{"allowed", false}, {"status", "no review"}};
}

// The webhooks of the manifests that have conditions, by name.
const std::map<std::string, Json>& Hooks() {
  static const std::map<std::string, Json> hooks = [] {
    std::map<std::string, Json> found;
    const auto add = [&found](const Json& hook) {
      if (hook.contains("matchConditions")) found[hook["name"].get<std::string>()] = hook;
    };
    for (const char* path :
         {"manifests/webhook/webhooks.yaml", "manifests/components/pods/mutating.yaml",
          "manifests/components/pods/validating.yaml", "manifests/components/serving/mutating.yaml",
          "manifests/components/serving/validating.yaml"}) {
      const auto documents = ReadProjectManifests(path);
      EXPECT_TRUE(documents) << path;
      if (!documents) continue;
      for (const Json& document : *documents) {
        if (document.is_array()) {
          for (const Json& change : document) add(change.at("value"));
        } else {
          for (const Json& hook : document.value("webhooks", Json::array())) add(hook);
        }
      }
    }
    return found;
  }();
  return hooks;
}

local::ConditionVerdict VerdictOf(const Json& hook, const Json& object, const Json& old) {
  const Json request = {{"operation", old.is_null() ? "CREATE" : "UPDATE"},
                        {"userInfo", {{"username", "ann"}}}};
  return local::EvaluateConditions(hook, {.object = &object,
                                          .old_object = old.is_null() ? nullptr : &old,
                                          .request = [&request] { return &request; }});
}

webhook::JobFacts DrawFacts(const Form& form) {
  webhook::JobFacts facts;
  facts.namespace_managed = *Below(8) != 0;
  facts.ancestor_managed = *Below(8) == 0;
  if (!form.reviews_unqueued) return facts;
  facts.default_local_queue = Sometimes();
  facts.default_priority_class = Sometimes();
  facts.manage_without_queue_name = Sometimes();
  return facts;
}

// A write, and what the webhooks know beside it.
struct Write {
  Json object;
  Json old;  // null: a creation
  webhook::JobFacts facts;
  webhook::ReviewGates gates;

  const char* operation() const { return old.is_null() ? "CREATE" : "UPDATE"; }
  Json Response(const Json& hook) const {
    return ResponseTo(PathOf(hook), object, old, facts, gates);
  }
  // Whether `old` may be in the store.
  bool WasAccepted(const Form& form) const {
    const auto hook = Hooks().find("v" + form.hooks);
    return old.is_null() || hook == Hooks().end() ||
           ResponseTo(PathOf(hook->second), old, nullptr, facts, gates)["allowed"];
  }
  static std::string PathOf(const Json& hook) { return hook["clientConfig"]["service"]["path"]; }
};

// Whether the webhook is asked, and refuses.
bool Refuses(const std::string& name, const Write& write) {
  const auto hook = Hooks().find(name);
  return hook != Hooks().end() &&
         VerdictOf(hook->second, write.object, write.old).kind ==
             local::ConditionVerdict::Kind::kCall &&
         !write.Response(hook->second)["allowed"].get<bool>();
}

void CheckHook(const std::string& name, const Form& form, const Write& write) {
  const auto found = Hooks().find(name);
  if (found == Hooks().end()) return;
  const Json& hook = found->second;
  const Json& operations = hook["rules"][0]["operations"];
  if (std::find(operations.begin(), operations.end(), write.operation()) == operations.end()) {
    return;
  }
  if (!write.WasAccepted(form)) return;
  const local::ConditionVerdict verdict = VerdictOf(hook, write.object, write.old);
  RC_TAG(name, std::string(write.operation()), static_cast<int>(verdict.kind));
  RC_LOG() << name << " " << verdict.error << "\n" << write.object << "\n" << write.old << "\n";
  RC_ASSERT(verdict.kind != local::ConditionVerdict::Kind::kRefuse);
  if (verdict.kind == local::ConditionVerdict::Kind::kCall) return;
  const Json response = write.Response(hook);
  RC_LOG() << response << "\n";
  RC_ASSERT(response["allowed"].get<bool>());
  RC_ASSERT(!response.contains("warnings"));
  // What a validating webhook refuses needs no defaults.
  RC_ASSERT(!response.contains("patch") || Refuses("v" + form.hooks, write));
}

// The object as its creation stores it.
Json Defaulted(const Form& form, const Write& creation) {
  const auto hook = Hooks().find("m" + form.hooks);
  if (hook == Hooks().end()) return creation.object;
  const Json response = creation.Response(hook->second);
  if (!response.contains("patch")) return creation.object;
  return creation.object.patch(Json::parse(*Base64Decode(response["patch"].get<std::string>())));
}

// One write of `form`: a creation, or an update of an object that the rules accept.
void CheckWrite(const Form& form) {
  Write write{.object = form.base,
              .old = nullptr,
              .facts = DrawFacts(form),
              .gates = {.priority_boost = true, .elastic_jobs = *Below(8) != 0}};
  for (const FieldChoice& field : form.fields) Draw(field, 3, write.object);
  if (Sometimes()) {
    write.object = Defaulted(form, write);
    write.old = write.object;
    for (const FieldChoice& field : form.fields) {
      if (*Below(6) == 0) Draw(field, 2, write.object);
    }
  }
  for (const char* verb : {"m", "v"}) CheckHook(verb + form.hooks, form, write);
}

TEST(ConditionsProperty, MatchConditionsSelectEveryReviewedJob) {
  const Form form = JobForm();
  ASSERT_EQ(Hooks().count("mjob.kb.io") + Hooks().count("vjob.kb.io"), 2U);
  CheckProperty(kCases, [&form] { CheckWrite(form); });
}

TEST(ConditionsProperty, MatchConditionsSelectEveryReviewedWorkload) {
  const Form form = WorkloadForm();
  ASSERT_EQ(Hooks().count("vworkload.kb.io"), 1U);
  CheckProperty(kCases, [&form] { CheckWrite(form); });
}

TEST(ConditionsProperty, MatchConditionsSelectEveryReviewedPod) {
  const Form form = PodForm();
  ASSERT_EQ(Hooks().count("mpod.kb.io") + Hooks().count("vpod.kb.io"), 2U);
  CheckProperty(kCases, [&form] { CheckWrite(form); });
}

TEST(ConditionsProperty, MatchConditionsSelectEveryReviewedDeploymentAndStatefulSet) {
  const std::vector<Form> forms = {ServingForm("Deployment", "deployment.kb.io"),
                                   ServingForm("StatefulSet", "statefulset.kb.io")};
  ASSERT_EQ(Hooks().count("mdeployment.kb.io") + Hooks().count("vstatefulset.kb.io"), 2U);
  CheckProperty(kCases, [&forms] {
    for (const Form& form : forms) CheckWrite(form);
  });
}

}  // namespace
}  // namespace berth
