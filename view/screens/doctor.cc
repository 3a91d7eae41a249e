#include "view/screens/doctor.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "api/codec/codec.h"
#include "api/queues.h"
#include "base/rfc3339.h"
#include "view/screens/adoption.h"
#include "view/screens/json_at.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;
using api::Amount;

constexpr char kManager[] = "kueue-controller-manager";
constexpr char kWebhookService[] = "kueue-webhook-service";
constexpr char kLease[] = "c1f6bfd2.kueue.x-k8s.io";
constexpr char kSecret[] = "kueue-webhook-server-cert";
constexpr char kApply[] = "kubectl apply --server-side -k manifests";
constexpr std::string_view kRequestsCrd = "provisioningrequests.autoscaling.x-k8s.io";
constexpr Duration kMostSkew = std::chrono::seconds(10);  // between two clocks
constexpr Duration kRenewSoon = std::chrono::hours(24 * 7);

constexpr std::array<const char*, 9> kNeededCrds{"admissionchecks.kueue.x-k8s.io",
                                                 "clusterqueues.kueue.x-k8s.io",
                                                 "cohorts.kueue.x-k8s.io",
                                                 "localqueues.kueue.x-k8s.io",
                                                 "provisioningrequestconfigs.kueue.x-k8s.io",
                                                 "resourceflavors.kueue.x-k8s.io",
                                                 "topologies.kueue.x-k8s.io",
                                                 "workloadpriorityclasses.kueue.x-k8s.io",
                                                 "workloads.kueue.x-k8s.io"};
// The classes of autoscalers that answer ProvisioningRequests.
constexpr std::array<std::string_view, 3> kClasses{
    "queued-provisioning.gke.io", "check-capacity.autoscaling.x-k8s.io",
    "best-effort-atomic-scale-up.autoscaling.x-k8s.io"};

std::string ObjectName(const Json& object) { return TextAt(object, "/metadata/name"); }

std::string KeyOf(const Json& object) {
  const std::string space = TextAt(object, "/metadata/namespace");
  return (space.empty() ? "" : space + "/") + ObjectName(object);
}

std::string Webhooks(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " webhook" : " webhooks");
}

// One examination.
class Doctor {
 public:
  explicit Doctor(const Installation& installation) : in_(installation) {}

  std::vector<DoctorFinding> Findings() {
    CheckDefinitions();
    CheckDeployments();
    CheckLease();
    CheckRights();
    for (const char* plural :
         {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}) {
      CheckWebhooks(plural);
    }
    CheckEndpoints();
    CheckCertificate();
    for (const auto& [plural, kind] :
         {std::pair("clusterqueues", "clusterqueue"), std::pair("localqueues", "localqueue"),
          std::pair("admissionchecks", "admissioncheck")}) {
      CheckActive(plural, kind);
    }
    CheckProvisioning();
    CheckFlavors();
    found_.insert(found_.end(), in_.unread.begin(), in_.unread.end());
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& one, const auto& other) { return one.grade < other.grade; });
    return std::move(found_);
  }

 private:
  void Problem(std::string object, std::string wrong, std::string remedy) {
    found_.push_back(
        {DoctorGrade::kProblem, std::move(object), std::move(wrong), std::move(remedy)});
  }
  void Warning(std::string object, std::string wrong, std::string remedy) {
    found_.push_back(
        {DoctorGrade::kWarning, std::move(object), std::move(wrong), std::move(remedy)});
  }
  // Null: the list is not known.
  const Json* List(const char* plural) const {
    const auto found = in_.lists.find(plural);
    return found == in_.lists.end() ? nullptr : &found->second;
  }
  const Json& Items(const char* plural) const {
    static const Json* empty = new Json(Json::array());
    const Json* found = List(plural);
    return found == nullptr ? *empty : *found;
  }
  const Json* Named(const char* plural, std::string_view name) const {
    for (const Json& each : Items(plural)) {
      if (ObjectName(each) == name) return &each;
    }
    return nullptr;
  }
  std::string InNamespace() const { return "kubectl -n " + in_.namespace_name; }

  void CheckDefinitions();
  void CheckDeployments();
  void CheckManager(const Json& deployment);
  void CheckLease();
  void CheckRights();
  void CheckWebhooks(const char* plural);
  void CheckEndpoints();
  void CheckCertificate();
  void CheckEnd(const std::string& what, const std::optional<WallTime>& end,
                const std::string& remedy);
  void CheckActive(const char* plural, const char* kind);
  void CheckProvisioning();
  void CheckFlavors();
  void CheckQuota(const std::string& flavor,
                  const std::vector<std::vector<api::ResourceGroup>>& groups,
                  const std::vector<const Json*>& nodes);

  const Installation& in_;
  std::vector<DoctorFinding> found_;
};

