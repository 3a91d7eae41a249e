#include "local/cluster/kubelet/process_specs.h"

#include <cstdlib>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "local/cluster/kubelet/data_objects.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

constexpr char kTerminal[] = "xterm";  // container runtimes set the same

std::vector<std::string> Expanded(const Json& words, const Environment& environment) {
  std::vector<std::string> expanded;
  for (const Json& word : words) {
    expanded.push_back(ExpandVariables(StringAt(word, {}), environment));
  }
  return expanded;
}

// The variables by which a program finds its libraries; no other variables are passed on.
Environment InheritedEnvironment() {
  Environment environment;
  for (const char* name : {"PATH", "LANG", "TZ", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name); value != nullptr) {
      environment.emplace_back(name, value);
    }
  }
  return environment;
}

}  // namespace

ProcessSpecs::ProcessSpecs(const Services& services)
    : services_(services),
      inherited_(InheritedEnvironment()),
      mounts_(services_.cache, services_.folders, inherited_, services_.job_user.has_value()),
      image_mounts_(services_.folders, mounts_) {}

Status ProcessSpecs::PrepareImage(const Json& pod, const ContainerRun& container) const {
  return image_mounts_.Prepare(pod, container.name);
}

Result<ProcessSpec> ProcessSpecs::Make(const Json& stored_pod, const PodRun& run,
                                       const ContainerRun& container,
                                       const LocalProgram& program) const {
  Json pod = stored_pod;
  pod["status"]["podIP"] = run.address;  // the status may be written later
  const Json* spec = DeclarationOf(pod, container);
  if (spec == nullptr) return Error{ErrorCode::kInvalid, "no such container"};
  BERTH_TRY(const Environment own,
            MakeEnvironment(pod, *spec, [&](DataKind kind, const std::string& name) {
              return ReadData(services_.api, NamespaceOf(pod), kind, name, Entries::kText);
            }));
  std::function<Result<std::string>()> kubeconfig;
  if (services_.account_kubeconfig != nullptr) {
    kubeconfig = [&] { return KubeconfigOfPod(services_.api, pod, services_.account_kubeconfig); };
  }
  BERTH_CHECK_OK(services_.folders.Prepare(pod, container.name, kubeconfig));
  ProcessSpec process;
  process.working_folder = services_.folders.WorkFolder(pod);
  process.output_path = services_.folders.LogPath(pod, container.name, container.restarts);
  process.record_path = services_.folders.RecordPath(pod, container.name);
  process.most_output_bytes = services_.log_bytes;
  process.user = services_.job_user;
  if (services_.network != nullptr) process.network = services_.network->For(pod, run.address);
  process.argv = MakeCommandLine(program, Expanded(ArrayAt(*spec, {"command"}), own),
                                 Expanded(ArrayAt(*spec, {"args"}), own));
  std::map<std::string, std::string> environment(inherited_.begin(), inherited_.end());
  if (program.image != nullptr) {
    BERTH_CHECK_OK(image_mounts_.AddTo(process, pod, *spec, own, *program.image));
    environment = program.image->environment;
    environment.try_emplace("HOME", program.image->home);
  } else {
    BERTH_CHECK_OK(mounts_.AddTo(process, pod, *spec, own, !container.is_running()));
    environment["HOME"] = process.working_folder;
  }
  process.keeps_input = BoolAt(*spec, {"stdin"});
  process.is_terminal = BoolAt(*spec, {"tty"});
  if (process.is_terminal) environment["TERM"] = kTerminal;
  if (process.user) environment["USER"] = environment["LOGNAME"] = process.user->name;
  environment["HOSTNAME"] = HostNameOf(pod);
  if (services_.network != nullptr && BoolAt(pod, {"spec", "enableServiceLinks"})) {
    for (const auto& [name, value] : services_.network->LinksIn(NamespaceOf(pod))) {
      environment[name] = value;
    }
  }
  for (const auto& [name, value] : services_.api_variables) environment[name] = value;
  for (const auto& [name, value] : own) environment[name] = value;
  for (const auto& [name, value] : environment) process.env.push_back(name + "=" + value);
  return process;
}

}  // namespace berth::local::cluster
