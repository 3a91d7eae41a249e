#include "program/caller_story.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "api/labels.h"
#include "api/owner_key.h"
#include "api/reasons.h"
#include "kube/client/api_client.h"
#include "view/screens/items.h"
#include "view/screens/reason.h"
#include "view/screens/why.h"
#include "view/view_reader.h"

namespace berth::program {
namespace {

using Json = nlohmann::json;
using WorkloadPtr = std::shared_ptr<const api::Workload>;

constexpr std::size_t kMostBefore = 10;   // the story names fewer
constexpr std::size_t kMostNotReady = 4;  // likewise

// The Workloads of a story besides its own, in the order of keys.
class StoryNeighbours {
 public:
  StoryNeighbours(const readapi::CallerRequest& request, const MirrorObjects& objects,
                  const api::Workload& own)
      : own_(own), turns_(objects.turns) {
    for (const auto& local : objects.local_queues) {
      queues_[local->meta.key()] = local->cluster_queue;
    }
    queue_ = QueueOf(own);
    const auto& conditions = own.status.conditions;
    const api::Condition* evicted = api::FindCondition(conditions, api::kEvicted);
    const api::Condition* quota = api::FindCondition(conditions, api::kQuotaReserved);
    const bool has_quota = quota != nullptr && quota->status == api::ConditionStatus::kTrue;
    const bool waits = view::IsWaiting(own) && !has_quota;
    const bool waits_for_pods =
        waits && quota != nullptr && quota->reason == api::kWaitingForPodsReady;
    for (const WorkloadPtr& each : objects.workloads) {
      if (each->meta.key() == own.meta.key() || !MaySee(request, each->meta.namespace_name)) {
        continue;
      }
      if (waits && StandsBefore(*each)) {
        before_.push_back(each);
      } else if (evicted != nullptr && !each->meta.uid.empty() &&
                 evicted->message.find("UID: " + each->meta.uid) != std::string::npos) {
        others_.push_back(each);
      } else if (waits_for_pods && not_ready_ < kMostNotReady && BlocksAdmission(*each)) {
        ++not_ready_;
        others_.push_back(each);
      }
    }
  }

  std::vector<WorkloadPtr> Take() {
    const std::size_t kept = std::min(before_.size(), kMostBefore);
    std::partial_sort(
        before_.begin(), before_.begin() + static_cast<std::ptrdiff_t>(kept), before_.end(),
        [this](const WorkloadPtr& a, const WorkloadPtr& b) { return RankOf(*a) < RankOf(*b); });
    before_.resize(kept);
    others_.insert(others_.end(), before_.begin(), before_.end());
    std::sort(others_.begin(), others_.end(), [](const WorkloadPtr& a, const WorkloadPtr& b) {
      return a->meta.key() < b->meta.key();
    });
    return std::move(others_);
  }

 private:
  view::QueueRank RankOf(const api::Workload& workload) const {
    return view::RankInQueue(workload, turns_);
  }

  std::string QueueOf(const api::Workload& workload) const {
    if (workload.status.admission) return workload.status.admission->cluster_queue;
    const auto found = queues_.find({workload.meta.namespace_name, workload.spec.queue_name});
    return found == queues_.end() ? "" : found->second;
  }

  bool StandsBefore(const api::Workload& other) const {
    return !queue_.empty() && view::IsWaiting(other) &&
           !api::IsTrue(other.status.conditions, api::kQuotaReserved) && QueueOf(other) == queue_ &&
           RankOf(other) < RankOf(own_);
  }

  static bool BlocksAdmission(const api::Workload& other) {
    return !view::IsFinished(other) && api::IsTrue(other.status.conditions, api::kAdmitted) &&
           !api::IsTrue(other.status.conditions, api::kPodsReady);
  }