void Doctor::CheckDefinitions() {
  if (List("customresourcedefinitions") == nullptr) return;
  for (const char* name : kNeededCrds) {
    const Json* crd = Named("customresourcedefinitions", name);
    const std::string object = std::string("crd ") + name;
    if (crd == nullptr) {
      Problem(object, "is missing", kApply);
      continue;
    }
    const Json& versions = ArrayAt(*crd, "/spec/versions");
    const bool serves = std::any_of(versions.begin(), versions.end(), [](const Json& version) {
      return TextAt(version, "/name") == "v1beta2" && version.value("served", false);
    });
    if (!serves) {
      Problem(object, "does not serve v1beta2: the definition is of an older Kueue",
              "kubectl apply --server-side --force-conflicts -k manifests/crds");
    } else if (!HasTrueCondition(*crd, "Established")) {
      Problem(object, "is not established", "kubectl describe " + object);
    }
  }
}

bool RunsKueue(const Json& deployment) {
  if (RunsBerth(deployment)) return false;
  const Json& containers = ArrayAt(deployment, "/spec/template/spec/containers");
  return ObjectName(deployment) == kManager ||
         std::any_of(containers.begin(), containers.end(), [](const Json& container) {
           return TextAt(container, "/image").find("/kueue/kueue:") != std::string::npos;
         });
}

void Doctor::CheckDeployments() {
  for (const Json& deployment : Items("deployments")) {
    const std::string object = "deployment " + KeyOf(deployment);
    if (WholeAt(deployment, "/spec/replicas", 1) == 0) continue;
    if (RunsKueue(deployment)) {
      if (in_.manager == InstalledManager::kKueue) continue;
      Problem(object, "Kueue runs beside Berth: both decide about the same objects",
              "kubectl -n " + TextAt(deployment, "/metadata/namespace") + " scale deployment " +
                  ObjectName(deployment) + " --replicas=0 (docs/operate/change-over.md)");
    } else if (ObjectName(deployment) == kManager && RunsBerth(deployment)) {
      CheckManager(deployment);
    }
  }
}

void Doctor::CheckManager(const Json& deployment) {
  const std::string object = "deployment " + KeyOf(deployment);
  if (TextAt(deployment, "/metadata/namespace") != in_.namespace_name) {
    return Warning(object, "is a second installation of Berth",
                   "remove one, or name the namespace to examine with -n");
  }
  const std::int64_t wanted = WholeAt(deployment, "/spec/replicas", 1);
  const std::int64_t ready = WholeAt(deployment, "/status/readyReplicas", 0);
  const std::string wrong =
      std::to_string(ready) + " of " + std::to_string(wanted) + " replicas are ready";
  const std::string remedy = InNamespace() + " describe pods -l control-plane=controller-manager";
  if (ready == 0) return Problem(object, wrong + ": nothing is admitted", remedy);
  if (ready < wanted) Warning(object, wrong, remedy);
}

