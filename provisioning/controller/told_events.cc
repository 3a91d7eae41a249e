#include "provisioning/controller/told_events.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/karpenter.h"
#include "base/log/log.h"
#include "provisioning/node_supply.h"

namespace berth::provisioning {
namespace {

constexpr Duration kFresh = std::chrono::seconds(30);
constexpr int kMostEvents = 200;                // the most Events of one list
constexpr char kClaimsNamespace[] = "default";  // has the Events about objects without a namespace

}  // namespace

ToldEvents::ToldEvents(kube::ApiClient& client, const Clock& clock)
    : client_(client), clock_(clock), self_(std::make_shared<ToldEvents*>(this)) {}

bool ToldEvents::IsKnown(const api::Pod& pod) const {
  const auto found = by_pod_uid_.find(pod.meta.uid);
  return found != by_pod_uid_.end() && clock_.SteadyNow() - found->second.at < kFresh;
}

std::vector<api::ToldEvent> ToldEvents::Of(const api::Pod& pod, WallTime since) const {
  std::vector<api::ToldEvent> told;
  const auto found = by_pod_uid_.find(pod.meta.uid);
  if (found == by_pod_uid_.end()) return told;
  for (const api::ToldEvent& event : found->second.events) {
    if (event.at >= since) told.push_back(event);
  }
  return told;
}

void ToldEvents::Trim() {
  const SteadyTime oldest = clock_.SteadyNow() - 10 * kFresh;
  std::erase_if(by_pod_uid_, [oldest](const auto& entry) { return entry.second.at < oldest; });
}

void ToldEvents::Read(const api::Pod& pod, bool with_claims, std::function<void()> done) {
  const std::string uid = pod.meta.uid;
  by_pod_uid_[uid].at = clock_.SteadyNow();
  const auto take = [this, uid](std::vector<api::ToldEvent> events) {
    Answer& answer = by_pod_uid_[uid];
    for (api::ToldEvent& event : events) answer.events.push_back(std::move(event));
  };
  List(pod.meta.namespace_name, "involvedObject.uid=" + uid,
       [this, uid, take, with_claims, done = std::move(done)](std::vector<api::ToldEvent> events) {
         by_pod_uid_[uid].events.clear();
         take(std::move(events));
         if (!with_claims) return done();
         List(kClaimsNamespace,
              std::string("involvedObject.kind=NodeClaim,reason=") + kNoCapacityReason,
              [take, done](std::vector<api::ToldEvent> claims) {
                take(std::move(claims));
                done();
              });
       });
}

void ToldEvents::List(const std::string& namespace_name, const std::string& field_selector,
                      std::function<void(std::vector<api::ToldEvent>)> done) {
  client_.List(
      api::KindOf<api::ToldEvent>(), namespace_name,
      {.field_selector = field_selector, .page_size = kMostEvents},
      [self = std::weak_ptr(self_), done = std::move(done)](const Result<kube::ObjectList>& list) {
        const auto alive = self.lock();
        if (alive == nullptr) return;
        std::vector<api::ToldEvent> events;
        if (!list && !std::exchange((*alive)->warned_, true)) {
          LogWarning("the events of pods that wait cannot be read",
                     {{"error", list.error().message}});
        }
        if (list) {
          for (const kube::JsonPtr& item : list->items) {
            auto event = api::Decode<api::ToldEvent>(*item);
            if (event) events.push_back(*std::move(event));
          }
        }
        done(std::move(events));
      });
}

}  // namespace berth::provisioning
