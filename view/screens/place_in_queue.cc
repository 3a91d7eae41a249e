#include "view/screens/place_in_queue.h"

#include <utility>
#include <vector>

#include "admission/bypassed_message.h"
#include "api/reasons.h"
#include "view/screens/reason.h"

namespace berth::view {
namespace {

// "4th", "22nd", "113th".
std::string Ordinal(int number) {
  constexpr int kTen = 10;
  const int last = number % kTen;
  const bool is_teen = number / kTen % kTen == 1;
  const char* ending = is_teen     ? "th"
                       : last == 1 ? "st"
                       : last == 2 ? "nd"
                       : last == 3 ? "rd"
                                   : "th";
  return std::to_string(number) + ending;
}

}  // namespace

bool WasBypassed(const api::Workload& workload) {
  const api::Condition* told = api::FindCondition(workload.status.conditions, api::kQuotaReserved);
  return told != nullptr && told->message == admission::kBypassedMessage;
}

std::map<const api::Workload*, QueuePlace> PlacesInQueues(const ClusterView& view) {
  std::map<const api::Workload*, QueuePlace> places;
  std::map<std::string, int> before;   // by ClusterQueue
  std::map<std::string, int> waiting;  // by LocalQueue
  // The last workload that was tried, by ClusterQueue and amounts.
  std::map<std::pair<std::string, std::vector<api::PodSetRequests>>, const api::Workload*> tried;
  const auto queue_of = [](const api::Workload& workload) {
    return workload.meta.namespace_name + "/" + workload.spec.queue_name;
  };
  for (const api::Workload* workload : InQueueOrder(view)) {
    if (api::IsTrue(workload->status.conditions, api::kQuotaReserved)) continue;
    QueuePlace& place = places[workload];
    const std::string cluster_queue = ClusterQueueOf(view, *workload);
    place.in_cluster_queue = ++before[cluster_queue];
    place.position = ++waiting[queue_of(*workload)];
    const api::Workload*& last = tried[{cluster_queue, workload->status.resource_requests}];
    if (WasBypassed(*workload)) {
      place.equal = last;
    } else {
      last = workload;
    }
  }
  for (auto& [workload, place] : places) place.waiting = waiting.at(queue_of(*workload));
  return places;
}

std::string BehindText(const api::Workload& equal) {
  return "behind " + DisplayName(equal) + " (same request)";
}

std::string PositionText(const QueuePlace& place) {
  return Ordinal(place.position) + " of " + std::to_string(place.waiting);
}

}  // namespace berth::view
