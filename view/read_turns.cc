// Reads the order of queues whose waiting workloads are not in the order of priority and time.
#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "admission/policies/queue_policies.h"
#include "api/reasons.h"
#include "api/visibility.h"
#include "base/go_duration.h"
#include "base/rfc3339.h"
#include "view/screens/own_order.h"
#include "view/screens/reason.h"
#include "view/view_reader.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;
using Pointer = nlohmann::json::json_pointer;

// The most requests. More queues keep the order of priority and time, and the screen says so.
constexpr std::size_t kMostAsked = 256;

std::string OfClusterQueue(const std::string& name) { return "clusterqueues/" + name; }

std::string OfLocalQueue(const api::ObjectKey& key) {
  return "namespaces/" + key.namespace_name + "/localqueues/" + key.name;
}

class TurnReader {
 public:
  TurnReader(Session& session, ClusterView& view) : session_(session), view_(view) {}

  Status Read() {
    for (const api::Workload& workload : view_.workloads) {
      if (!IsWaiting(workload) || api::IsTrue(workload.status.conditions, api::kQuotaReserved)) {
        continue;
      }
      const std::string queue = ClusterQueueOf(view_, workload);
      if (queue.empty()) continue;
      waiting_[queue].insert({workload.meta.namespace_name, workload.spec.queue_name});
    }
    if (waiting_.empty()) return OkStatus();
    // A tenant who may not read ClusterQueues cannot tell which of them have an order.
    if (!IsKnown(view_, "clusterqueues")) {
      std::vector<std::string> names;
      for (const auto& [name, local_queues] : waiting_) names.push_back(name);
      AskByLocalQueue(names);
      return OkStatus();
    }
    BERTH_TRY(const std::vector<std::string> names, QueuesWithAnOrder());
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(OfClusterQueue(name));
    view_.queues_without_turns = AskByLocalQueue(Untold(names, Ask(paths)));
    return OkStatus();
  }

 private:
  // The queues with waiting workloads. A caller who may not read Cohorts sees what queues say.
  Result<std::vector<std::string>> QueuesWithAnOrder() {
    ClusterView cohorts;
    const bool has_cohort =
        std::any_of(view_.cluster_queues.begin(), view_.cluster_queues.end(),
                    [this](const api::ClusterQueue& queue) {
                      return !queue.spec.cohort_name.empty() && waiting_.contains(queue.meta.name);
                    });
    if (has_cohort) BERTH_CHECK_OK(ReadInto(session_, {{.kind = ViewKind::kCohorts}}, cohorts));
    admission::QueuePolicies policies;
    for (const api::Cohort& cohort : cohorts.cohorts) policies.Set(cohort);
    for (const api::ClusterQueue& queue : view_.cluster_queues) policies.Set(queue);
    std::vector<std::string> names;
    for (const api::ClusterQueue& queue : view_.cluster_queues) {
      const std::string& name = queue.meta.name;
      if (waiting_.contains(name) && HasOwnOrder(queue, policies.Of(name))) names.push_back(name);
    }
    return names;
  }

  static std::vector<std::string> Untold(const std::vector<std::string>& names,
                                         const std::vector<bool>& told) {
    std::vector<std::string> untold;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!told[i]) untold.push_back(names[i]);
    }
    return untold;
  }

  // Asks for the LocalQueues of these ClusterQueues, which tenants may read. Returns the
  // ClusterQueues of which nothing was told.
  std::vector<std::string> AskByLocalQueue(const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) {
      for (const api::ObjectKey& key : waiting_.at(name)) paths.push_back(OfLocalQueue(key));
    }
    const std::vector<bool> told = Ask(paths);
    std::vector<bool> all_told;
    std::size_t next = 0;
    for (const std::string& name : names) {
      bool all = true;
      for (std::size_t i = 0; i < waiting_.at(name).size(); ++i) all = told[next++] && all;
      all_told.push_back(all);
    }
    return Untold(names, all_told);
  }

  // Asks the visibility API for these queues. An element of the result is true if the API has told
  // the order of the queue at its place.
  std::vector<bool> Ask(const std::vector<std::string>& queues) {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < std::min(queues.size(), kMostAsked); ++i) {
      paths.push_back(std::string("/apis/") + api::kVisibilityGroup + "/" +
                      api::kVisibilityVersion + "/" + queues[i] + "/" + api::kPendingWorkloads +
                      "?limit=" + std::to_string(api::kMostPendingWorkloads));
    }
    std::vector<bool> told;
    for (const Result<Json>& answer : session_.GetAll(paths)) {
      told.push_back(answer && Take(*answer));
    }
    told.resize(queues.size(), false);
    return told;
  }

  bool Take(const Json& summary) {
    const Pointer items("/items");
    if (!summary.contains(items) || !summary.at(items).is_array()) return false;
    for (const Json& item : summary.at(items)) {
      const Pointer space("/metadata/namespace");
      const Pointer name("/metadata/name");
      const Pointer turn("/positionInClusterQueue");
      if (!item.contains(space) || !item.contains(name) || !item.contains(turn)) return false;
      if (!item.at(space).is_string() || !item.at(name).is_string()) return false;
      if (!item.at(turn).is_number_integer()) return false;
      const api::ObjectKey key{item.at(space).get<std::string>(), item.at(name).get<std::string>()};
      view_.turns[key] = item.at(turn).get<std::int64_t>();
      TakePlace(key, item.at("metadata").value("annotations", Json::object()));
    }
    return true;
  }

  void TakePlace(const api::ObjectKey& key, const Json& annotations) {
    if (!annotations.is_object()) return;
    const auto text_of = [&annotations](const char* name) {
      const auto found = annotations.find(name);
      return found != annotations.end() && found->is_string() ? found->get<std::string>() : "";
    };
    const auto from = ParseTime(text_of(api::kPlaceKeptFromAnnotation));
    const auto after = ParseGoDuration(text_of(api::kPlaceKeptAfterAnnotation));
    if (from && after) view_.kept_places[key] = {*from, *after};
  }

  Session& session_;
  ClusterView& view_;
  // The LocalQueues with workloads that wait for quota, by ClusterQueue.
  std::map<std::string, std::set<api::ObjectKey>> waiting_;
};

}  // namespace

Status ReadTurns(Session& session, ClusterView& view) { return TurnReader(session, view).Read(); }

}  // namespace berth::view
