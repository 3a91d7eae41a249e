#include "local/cloud/cloud_driver.h"

#include <algorithm>

#include "base/log/log.h"
#include "base/rfc3339.h"
#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cloud {
namespace {

using cluster::kNodePools;
using cluster::kNodes;
using cluster::kPods;
using cluster::kPodTemplates;
using cluster::kProvisioningRequests;
using cluster::StringAt;

constexpr char kOurClass[] = "queued-provisioning.gke.io";
constexpr Duration kKindsRetry = std::chrono::seconds(1);
constexpr Duration kErrorRetry = std::chrono::seconds(1);
constexpr Duration kLongestSleep = std::chrono::minutes(5);  // wall clocks can jump

// Pods change often and in batches; one step serves all changes of this interval.
constexpr Duration kPodBatch = std::chrono::milliseconds(100);

}  // namespace

CloudDriver::CloudDriver(Api& api, cluster::ObjectCache& cache, const Clock& clock,
                         Executor& executor, CloudTimes times, std::optional<MachineSize> machine)
    : api_(api),
      cache_(cache),
      clock_(clock),
      executor_(executor),
      times_(times),
      machine_(machine),
      writer_(api, cache, "berth-cloud"),
      events_(api, clock, executor, executor, "cluster-autoscaler") {
  executor_.Post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) Begin();
  });
}

void CloudDriver::Begin() {
  const auto is_served = [&](const ResourceId& resource) {
    return bool(api_.List(resource, "", {}));
  };
  bool all = is_served(kNodePools) && is_served(kProvisioningRequests);
  for (const ResourceId* resource :
       {&kNodes, &kPods, &kPodTemplates, &kNodePools, &kProvisioningRequests}) {
    if (all && !cache_.Track(*resource)) all = false;
  }
  if (!all) {
    executor_.PostAfter(kKindsRetry, [this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) Begin();
    });
    return;
  }
  if (is_tracking_) return;
  is_tracking_ = true;
  for (const ResourceId* resource :
       {&kNodes, &kPods, &kPodTemplates, &kNodePools, &kProvisioningRequests}) {
    const Duration delay = resource == &kPods ? kPodBatch : Duration::zero();
    cache_.Listen(*resource,
                  [this, delay](const cluster::ObjectChange&) { StepAt(clock_.Now() + delay); });
  }
  StepAt(clock_.Now());
}

void CloudDriver::StepAt(WallTime due) {
  due = std::min(due, clock_.Now() + kLongestSleep);
  if (next_step_ && *next_step_ <= due) return;
  next_step_ = due;
  executor_.PostAfter(due - clock_.Now(),
                      [this, ticket = ++ticket_, alive = std::weak_ptr<bool>(alive_)] {
                        if (!alive.expired() && ticket == ticket_) Step();
                      });
}

void CloudDriver::Step() {
  next_step_.reset();
  const CloudStep step = StepCloud(View(), times_, clock_.Now());
  for (const CloudEffect& effect : step.effects) {
    if (Perform(effect)) continue;
    // Later effects may depend on the failed one; the next step derives the rest again.
    return StepAt(clock_.Now() + kErrorRetry);
  }
  if (step.look_again) StepAt(*step.look_again);
}

CloudView CloudDriver::View() {
  CloudView view;
  view.machine = machine_;
  for (const Object& pool : cache_.All(kNodePools)) view.pools.push_back(ReadNodePool(pool));
  view.nodes = cache_.All(kNodes);
  view.pods = cache_.ByIndex(kPods, cluster::kUnfinishedIndex, "yes");
  for (const Object& request : cache_.All(kProvisioningRequests)) {
    if (StringAt(*request, {"spec", "provisioningClassName"}) != kOurClass) continue;
    view.requests.push_back(request);
    for (const Json& pod_set : cluster::ArrayAt(*request, {"spec", "podSets"})) {
      const cluster::ObjectKey name{cluster::NamespaceOf(*request),
                                    StringAt(pod_set, {"podTemplateRef", "name"})};
      if (const Object found = cache_.Get(kPodTemplates, name)) view.templates[name] = found;
    }
  }
  return view;
}

