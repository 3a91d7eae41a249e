#include "view/view_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/codec/karpenter.h"
#include "api/codec/node_meters.h"
#include "api/codec/provisioning_policy.h"
#include "api/codec/spend_memory.h"
#include "api/codec/stock_memory.h"
#include "api/labels.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "checks/check_kinds.h"
#include "kube/client/api_client.h"
#include "view/screens/json_at.h"
#include "view/screens/pods_of_job.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;

std::optional<int> NumberAt(const Json& object, const char* pointer) {
  const Json::json_pointer path(pointer);
  if (!object.contains(path) || !object.at(path).is_number_integer()) return std::nullopt;
  return object.at(path).get<int>();
}

bool FlagAt(const Json& object, const char* pointer) {
  const Json::json_pointer path(pointer);
  return object.contains(path) && object.at(path).is_boolean() && object.at(path).get<bool>();
}

// `map`: labels or annotations.
std::string MetaWordOf(const Json& object, const char* map, const char* key) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return "";
  const auto words = metadata->find(map);
  if (words == metadata->end() || !words->is_object()) return "";
  const auto found = words->find(key);
  return found != words->end() && found->is_string() ? found->get<std::string>() : "";
}

std::string LabelOf(const Json& object, const char* label) {
  return MetaWordOf(object, "labels", label);
}

NodePoolView ReadNodePool(const Json& object) {
  NodePoolView pool;
  pool.name = TextAt(object, "/metadata/name");
  pool.machine_type = TextAt(object, "/spec/machineType");
  pool.accelerator_type = TextAt(object, "/spec/accelerator/type");
  pool.accelerator_count = NumberAt(object, "/spec/accelerator/count").value_or(0);
  pool.queued_provisioning = FlagAt(object, "/spec/queuedProvisioning");
  pool.spot = FlagAt(object, "/spec/spot");
  pool.max_nodes = NumberAt(object, "/spec/maxNodes");
  // The machines left in stock; until the cloud has written status, the whole stock.
  pool.stock = NumberAt(object, "/status/stock");
  pool.total_stock = NumberAt(object, "/spec/stock");
  if (!pool.stock) pool.stock = pool.total_stock;
  const Json::json_pointer zones("/spec/stockByZone");
  if (object.contains(zones) && object.at(zones).is_object()) {
    for (const auto& [zone, stock] : object.at(zones).items()) {
      if (stock.is_number_integer()) pool.stock_by_zone[zone] = stock.get<int>();
    }
  }
  return pool;
}

NodeView ReadNode(const Json& object) {
  NodeView node{.name = TextAt(object, "/metadata/name"),
                .pool = LabelOf(object, api::kGkeNodePoolLabel)};
  const Json::json_pointer path("/status/conditions");
  if (object.contains(path) && object.at(path).is_array()) {
    for (const Json& condition : object.at(path)) {
      if (TextAt(condition, "/type") == "Ready")
        node.ready = TextAt(condition, "/status") == "True";
    }
  }
  return node;
}

// Whom the pod works for.
void ReadParent(const Json& object, PodView& pod) {
  pod.job_name = LabelOf(object, api::kJobNameLabel);
  for (const char* key : JobPodLabels()) {
    if (std::string value = LabelOf(object, key); !value.empty()) {
      pod.job_labels[key] = std::move(value);
    }
  }
  pod.workload = MetaWordOf(object, "annotations", api::kWorkloadAnnotation);
  pod.group = MetaWordOf(object, "annotations", api::kPodGroupNameLabel);
  if (pod.group.empty()) pod.group = LabelOf(object, api::kPodGroupNameLabel);
  const Json::json_pointer owners("/metadata/ownerReferences");
  if (!object.contains(owners) || !object.at(owners).is_array()) return;
  for (const Json& owner : object.at(owners)) {
    if (!FlagAt(owner, "/controller")) continue;
    pod.owner_kind = TextAt(owner, "/kind");
    pod.owner_name = TextAt(owner, "/name");
  }
}

