// How the screens' view is read: one list a kind, all at once.
#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "base/rfc3339.h"
#include "cli/session.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;

std::string TextAt(const Json& object, const char* pointer) {
  const Json::json_pointer path(pointer);
  return object.contains(path) && object.at(path).is_string() ? object.at(path).get<std::string>()
                                                              : "";
}

std::optional<int> NumberAt(const Json& object, const char* pointer) {
  const Json::json_pointer path(pointer);
  if (!object.contains(path) || !object.at(path).is_number_integer()) return std::nullopt;
  return object.at(path).get<int>();
}

bool FlagAt(const Json& object, const char* pointer) {
  const Json::json_pointer path(pointer);
  return object.contains(path) && object.at(path).is_boolean() && object.at(path).get<bool>();
}

std::string LabelOf(const Json& object, const char* label) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return "";
  const auto labels = metadata->find("labels");
  if (labels == metadata->end() || !labels->is_object()) return "";
  const auto found = labels->find(label);
  return found != labels->end() && found->is_string() ? found->get<std::string>() : "";
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
  // What the cloud could still give; before its controller has looked: what it has in all.
  pool.stock = NumberAt(object, "/status/stock");
  if (!pool.stock) pool.stock = NumberAt(object, "/spec/stock");
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

PodView ReadPod(const Json& object) {
  PodView pod;
  pod.namespace_name = TextAt(object, "/metadata/namespace");
  pod.name = TextAt(object, "/metadata/name");
  pod.job_name = LabelOf(object, api::kJobNameLabel);
  pod.node_name = TextAt(object, "/spec/nodeName");
  pod.phase = TextAt(object, "/status/phase");
  const Json::json_pointer conditions("/status/conditions");
  if (object.contains(conditions) && object.at(conditions).is_array()) {
    for (const Json& condition : object.at(conditions)) {
      if (TextAt(condition, "/type") == "PodScheduled" && TextAt(condition, "/status") == "False") {
        pod.unschedulable_message = TextAt(condition, "/message");
      }
    }
  }
  const Json::json_pointer path("/status/containerStatuses");
  if (!object.contains(path) || !object.at(path).is_array()) return pod;
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

// One kind: where its list is and what to do with each item.
struct Source {
  std::string kind;  // as a person calls it
  std::string path;
  std::function<Status(const Json& item)> read;
};

template <typename T>
std::function<Status(const Json&)> Into(std::vector<T>& list) {
  return [&list](const Json& item) -> Status {
    BERTH_TRY(T object, api::Decode<T>(item));
    list.push_back(std::move(object));
    return OkStatus();
  };
}

template <typename T>
std::function<Status(const Json&)> Into(std::vector<T>& list, T (*read)(const Json&)) {
  return [&list, read](const Json& item) {
    list.push_back(read(item));
    return OkStatus();
  };
}

std::vector<Source> Sources(ClusterView& view, const std::string& namespace_name) {
  const std::string kueue = "/apis/kueue.x-k8s.io/v1beta2/";
  const std::string in_namespace =
      namespace_name.empty() ? "" : "namespaces/" + namespace_name + "/";
  return {
      {"clusterqueues", kueue + "clusterqueues", Into(view.cluster_queues)},
      {"cohorts", kueue + "cohorts", Into(view.cohorts)},
      {"resourceflavors", kueue + "resourceflavors", Into(view.flavors)},
      {"admissionchecks", kueue + "admissionchecks", Into(view.admission_checks)},
      {"localqueues", kueue + in_namespace + "localqueues", Into(view.local_queues)},
      {"workloads", kueue + in_namespace + "workloads", Into(view.workloads)},
      {"jobs", "/apis/batch/v1/" + in_namespace + "jobs", Into(view.jobs)},
      {"provisioningrequests",
       "/apis/autoscaling.x-k8s.io/v1/" + in_namespace + "provisioningrequests",
       Into(view.provisioning_requests)},
      {"nodepools", "/apis/cloud.berth.dev/v1alpha1/nodepools",
       Into(view.node_pools, ReadNodePool)},
      {"nodes", "/api/v1/nodes", Into(view.nodes, ReadNode)},
      {"pods", "/api/v1/" + in_namespace + "pods?labelSelector=" + api::kJobNameLabel,
       Into(view.pods, ReadPod)},
  };
}

Status ReadItems(const Source& source, const Json& list) {
  const auto items = list.find("items");
  if (items == list.end() || !items->is_array()) {
    return Error{ErrorCode::kInternal, "the list of " + source.kind + " has no items"};
  }
  for (const Json& item : *items) {
    if (const Status read = source.read(item); !read) {
      return Annotate(read.error(), source.kind + " " + TextAt(item, "/metadata/name"));
    }
  }
  return OkStatus();
}

}  // namespace

Result<ClusterView> ReadCluster(Session& session, const std::string& namespace_name, WallTime now) {
  ClusterView view;
  view.now = now;
  view.cluster_name = session.cluster_name();
  const std::vector<Source> sources = Sources(view, namespace_name);
  std::vector<std::string> paths;
  for (const Source& source : sources) paths.push_back(source.path);
  paths.emplace_back("/api/v1/namespaces/default");
  const std::vector<Result<Json>> answers = session.GetAll(paths);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Result<Json>& answer = answers[i];
    if (answer) {
      BERTH_CHECK_OK(ReadItems(sources[i], *answer));
    } else if (answer.error().code == ErrorCode::kForbidden) {
      view.hidden.push_back(sources[i].kind);
    } else if (answer.error().code == ErrorCode::kNotFound) {
      view.missing.push_back(sources[i].kind);
    } else {
      return answer.error();
    }
  }
  if (const Result<Json>& since = answers.back(); since) {
    view.cluster_since = ParseTime(TextAt(*since, "/metadata/creationTimestamp"));
  }
  for (NodePoolView& pool : view.node_pools) {
    pool.node_count = static_cast<int>(
        std::count_if(view.nodes.begin(), view.nodes.end(),
                      [&](const NodeView& node) { return node.pool == pool.name; }));
  }
  if (std::find(view.missing.begin(), view.missing.end(), "clusterqueues") != view.missing.end()) {
    return Error{ErrorCode::kNotFound,
                 "the cluster at " + session.server_url() +
                     " has no ClusterQueues: install the kinds with kubectl apply --server-side "
                     "-k manifests/crds"};
  }
  return view;
}

}  // namespace berth::cli
