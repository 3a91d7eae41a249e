#include "local/cluster/kubelet/node_reporter.h"

#include "base/architecture.h"
#include "base/rfc3339.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/claiming.h"

namespace berth::local::cluster {
namespace {

Json ReportedCondition(const ConditionValue& value, const std::string& now) {
  return {{"type", value.type},       {"status", value.status},   {"reason", value.reason},
          {"message", value.message}, {"lastHeartbeatTime", now}, {"lastTransitionTime", now}};
}

Json ThisMachine() {
  Json info{{"architecture", kArchitecture},
            {"operatingSystem", "linux"},
            {"osImage", "this machine"},
            {"containerRuntimeVersion", "berth://processes"},
            {"kubeletVersion", "berth"}};
  for (const char* field : {"kubeProxyVersion", "kernelVersion", "machineID", "systemUUID"}) {
    info[field] = "";
  }
  info["bootID"] = "";
  return info;
}

}  // namespace

bool ReportReady(Json& node, WallTime now) {
  if (FindCondition(node, "Ready") != nullptr) return false;
  Json& status = node["status"];
  const std::string time = FormatTime(now);
  Json& conditions = status["conditions"];
  for (const ConditionValue& value :
       {ConditionValue{"MemoryPressure", "False", "KubeletHasSufficientMemory",
                       "kubelet has sufficient memory available"},
        ConditionValue{"DiskPressure", "False", "KubeletHasNoDiskPressure",
                       "kubelet has no disk pressure"},
        ConditionValue{"PIDPressure", "False", "KubeletHasSufficientPID",
                       "kubelet has sufficient PID available"},
        ConditionValue{"Ready", "True", "KubeletReady", "kubelet is posting ready status"}}) {
    if (FindCondition(node, value.type) == nullptr) {
      conditions.push_back(ReportedCondition(value, time));
    }
  }
  if (ArrayAt(node, {"status", "addresses"}).empty()) {
    status["addresses"] = {{{"type", "InternalIP"}, {"address", "127.0.0.1"}},
                           {{"type", "Hostname"}, {"address", NameOf(node)}}};
  }
  if (StringAt(node, {"status", "nodeInfo", "kubeletVersion"}).empty()) {
    status["nodeInfo"] = ThisMachine();
  }
  return true;
}

NodeReporter::NodeReporter(Api& api, ObjectCache& cache, Executor& executor, const Clock& clock)
    : cache_(cache),
      clock_(clock),
      writer_(api, cache, "kubelet"),
      nodes_(
          executor, "node-report", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(clock)) {
  cache_.Listen(kNodes, [this](const ObjectChange& change) {
    if (change.current == nullptr || FindCondition(*change.current, "Ready") != nullptr) return;
    nodes_.Add(KeyOf(*change.current));
  });
}

Result<NextLook> NodeReporter::Look(const ObjectKey& key) {
  const Object node = cache_.Get(kNodes, key);
  if (node == nullptr || IsDeleting(*node)) return NextLook{};
  const auto written = writer_.EditStatus(
      kNodes, key, UidOf(*node), [this](Json& one) { return ReportReady(one, clock_.Now()); });
  BERTH_CHECK_OK(Settled(written));
  return NextLook{};
}

}  // namespace berth::local::cluster