// The start of the container that started last; nullopt: one of them has not started. A container
// that has restarted had started when its pod got its node, or later: its first start is not kept.
std::optional<WallTime> StartOf(const Json& statuses, const std::optional<WallTime>& scheduled) {
  std::optional<WallTime> last;
  for (const Json& status : statuses) {
    std::optional<WallTime> start = ParseTime(TextAt(status, "/state/running/startedAt"));
    if (!start) start = ParseTime(TextAt(status, "/state/terminated/startedAt"));
    if (NumberAt(status, "/restartCount").value_or(0) > 0) start = scheduled;
    if (!start) return std::nullopt;
    last = last ? std::max(*last, *start) : start;
  }
  return last;
}

PodView ReadPod(const Json& object) {
  PodView pod;
  pod.namespace_name = TextAt(object, "/metadata/namespace");
  pod.name = TextAt(object, "/metadata/name");
  ReadParent(object, pod);
  pod.node_name = TextAt(object, "/spec/nodeName");
  pod.phase = TextAt(object, "/status/phase");
  pod.created = ParseTime(TextAt(object, "/metadata/creationTimestamp"));
  const Json::json_pointer conditions("/status/conditions");
  if (object.contains(conditions) && object.at(conditions).is_array()) {
    for (const Json& condition : object.at(conditions)) {
      if (TextAt(condition, "/type") != "PodScheduled") continue;
      if (TextAt(condition, "/status") == "False") {
        pod.unschedulable_message = TextAt(condition, "/message");
      } else {
        pod.scheduled = ParseTime(TextAt(condition, "/lastTransitionTime"));
      }
    }
  }
  const Json::json_pointer path("/status/containerStatuses");
  if (!object.contains(path) || !object.at(path).is_array()) return pod;
  pod.started = StartOf(object.at(path), pod.scheduled);
  for (const Json& status : object.at(path)) {
    if (pod.waiting_reason.empty()) {
      pod.waiting_reason = TextAt(status, "/state/waiting/reason");
      pod.waiting_message = TextAt(status, "/state/waiting/message");
    }
    const auto exit_code = NumberAt(status, "/state/terminated/exitCode");
    if (exit_code && *exit_code != 0) pod.exit_code = exit_code;
  }
  return pod;
}

RefusedPod ReadRefusedPod(const Json& object) {
  RefusedPod refused{.namespace_name = TextAt(object, "/involvedObject/namespace"),
                     .owner_kind = TextAt(object, "/involvedObject/kind"),
                     .owner_name = TextAt(object, "/involvedObject/name"),
                     .message = TextAt(object, "/message")};
  for (const char* path : kEventTimes) {
    const std::optional<WallTime> time = ParseTime(TextAt(object, path));
    if (time) refused.last = std::max(refused.last, *time);
  }
  return refused;
}

Status AddStock(const Json& object, ClusterView& view) {
  const Json::json_pointer path =
      Json::json_pointer("/metadata/annotations") / api::kProvisioningClassAnnotation;
  if (!object.contains(path) || !object.at(path).is_string()) return OkStatus();
  BERTH_TRY(api::ClassStock stock, api::DecodeStock(TextAt(object, "/data/stock")));
  view.stock.push_back({object.at(path).get<std::string>(), std::move(stock)});
  return OkStatus();
}

Status AddMeters(const Json& object, ClusterView& view) {
  const Json::json_pointer path =
      Json::json_pointer("/metadata/annotations") / api::kSpendOfAnnotation;
  if (!object.contains(path) || !object.at(path).is_string()) return OkStatus();
  const std::string charges = TextAt(object, "/data/spend");
  if (!charges.empty()) {
    BERTH_TRY(api::QueueSpend spend, api::DecodeSpend(charges));
    view.spend.push_back({object.at(path).get<std::string>(), std::move(spend)});
  }
  const std::string text = TextAt(object, "/data/meters");
  if (text.empty()) return OkStatus();  // nothing was measured
  BERTH_TRY(api::QueueMeters meters, api::DecodeMeters(text));
  view.meters.push_back({object.at(path).get<std::string>(), std::move(meters)});
  return OkStatus();
}

