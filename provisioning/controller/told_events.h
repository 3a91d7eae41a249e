// provisioning/controller/told_events.h — reads the Events of autoscalers about pods that wait.
//
// Events are listed, not watched: those of one pod, and those of NodeClaims for which the cloud has
// no machine. The answer is kept for a while, so that few requests are sent.
//
// Threads: one Executor, that of the manager. Errors: none: where Events cannot be read, the log
// says so once and nothing is told.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/told_event.h"
#include "base/clock.h"
#include "kube/client/api_client.h"

namespace berth::provisioning {

class ToldEvents {
 public:
  ToldEvents(kube::ApiClient& client, const Clock& clock);
  ToldEvents(const ToldEvents&) = delete;
  ToldEvents& operator=(const ToldEvents&) = delete;

  // Whether Of gives an answer for the pod that is fresh enough.
  bool IsKnown(const api::Pod& pod) const;
  // The known Events about the pod that are newer than `since`.
  std::vector<api::ToldEvent> Of(const api::Pod& pod, WallTime since) const;
  // Reads the Events, then calls `done`. `with_claims`: also those of NodeClaims.
  void Read(const api::Pod& pod, bool with_claims, std::function<void()> done);
  // Forgets answers that are too old to be used.
  void Trim();

 private:
  struct Answer {
    SteadyTime at{};
    std::vector<api::ToldEvent> events;
  };

  void List(const std::string& namespace_name, const std::string& field_selector,
            std::function<void(std::vector<api::ToldEvent>)> done);

  kube::ApiClient& client_;
  const Clock& clock_;
  std::map<std::string, Answer> by_pod_uid_;
  bool warned_ = false;
  std::shared_ptr<ToldEvents*> self_;  // weak copies in callbacks: null after destruction
};

}  // namespace berth::provisioning
