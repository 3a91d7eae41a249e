#include "program/caller_locations.h"

#include <string>
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
  const view::PodsOfEach told = view::ReadPodsOfEach(session, running, view);
  Json items = Json::array();
  Json failed = Json::array();
  for (const api::Workload* each : running) {
    const std::string id = each->meta.key().ToString();
    if (told.failed.contains(each)) {
      failed.push_back(id);
    } else {
      items.push_back({{"id", id}, {"remark", view::RunningPlace(view, *each)}});
    }
  }
  return Json{{"items", std::move(items)},
              {"failed", std::move(failed)},
              {"namespacesWithoutPods", told.hidden}};
}

}  // namespace berth::program