struct KindPath {
  const char* plural;
  const char* group;  // path of the group
  bool is_namespaced;
};

constexpr char kKueue[] = "/apis/kueue.x-k8s.io/v1beta2/";

const KindPath& PathOf(ViewKind kind) {
  static constexpr std::array<KindPath, 22> kPaths{{
      {"clusterqueues", kKueue, false},
      {"cohorts", kKueue, false},
      {"resourceflavors", kKueue, false},
      {"admissionchecks", kKueue, false},
      {"localqueues", kKueue, true},
      {"workloads", kKueue, true},
      {"jobs", "/apis/batch/v1/", true},
      {"provisioningrequests", "/apis/autoscaling.x-k8s.io/v1/", true},
      {"nodepools", "/apis/cloud.berth.dev/v1alpha1/", false},
      {"nodes", "/api/v1/", false},
      {"pods", "/api/v1/", true},
      {"provisioningrequestconfigs", kKueue, false},
      {"provisioningpolicies", "/apis/provisioning.berth.dev/v1alpha1/", false},
      {"namespaces", "/api/v1/", false},
      {"workloadpriorityclasses", kKueue, false},
      {"configmaps", "/api/v1/", true},
      {"configmaps", "/api/v1/", true},
      {"nodepools", "/apis/karpenter.sh/v1/", false},
      {"topologies", kKueue, false},
      {"nodes", "/api/v1/", false},
      {"pods", "/api/v1/", true},
      {"events", "/api/v1/", true},
  }};
  return kPaths.at(static_cast<std::size_t>(kind));
}

std::string PathOf(const Want& want) {
  const KindPath& kind = PathOf(want.kind);
  std::string path = kind.group;
  if (kind.is_namespaced && !want.namespace_name.empty()) {
    path += "namespaces/" + kube::EscapeQuery(want.namespace_name) + "/";
  }
  path += kind.plural;
  if (!want.name.empty()) return path + "/" + kube::EscapeQuery(want.name);
  return want.query.empty() ? path : path + "?" + want.query;
}

template <typename T>
Status Add(const Json& item, std::vector<T>& list) {
  BERTH_TRY(T object, api::Decode<T>(item));
  list.push_back(std::move(object));
  return OkStatus();
}

Status AddTopologyPod(const Json& item, ClusterView& view) {
  BERTH_TRY(api::Pod pod, api::Decode<api::Pod>(item));
  if (UsesNodeForEver(pod)) view.topology_pods.push_back(std::move(pod));
  return OkStatus();
}

Status AddItem(ViewKind kind, const Json& item, ClusterView& view) {
  switch (kind) {
    case ViewKind::kClusterQueues: return Add(item, view.cluster_queues);
    case ViewKind::kCohorts: return Add(item, view.cohorts);
    case ViewKind::kFlavors: return Add(item, view.flavors);
    case ViewKind::kAdmissionChecks: return Add(item, view.admission_checks);
    case ViewKind::kLocalQueues: return Add(item, view.local_queues);
    case ViewKind::kWorkloads: return Add(item, view.workloads);
    case ViewKind::kJobs: return Add(item, view.jobs);
    case ViewKind::kProvisioningRequests: return Add(item, view.provisioning_requests);
    case ViewKind::kNodePools: view.node_pools.push_back(ReadNodePool(item)); break;
    case ViewKind::kNodes: view.nodes.push_back(ReadNode(item)); break;
    case ViewKind::kProvisioningConfigs: return Add(item, view.provisioning_configs);
    case ViewKind::kProvisioningPolicies: return Add(item, view.provisioning_policies);
    case ViewKind::kNamespaces: return Add(item, view.namespaces);
    case ViewKind::kPriorityClasses: {
      BERTH_TRY(const api::WorkloadPriorityClass made,
                api::Decode<api::WorkloadPriorityClass>(item));
      view.priority_classes.push_back(made);
      break;
    }
    case ViewKind::kStock: return AddStock(item, view);
    case ViewKind::kMeters: return AddMeters(item, view);
    case ViewKind::kKarpenterPools: return Add(item, view.karpenter_pools);
    case ViewKind::kPods: view.pods.push_back(ReadPod(item)); break;
    case ViewKind::kTopologies: return Add(item, view.topologies);
    case ViewKind::kTopologyNodes: return Add(item, view.topology_nodes);
    case ViewKind::kTopologyPods: return AddTopologyPod(item, view);
    case ViewKind::kRefusedPods: view.refused_pods.push_back(ReadRefusedPod(item)); break;
  }
  return OkStatus();
}

