#include "local/cluster/usage/usage_service.h"

#include <future>
#include <utility>

#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cluster {
namespace {

constexpr Duration kReadEvery = std::chrono::seconds(15);
// A shorter window has too few ticks of the processes' clock.
constexpr Duration kShortestWindow = std::chrono::seconds(5);
constexpr std::size_t kMostKept = 2;
constexpr std::chrono::seconds kTimeout{10};

net::Response Unavailable(const std::string& message) {
  return UsageRefusal({503, "ServiceUnavailable", message, Json()});
}

}  // namespace

UsageService::UsageService(Api& api, Executor& executor, const Clock& clock,
                           const PodExecutor& pods)
    : api_(api), executor_(executor), clock_(clock), pods_(pods) {}

void UsageService::Start() { ReadLater(); }

void UsageService::ReadLater() {
  executor_.PostAfter(kReadEvery, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    kept_.push_back(pods_.ReadUsage());
    if (kept_.size() > kMostKept) kept_.pop_front();
    ReadLater();
  });
}

// The earlier reading: the newest one that is old enough. A container that has none is measured
// from its start.
std::map<std::string, PodUsage> UsageService::Measure() {
  const UsageReading now = pods_.ReadUsage();
  for (auto before = kept_.rbegin(); before != kept_.rend(); ++before) {
    if (now.at - before->at >= kShortestWindow) return UsageBetween(*before, now);
  }
  return UsageBetween({}, now);
}

net::Response UsageService::Answer(const net::Request& request) {
  const auto target = ParseTarget(request.target);
  if (!target) return UsageRefusal({400, "BadRequest", "the path cannot be decoded", Json()});
  std::string path = target->path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (request.method != "GET") {
    return UsageRefusal({405, "MethodNotAllowed",
                         "the server does not allow this method on the requested resource",
                         Json()});
  }
  if (auto document = UsageDocument(path, request.headers.Find("Accept"))) {
    return *std::move(document);
  }
  const auto api_path = ParseApiPath(path);
  if (!api_path) {
    return UsageRefusal(
        {404, "NotFound", "the server could not find the requested resource", Json()});
  }
  auto measured = std::make_shared<std::promise<std::map<std::string, PodUsage>>>();
  auto answer = measured->get_future();
  executor_.Post([this, measured] { measured->set_value(Measure()); });
  if (answer.wait_for(kTimeout) != std::future_status::ready) {
    return Unavailable("the programs of pods are not measured in time, please try again");
  }
  UsageView view{.pods = {}, .nodes = {}, .usage_by_uid = answer.get(), .now = clock_.Now()};
  auto pods = api_.List(kPods, api_path->namespace_name, {});
  if (!pods) return Unavailable(pods.error().message);
  view.pods = std::move(pods->items);
  if (api_path->resource == "nodes") {
    auto nodes = api_.List(kNodes, "", {});
    if (!nodes) return Unavailable(nodes.error().message);
    view.nodes = std::move(nodes->items);
  }
  return UsageAnswer(*target, *api_path, view);
}

}  // namespace berth::local::cluster