  const api::Workload& own_;
  const QueueTurns::Turns& turns_;
  std::map<api::ObjectKey, std::string> queues_;
  std::string queue_;  // the ClusterQueue of the Workload
  std::vector<WorkloadPtr> before_;
  std::vector<WorkloadPtr> others_;
  std::size_t not_ready_ = 0;
};

view::ClusterView StoryViewOf(const readapi::CallerRequest& request, const MirrorObjects& objects,
                              const api::Workload& own) {
  view::ClusterView view;
  view.namespace_name = request.namespace_name;
  for (const auto& local : objects.local_queues) {
    if (MaySee(request, local->meta.namespace_name)) view.local_queues.push_back(*local);
  }
  view.workloads.push_back(own);
  if (!request.namespaces.empty()) HideOthers(view.workloads.front());
  const std::string queue = view::ClusterQueueOf(view, own);
  for (const auto& each : objects.cluster_queues) {
    if (each->meta.name == queue) view.cluster_queues.push_back(*each);
  }
  for (const auto& each : objects.requests) {
    if (api::IsOwnedBy(each->meta, own.meta)) view.provisioning_requests.push_back(*each);
  }
  for (const WorkloadPtr& each : StoryNeighbours(request, objects, own).Take()) {
    view.workloads.push_back(*each);
  }
  for (const api::Workload& each : view.workloads) {
    const auto turn = objects.turns.find(each.meta.key());
    if (turn != objects.turns.end()) view.turns.insert(*turn);
  }
  const bool has_quota = api::IsTrue(own.status.conditions, api::kQuotaReserved);
  if (!request.namespaces.empty() && view::IsWaiting(own) && !has_quota) {
    view.narrowed = {"workloads", "localqueues"};
    if (request.before) view.waiting_before = static_cast<int>(*request.before);
  }
  return view;
}

}  // namespace

bool MaySee(const readapi::CallerRequest& request, const std::string& namespace_name) {
  const auto& own = request.namespaces;
  return own.empty() || std::find(own.begin(), own.end(), namespace_name) != own.end();
}

void HideOthers(api::Workload& workload) {
  const auto found = workload.meta.annotations.find(api::kExplanationAnnotation);
  if (found == workload.meta.annotations.end()) return;
  Json explanation = api::ParseJsonOrNull(found->second);
  const auto victims = explanation.find("victims");
  if (!explanation.is_object() || victims == explanation.end()) return;
  const std::string own = workload.meta.namespace_name + "/";
  Json kept = Json::array();
  for (const Json& victim : *victims) {
    const auto name = victim.is_object() ? victim.find("workload") : victim.end();
    const bool is_own = name != victim.end() && name->is_string() &&
                        name->get_ref<const std::string&>().starts_with(own);
    if (is_own) kept.push_back(victim);
  }
  *victims = std::move(kept);
  found->second = api::FormatJson(explanation);
}

Result<Json> CallerStory(view::Session& session, const readapi::CallerRequest& request,
                         const MirrorObjects& objects, WallTime now) {
  const api::ObjectKey key{request.namespace_name, request.name};
  const auto own = std::find_if(objects.workloads.begin(), objects.workloads.end(),
                                [&key](const auto& each) { return each->meta.key() == key; });
  if (own == objects.workloads.end()) return Error{ErrorCode::kNotFound, "no such Workload"};
  view::ClusterView view = StoryViewOf(request, objects, **own);
  view.now = now;
  BERTH_CHECK_OK(view::ReadPodsOf(session, **own, kMostStoryPods + 1, view));
  if (!view::IsFinished(**own)) BERTH_CHECK_OK(view::ReadWaitedFor(session, **own, view));
  BERTH_TRY(const view::Story story,
            view::TellStory(view, key.namespace_name, "workload/" + key.name, view::kJsonStyle));
  Json pods = Json::array();
  for (const view::PodView& pod : view.pods) {
    if (pods.size() == kMostStoryPods) break;
    pods.push_back({{"name", pod.name},
                    {"phase", pod.phase},
                    {"node", pod.node_name.empty() ? Json() : Json(pod.node_name)}});
  }
  const std::size_t left_out = view.pods.size() - pods.size();
  return Json{
      {"story", view::StoryJson(story)}, {"pods", std::move(pods)}, {"podsLeftOut", left_out}};
}

}  // namespace berth::program
