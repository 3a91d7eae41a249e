#include "provisioning/late_pods.h"

#include <algorithm>

#include "api/condition.h"
#include "api/labels.h"
#include "api/pod_phase.h"
#include "base/strings.h"

namespace berth::provisioning {
namespace {

constexpr char kDisruptionTarget[] = "DisruptionTarget";
constexpr std::size_t kMostNamed = 3;  // pods and nodes in one message

void TakeFirst(std::optional<WallTime>& first, WallTime at) {
  first = std::min(first.value_or(at), at);
}

std::string Named(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNamed)));
  const std::size_t more = names.size() - shown.size();
  return Join(shown, ", ") + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

std::string ForeignOf(const PodsSeen& seen) {
  std::vector<std::string> names;
  for (const api::Pod* pod : seen.foreign) {
    names.push_back(pod->meta.key().ToString() + " on " + pod->spec.node_name);
  }
  return names.empty() ? "" : "; pods of others are on its nodes: " + Named(names);
}

}  // namespace

const api::Condition* LostItsNode(const api::Pod& pod) {
  if (pod.spec.node_name.empty() || pod.phase == "Succeeded") return nullptr;
  const api::Condition* disrupted = api::FindCondition(pod.conditions, kDisruptionTarget);
  if (disrupted == nullptr || disrupted->status != api::ConditionStatus::kTrue ||
      disrupted->reason == "PreemptionByScheduler") {
    return nullptr;
  }
  return disrupted;
}

bool Uses(const api::Pod& pod, const Claim& claim) {
  if (!claim.request.empty()) {
    const std::string* request =
        api::FindValue(pod.meta.annotations, api::kConsumeProvisioningRequestAnnotation);
    return request != nullptr && *request == claim.request;
  }
  const std::string* holder = api::FindValue(pod.spec.node_selector, api::kLeaseLabel);
  return holder != nullptr && *holder == claim.holder;
}

Lateness LatenessOf(const PodsSeen& seen, const Claim& claim, WallTime came, Duration limit,
                    WallTime now) {
  Lateness answer;
  std::string why;
  for (const api::Pod* pod : seen.pods) {
    if (api::HasEnded(*pod) || !Uses(*pod, claim)) continue;
    ++answer.pods;
    if (!pod->spec.node_name.empty() || pod->meta.deletion_timestamp) continue;
    const WallTime due = std::max(pod->meta.creation_timestamp, came) + limit;
    if (now < due) {
      TakeFirst(answer.next, due);
      continue;
    }
    ++answer.late;
    const api::Condition* scheduled = api::FindCondition(pod->conditions, "PodScheduled");
    if (why.empty() && scheduled != nullptr) why = scheduled->message;
  }
  if (answer.late == 0) return answer;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  answer.message = std::to_string(answer.late) + " of " + std::to_string(answer.pods) +
                   (answer.pods == 1 ? " pod has" : " pods have") + " no node after " +
                   std::to_string(seconds) + " s" + (why.empty() ? "" : ": " + why) +
                   ForeignOf(seen);
  return answer;
}

Loss LossOf(const PodsSeen& seen, const Claim& claim, WallTime now) {
  Loss loss;
  std::vector<std::string> lost;
  for (const api::Pod* pod : seen.pods) {
    const std::string& name = pod->spec.node_name;
    if (name.empty() || !Uses(*pod, claim)) continue;
    if (std::find(lost.begin(), lost.end(), name) != lost.end()) continue;
    const auto node = seen.nodes.find(name);
    if (node == seen.nodes.end() || node->second == nullptr) {
      lost.push_back(name);
      continue;
    }
    const api::Condition* ready = api::FindCondition(node->second->conditions, "Ready");
    if (ready == nullptr || ready->status == api::ConditionStatus::kTrue) continue;
    const WallTime end = ready->last_transition_time + kNotReadyFor;
    if (now >= end) {
      lost.push_back(name);
    } else {
      TakeFirst(loss.next, end);
    }
  }
  if (!lost.empty()) {
    loss.message = std::to_string(lost.size()) + (lost.size() == 1 ? " node" : " nodes") +
                   " that pods need were removed or failed: " + Named(lost);
  }
  return loss;
}

}  // namespace berth::provisioning