Status AddAnswer(const Want& want, const Json& answer, ClusterView& view) {
  if (!want.name.empty()) {
    const Status added = AddItem(want.kind, answer, view);
    return added ? added : Annotate(added.error(), PluralOf(want.kind) + (" " + want.name));
  }
  const auto items = answer.find("items");
  if (items == answer.end() || !items->is_array()) {
    return Error{ErrorCode::kInternal,
                 std::string("the list of ") + PluralOf(want.kind) + " has no items"};
  }
  for (const Json& item : *items) {
    if (const Status added = AddItem(want.kind, item, view); !added) {
      return Annotate(added.error(), PluralOf(want.kind) + (" " + TextAt(item, "/metadata/name")));
    }
  }
  return OkStatus();
}

bool HasReactiveCheck(const ClusterView& view) {
  return std::any_of(view.admission_checks.begin(), view.admission_checks.end(),
                     [](const api::AdmissionCheck& check) {
                       return checks::CapacityOf(check.controller_name) ==
                              checks::Capacity::kPendingPods;
                     });
}

std::vector<Result<Json>> Ask(Session& session, const std::vector<Want>& wants) {
  std::vector<std::string> paths;
  for (const Want& want : wants) paths.push_back(PathOf(want));
  return session.GetAll(paths);
}

}  // namespace

void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

void AddPods(std::vector<PodView> pods, ClusterView& view) {
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (std::size_t i = 0; i < view.pods.size(); ++i) {
    known[{view.pods[i].namespace_name, view.pods[i].name}] = i;
  }
  for (PodView& pod : pods) {
    const auto [place, is_new] =
        known.try_emplace({pod.namespace_name, pod.name}, view.pods.size());
    if (is_new) view.pods.emplace_back();
    view.pods[place->second] = std::move(pod);
  }
}

std::vector<Result<ClusterView>> ReadApart(Session& session, const std::vector<Want>& wants) {
  std::vector<Result<ClusterView>> views;
  const std::vector<Result<Json>> answers = Ask(session, wants);
  for (std::size_t i = 0; i < wants.size(); ++i) {
    ClusterView view;
    const Status added =
        answers[i] ? AddAnswer(wants[i], *answers[i], view) : Status(answers[i].error());
    views.push_back(added ? Result<ClusterView>(std::move(view)) : added.error());
  }
  return views;
}

const char* PluralOf(ViewKind kind) { return PathOf(kind).plural; }
bool IsNamespaced(ViewKind kind) { return PathOf(kind).is_namespaced; }

Result<std::vector<Got>> ReadInto(Session& session, const std::vector<Want>& wants,
                                  ClusterView& view) {
  const std::vector<Result<Json>> answers = Ask(session, wants);
  std::vector<Got> got;
  for (std::size_t i = 0; i < wants.size(); ++i) {
    if (answers[i]) {
      BERTH_CHECK_OK(AddAnswer(wants[i], *answers[i], view));
      got.push_back(Got::kRead);
    } else if (answers[i].error().code == ErrorCode::kForbidden) {
      got.push_back(Got::kForbidden);
    } else if (answers[i].error().code == ErrorCode::kNotFound) {
      got.push_back(Got::kNotFound);
    } else {
      return answers[i].error();
    }
  }
  return got;
}