void Doctor::CheckLease() {
  const std::string object = "lease " + in_.namespace_name + "/" + kLease;
  if (!in_.lease) {
    return Problem(object, "is missing: no controller has been the leader yet",
                   std::string(kApply) + ", or look at the controller's log");
  }
  const auto renewed = ParseTime(TextAt(*in_.lease, "/spec/renewTime"));
  if (!renewed) return;
  const auto lasts = std::chrono::seconds(WholeAt(*in_.lease, "/spec/leaseDurationSeconds", 15));
  const std::string holder = TextAt(*in_.lease, "/spec/holderIdentity");
  if (*renewed > in_.now + kMostSkew) {
    Warning(object,
            "was renewed " + HumanDuration(*renewed - in_.now) + " in the future by " + holder,
            "set the clocks of this machine and of the controller's node by NTP");
  } else if (*renewed + lasts < in_.now) {
    Problem(object,
            "no controller leads: " + holder + " renewed the lease " +
                HumanDuration(in_.now - *renewed) + " ago",
            InNamespace() + " logs deployment/" + kManager);
  }
}

void Doctor::CheckRights() {
  for (const ControllerRight& right : in_.refused) {
    const std::string group = right.group.empty() ? "" : "." + right.group;
    Problem("serviceaccount " + in_.namespace_name + "/" + kManager,
            "may not " + right.verb + " " + right.resource + group,
            "kubectl apply --server-side -k manifests/rbac");
  }
}

void Doctor::CheckWebhooks(const char* plural) {
  if (List(plural) == nullptr) return;
  const bool mutates = std::string_view(plural).starts_with("mutating");
  const std::string name =
      mutates ? "kueue-mutating-webhook-configuration" : "kueue-validating-webhook-configuration";
  const std::string object =
      std::string(plural).substr(0, std::string_view(plural).size() - 1) + " " + name;
  const Json* configuration = Named(plural, name);
  if (configuration == nullptr) {
    return Problem(object,
                   mutates ? "is missing: jobs are not suspended when they are created"
                           : "is missing: objects that cannot work are accepted",
                   kApply);
  }
  const std::string authority = in_.secret ? TextAt(*in_.secret, "/data/ca.crt") : "";
  std::size_t without = 0;
  std::size_t others = 0;
  std::size_t ignored = 0;
  for (const Json& webhook : ArrayAt(*configuration, "/webhooks")) {
    const std::string bundle = TextAt(webhook, "/clientConfig/caBundle");
    if (bundle.empty()) ++without;
    if (!bundle.empty() && !authority.empty() && bundle != authority) ++others;
    if (mutates && TextAt(webhook, "/failurePolicy") == "Ignore") ++ignored;
  }
  if (without > 0 && !in_.is_berth_up) {
    Problem(object,
            Webhooks(without) + " without caBundle: the API server refuses what they review",
            "the leader fills caBundle in: " + InNamespace() + " logs deployment/" + kManager);
  }
  if (others > 0) {
    Warning(object, Webhooks(others) + " with another CA than that of secret " + kSecret,
            "cert-manager may own it; else " + InNamespace() + " rollout restart deployment " +
                kManager);
  }
  if (ignored > 0) {
    Warning(object,
            Webhooks(ignored) +
                " with failurePolicy Ignore: while the controller is down, jobs run "
                "without quota",
            kApply);
  }
}

void Doctor::CheckEndpoints() {
  const Json* slices = List("endpointslices");
  if (slices == nullptr || in_.is_berth_up) return;
  std::size_t ready = 0;
  for (const Json& slice : *slices) {
    if (TextAt(slice, "/metadata/labels/kubernetes.io~1service-name") != kWebhookService) continue;
    for (const Json& endpoint : ArrayAt(slice, "/endpoints")) {
      const Json* is_ready = FindAt(endpoint, "/conditions/ready");
      if (is_ready == nullptr || *is_ready != false) ++ready;
    }
  }
  if (ready > 0) return;
  Problem("service " + in_.namespace_name + "/" + kWebhookService,
          "no pod answers the webhooks: writes of queues and of jobs with a queue are refused",
          InNamespace() +
              " get pods; until then kubectl delete "
              "mutatingwebhookconfiguration/kueue-mutating-webhook-configuration "
              "validatingwebhookconfiguration/kueue-validating-webhook-configuration lets writes "
              "through, unreviewed (docs/operate/install.md)");
}

