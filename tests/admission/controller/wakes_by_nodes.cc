// The rows of wakes_test.cc in which a ResourceFlavor, a Topology, a Node, a pod on a Node, an
// AdmissionCheck, or a default of pods changes.
#include "tests/admission/controller/wakes_nodes.h"

namespace berth::admission {
namespace {

void AskForTopology(WakesWorld& world, const char* request) {
  world.Edit("w", [request](Json& object) {
    object["spec"]["podSets"][0]["topologyRequest"] = Json::parse(request);
  });
}
// A queue without flavor-specific rules for `w`, whose pods have `field`.
void WaitForFlavor(WakesWorld& world, const char* flavor, const Json& selector) {
  world.PutQueuesAfter([&] { world.EditPods("w", "nodeSelector", selector); });
  world.PutFlavor("default", flavor);
}
// `a` of the queue "other", which uses `flavor`, has 3 of the 4 CPUs of n1.
void TakeNode(WakesWorld& world, const std::string& flavor) {
  world.PutQueues(100);
  PutTopology(world);
  world.PutFlavor(flavor, R"({"topologyName": "dc", "nodeLabels": {"tier": "gpu"}})");
  PutNode(world, "n1");
  world.PutClusterQueue("other", 0, Groups(R"([{"name": ")" + flavor + R"(",
      "resources": [{"name": "cpu", "nominalQuota": 4}]}])"));
  world.PutLocalQueue("other", "other");
  world.PutWorkload("a", 3, {{"queueName", "other"}});
  world.Run(3s);
  world.PutWorkload("w", 4);
}
// Beside that, n2 has room for `a` alone.
void TakeNodeOfTwo(WakesWorld& world) {
  TakeNode(world, "default");
  PutNode(world, "n2", R"({"status": {"allocatable": {"cpu": "3"}}})");
}
void PutRange(WakesWorld& world, const std::string& item) {
  world.PutAt("/api/v1/namespaces/team/limitranges",
              R"({"metadata": {"name": "r"}, "spec": {"limits": [)" + item + "]}}");
}
void PutRuntimeClass(WakesWorld& world, int cpu) {
  world.PutAt(
      "/apis/node.k8s.io/v1/runtimeclasses",
      R"({"metadata": {"name": "vm"}, "handler": "vm", "overhead": {"podFixed": {"cpu": ")" +
          std::to_string(cpu) + R"("}}})");
}
// `w` has no requests of its own: those of `item` count.
void WaitForDefault(WakesWorld& world, const char* item) {
  PutRange(world, item);
  world.PutQueuesAfter(
      [&] { world.EditPods("w", "containers", Json::parse(R"([{"name": "c"}])")); });
}

std::vector<WakeRow> OfFlavors() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"flavor-created", kActive,
       [](W w) {
         w.PutQueues(4);
         w.RemoveKueue("resourceflavors/default");
         w.PutWorkload("w", 4);
       },
       [](W w) { w.PutFlavor("default", "{}"); }},
      {"flavor-node-labels", kParked,
       [](W w) {
         WaitForFlavor(w, R"({"nodeLabels": {"tier": "cpu"}})", {{"tier", "gpu"}});
       },
       [](W w) { w.PutFlavor("default", R"({"nodeLabels": {"tier": "gpu"}})"); }},
      {"flavor-node-taints", kParked,
       [](W w) {
         WaitForFlavor(w, R"({"nodeTaints": [{"key": "k", "effect": "NoSchedule"}]})",
                       Json::object());
       },
       [](W w) { w.PutFlavor("default", "{}"); }},
      {"flavor-tolerations", kParked,
       [](W w) {
         WaitForFlavor(w, R"({"nodeTaints": [{"key": "k", "effect": "NoSchedule"}]})",
                       Json::object());
       },
       [](W w) {
         w.PutFlavor("default", R"({"nodeTaints": [{"key": "k", "effect": "NoSchedule"}],
           "tolerations": [{"key": "k", "operator": "Exists"}]})");
       }},
      {"flavor-most-per-pod", kParked,
       [](W w) {
         w.PutQueuesAfter([] {});
         w.PutKueue("resourceflavors", R"({"metadata": {"name": "default",
           "annotations": {"berth.dev/most-per-pod": "cpu=2"}}, "spec": {}})");
       },
       [](W w) { w.PutFlavor("default", "{}"); }},
      {"flavor-topology-name", kParked,
       [](W w) {
         PutLevels(w, R"([{"nodeLabel": "kubernetes.io/hostname"}])");
         PutNode(w, "n1");
         w.PutQueuesAfter([&] { AskForTopology(w, R"({"required": "kubernetes.io/hostname"})"); });
       },
       [](W w) { PutTopology(w); }},
  };
}

std::vector<WakeRow> OfTopologiesAndChecks() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"topology-created", kActive,
       [](W w) {
         WaitForNodes(w);
         PutNode(w, "n1");
         w.RemoveKueue("topologies/dc");
       },
       [](W w) { PutTopology(w); }},
      {"topology-levels", kParked,
       [](W w) {
         PutNode(w, "n1");
         w.PutQueuesAfter([&] { AskForTopology(w, R"({"required": "rack"})"); });
         PutTopology(w);
       },
       [](W w) {
         PutLevels(w, R"([{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}])");
       }},
      {"check-created", kActive,
       [](W w) {
         w.PutQueues(4, Checked());
         w.PutWorkload("w", 4);
       },
       [](W w) {
         w.PutCheck();
         w.ActivateCheck("c");
       }},
      {"check-is-active", kActive,
       [](W w) {
         w.PutCheck();
         w.PutQueues(4, Checked());
         w.PutWorkload("w", 4);
       },
       [](W w) { w.ActivateCheck("c"); }},
  };
}

