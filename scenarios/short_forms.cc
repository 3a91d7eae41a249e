#include "scenarios/short_forms.h"

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/strings.h"
#include "checks/check_kinds.h"
#include "scenarios/job_form.h"
#include "scenarios/topology_words.h"

namespace berth::scenarios {
namespace {

using Objects = Result<std::vector<Json>>;

constexpr char kKueue[] = "kueue.x-k8s.io/v1beta2";

Json NewObject(const std::string& api_version, const std::string& kind, const std::string& name) {
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}}}};
}

Result<std::pair<std::string, std::string>> Pair(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return Bad("\"" + text + "\": write key=value");
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<Json> Pairs(const std::vector<std::string>& texts) {
  Json object = Json::object();
  for (const std::string& text : texts) {
    BERTH_TRY(const auto pair, Pair(text));
    object[pair.first] = pair.second;
  }
  return object;
}

Status SetPairs(const Step& step, std::string_view option, Json& into, const char* field) {
  const auto texts = step.GetAll(option);
  if (texts.empty()) return OkStatus();
  BERTH_TRY(into[field], Pairs(texts));
  return OkStatus();
}

// taint=key=value:Effect
Result<Json> Taints(const Step& step) {
  Json taints = Json::array();
  for (const std::string& text : step.GetAll("taint")) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) return Bad("taint: write key=value:Effect");
    const std::string head = text.substr(0, colon);
    const std::size_t equals = head.find('=');
    Json taint{{"key", head.substr(0, equals)}, {"effect", text.substr(colon + 1)}};
    if (equals != std::string::npos) taint["value"] = head.substr(equals + 1);
    taints.push_back(std::move(taint));
  }
  return taints;
}

Objects MakeNamespace(const Step& step) {
  Json object = NewObject("v1", "Namespace", step.plain(1));
  BERTH_CHECK_OK(SetPairs(step, "label", object["metadata"], "labels"));
  return std::vector<Json>{object};
}

Objects MakeFlavor(const Step& step) {
  Json object = NewObject(kKueue, "ResourceFlavor", step.plain(1));
  Json spec = Json::object();
  BERTH_CHECK_OK(SetPairs(step, "label", spec, "nodeLabels"));
  BERTH_CHECK_OK(SetPairs(step, "annotate", object["metadata"], "annotations"));
  BERTH_TRY(Json taints, Taints(step));
  if (!taints.empty()) spec["nodeTaints"] = std::move(taints);
  for (const std::string& text : step.GetAll("tolerate")) {
    spec["tolerations"].push_back(TolerationOf(text));
  }
  if (const auto name = step.Find("topology")) spec["topologyName"] = *name;
  if (!spec.empty()) object["spec"] = std::move(spec);
  return std::vector<Json>{object};
}

// "10+5-3": nominal, borrowing limit, lending limit.
Json QuotaOf(const std::string& resource, const std::string& text) {
  Json quota{{"name", resource}};
  const std::size_t end = text.find_first_of("+-");
  quota["nominalQuota"] = text.substr(0, end);
  std::size_t at = end;
  while (at != std::string::npos) {
    const std::size_t next = text.find_first_of("+-", at + 1);
    quota[text[at] == '+' ? "borrowingLimit" : "lendingLimit"] =
        text.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    at = next;
  }
  return quota;
}

// Words flavor/resource=quota; a lone "|" begins another resource group.
Result<Json> ResourceGroups(const Step& step) {
  Json groups = Json::array();
  bool begin = true;
  for (const Word& word : step.words) {
    if (word.text == "|") begin = true;
    if (!word.option) continue;
    const std::size_t slash = word.option->first.find('/');
    if (slash == std::string::npos) continue;
    const std::string flavor = word.option->first.substr(0, slash);
    const std::string resource = word.option->first.substr(slash + 1);
    if (begin) groups.push_back({{"coveredResources", Json::array()}, {"flavors", Json::array()}});
    begin = false;
    Json& group = groups.back();
    Json& covered = group["coveredResources"];
    if (std::find(covered.begin(), covered.end(), resource) == covered.end()) {
      covered.push_back(resource);
    }
    Json& flavors = group["flavors"];
    if (flavors.empty() || flavors.back()["name"] != flavor) {
      flavors.push_back({{"name", flavor}, {"resources", Json::array()}});
    }
    flavors.back()["resources"].push_back(QuotaOf(resource, word.option->second));
  }
  return groups;
}

void Copy(const Step& step, std::string_view option, Json& into, const char* field) {
  if (const auto value = step.Find(option)) into[field] = ValueOf(*value);
}

