#include "program/caller_topology.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "kube/client/api_client.h"
#include "program/caller_story.h"
#include "view/screens/topology.h"

namespace berth::program {
namespace {

using Json = nlohmann::json;
using PodPtr = std::shared_ptr<const api::Pod>;

constexpr std::size_t kMostNodesWithPods = 1'000;  // the pods of more nodes are not read
constexpr char kTopologies[] = "/apis/kueue.x-k8s.io/v1beta2/topologies";
constexpr char kNodes[] = "/api/v1/nodes";
constexpr char kPods[] = "/api/v1/pods";

std::string PodsOf(const std::string& namespace_name) {
  return "/api/v1/namespaces/" + kube::EscapeQuery(namespace_name) + "/pods";
}

std::string FirstOf(const std::string& path) { return path + "?limit=1"; }

template <typename T>
Result<std::vector<T>> DecodeItems(const Json& list) {
  std::vector<T> objects;
  const auto items = list.find("items");
  if (items == list.end() || !items->is_array()) return objects;
  objects.reserve(items->size());
  for (const Json& item : *items) {
    BERTH_TRY(T object, api::Decode<T>(item));
    objects.push_back(std::move(object));
  }
  return objects;
}

// The pods that the caller may list, in all namespaces or in those of the request.
class CallerPods {
 public:
  CallerPods(view::Session& session, const readapi::CallerRequest& request,
             const MirrorObjects& objects)
      : session_(session), request_(request), objects_(objects) {}

  Status ReadInto(view::TopologyInput& input) const {
    const bool is_left_out = !objects_.has_pods && objects_.nodes.size() > kMostNodesWithPods;
    if (!is_left_out) {
      BERTH_TRY(input.has_all_pods, Read({kPods}, input.pods));
      if (!input.has_all_pods) {
        std::vector<std::string> paths;
        for (const std::string& space : request_.namespaces) paths.push_back(PodsOf(space));
        BERTH_CHECK_OK(Read(paths, input.pods));
      }
    }
    if (!input.has_all_pods) input.hidden.emplace_back("pods");
    return OkStatus();
  }

 private:
  // Whether the caller may list all of `paths`. Paths that the caller may not list add nothing.
  Result<bool> Read(const std::vector<std::string>& paths, std::vector<PodPtr>& pods) const {
    std::vector<std::string> asked = paths;
    if (objects_.has_pods) std::transform(paths.begin(), paths.end(), asked.begin(), FirstOf);
    const std::vector<Result<Json>> answers = session_.GetAll(asked);
    std::set<std::string> readable;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!answers[i]) continue;
      readable.insert(paths[i]);
      if (objects_.has_pods) continue;
      BERTH_TRY(std::vector<api::Pod> some, DecodeItems<api::Pod>(*answers[i]));
      for (api::Pod& pod : some) pods.push_back(std::make_shared<api::Pod>(std::move(pod)));
    }
    // Without pods of the mirror the loop adds nothing.
    std::copy_if(objects_.pods.begin(), objects_.pods.end(), std::back_inserter(pods),
                 [&readable](const PodPtr& pod) {
                   return readable.count(kPods) > 0 ||
                          readable.count(PodsOf(pod->meta.namespace_name)) > 0;
                 });
    return readable.size() == paths.size();
  }

  view::Session& session_;
  const readapi::CallerRequest& request_;
  const MirrorObjects& objects_;
};

}  // namespace

Status MayList(view::Session& session, const std::string& path) {
  const std::vector<Result<Json>> answers = session.GetAll({FirstOf(path)});
  return answers.front() ? OkStatus() : Status(answers.front().error());
}

Result<Json> CallerTopology(view::Session& session, const readapi::CallerRequest& request,
                            const MirrorObjects& objects, WallTime now) {
  // Without the nodes there is nothing to show.
  BERTH_CHECK_OK(MayList(session, kNodes));
  view::TopologyInput input{.now = now};
  input.nodes = objects.nodes;
  input.workloads = objects.workloads;
  input.queues.now = now;
  for (const auto& queue : objects.local_queues) input.queues.local_queues.push_back(*queue);
  for (const auto& queue : objects.cluster_queues) {
    input.queues.cluster_queues.emplace_back().meta.name = queue->meta.name;
  }
  input.may_name = [&request](const std::string& space) { return MaySee(request, space); };
  const std::vector<Result<Json>> topologies = session.GetAll({kTopologies});
  if (topologies.front()) {
    BERTH_TRY(input.topologies, DecodeItems<api::Topology>(*topologies.front()));
  } else {
    input.hidden.emplace_back("topologies");
  }
  BERTH_CHECK_OK(CallerPods(session, request, objects).ReadInto(input));
  return view::TopologyJson(input);
}

}  // namespace berth::program
