// berth cloud: runs the emulated cloud of `berth up` on any Kubernetes.
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "base/log/log.h"
#include "base/system_clock.h"
#include "base/threads/thread_executor.h"
#include "cli/client_flags.h"
#include "cli/completion.h"
#include "kube/client/kubeconfig.h"
#include "local/cloud/cloud_driver.h"
#include "local/cluster/objects/pod_index.h"
#include "program/embedded_manifests.h"
#include "program/remote_api.h"
#include "program/signals.h"
#include "view/output.h"

namespace berth::cli {
namespace {

constexpr char kFieldManager[] = "berth-cloud";
const local::ResourceId kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

// Installs the CRD of NodePool, which no other program installs.
Status InstallNodePools(local::Api& api) {
  BERTH_TRY(const auto documents, api::ParseYamlStream(program::CloudManifests()));
  for (const api::YamlDocument& document : documents) {
    const std::string name = document.value.at("metadata").value("name", "");
    const auto applied = api.Patch(kDefinitions, "", name, local::PatchType::kApply, document.value,
                                   {.field_manager = kFieldManager, .force = true});
    if (applied) continue;
    const ErrorCode code =
        applied.error().code == 503 ? ErrorCode::kUnavailable : ErrorCode::kForbidden;
    return Error{code, "installing " + name + ": " + applied.error().message};
  }
  return OkStatus();
}

int RunCloud(const ClientFlags& client) {
  program::HoldStopSignals();
  const auto config = kube::FindKubeConfig({.path = client.kubeconfig, .context = client.context});
  if (!config) return view::Complain(config.error());
  auto api = program::ConnectRemoteApi(*config);
  if (!api) return view::Complain(api.error());
  if (const Status installed = InstallNodePools(**api); !installed) {
    return view::Complain(installed.error());
  }
  const SystemClock clock;
  ThreadExecutor executor;
  local::cluster::ObjectCache cache(**api, executor);
  local::cluster::IndexUnfinishedPods(cache);
  local::cloud::CloudDriver cloud(**api, cache, clock, executor);
  LogInfo("cloud started", {{"server", config->server}});
  program::WaitForStopSignal();
  executor.Stop();
  return view::kExitAnswered;
}

}  // namespace

void AddCloud(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  CLI::App* command = app.add_subcommand(
      "cloud", "The emulated cloud on any Kubernetes: node pools, queued provisioning, stock-outs");
  AddServerFlags(*command, *client);
  command->footer(
      "Its machines are nodes without a kubelet: kwok keeps them ready and plays their pods.\n"
      "`berth up` has this cloud by itself.\n"
      "Example:\n"
      "  berth cloud --kubeconfig rehearsal.yaml &\n"
      "  kubectl apply -f manifests/samples/dws/nodepools.yaml");
  command->callback([client, &exit_code] { exit_code = RunCloud(*client); });
}

}  // namespace berth::cli