void Doctor::CheckCertificate() {
  const std::string restart = InNamespace() + " rollout restart deployment " + kManager;
  CheckEnd("the certificate of the webhooks", in_.certificate_end, restart);
  // A restart keeps the CA of a certificate that is still valid.
  CheckEnd("the CA of the webhooks", in_.authority_end,
           "renew the CA in cert-manager; without cert-manager " + InNamespace() +
               " delete secret " + kSecret + ", then " + restart);
}

void Doctor::CheckEnd(const std::string& what, const std::optional<WallTime>& end,
                      const std::string& remedy) {
  if (!end) return;
  const std::string object = "secret " + in_.namespace_name + "/" + kSecret;
  const Duration left = *end - in_.now;
  if (left <= Duration::zero()) {
    Problem(object, what + " has expired " + HumanDuration(-left) + " ago", remedy);
  } else if (left < kRenewSoon) {
    Warning(object, what + " expires in " + HumanDuration(left) + ", and has not been renewed",
            remedy);
  }
}

void Doctor::CheckActive(const char* plural, const char* kind) {
  for (const Json& each : Items(plural)) {
    const Json* active = ConditionAt(each, "Active");
    if (active == nullptr || TextAt(*active, "/status") != "False") continue;
    const std::string object = std::string(kind) + " " + KeyOf(each);
    Problem(object, "is not active: " + TextAt(*active, "/message"),
            "see " + TextAt(*active, "/reason") + " in docs/guide/troubleshooting.md");
  }
}

void Doctor::CheckProvisioning() {
  const Json& configurations = Items("provisioningrequestconfigs");
  const bool lacks_kind = List("customresourcedefinitions") != nullptr &&
                          Named("customresourcedefinitions", kRequestsCrd) == nullptr;
  for (const Json& each : configurations) {
    const std::string object = "provisioningrequestconfig " + ObjectName(each);
    const std::string name = TextAt(each, "/spec/provisioningClassName");
    if (lacks_kind) {
      Problem(object,
              "the cluster does not have the kind ProvisioningRequest: no request can be made",
              "install the CRD of your cluster-autoscaler; on GKE it is there from 1.28 on");
    } else if (std::find(kClasses.begin(), kClasses.end(), name) == kClasses.end()) {
      Warning(object, "no known autoscaler answers the class \"" + name + "\"",
              "spec.provisioningClassName: queued-provisioning.gke.io, or "
              "check-capacity.autoscaling.x-k8s.io");
    }
  }
}

// The decoded objects of a list; those of which a field cannot be read are left out.
template <typename T>
std::vector<T> Decoded(const Json& items) {
  std::vector<T> objects;
  for (const Json& item : items) {
    if (auto object = api::Decode<T>(item)) objects.push_back(*std::move(object));
  }
  return objects;
}

const api::FlavorQuotas* FindFlavor(const std::vector<api::ResourceGroup>& groups,
                                    const std::string& flavor) {
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& quotas : group.flavors) {
      if (quotas.flavor == flavor) return &quotas;
    }
  }
  return nullptr;
}

// Whether jobs in the flavor pass an admission check of some queue, which may ask for nodes.
bool AsksForCapacity(const std::string& flavor, const std::vector<api::ClusterQueue>& queues) {
  const auto covers = [&flavor](const api::AdmissionCheckRule& rule) {
    const auto& only = rule.on_flavors;
    return only.empty() || std::find(only.begin(), only.end(), flavor) != only.end();
  };
  return std::any_of(queues.begin(), queues.end(), [&](const api::ClusterQueue& queue) {
    const auto& checks = queue.spec.admission_checks;
    return std::any_of(checks.begin(), checks.end(), covers) &&
           FindFlavor(queue.spec.resource_groups, flavor) != nullptr;
  });
}

