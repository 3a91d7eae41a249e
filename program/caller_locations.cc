#include "program/caller_locations.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "program/caller_story.h"
#include "view/screens/reason.h"

namespace berth::program {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostPods = 1'000;  // the limit of a namespace and a kind of jobs

}  // namespace

Result<Json> CallerLocations(view::Session& session, const readapi::CallerRequest& request,
                             const MirrorObjects& objects, WallTime now) {
  view::ClusterView view;
  view.now = now;
  std::vector<const api::Workload*> running;
  for (const auto& each : objects.workloads) {
    if (view::IsRunning(*each) && MaySee(request, each->meta.namespace_name) &&
        std::binary_search(request.workloads.begin(), request.workloads.end(),
                           each->meta.key().ToString())) {
      running.push_back(each.get());
    }
  }
  BERTH_CHECK_OK(view::ReadPodsOfEach(session, running, kMostPods, view));
  Json items = Json::array();
  for (const api::Workload* each : running) {
    items.push_back(
        {{"id", each->meta.key().ToString()}, {"remark", view::RunningPlace(view, *each)}});
  }
  return Json{{"items", std::move(items)}, {"hidden", view.hidden}};
}

}  // namespace berth::program
