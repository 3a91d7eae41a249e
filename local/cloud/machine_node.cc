#include "local/cloud/machine_node.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/architecture.h"
#include "local/cloud/step_context.h"

namespace berth::local::cloud {
namespace {

constexpr std::int64_t kMostPods = 110;  // kubelet's default

Json Amounts(const MachineSize& size) {
  return {{"cpu", size.cpu_milli % 1000 == 0 ? std::to_string(size.cpu_milli / 1000)
                                             : fmt::format("{}m", size.cpu_milli)},
          {"memory", fmt::format("{}Ki", size.memory_bytes / 1024)},
          {"pods", std::to_string(kMostPods)}};
}

// The API may have written the same amount in another form.
bool HasAmounts(const Json& node, const Json& amounts) {
  return std::all_of(amounts.items().begin(), amounts.items().end(), [&](const auto& entry) {
    const auto has = api::ParseAmount(
        entry.key(), cluster::StringAt(node, {"status", "capacity", entry.key().c_str()}));
    const auto wanted =
        api::ParseAmount(entry.key(), entry.value().template get_ref<const std::string&>());
    return has && wanted && *has == *wanted;
  });
}

bool HasPods(const CloudView& view) {
  return std::any_of(view.pods.begin(), view.pods.end(), [](const Object& pod) {
    return cluster::StringAt(*pod, {"spec", "nodeName"}) == kMachineNode;
  });
}

}  // namespace

Json MakeMachineNode(const MachineSize& size) {
  const Json amounts = Amounts(size);
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", kMachineNode},
            {"labels",
             {{"kubernetes.io/hostname", kMachineNode},
              {"kubernetes.io/arch", kArchitecture},
              {"kubernetes.io/os", "linux"}}}}},
          {"spec", Json::object()},
          {"status", {{"capacity", amounts}, {"allocatable", amounts}}}};
}

bool SetCordon(Json& node, bool closed) {
  const bool is_closed = cluster::BoolAt(node, {"spec", "unschedulable"});
  const bool is_ours = cluster::HasAnnotation(node, kYieldsAnnotation);
  if (closed == is_closed || (is_closed && !is_ours)) return false;
  if (closed) {
    node["spec"]["unschedulable"] = true;
    node["metadata"]["annotations"][kYieldsAnnotation] = "true";
  } else {
    node["spec"].erase("unschedulable");
    node["metadata"]["annotations"].erase(kYieldsAnnotation);
  }
  return true;
}

void StepMachineNode(StepContext& context) {
  const CloudView& view = context.view;
  if (!view.machine) return;
  Object node;
  bool yields = !view.pools.empty();
  for (const Object& each : view.nodes) {
    if (cluster::NameOf(*each) == kMachineNode) {
      node = each;
    } else {
      yields = true;
    }
  }
  if (node == nullptr) {
    if (!yields) context.Do(CreateNode{MakeMachineNode(*view.machine)});
    return;
  }
  if (cluster::IsDeleting(*node)) return;
  Json changed = *node;
  if (SetCordon(changed, yields)) {
    // The pods that were bound meanwhile are seen by the step that follows this change.
    context.Do(CordonNode{kMachineNode, yields});
  } else if (yields && !HasPods(view)) {
    context.Do(DeleteNode{kMachineNode});
  }
  Json amounts = Amounts(*view.machine);
  if (!yields && !HasAmounts(*node, amounts)) {
    context.Do(ResizeNode{kMachineNode, std::move(amounts)});
  }
}

}  // namespace berth::local::cloud