std::string JoinLabels(const api::StringMap& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    text += text.empty() ? "" : ",";
    text += key;
    text += "=";
    text += value;
  }
  return text;
}

void Doctor::CheckFlavors() {
  const Json* nodes = List("nodes");
  if (nodes == nullptr) return;
  const auto queues = Decoded<api::ClusterQueue>(Items("clusterqueues"));
  std::vector<std::vector<api::ResourceGroup>> groups;  // those of each queue and cohort
  for (const api::ClusterQueue& queue : queues) groups.push_back(queue.spec.resource_groups);
  for (const auto& cohort : Decoded<api::Cohort>(Items("cohorts"))) {
    groups.push_back(cohort.spec.resource_groups);
  }
  for (const auto& flavor : Decoded<api::ResourceFlavor>(Items("resourceflavors"))) {
    if (AsksForCapacity(flavor.meta.name, queues)) continue;
    std::vector<const Json*> matching;
    for (const Json& node : *nodes) {
      const auto has = [&node](const auto& label) {
        const Json* value = FindAt(node, Json::json_pointer("/metadata/labels") / label.first);
        return value != nullptr && *value == label.second;
      };
      if (std::all_of(flavor.node_labels.begin(), flavor.node_labels.end(), has)) {
        matching.push_back(&node);
      }
    }
    if (matching.empty()) {
      const std::string labels = JoinLabels(flavor.node_labels);
      Warning("resourceflavor " + flavor.meta.name,
              labels.empty() ? "the cluster has no node: pods of admitted jobs stay Pending"
                             : "no node has " + labels + ": pods of admitted jobs stay Pending",
              "add nodes, correct spec.nodeLabels, or ask for nodes (docs/guide/capacity.md)");
    } else {
      CheckQuota(flavor.meta.name, groups, matching);
    }
  }
}

// The quota of all queues in a flavor is no more than its nodes have.
void Doctor::CheckQuota(const std::string& flavor,
                        const std::vector<std::vector<api::ResourceGroup>>& groups,
                        const std::vector<const Json*>& nodes) {
  std::map<std::string, Amount> quota;
  for (const auto& each : groups) {
    const api::FlavorQuotas* quotas = FindFlavor(each, flavor);
    if (quotas == nullptr) continue;
    for (const api::ResourceQuota& resource : quotas->resources) {
      Amount& sum = quota[resource.resource];
      sum = api::AddAmounts(sum, resource.nominal_quota);
    }
  }
  for (const auto& [resource, wanted] : quota) {
    Amount there = 0;
    for (const Json* node : nodes) {
      const auto path = Json::json_pointer("/status/allocatable") / resource;
      if (const auto amount = api::ParseAmount(resource, TextAt(*node, path))) {
        there = api::AddAmounts(there, *amount);
      }
    }
    if (wanted <= there || IsInfinite(resource, wanted)) continue;
    Warning("resourceflavor " + flavor,
            "queues have a quota of " + ShowFinite(resource, wanted) + " " + resource +
                ", its nodes have " + ShowFinite(resource, there) +
                ": admitted jobs may stay Pending",
            "lower nominalQuota, or add nodes");
  }
}

const char* GradeWord(DoctorGrade grade) {
  switch (grade) {
    case DoctorGrade::kProblem: return "problem";
    case DoctorGrade::kWarning: return "warning";
    case DoctorGrade::kUnread: return "not read";
  }
  return "";
}

}  // namespace

const std::vector<ControllerRight>& NeededRights() {
  static const std::vector<ControllerRight> rights = {
      {"list", "kueue.x-k8s.io", "clusterqueues", false},
      {"create", "kueue.x-k8s.io", "workloads", false},
      {"patch", "kueue.x-k8s.io", "workloads/status", false},
      {"patch", "batch", "jobs", false},
      {"list", "", "pods", false},
      {"list", "", "nodes", false},
      {"create", "events.k8s.io", "events", false},
      {"create", "autoscaling.x-k8s.io", "provisioningrequests", false},
      {"create", "coordination.k8s.io", "leases", true}};
  return rights;
}

