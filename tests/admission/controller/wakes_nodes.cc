#include "tests/admission/controller/wakes_nodes.h"

namespace berth::admission {

void PutLevels(WakesWorld& world, const std::string& levels) {
  world.PutKueue("topologies",
                 R"({"metadata": {"name": "dc"}, "spec": {"levels": )" + levels + "}}");
}

void PutTopology(WakesWorld& world) {
  PutLevels(world, R"([{"nodeLabel": "kubernetes.io/hostname"}])");
  world.PutFlavor("default", R"({"topologyName": "dc", "nodeLabels": {"tier": "gpu"}})");
}

void WaitForNodes(WakesWorld& world) {
  world.PutQueues(100);
  PutTopology(world);
  world.PutWorkload("w", 4);
}

void PutNode(WakesWorld& world, const std::string& name, const std::string& more) {
  Json node = Json::parse(R"({
    "metadata": {"labels": {"tier": "gpu", "rack": "r1"}}, "spec": {},
    "status": {"allocatable": {"cpu": "4", "pods": "10"}, "conditions": [
      {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})");
  node["metadata"]["name"] = name;
  node["metadata"]["labels"]["kubernetes.io/hostname"] = name;
  node.merge_patch(Json::parse(more));
  world.PutAt("/api/v1/nodes", node.dump());
}

void PutPod(WakesWorld& world, const std::string& node) {
  Json pod = Json::parse(R"({"metadata": {"name": "p"}, "status": {"phase": "Running"}, "spec": {
    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}})");
  pod["spec"]["nodeName"] = node;
  world.PutAt("/api/v1/namespaces/team/pods", pod.dump());
}

void EndPod(WakesWorld& world) {
  Json pod = world.Stored("/api/v1/namespaces/team/pods/p");
  pod["status"]["phase"] = "Succeeded";
  world.PutAt("/api/v1/namespaces/team/pods", pod.dump());
}

}  // namespace berth::admission
