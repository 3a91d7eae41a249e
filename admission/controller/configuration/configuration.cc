#include "admission/controller/configuration/configuration.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "admission/controller/configuration/configuration_parts.h"
#include "admission/controller/configuration/kueue_gates.h"
#include "api/codec/json_write.h"
#include "api/codec/reader.h"
#include "base/strings.h"
#include "checks/check_kinds.h"

namespace berth::admission {
namespace {

using api::Reader;
using Json = nlohmann::json;

// Fields that are read, some of them in part (their other fields are noted one by one).
constexpr std::array<std::string_view, 21> kReadFields{"admissionFairSharing",
                                                       "apiVersion",
                                                       "berth",
                                                       "clientConnection",
                                                       "controller",
                                                       "fairSharing",
                                                       "featureGates",
                                                       "health",
                                                       "integrations",
                                                       "internalCertManagement",
                                                       "kind",
                                                       "leaderElection",
                                                       "managedJobsNamespaceSelector",
                                                       "manageJobsWithoutQueueName",
                                                       "metrics",
                                                       "namespace",
                                                       "objectRetentionPolicies",
                                                       "resources",
                                                       "visibilityServer",
                                                       "waitForPodsReady",
                                                       "webhook"};

struct OtherField {
  std::string_view name;
  const char* why;
};
constexpr OtherField kOtherFields[] = {
    {"pprofBindAddress", "Berth is no Go program"},
    {"queueVisibility", "gone in Kueue; `berth status` shows what waits"},
    {"tls", "Berth serves TLS 1.2 and later"},
};

// Why the field has no effect; empty: the Configuration of Kueue has no such field.
std::string WhyIgnored(std::string_view field) {
  for (const OtherField& other : kOtherFields) {
    if (other.name == field) return other.why;
  }
  for (const checks::MissingCheck& missing : checks::MissingChecks()) {
    if (missing.configuration_field == field) {
      return std::string("Berth has no ") + missing.feature;
    }
  }
  return "";
}

// The values of integrations.frameworks: those of Kueue, then Dask's.
constexpr std::array<std::string_view, 20> kFrameworks{"batch/job",
                                                       "kubeflow.org/mpijob",
                                                       "ray.io/rayjob",
                                                       "ray.io/raycluster",
                                                       "ray.io/rayservice",
                                                       "jobset.x-k8s.io/jobset",
                                                       "pod",
                                                       "deployment",
                                                       "statefulset",
                                                       "leaderworkerset.x-k8s.io/leaderworkerset",
                                                       "kubeflow.org/paddlejob",
                                                       "kubeflow.org/pytorchjob",
                                                       "kubeflow.org/tfjob",
                                                       "kubeflow.org/xgboostjob",
                                                       "kubeflow.org/jaxjob",
                                                       "workload.codeflare.dev/appwrapper",
                                                       "trainer.kubeflow.org/trainjob",
                                                       "sparkoperator.k8s.io/sparkapplication",
                                                       "kubernetes.dask.org/daskcluster",
                                                       "kubernetes.dask.org/daskjob"};

enum class Version { kV1Beta1, kV1Beta2 };

constexpr api::Words<FairSharingRule, 2> kRuleWords{
    {{"LessThanOrEqualToFinalShare", FairSharingRule::kLessThanOrEqualToFinalShare},
     {"LessThanInitialShare", FairSharingRule::kLessThanInitialShare}}};
constexpr api::Words<queue::RequeuingTimestamp, 2> kTimestampWords{
    {{"Eviction", queue::RequeuingTimestamp::kEviction},
     {"Creation", queue::RequeuingTimestamp::kCreation}}};
constexpr api::Words<queue::ResourceTransformation::Strategy, 2> kTransformationWords{
    {{"Retain", queue::ResourceTransformation::Strategy::kRetain},
     {"Replace", queue::ResourceTransformation::Strategy::kReplace}}};

constexpr api::Words<Decisions, 2> kDecisionWords{
    {{"Berth", Decisions::kBerth}, {"Kueue", Decisions::kKueue}}};

constexpr api::Words<bool, 2> kQuotaCheckWords{
    {{"BlockUndeclared", false}, {"IgnoreUndeclared", true}}};

bool Contains(const auto& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// v1beta1 has a switch where v1beta2 has the presence of a block.
bool ReadSwitch(const Reader& in, Version version, bool& enable) {
  const Reader field = in.Field("enable");
  if (field.present() && version == Version::kV1Beta2) {
    field.Fail("unknown field: in v1beta2 the block itself switches it on");
    return false;
  }
  field.Get(enable);
  return enable;
}

// Fields that v1beta1 has and v1beta2 lacks.
void RefuseGone(const Reader& field, Version version) {
  if (field.present() && version == Version::kV1Beta2) {
    field.Fail("unknown field: it is gone since v1beta2");
  }
}

void ReadRequeuing(const Reader& in, Configuration& out) {
  PodsReadyOptions& options = out.admission.driver.pods_ready;
  CheckFields(in, "waitForPodsReady.requeuingStrategy",
              {"timestamp", "backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds"}, {},
              out);
  in.Field("timestamp").Get(out.admission.driver.scheduler.pods_ready_requeuing, kTimestampWords);
  if (in.Field("backoffLimitCount").present()) {
    ReadCount(in.Field("backoffLimitCount"), options.backoff_limit_count.emplace());
  }
  std::int32_t base = static_cast<std::int32_t>(options.backoff_base.count());
  std::int32_t max = static_cast<std::int32_t>(options.backoff_max.count());
  ReadCount(in.Field("backoffBaseSeconds"), base);
  ReadCount(in.Field("backoffMaxSeconds"), max);
  options.backoff_base = std::chrono::seconds(base);
  options.backoff_max = std::chrono::seconds(max);
}

constexpr std::chrono::minutes kOldTimeout{5};  // default of v1beta1
constexpr std::chrono::seconds kLongRequeueInterval{10};

// Waiting for ever is absence in v1beta1, 0 in v1beta2.
void ReadRecovery(const Reader& in, Version version, PodsReadyOptions& options) {
  options.recovery_timeout = options.timeout;
  ReadDuration(in, *options.recovery_timeout);
  const bool unlimited =
      version == Version::kV1Beta1 ? !in.present() : *options.recovery_timeout == Duration::zero();
  if (unlimited) options.recovery_timeout.reset();
}

void ReadWaitForPodsReady(const Reader& in, Version version, Configuration& out) {
  if (!in.present()) return;
  PodsReadyOptions& options = out.admission.driver.pods_ready;
  CheckFields(in, "waitForPodsReady",
              {"enable", "timeout", "recoveryTimeout", "blockAdmission", "requeuingStrategy"}, {},
              out);
  options.enabled = version == Version::kV1Beta2;
  const bool enabled = ReadSwitch(in, version, options.enabled);
  const Reader timeout = in.Field("timeout");
  if (version == Version::kV1Beta1) options.timeout = kOldTimeout;
  ReadUnlessZero(timeout, options.timeout);
  ReadRecovery(in.Field("recoveryTimeout"), version, options);
  const Reader requeuing = in.Field("requeuingStrategy");
  ReadRequeuing(requeuing, out);
  bool block = enabled && version == Version::kV1Beta1;  // the default of v1beta1
  in.Field("blockAdmission").Get(block);
  out.admission.driver.scheduler.block_admission = enabled && block;
}

void ReadFairSharing(const Reader& in, Version version, Configuration& out) {
  if (!in.present()) return;
  CheckFields(in, "fairSharing", {"enable", "preemptionStrategies"}, {}, out);
  bool enable = version == Version::kV1Beta2;
  if (!ReadSwitch(in, version, enable)) return;
  FairSharing& fair = out.admission.driver.scheduler.fair_sharing.emplace();
  const Reader strategies = in.Field("preemptionStrategies");
  std::vector<FairSharingRule> rules;
  strategies.List(rules,
                  [](const Reader& item, FairSharingRule& rule) { item.Get(rule, kRuleWords); });
  if (rules.empty()) return;
  const bool in_order =
      rules.size() == 1 ||
      (rules.size() == 2 && rules[0] == FairSharingRule::kLessThanOrEqualToFinalShare &&
       rules[1] == FairSharingRule::kLessThanInitialShare);
  if (!in_order) {
    return strategies.Fail(
        "must be LessThanOrEqualToFinalShare, LessThanInitialShare, or both in this order");
  }
  fair.rules = std::move(rules);
}

void ReadAdmissionFairSharing(const Reader& in, Configuration& out) {
  if (!in.present()) return;
  CheckFields(in, "admissionFairSharing",
              {"usageHalfLifeTime", "usageSamplingInterval", "resourceWeights"}, {}, out);
  AdmissionFairSharing& sharing = out.admission.driver.scheduler.admission_fair_sharing.emplace();
  ReadDuration(in.Field("usageHalfLifeTime"), sharing.half_life);
  const Reader interval = in.Field("usageSamplingInterval");
  ReadUnlessZero(interval, sharing.sampling_interval);
  const Reader weights = in.Field("resourceWeights");
  if (!weights.present()) return;
  if (!weights.json().is_object()) return weights.Fail("expected a map of resource to weight");
  for (const auto& [resource, weight] : weights.json().items()) {
    const Reader item = weights.Field(resource.c_str());
    if (!weight.is_number()) return item.Fail("expected a number");
    sharing.resource_weights[resource] = weight.get<double>();
    if (sharing.resource_weights[resource] < 0) return item.Fail("must not be negative");
  }
}

void ReadTransformation(const Reader& in, queue::ResourceTransformation& out,
                        Configuration& config) {
  CheckFields(in, "resources.transformations", {"input", "strategy", "multiplyBy", "outputs"}, {},
              config);
  in.Field("input").Get(out.input);
  if (out.input.empty()) in.Field("input").Fail("must be specified");
  in.Field("strategy").Get(out.strategy, kTransformationWords);
  in.Field("multiplyBy").Get(out.multiply_by);
  const Reader outputs = in.Field("outputs");
  if (!outputs.present()) return;
  if (!outputs.json().is_object()) return outputs.Fail("expected a map of resource to quantity");
  for (const auto& [resource, quantity] : outputs.json().items()) {
    outputs.Field(resource.c_str()).Get(out.outputs[resource]);
  }
}

void ReadResources(const Reader& in, Configuration& out) {
  SchedulerConfig& scheduler = out.admission.driver.scheduler;
  CheckFields(
      in, "resources",
      {"excludeResourcePrefixes", "transformations", "quotaCheckStrategy", "deviceClassMappings"},
      {}, out);
  in.Field("excludeResourcePrefixes").Get(scheduler.excluded_resource_prefixes);
  const Reader transformations = in.Field("transformations");
  transformations.Each([&](const Reader& item) {
    queue::ResourceTransformation next;
    ReadTransformation(item, next, out);
    for (const auto& known : scheduler.transformations) {
      if (known.input == next.input) item.Field("input").Fail("\"" + next.input + "\" comes twice");
    }
    scheduler.transformations.push_back(std::move(next));
  });
  const Reader strategy = in.Field("quotaCheckStrategy");
  strategy.Get(scheduler.ignore_undeclared_resources, kQuotaCheckWords);
  ReadDeviceClasses(in.Field("deviceClassMappings"), out);
}

void ReadRetention(const Reader& in, Configuration& out) {
  CheckFields(in, "objectRetentionPolicies", {"workloads"}, {}, out);
  const Reader workloads = in.Field("workloads");
  CheckFields(workloads, "objectRetentionPolicies.workloads",
              {"afterFinished", "afterDeactivatedByKueue"}, {}, out);
  ReadDuration(workloads.Field("afterFinished"), out.admission.driver.keep_finished);
  ReadDuration(workloads.Field("afterDeactivatedByKueue"), out.keep_deactivated);
}

void ReadMetrics(const Reader& in, Configuration& out) {
  CheckFields(in, "metrics",
              {"bindAddress", "customLabels", "enableClusterQueueResources", "localQueueMetrics"},
              {}, out);
  in.Field("bindAddress").Get(out.program.endpoints.metrics_address);
  const Reader labels = in.Field("customLabels");
  ReadCustomLabels(labels, out);
  MetricsOptions& metrics = out.admission.metrics;
  in.Field("enableClusterQueueResources").Get(metrics.cluster_queue_resources);
  const Reader local = in.Field("localQueueMetrics");
  metrics.local_queues = !local.present();  // without the block, LocalQueues have metrics
  CheckFields(local, "metrics.localQueueMetrics", {"enable", "selector", "localQueueSelector"}, {},
              out);
  local.Field("enable").Get(metrics.local_queues);
  if (local.Field("selector").present() && local.Field("localQueueSelector").present()) {
    return local.Field("localQueueSelector").Fail("is another name of selector: give one of them");
  }
  for (const char* name : {"selector", "localQueueSelector"}) {
    const Reader selector = local.Field(name);
    if (selector.present()) ReadSelector(selector, metrics.local_queue_selector.emplace());
  }
}

// A selector that queues the system's own Jobs makes a cluster that cannot start.
void ReadManagedNamespaces(const Reader& selector, Configuration& out) {
  if (!selector.present()) return;
  api::LabelSelector& managed = out.managed_jobs_namespace_selector.emplace();
  ReadSelector(selector, managed);
  for (const std::string& name : {std::string("kube-system"), out.namespace_name}) {
    if (!managed.Matches({{"kubernetes.io/metadata.name", name}})) continue;
    return selector.Fail("must not match the namespace \"" + name +
                         "\": exclude it by its label kubernetes.io/metadata.name");
  }
}

void ReadFeatureGates(const Reader& in, Configuration& out) {
  AdmissionControllersOptions& admission = out.admission;
  bool custom_labels = false;
  if (in.present() && !in.json().is_object()) {
    return in.Fail("expected a map of gate to true or false");
  }
  const Json gates = in.present() ? in.json() : Json::object();
  for (const auto& [name, value] : gates.items()) {
    const Reader gate = in.Field(name.c_str());
    bool enabled = false;
    gate.Get(enabled);
    if (enabled) out.enabled_gates.push_back(name);
    const std::string_view needed = NeededGate(name);
    if (enabled && !needed.empty() && gates.value(needed, Json()) == false) {
      return gate.Fail("does nothing while " + std::string(needed) + " is off");
    }
    if (admission.driver.scheduler.gates.Set(name, enabled)) continue;
    if (name == "AdmissionFairSharing") {
      if (!enabled) admission.driver.scheduler.admission_fair_sharing.reset();
    } else if (name == "QuotaCheckStrategy") {
      if (!enabled) admission.driver.scheduler.ignore_undeclared_resources = false;
    } else if (name == "WorkloadPriorityClassDefaulting") {
      out.default_priority_class = enabled;
    } else if (name == "SchedulerLongRequeueInterval") {
      if (enabled) admission.driver.wake_up_batch = kLongRequeueInterval;
    } else if (name == "CustomMetricLabels") {
      custom_labels = enabled;
    } else if (name == "VisibilityOnDemand") {
      out.program.visibility.served = enabled;
    } else if (name == "LocalQueueMetrics") {
      if (!enabled) admission.metrics.local_queues = false;
    } else if (name == "DisableWaitForPodsReady") {
      if (!enabled) continue;
      admission.driver.pods_ready.enabled = false;
      admission.driver.scheduler.block_admission = false;
    } else {
      const GateVerdict verdict = JudgeGate(name, enabled);
      const bool refused =
          verdict.kind == GateVerdict::Kind::kRefuse || verdict.kind == GateVerdict::Kind::kUnknown;
      if (refused) return gate.Fail(verdict.why);
      if (verdict.kind == GateVerdict::Kind::kWarn) {
        out.ignored.push_back({"featureGates." + name, verdict.why});
      }
    }
  }
  if (custom_labels || admission.metrics.custom_labels.empty()) return;
  out.ignored.push_back({"metrics.customLabels", "the gate CustomMetricLabels is off"});
  admission.metrics.custom_labels.clear();
}

// "v1", "v2beta1"
bool IsVersion(std::string_view text) {
  if (text.size() < 2 || text[0] != 'v') return false;
  const std::size_t number = text.find_first_not_of("0123456789", 1);
  if (number == 1) return false;
  const std::string_view rest = number == std::string_view::npos ? "" : text.substr(number);
  if (rest.empty()) return true;
  const std::size_t letters = rest.starts_with("alpha") ? 5 : rest.starts_with("beta") ? 4 : 0;
  return letters > 0 && rest.size() > letters &&
         rest.find_first_not_of("0123456789", letters) == std::string_view::npos;
}

// The reason why no kind has the form of an external framework: no owner of a job is of it.
std::string WhyNoKind(const std::string& name) {
  const std::size_t kind_end = name.find('.');
  const std::size_t version_end = name.find('.', kind_end + 1);
  const std::string version = name.substr(kind_end + 1, version_end - kind_end - 1);
  const bool has_version = IsVersion(version);
  if (has_version && kind_end > 0 && name[0] >= 'A' && name[0] <= 'Z') return "";
  const std::string group = name.substr((has_version ? version_end : kind_end) + 1);
  return "\"" + name + "\" names a resource, so that no job is of it: write Kind.version.group, " +
         "such as \"Kind." + (has_version ? version : "v1") + "." + group +
         "\" with the kind that `kubectl api-resources --api-group " + group + "` shows";
}

void ReadIntegrations(const Reader& in, Version version, Configuration& out) {
  RefuseGone(in.Field("podOptions"), version);
  CheckFields(in, "integrations", {"frameworks", "labelKeysToCopy", "externalFrameworks"},
              {"podOptions"}, out);
  const Reader frameworks = in.Field("frameworks");
  if (frameworks.present() && !frameworks.json().empty()) out.frameworks.clear();
  frameworks.Each([&](const Reader& item) {
    std::string name;
    item.Get(name);
    if (!Contains(kFrameworks, name)) return item.Fail("\"" + name + "\" is no known kind of job");
    if (Contains(out.frameworks, name)) return item.Fail("\"" + name + "\" comes twice");
    out.frameworks.push_back(std::move(name));
  });
  in.Field("labelKeysToCopy").Get(out.label_keys_to_copy);
  const Reader external = in.Field("externalFrameworks");
  external.Each([&](const Reader& item) {
    std::string name;
    item.Get(name);
    if (std::count(name.begin(), name.end(), '.') < 2) {
      return item.Fail("\"" + name + "\" is not Kind.version.group");
    }
    if (const std::string why = WhyNoKind(name); !why.empty()) {
      out.ignored.push_back({"integrations.externalFrameworks: " + name, why});
    }
    out.external_frameworks.push_back(std::move(name));
  });
}

void ReadOwnFields(const Reader& in, Configuration& out) {
  if (!in.present()) return;
  CheckFields(in, "berth", {"decisions", "rules", "preemptionPlanTimeout"}, {}, out);
  Decisions decisions = Decisions::kBerth;
  in.Field("decisions").Get(decisions, kDecisionWords);
  const Reader rules = in.Field("rules");
  const Json named = rules.present() ? rules.json() : Json::object();
  if (!named.is_object()) return rules.Fail("expected a map of rule to true or false");
  for (const auto& [name, value] : named.items()) {
    const Reader rule = rules.Field(name.c_str());
    bool enabled = false;
    rule.Get(enabled);
    if (!OwnRules().Set(name, enabled)) {
      return rule.Fail(
          "no rule has that name: docs/reference/differences.md lists them under Decisions");
    }
    out.rules.emplace_back(name, enabled);
  }
  SetDecisions(out, decisions);
  const Reader timeout = in.Field("preemptionPlanTimeout");
  ReadDuration(timeout, out.admission.driver.scheduler.plan_timeout);
  if (out.admission.driver.scheduler.plan_timeout <= Duration::zero()) {
    timeout.Fail("must be greater than 0");
  }
}

void ReadAll(const Reader& in, Version version, Configuration& out) {
  RefuseGone(in.Field("queueVisibility"), version);
  for (const auto& [key, value] : in.json().items()) {
    if (Contains(kReadFields, key)) continue;
    std::string why = WhyIgnored(key);
    if (why.empty()) return in.Field(key.c_str()).Fail("unknown field");
    if (IsUnset(value)) continue;
    out.ignored.push_back({key, std::move(why)});
  }
  const Reader namespace_field = in.Field("namespace");
  ReadUnlessZero(namespace_field, out.namespace_name);
  in.Field("manageJobsWithoutQueueName").Get(out.manage_jobs_without_queue_name);
  const Reader selector = in.Field("managedJobsNamespaceSelector");
  ReadManagedNamespaces(selector, out);
  const Reader pods_ready = in.Field("waitForPodsReady");
  ReadWaitForPodsReady(pods_ready, version, out);
  const Reader fair_sharing = in.Field("fairSharing");
  ReadFairSharing(fair_sharing, version, out);
  const Reader admission_fair_sharing = in.Field("admissionFairSharing");
  ReadAdmissionFairSharing(admission_fair_sharing, out);
  const Reader resources = in.Field("resources");
  ReadResources(resources, out);
  const Reader retention = in.Field("objectRetentionPolicies");
  ReadRetention(retention, out);
  const Reader metrics = in.Field("metrics");
  ReadMetrics(metrics, out);
  const Reader health = in.Field("health");
  ReadHealth(health, out);
  const Reader visibility = in.Field("visibilityServer");
  ReadVisibilityServer(visibility, out);
  const Reader webhook = in.Field("webhook");
  ReadWebhook(webhook, out);
  const Reader certificates = in.Field("internalCertManagement");
  ReadInternalCertManagement(certificates, webhook, out);
  const Reader connection = in.Field("clientConnection");
  ReadClientConnection(connection, out);
  const Reader controller = in.Field("controller");
  ReadController(controller, out);
  const Reader integrations = in.Field("integrations");
  ReadIntegrations(integrations, version, out);
  const Reader own_fields = in.Field("berth");
  ReadOwnFields(own_fields, out);
  const Reader election = in.Field("leaderElection");
  ReadLeaderElection(election, out);
  const Reader gates = in.Field("featureGates");
  ReadFeatureGates(gates, out);  // last: a gate can disable what a block enables
  const SchedulerConfig& scheduler = out.admission.driver.scheduler;
  if (scheduler.ignore_undeclared_resources && !scheduler.excluded_resource_prefixes.empty()) {
    const Reader strategy = resources.Field("quotaCheckStrategy");
    strategy.Fail("excludeResourcePrefixes is not allowed with IgnoreUndeclared");
  }
}

}  // namespace

bool IsKindOfFramework(std::string_view kind_and_group) {
  const std::size_t dot = kind_and_group.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string framework =
      std::string(kind_and_group.substr(dot + 1)) + "/" + ToLower(kind_and_group.substr(0, dot));
  return Contains(kFrameworks, framework);
}

void SetDecisions(Configuration& configuration, Decisions decisions) {
  OwnRules& rules = configuration.admission.driver.scheduler.own_rules;
  rules = decisions == Decisions::kBerth ? OwnRules() : OwnRules::None();
  for (const auto& [name, enabled] : configuration.rules) rules.Set(name, enabled);
}

std::vector<OwnerKind> ManagedOwners(const Configuration& configuration) {
  std::vector<OwnerKind> owners;
  if (Contains(configuration.frameworks, "batch/job")) owners.push_back({"batch", "Job"});
  for (const std::string& name : configuration.external_frameworks) {
    const std::size_t kind_end = name.find('.');
    const std::size_t version_end = name.find('.', kind_end + 1);
    owners.push_back({name.substr(version_end + 1), name.substr(0, kind_end)});
  }
  return owners;
}

Result<Configuration> ReadConfiguration(const Json& document) {
  const auto text = [&document](const char* field) {
    return document.is_object() ? api::FormatJson(document.value(field, Json())) : "";
  };
  const std::string version = text("apiVersion");
  const bool known = version == "\"config.kueue.x-k8s.io/v1beta1\"" ||
                     version == "\"config.kueue.x-k8s.io/v1beta2\"";
  if (!known || text("kind") != "\"Configuration\"") {
    return Error{ErrorCode::kInvalid,
                 "apiVersion must be config.kueue.x-k8s.io/v1beta2 or v1beta1, kind Configuration"};
  }
  const Version read =
      version == "\"config.kueue.x-k8s.io/v1beta1\"" ? Version::kV1Beta1 : Version::kV1Beta2;
  return api::ReadAs<Configuration>(
      document, [read](const Reader& in, Configuration& out) { ReadAll(in, read, out); });
}

}  // namespace berth::admission