std::vector<std::pair<std::string, std::string>> ListsToExamine(const std::string& namespace_name) {
  const std::string kueue = "/apis/kueue.x-k8s.io/v1beta2/";
  const std::string reviews = "/apis/admissionregistration.k8s.io/v1/";
  std::vector<std::pair<std::string, std::string>> lists = {
      {"customresourcedefinitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"},
      {"deployments", "/apis/apps/v1/deployments"},
      {"endpointslices",
       "/apis/discovery.k8s.io/v1/namespaces/" + namespace_name + "/endpointslices"},
      {"nodes", "/api/v1/nodes"}};
  for (const char* plural : {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}) {
    lists.emplace_back(plural, reviews + plural);
  }
  for (const char* plural : {"clusterqueues", "cohorts", "localqueues", "resourceflavors",
                             "admissionchecks", "provisioningrequestconfigs"}) {
    lists.emplace_back(plural, kueue + plural);
  }
  return lists;
}

std::string LeasePath(const std::string& namespace_name) {
  return "/apis/coordination.k8s.io/v1/namespaces/" + namespace_name + "/leases/" + kLease;
}

std::string SecretPath(const std::string& namespace_name) {
  return "/api/v1/namespaces/" + namespace_name + "/secrets/" + kSecret;
}

std::vector<DoctorFinding> Examine(const Installation& installation) {
  return Doctor(installation).Findings();
}

bool HasProblem(const std::vector<DoctorFinding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const DoctorFinding& finding) {
    return finding.grade == DoctorGrade::kProblem;
  });
}

std::string RenderFindings(const std::vector<DoctorFinding>& findings, const TextStyle& style) {
  std::string text;
  for (const DoctorFinding& finding : findings) {
    const bool is_problem = finding.grade == DoctorGrade::kProblem;
    text +=
        "\n" + Paint(GradeWord(finding.grade), is_problem ? Color::kRed : Color::kYellow, style);
    text += "  " + finding.object + "\n  " + finding.wrong + "\n";
    if (!finding.remedy.empty()) text += "  remedy: " + finding.remedy + "\n";
  }
  return text;
}

Json FindingsJson(const std::vector<DoctorFinding>& findings) {
  Json list = Json::array();
  for (const DoctorFinding& finding : findings) {
    list.push_back({{"grade", GradeWord(finding.grade)},
                    {"object", finding.object},
                    {"wrong", finding.wrong},
                    {"remedy", finding.remedy}});
  }
  return list;
}

std::string RenderDoctor(const Installation& installation,
                         const std::vector<DoctorFinding>& findings, const TextStyle& style) {
  std::string text = installation.cluster_name + ": ";
  std::map<DoctorGrade, std::size_t> counts;
  for (const DoctorFinding& finding : findings) ++counts[finding.grade];
  const auto count = [&counts](DoctorGrade grade, const char* word) {
    return std::to_string(counts[grade]) + " " + word + (counts[grade] == 1 ? "" : "s");
  };
  if (counts[DoctorGrade::kProblem] + counts[DoctorGrade::kWarning] == 0) {
    text += "nothing is wrong with Berth in namespace " + installation.namespace_name + "\n";
  } else {
    text += count(DoctorGrade::kProblem, "problem") + ", " +
            count(DoctorGrade::kWarning, "warning") + "\n";
  }
  return text + RenderFindings(findings, style);
}

Json DoctorJson(const Installation& installation, const std::vector<DoctorFinding>& findings) {
  return {{"cluster", installation.cluster_name},
          {"namespace", installation.namespace_name},
          {"findings", FindingsJson(findings)}};
}

}  // namespace berth::view