bool CloudDriver::Perform(const CloudEffect& effect) {
  if (const auto* one = std::get_if<CreateNode>(&effect)) return CreateOneNode(*one);
  if (const auto* one = std::get_if<FinishNode>(&effect)) {
    const auto finish = [&](Json& node) { return FinishBoot(node, clock_.Now()); };
    // Status first: the taint is removed when the machine is ready.
    return EditNode(one->name, "status", finish) && EditNode(one->name, "", finish);
  }
  if (const auto* one = std::get_if<WarnNode>(&effect)) {
    return EditNode(one->name, "", GiveNotice);
  }
  if (const auto* one = std::get_if<MarkIdle>(&effect)) {
    return EditNode(one->name, "", [&](Json& node) {
      Json& annotations = node["metadata"]["annotations"];
      if (one->since) {
        annotations[kIdleSinceAnnotation] = FormatTime(*one->since);
      } else {
        annotations.erase(kIdleSinceAnnotation);
      }
      return true;
    });
  }
  if (const auto* one = std::get_if<DeleteNode>(&effect)) {
    const Object node = cache_.Get(kNodes, {"", one->name});
    return node == nullptr || writer_.Delete(kNodes, *node);
  }
  if (const auto* one = std::get_if<CordonNode>(&effect)) {
    return EditNode(one->name, "", [&](Json& node) { return SetCordon(node, one->closed); });
  }
  if (const auto* one = std::get_if<ResizeNode>(&effect)) {
    return EditNode(one->name, "status", [&](Json& node) {
      node["status"]["capacity"] = one->amounts;
      node["status"]["allocatable"] = one->amounts;
      return true;
    });
  }
  if (const auto* one = std::get_if<SetRequestStatus>(&effect)) {
    const auto written =
        writer_.EditStatus(kProvisioningRequests, one->key, one->uid, [&](Json& request) {
          request["status"] = one->status;
          return true;
        });
    return written || written.error().reason == "NotFound";
  }
  if (const auto* one = std::get_if<DeleteRequest>(&effect)) {
    const Object request = cache_.Get(kProvisioningRequests, one->key);
    return request == nullptr || writer_.Delete(kProvisioningRequests, *request);
  }
  if (const auto* one = std::get_if<SetPoolStatus>(&effect)) {
    const Object pool = cache_.Get(kNodePools, {"", one->name});
    if (pool == nullptr) return true;
    const auto written =
        writer_.EditStatus(kNodePools, {"", one->name}, cluster::UidOf(*pool), [&](Json& object) {
          object["status"] = one->status;
          return true;
        });
    return written || written.error().reason == "NotFound";
  }
  const auto& announce = std::get<Announce>(effect);
  events_.Record(*announce.about, announce.type, announce.reason, announce.message);
  return true;
}

bool CloudDriver::CreateOneNode(const CreateNode& effect) {
  const auto created = writer_.Create(kNodes, "", effect.node);
  if (!created) {
    if (created.error().reason == "AlreadyExists") return true;  // created before a crash
    LogWarning("node not created",
               {{"node", cluster::NameOf(effect.node)}, {"error", created.error().message}});
    return false;
  }
  // Some APIs take the status through the subresource only.
  return EditNode(cluster::NameOf(effect.node), "status", [&](Json& node) {
    if (cluster::Find(node, {"status", "allocatable"}) != nullptr) return false;
    node["status"] = effect.node["status"];
    return true;
  });
}

bool CloudDriver::EditNode(const std::string& name, const std::string& subresource,
                           const std::function<bool(Json&)>& edit) {
  const Object node = cache_.Get(kNodes, {"", name});
  if (node == nullptr) return true;
  const auto written = writer_.Edit(kNodes, {"", name}, cluster::UidOf(*node), subresource, edit);
  return written || written.error().reason == "NotFound";
}

}  // namespace berth::local::cloud