Json CheckRules(const std::string& text) {
  Json rules = Json::array();
  for (const std::string_view part : Split(text, ',')) {
    const std::string rule(part);
    const std::size_t at = rule.find('@');
    Json one{{"name", rule.substr(0, at)}};
    if (at != std::string::npos) {
      for (const std::string_view flavor : Split(std::string_view(rule).substr(at + 1), '+')) {
        one["onFlavors"].push_back(std::string(flavor));
      }
    }
    rules.push_back(std::move(one));
  }
  return rules;
}

Objects MakeClusterQueue(const Step& step) {
  Json object = NewObject(kKueue, "ClusterQueue", step.plain(1));
  Json spec{{"namespaceSelector", Json::object()}};
  BERTH_TRY(spec["resourceGroups"], ResourceGroups(step));
  if (const auto selector = step.Find("namespaces")) {
    BERTH_TRY(const Json labels, Pairs({*selector}));
    spec["namespaceSelector"] = {{"matchLabels", labels}};
  }
  Copy(step, "cohort", spec, "cohortName");
  Copy(step, "strategy", spec, "queueingStrategy");
  Copy(step, "stop", spec, "stopPolicy");
  if (const auto checks = step.Find("checks")) {
    spec["admissionChecksStrategy"] = {{"admissionChecks", CheckRules(*checks)}};
  }
  Json preemption = Json::object();
  Copy(step, "within", preemption, "withinClusterQueue");
  Copy(step, "reclaim", preemption, "reclaimWithinCohort");
  if (const auto borrow = step.Find("borrow-within")) {
    preemption["borrowWithinCohort"] = {{"policy", *borrow}};
    Copy(step, "borrow-threshold", preemption["borrowWithinCohort"], "maxPriorityThreshold");
  }
  if (!preemption.empty()) spec["preemption"] = std::move(preemption);
  Json fungibility = Json::object();
  Copy(step, "when-can-borrow", fungibility, "whenCanBorrow");
  Copy(step, "when-can-preempt", fungibility, "whenCanPreempt");
  if (!fungibility.empty()) spec["flavorFungibility"] = std::move(fungibility);
  if (const auto weight = step.Find("weight")) spec["fairSharing"] = {{"weight", *weight}};
  object["spec"] = std::move(spec);
  return std::vector<Json>{object};
}

Objects MakeCohort(const Step& step) {
  Json object = NewObject(kKueue, "Cohort", step.plain(1));
  Json spec = Json::object();
  Copy(step, "parent", spec, "parentName");
  BERTH_TRY(Json groups, ResourceGroups(step));
  if (!groups.empty()) spec["resourceGroups"] = std::move(groups);
  if (const auto weight = step.Find("weight")) spec["fairSharing"] = {{"weight", *weight}};
  object["spec"] = std::move(spec);
  return std::vector<Json>{object};
}

// local-queue [NAMESPACE/]NAME -> CLUSTERQUEUE
Objects MakeLocalQueue(const Step& step) {
  if (step.plain(2) != "->") return Bad("local-queue: write NAME -> CLUSTERQUEUE");
  const ObjectName named = ObjectNameOf(step.plain(1));
  Json object = NewObject(kKueue, "LocalQueue", named.name);
  object["metadata"]["namespace"] = named.namespace_name;
  object["spec"] = {{"clusterQueue", step.plain(3)}};
  Copy(step, "stop", object["spec"], "stopPolicy");
  return std::vector<Json>{object};
}

Objects MakePriorityClass(const Step& step) {
  Json object = NewObject(kKueue, "WorkloadPriorityClass", step.plain(1));
  object["value"] = ValueOf(step.plain(2));
  return std::vector<Json>{object};
}

// An AdmissionCheck that the story itself answers.
Objects MakeCheck(const Step& step) {
  Json object = NewObject(kKueue, "AdmissionCheck", step.plain(1));
  object["spec"] = {{"controllerName", step.Get("controller", "example.com/story")}};
  return std::vector<Json>{object};
}

Objects MakeCapacityCheck(const Step& step) {
  const std::string name = step.plain(1);
  const std::string config = step.Get("config", name + "-config");
  const checks::CheckKind& row = checks::CheckKindWith(checks::Capacity::kRequested);
  const checks::ParametersKind& parameters = row.parameters_kinds.front();
  Json check = NewObject(kKueue, "AdmissionCheck", name);
  check["spec"] = {{"controllerName", row.controller_name},
                   {"parameters",
                    {{"apiGroup", parameters.group}, {"kind", parameters.kind}, {"name", config}}}};
  Json object = NewObject(kKueue, parameters.kind, config);
  Json spec{{"provisioningClassName", step.Get("class", "queued-provisioning.gke.io")}};
  for (const std::string& resource : step.GetAll("managed")) {
    spec["managedResources"].push_back(resource);
  }
  Json retry = Json::object();
  Copy(step, "retries", retry, "backoffLimitCount");
  Copy(step, "backoff", retry, "backoffBaseSeconds");
  Copy(step, "max-backoff", retry, "backoffMaxSeconds");
  if (!retry.empty()) spec["retryStrategy"] = std::move(retry);
  Copy(step, "merge", spec, "podSetMergePolicy");
  BERTH_CHECK_OK(SetPairs(step, "parameter", spec, "parameters"));
  object["spec"] = std::move(spec);
  return std::vector<Json>{object, check};
}

