#include "local/cluster/kubelet/pod_stream_service.h"

#include <utility>

namespace berth::local::cluster {

void PodStreamService::StartProgram(const ProgramRequest& request,
                                    std::shared_ptr<ProgramObserver> observer,
                                    Done<std::unique_ptr<RunningProgram>> done) {
  executor_.Post([this, request, observer = std::move(observer), done = std::move(done)] {
    done(pods_.StartProgram(request, observer));
  });
}

void PodStreamService::FindPort(const PodPlace& place, std::uint16_t port, Done<std::string> done) {
  executor_.Post(
      [this, place, port, done = std::move(done)] { done(pods_.FindPort(place, port)); });
}

}  // namespace berth::local::cluster