Status ReadLists(Session& session, const std::vector<Want>& wants, const std::string& own_namespace,
                 ClusterView& view) {
  BERTH_TRY(const std::vector<Got> got, ReadInto(session, wants, view));
  std::vector<Want> narrower;
  for (std::size_t i = 0; i < wants.size(); ++i) {
    const Want& want = wants[i];
    if (want.kind == ViewKind::kKarpenterPools) {
      if (got[i] == Got::kForbidden && HasReactiveCheck(view)) {
        AddOnce(view.hidden, "nodepools.karpenter.sh");
      }
      continue;
    }
    if (got[i] == Got::kNotFound) AddOnce(view.missing, PluralOf(want.kind));
    if (got[i] != Got::kForbidden) continue;
    if (IsNamespaced(want.kind) && want.namespace_name.empty() && !own_namespace.empty()) {
      narrower.push_back(want);
      narrower.back().namespace_name = own_namespace;
    } else {
      AddOnce(view.hidden, PluralOf(want.kind));
    }
  }
  if (narrower.empty()) return OkStatus();
  BERTH_TRY(const std::vector<Got> got_of_own, ReadInto(session, narrower, view));
  for (std::size_t i = 0; i < narrower.size(); ++i) {
    const bool is_read = got_of_own[i] == Got::kRead;
    if (is_read) view.namespace_name = own_namespace;
    AddOnce(is_read ? view.narrowed : view.hidden, PluralOf(narrower[i].kind));
  }
  return OkStatus();
}

Status ReadRefusedPods(Session& session, const std::string& namespace_name,
                       const std::string& own_namespace, ClusterView& view) {
  const auto read = [&session, &view](const std::string& space) {
    std::vector<Want> wants;
    for (const char* reason : {"FailedCreate", "FailedCreatePod"}) {  // Kubernetes' and Kubeflow's
      wants.push_back({.kind = ViewKind::kRefusedPods,
                       .namespace_name = space,
                       .query = std::string("fieldSelector=reason%3D") + reason});
    }
    return ReadInto(session, wants, view);
  };
  BERTH_TRY(const std::vector<Got> got, read(namespace_name));
  if (got.front() != Got::kForbidden || !namespace_name.empty() || own_namespace.empty()) {
    return OkStatus();
  }
  const auto own = read(own_namespace);
  return own ? OkStatus() : Status(own.error());
}

Status AddObject(const Json& object, ClusterView& view) {
  const std::string kind = TextAt(object, "/kind");
  const std::string version = TextAt(object, "/apiVersion");
  // ConfigMaps are read by a label, and the plurals of the other kinds end in "s" or "es".
  if (kind == "ConfigMap") {
    return LabelOf(object, api::kStockLabel).empty() ? OkStatus() : AddStock(object, view);
  }
  for (int i = 0; i <= static_cast<int>(ViewKind::kTopologies); ++i) {
    const auto read = static_cast<ViewKind>(i);
    if (read == ViewKind::kStock || read == ViewKind::kMeters) continue;
    const KindPath& path = PathOf(read);
    const std::string group = std::string(version == "v1" ? "/api/" : "/apis/") + version + "/";
    const std::string plural = ToLower(kind);
    const bool named = plural + "s" == path.plural || plural + "es" == path.plural ||
                       plural.substr(0, plural.size() - 1) + "ies" == path.plural;
    if (kind.empty() || !named || group != path.group) continue;
    if (read == ViewKind::kNodes) BERTH_CHECK_OK(AddItem(ViewKind::kTopologyNodes, object, view));
    if (read == ViewKind::kPods) BERTH_CHECK_OK(AddItem(ViewKind::kTopologyPods, object, view));
    const Status added = AddItem(read, object, view);
    return added ? added : Annotate(added.error(), kind + " " + TextAt(object, "/metadata/name"));
  }
  return OkStatus();
}

void CountNodes(ClusterView& view) {
  for (NodePoolView& pool : view.node_pools) {
    pool.node_count = static_cast<int>(
        std::count_if(view.nodes.begin(), view.nodes.end(),
                      [&](const NodeView& node) { return node.pool == pool.name; }));
  }
}

}  // namespace berth::view