std::vector<WakeRow> OfNodes() {
  using enum Waits;
  using W = WakesWorld&;
  // The node is right from the change on.
  const auto wait_for_change_of = [](const char* node) {
    return [node](W w) {
      PutNode(w, "n1", node);
      WaitForNodes(w);
    };
  };
  const auto put_node = [](W w) { PutNode(w, "n1"); };
  return {
      {"node-created", kParked, [](W w) { WaitForNodes(w); }, put_node},
      {"node-ready", kParked, wait_for_change_of(R"({"status": {"conditions": [
         {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})"),
       put_node},
      {"node-unschedulable", kParked, wait_for_change_of(R"({"spec": {"unschedulable": true}})"),
       put_node},
      {"node-labels", kParked, wait_for_change_of(R"({"metadata": {"labels": {"tier": "cpu"}}})"),
       put_node},
      {"node-allocatable", kParked,
       wait_for_change_of(R"({"status": {"allocatable": {"cpu": "3"}}})"), put_node},
      {"node-taints", kParked,
       wait_for_change_of(R"({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})"),
       put_node},
  };
}

std::vector<WakeRow> OfPodsOnNodes() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"pod-of-node-deleted", kParked,
       [](W w) {
         PutNode(w, "n1");
         PutPod(w, "n1");
         WaitForNodes(w);
       },
       [](W w) { w.Remove("/api/v1/namespaces/team/pods/p"); }},
      {"pod-of-node-ends", kParked,
       [](W w) {
         PutNode(w, "n1");
         PutPod(w, "n1");
         WaitForNodes(w);
       },
       [](W w) { EndPod(w); }},
      {"other-cohort-leaves-nodes", kParked, [](W w) { TakeNode(w, "default"); },
       [](W w) { w.Finish("a"); }},
      {"other-flavor-leaves-nodes", kParked, [](W w) { TakeNode(w, "extra"); },
       [](W w) { w.Finish("a"); }},
      {"others-pods-move", kParked, TakeNodeOfTwo,
       [](W w) {
         w.Edit("a", [](Json& object) {
           Json& assigned = object["status"]["admission"]["podSetAssignments"][0];
           std::string text = assigned["topologyAssignment"].dump();
           text.replace(text.find("n1"), 2, "n2");
           assigned["topologyAssignment"] = Json::parse(text);
         });
       }},
      {"others-node-is-replaced", kParked, TakeNodeOfTwo,
       [](W w) {
         w.Edit("a", [](Json& object) { object["status"]["unhealthyNodes"] = {{{"name", "n1"}}}; });
       }},
      {"claimant-of-nodes-leaves", kActive,
       [](W w) {  // `b` waits for n2, which its victim has, and keeps n1 for its other pod
         PutNode(w, "n2");
         w.PutQueues(100);
         PutTopology(w);
         w.PutClusterQueue("other", 8, Preempting());
         w.PutLocalQueue("other", "other");
         w.PutWorkload("v", 4, {{"queueName", "other"}});
         w.Run(3s);
         PutNode(w, "n1");
         w.PutWorkload("b", 4, {{"queueName", "other"}, {"priority", 5}});
         w.Edit("b", [](Json& object) { object["spec"]["podSets"][0]["count"] = 2; });
         w.Run(3s);
         w.PutWorkload("w", 4);
       },
       [](W w) { w.Remove(WakesWorld::PathOf("b")); }},
  };
}

std::vector<WakeRow> OfDefaults() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"limit-range-default", kParked,
       [](W w) { WaitForDefault(w, R"({"type": "Container", "defaultRequest": {"cpu": "8"}})"); },
       [](W w) { PutRange(w, R"({"type": "Container", "defaultRequest": {"cpu": "4"}})"); }},
      {"limit-range-deleted", kParked,
       [](W w) { WaitForDefault(w, R"({"type": "Container", "defaultRequest": {"cpu": "8"}})"); },
       [](W w) { w.Remove("/api/v1/namespaces/team/limitranges/r"); }},
      {"limit-range-max", kParked,
       [](W w) {
         PutRange(w, R"({"type": "Container", "max": {"cpu": "2"}})");
         w.PutQueuesAfter([] {});
       },
       [](W w) { PutRange(w, R"({"type": "Container", "max": {"cpu": "4"}})"); }},
      {"runtime-class-overhead", kParked,
       [](W w) {
         PutRuntimeClass(w, 1);
         w.PutQueuesAfter([&] { w.EditPods("w", "runtimeClassName", "vm"); });
       },
       [](W w) { PutRuntimeClass(w, 0); }},
  };
}

}  // namespace

std::vector<WakeRow> WakesByNodes() {
  std::vector<WakeRow> rows = OfFlavors();
  for (const auto& more : {OfTopologiesAndChecks(), OfNodes(), OfPodsOnNodes(), OfDefaults()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace berth::admission
