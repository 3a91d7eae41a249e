#include "program/caller_locations.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "program/caller_story.h"
#include "view/screens/reason.h"

namespace berth::program {
namespace {

using Json = nlohmann::json;

}  // namespace

Json CallerLocations(view::Session& session, const readapi::CallerRequest& request,
                     const MirrorObjects& objects, WallTime now) {
  view::ClusterView view;
  view.now = now;
  std::vector<const api::Workload*> running;
  for (const auto& each : objects.workloads) {
    if (view::IsRunning(*each) && MaySee(request, each->meta.namespace_name)) {
      running.push_back(each.get());
    }
  }
  view::ReadPodsOfEach(session, running, {}, view);
  Json items = Json::array();
  for (const api::Workload* each : running) {
    items.push_back(
        {{"id", each->meta.key().ToString()}, {"remark", view::RunningPlace(view, *each)}});
  }
  return Json{{"items", std::move(items)}, {"hidden", view.hidden}};
}

}  // namespace berth::program