Objects MakePool(const Step& step) {
  Json object = NewObject("cloud.berth.dev/v1alpha1", "NodePool", step.plain(1));
  Json spec{{"machineType", step.Get("machine", "n1-standard-2")}};
  if (const auto gpu = step.Find("gpu")) {
    const std::size_t times = gpu->rfind('*');
    spec["accelerator"] = {
        {"type", gpu->substr(0, times)},
        {"count", times == std::string::npos ? Json(1) : ValueOf(gpu->substr(times + 1))}};
  }
  if (const auto replicas = step.Find("share")) {
    spec["accelerator"]["sharing"] = {{"strategy", "timeSlicing"},
                                      {"replicas", ValueOf(*replicas)}};
  }
  for (const std::string& zone : step.GetAll("zone")) spec["zones"].push_back(zone);
  Copy(step, "min", spec, "minNodes");
  Copy(step, "max", spec, "maxNodes");
  Copy(step, "boot", spec, "bootSeconds");
  Copy(step, "stock", spec, "stock");
  Copy(step, "idle", spec, "idleSeconds");
  Copy(step, "provider", spec, "provider");
  if (const auto age = step.Find("evict-after")) spec["eviction"]["afterSeconds"] = ValueOf(*age);
  if (const auto rate = step.Find("evictions")) spec["eviction"]["per100Hours"] = ValueOf(*rate);
  for (const std::string& word : step.plains()) {
    if (word == "queued") spec["queuedProvisioning"] = true;
    if (word == "spot") spec["spot"] = true;
    if (word == "one-share") spec["accelerator"]["sharing"]["failRequestsGreaterThanOne"] = true;
  }
  object["spec"] = std::move(spec);
  if (const auto grant = step.Find("grant")) {
    object["metadata"]["annotations"] = {{"cloud.berth.dev/grant-seconds", *grant}};
  }
  return std::vector<Json>{object};
}

// A machine that is simply there.
Objects MakeNode(const Step& step) {
  Json object = NewObject("v1", "Node", step.plain(1));
  BERTH_CHECK_OK(SetPairs(step, "label", object["metadata"], "labels"));
  object["metadata"]["labels"]["kubernetes.io/hostname"] = step.plain(1);
  BERTH_TRY(Json taints, Taints(step));
  object["spec"] = Json::object();
  if (!taints.empty()) object["spec"]["taints"] = std::move(taints);
  Json capacity{{"pods", step.Get("pods", "110")},
                {"cpu", step.Get("cpu", "64")},
                {"memory", step.Get("memory", "256Gi")}};
  Copy(step, "gpu", capacity, "nvidia.com/gpu");
  for (auto& [resource, amount] : capacity.items()) {
    if (!amount.is_string()) amount = api::FormatJson(amount);
  }
  object["status"] = {{"capacity", capacity},
                      {"allocatable", capacity},
                      {"conditions", Json::array({{{"type", "Ready"},
                                                   {"status", "True"},
                                                   {"reason", "KubeletReady"},
                                                   {"message", "the story says so"}}})}};
  return std::vector<Json>{object};
}

}  // namespace

std::optional<Objects> MakeObjects(const Step& step) {
  static const std::map<std::string, std::function<Objects(const Step&)>, std::less<>> kForms{
      {"namespace", MakeNamespace},
      {"flavor", MakeFlavor},
      {"cluster-queue", MakeClusterQueue},
      {"cohort", MakeCohort},
      {"local-queue", MakeLocalQueue},
      {"priority-class", MakePriorityClass},
      {"check", MakeCheck},
      {"capacity-check", MakeCapacityCheck},
      {"pool", MakePool},
      {"node", MakeNode},
      {"job", MakeJob},
      {"topology", MakeTopology},
      {"pod", MakePod},
  };
  const auto form = kForms.find(step.verb());
  if (form == kForms.end()) return std::nullopt;
  if (step.plain(1).empty()) return Objects(Bad(step.verb() + ": a name is missing"));
  return form->second(step);
}

ObjectName ObjectNameOf(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {"default", text};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

Json ValueOf(const std::string& text) {
  auto value = api::ParseJson(text);
  return value ? *std::move(value) : Json(text);
}

}  // namespace berth::scenarios
