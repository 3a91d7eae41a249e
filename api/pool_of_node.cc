#include "api/pool_of_node.h"

#include "api/karpenter.h"
#include "api/labels.h"
#include "api/object_meta.h"

namespace berth::api {
namespace {

constexpr const char* kPoolLabels[] = {kGkeNodePoolLabel, kKarpenterNodePoolLabel,
                                       "eks.amazonaws.com/nodegroup",
                                       "kubernetes.azure.com/agentpool"};
constexpr char kMirrorAnnotation[] = "kubernetes.io/config.mirror";

}  // namespace

std::string NodePoolOf(const Node& node) {
  for (const char* label : kPoolLabels) {
    if (const std::string* pool = FindValue(node.meta.labels, label)) return *pool;
  }
  return "";
}

bool IsDaemon(const Pod& pod) {
  const OwnerReference* owner = ControllerOf(pod.meta);
  return (owner != nullptr && owner->kind == "DaemonSet") ||
         pod.meta.annotations.contains(kMirrorAnnotation);
}

}  // namespace berth::api
