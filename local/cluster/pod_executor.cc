#include "local/cluster/pod_executor.h"

#include <csignal>
#include <cstdlib>

#include <fmt/format.h>

#include "base/strings.h"
#include "local/cluster/image_view.h"
#include "local/cluster/pod_resources.h"
#include "local/cluster/resource_ids.h"

namespace berth::local::cluster {
namespace {

constexpr Duration kRetryDelay = std::chrono::seconds(10);
constexpr std::size_t kMostLastWords = 2048;  // kubelet's limit
constexpr char kTerminal[] = "xterm";         // container runtimes set the same
constexpr int kStartFailed = 128;             // exit code of a container that did not start

const Json* FindContainer(const Json& pod, const ContainerRun& run) {
  for (const Json& container :
       ArrayAt(pod, {"spec", run.is_init ? "initContainers" : "containers"})) {
    if (StringAt(container, {"name"}) == run.name) return &container;
  }
  return nullptr;
}

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

PodExecutor::PodExecutor(const Services& services)
    : services_(services),
      writer_(services.api, services.cache, "kubelet"),
      events_(services.api, services.clock, services.executor, services.event_writes, "kubelet"),
      pods_(
          services.executor, "executor", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(services.clock)),
      base_environment_(InheritedEnvironment()) {
  if (services_.probes != nullptr) {
    probes_ = std::make_unique<PodProbes>(
        services_.executor, *services_.probes,
        [this](const PodProbes::Container& place, const std::vector<std::string>& command,
               Duration timeout, const std::function<void(ProbeAnswer)>& done) {
          RunProbeCommand(place, command, timeout, done);
        },
        [this](const PodProbes::Container& place, ProbeKind kind, bool passed,
               const std::string& why) { OnVerdict(place, kind, passed, why); });
  }
  services_.cache.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
  services_.cache.Listen(
      kConfigMaps, [this](const ObjectChange& change) { OnData(change, DataKind::kConfigMap); });
  services_.cache.Listen(kSecrets,
                         [this](const ObjectChange& change) { OnData(change, DataKind::kSecret); });
  services_.cache.Listen(kNodes, [this](const ObjectChange& change) {
    if (change.current != nullptr) return;
    for (const auto& [uid, live] : live_by_uid_) pods_.Add(KeyOf(*live.pod));
    for (const Object& pod : services_.cache.All(kPods)) {
      if (StringAt(*pod, {"spec", "nodeName"}) == NameOf(*change.previous)) pods_.Add(KeyOf(*pod));
    }
  });
}

void PodExecutor::Start() {
  std::set<std::string> uids;
  for (const Object& pod : services_.cache.All(kPods)) {
    uids.insert(UidOf(*pod));
    if (StringAt(*pod, {"spec", "nodeName"}).empty()) continue;
    const bool ran =
        StringAt(*pod, {"status", "phase"}) == "Running" || services_.folders.Exists(*pod);
    if (ran && !HasEnded(*pod)) lost_uids_.insert(UidOf(*pod));
    pods_.Add(KeyOf(*pod));
  }
  services_.folders.KeepOnly(uids);
  pods_.Start();
}

void PodExecutor::OnPod(const ObjectChange& change) {
  const Json& pod = change.any();
  if (change.current == nullptr || !StringAt(pod, {"spec", "nodeName"}).empty()) {
    pods_.Add(KeyOf(pod));
  }
  if (change.previous != nullptr && change.current != nullptr) {
    const auto shown = [](const Json& one, const char* field) {
      const Json* map = Find(one, {"metadata", field});
      return map == nullptr ? Json() : *map;
    };
    for (const char* field : {"labels", "annotations"}) {
      if (shown(*change.previous, field) == shown(pod, field)) continue;
      NoteStale(UidOf(pod), VolumesOfPodFields(pod));
    }
  }
  if (change.current == nullptr && live_by_uid_.count(UidOf(pod)) == 0) {
    lost_uids_.erase(UidOf(pod));
    services_.folders.Remove(pod);
  }
}

std::string PodExecutor::AddressFor(const Json& pod) {
  if (services_.network == nullptr || BoolAt(pod, {"spec", "hostNetwork"})) return "127.0.0.1";
  return services_.network->addresses().Take(UidOf(pod));
}

void PodExecutor::GiveBackAddress(const std::string& uid) {
  if (services_.network != nullptr) services_.network->Release(uid);
}

Result<NextLook> PodExecutor::Look(const ObjectKey& key) {
  const Object pod = services_.cache.Get(kPods, key);
  const std::string uid = pod == nullptr ? "" : UidOf(*pod);
  EndOthers(key, uid);
  if (pod == nullptr || StringAt(*pod, {"spec", "nodeName"}).empty()) return NextLook{};
  if (lost_uids_.count(uid) != 0) {
    BERTH_CHECK_OK(MarkLost(*pod, "NodeLost", "berth was restarted while the pod ran"));
    lost_uids_.erase(uid);
    return NextLook{Duration::zero()};
  }
  if (HasEnded(*pod)) return LookAtEnded(*pod);
  const auto node = FindNode(StringAt(*pod, {"spec", "nodeName"}));
  if (!node) return ToError(node.error());
  if (live_by_uid_.count(uid) == 0) {
    const auto refusal = *node == nullptr ? std::nullopt : DeviceRefusal((*pod)["spec"], **node);
    if (refusal) {
      BERTH_CHECK_OK(Reject(*pod, "UnexpectedAdmissionError", *refusal));
      return NextLook{Duration::zero()};
    }
  }
  const auto [at, is_new] = live_by_uid_.try_emplace(uid);
  Live& live = at->second;
  if (is_new) {
    live.pod = pod;
    live.run = NewRun(*pod, services_.clock.Now());
    live.run.address = AddressFor(*pod);
    uids_by_key_[key].insert(uid);
  }
  live.run.node_is_gone = *node == nullptr;
  PodStep step = Advance(*pod, live);
  RenewTokens(*pod, live);
  RenewStale(*pod, live);
  if (live.renew_tokens_at && (!step.look_again || *live.renew_tokens_at < *step.look_again)) {
    step.look_again = live.renew_tokens_at;
  }
  if (step.is_over && live.run.node_is_gone) {
    BERTH_CHECK_OK(MarkLost(*pod, "DeletionByPodGC", "PodGC: node no longer exists"));
    return NextLook{Duration::zero()};
  }
  const auto written = writer_.EditStatus(kPods, key, uid, [&](Json& one) {
    Json status = MakePodStatus(one, live.run, step.phase, services_.clock.Now());
    const bool changes = status != one.value("status", Json());
    one["status"] = std::move(status);
    return changes;
  });
  if (!written && written.error().reason != "NotFound") return ToError(written.error());
  if (step.is_over) return NextLook{Duration::zero()};
  return LookAt(step.look_again, services_.clock.Now());
}

ApiResult<Object> PodExecutor::FindNode(const std::string& name) {
  if (const Object cached = services_.cache.Get(kNodes, {"", name}); cached != nullptr) {
    return cached;
  }
  auto found = services_.api.Get(kNodes, "", name);
  if (!found && found.error().reason == "NotFound") return Object();
  return found;
}

// Ends processes of pods that were force-deleted, or replaced by a pod of the same name.
void PodExecutor::EndOthers(const ObjectKey& key, const std::string& uid) {
  const auto known = uids_by_key_.find(key);
  if (known == uids_by_key_.end()) return;
  std::erase_if(known->second, [&](const std::string& other) {
    if (other == uid) return false;
    Live& live = live_by_uid_.at(other);
    if (!live.processes.empty()) {
      SignalAll(live, SIGKILL);
      return false;
    }
    services_.folders.Remove(*live.pod);
    GiveBackAddress(other);
    live_by_uid_.erase(other);
    return true;
  });
  if (known->second.empty()) uids_by_key_.erase(known);
}

// The terminal status is written; a deleted pod may be removed.
Result<NextLook> PodExecutor::LookAtEnded(const Json& pod) {
  const std::string uid = UidOf(pod);
  if (const auto live = live_by_uid_.find(uid); live != live_by_uid_.end()) {
    if (!live->second.processes.empty()) {
      SignalAll(live->second, SIGKILL);
      return NextLook{};  // their end reconciles again
    }
    GiveBackAddress(uid);
    live_by_uid_.erase(live);
    const auto uids = uids_by_key_.find(KeyOf(pod));  // earlier pods of this name may be ending
    uids->second.erase(uid);
    if (uids->second.empty()) uids_by_key_.erase(uids);
  }
  if (!IsDeleting(pod) || IntAt(pod, {"metadata", "deletionGracePeriodSeconds"}) == 0) {
    return NextLook{};
  }
  DeleteOptions options;
  options.grace_period_seconds = 0;
  BERTH_CHECK_OK(writer_.Delete(kPods, pod, options));
  return NextLook{};
}

Status PodExecutor::MarkLost(const Json& pod, const std::string& reason,
                             const std::string& message) {
  if (HasEnded(pod)) return OkStatus();
  const auto written = writer_.EditStatus(kPods, KeyOf(pod), UidOf(pod), [&](Json& one) {
    if (HasEnded(one)) return false;
    one["status"] = MakeLostStatus(one, reason, message, services_.clock.Now());
    return true;
  });
  if (!written && written.error().reason != "NotFound") return ToError(written.error());
  events_.Record(pod, EventType::kWarning, reason, message);
  return OkStatus();
}

Status PodExecutor::Reject(const Json& pod, const std::string& reason, const std::string& message) {
  const auto written = writer_.EditStatus(kPods, KeyOf(pod), UidOf(pod), [&](Json& one) {
    if (HasEnded(one)) return false;
    one["status"]["phase"] = "Failed";
    one["status"]["reason"] = reason;
    one["status"]["message"] = message;
    return true;
  });
  if (!written && written.error().reason != "NotFound") return ToError(written.error());
  events_.Record(pod, EventType::kWarning, reason, message);
  return OkStatus();
}

// Repeats until no step is due at once.
PodStep PodExecutor::Advance(const Json& pod, Live& live) {
  for (int round = 0;; ++round) {
    PodStep step = PlanPod(pod, live.run, services_.clock.Now());
    if (round == 8 || !Perform(pod, live, step)) return step;
  }
}

bool PodExecutor::Perform(const Json& pod, Live& live, const PodStep& step) {
  const WallTime now = services_.clock.Now();
  if (!step.stop_reason.empty()) live.run.stop_reason = step.stop_reason;
  if (step.terminate) {
    live.run.stop_asked_at = now;
    SignalAll(live, SIGTERM);
    for (const ContainerRun& container : live.run.containers) {
      if (!container.is_running()) continue;
      events_.Record(pod, EventType::kNormal, "Killing", "Stopping container " + container.name);
    }
  }
  if (step.kill) {
    if (!live.run.stop_asked_at) live.run.stop_asked_at = now;
    live.run.kill_sent = true;
    SignalAll(live, SIGKILL);
  }
  for (const std::size_t at : step.restart) PrepareRestart(live.run.containers[at], now);
  for (const std::size_t at : step.start) StartContainer(pod, live, at);
  return step.terminate || step.kill || !step.restart.empty() || !step.start.empty();
}

void PodExecutor::StartContainer(const Json& pod, Live& live, std::size_t at) {
  ContainerRun& container = live.run.containers[at];
  const auto program = services_.images.Find(container.image);
  if (!program) return ReportMissingImage(pod, container);
  if (!PrepareVolumes(pod, live, container)) return;
  if (program->image != nullptr) {
    const auto scratch = MakeImageScratch(ImageFolder(pod, container.name));
    if (!scratch) return Hold(container, "CreateContainerError", scratch.error().message);
  }
  const Result<ProcessSpec> spec = MakeSpec(pod, live.run, container, *program);
  if (!spec) {
    const bool is_config = spec.error().code == ErrorCode::kInvalid;
    const char* reason = is_config ? "CreateContainerConfigError" : "CreateContainerError";
    events_.Record(pod, EventType::kWarning, "Failed", "Error: " + spec.error().message);
    return Hold(container, reason, spec.error().message);
  }
  const auto spawned = services_.runner.Spawn(
      *spec, [this, uid = UidOf(pod), at, alive = std::weak_ptr<bool>(alive_)](ProcessExit exit) {
        services_.executor.Post([this, uid, at, exit, alive] {
          if (!alive.expired()) OnExit(uid, at, exit);
        });
      });
  const WallTime now = services_.clock.Now();
  if (spawned) {
    live.processes[at] = *spawned;
    container.state = ContainerRun::State::kRunning;
    container.started_at = now;
    events_.Record(pod, EventType::kNormal, "Started", "Started container " + container.name);
    if (const Json* declared = FindContainer(pod, container)) StartProbes(live, at, *declared);
    return;
  }
  if (spawned.error().code != ErrorCode::kInvalid) {
    return Hold(container, "CreateContainerError", spawned.error().message);
  }
  container.state = ContainerRun::State::kEnded;
  container.started_at = now;
  container.ended_at = now;
  container.exit_code = kStartFailed;
  container.end_reason = "StartError";
  container.end_message = spawned.error().message;
  events_.Record(pod, EventType::kWarning, "Failed", "Error: " + spawned.error().message);
}

Result<ProcessSpec> PodExecutor::MakeSpec(const Json& stored_pod, const PodRun& run,
                                          const ContainerRun& container,
                                          const LocalProgram& program) {
  Json pod = stored_pod;
  pod["status"]["podIP"] = run.address;  // the status may be written later
  const Json* spec = FindContainer(pod, container);
  if (spec == nullptr) return Error{ErrorCode::kInvalid, "no such container"};
  BERTH_TRY(const Environment own,
            MakeEnvironment(pod, *spec, [&](DataKind kind, const std::string& name) {
              return ReadData(NamespaceOf(pod), kind, name);
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
  std::map<std::string, std::string> environment(base_environment_.begin(),
                                                 base_environment_.end());
  if (program.image != nullptr) {
    BERTH_CHECK_OK(AddImageView(pod, *spec, own, *program.image, process));
    environment = program.image->environment;
    environment.try_emplace("HOME", program.image->home);
  } else {
    BERTH_CHECK_OK(AddVolumes(pod, *spec, own, !container.is_running(), process));
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

void PodExecutor::Hold(ContainerRun& container, const std::string& reason,
                       const std::string& message) {
  container.waiting_reason = reason;
  container.waiting_message = message;
  container.not_before = services_.clock.Now() + kRetryDelay;
}

// The image map is constant during a run: after the second attempt no retry can help.
void PodExecutor::ReportMissingImage(const Json& pod, ContainerRun& container) {
  const std::string message = fmt::format(
      "no local program stands for image \"{0}\"; map one with: berth up --image {0}=PATH",
      container.image);
  if (container.waiting_reason == "ErrImagePull") {
    Hold(container, "ImagePullBackOff", message);
    container.not_before = WallTime::max();
    return;
  }
  Hold(container, "ErrImagePull", message);
  events_.Record(pod, EventType::kWarning, "Failed",
                 fmt::format("Failed to pull image \"{}\": {}", container.image, message));
}

void PodExecutor::SignalAll(const Live& live, int signal) {
  for (const auto& [at, process] : live.processes) services_.runner.Signal(process, signal);
}

void PodExecutor::OnExit(const std::string& uid, std::size_t at, ProcessExit exit) {
  const auto found = live_by_uid_.find(uid);
  if (found == live_by_uid_.end()) return;
  Live& live = found->second;
  live.processes.erase(at);
  EndStreams(uid, at);
  if (probes_ != nullptr) probes_->Stop({uid, at});
  ContainerRun& container = live.run.containers[at];
  container.state = ContainerRun::State::kEnded;
  container.ended_at = services_.clock.Now();
  container.exit_code = exit.exit_code;
  container.signal = exit.signal;
  container.end_reason.clear();
  container.end_message = exit.exit_code == 0 ? "" : LastWords(*live.pod, container);
  pods_.Add(KeyOf(*live.pod));
}

// terminationMessagePolicy FallbackToLogsOnError: returns the end of the log.
std::string PodExecutor::LastWords(const Json& pod, const ContainerRun& container) const {
  const Json* spec = FindContainer(pod, container);
  if (spec == nullptr || StringAt(*spec, {"terminationMessagePolicy"}) != "FallbackToLogsOnError") {
    return "";
  }
  const std::string tail =
      services_.folders.LogTail(pod, container.name, container.restarts, kMostLastWords);
  // Programs may write any bytes; JSON is UTF-8.
  return ReplaceInvalidUtf8(tail);
}

Json PodExecutor::ReadData(const std::string& namespace_name, DataKind kind,
                           const std::string& name, bool binary) {
  const bool is_map = kind == DataKind::kConfigMap;
  const auto read = services_.api.Get(is_map ? kConfigMaps : kSecrets, namespace_name, name);
  if (!read) return nullptr;
  Json data = (*read)->value("data", Json::object());
  if (is_map && binary) {
    const Json entries = (*read)->value("binaryData", Json::object());
    for (const auto& [key, value] : entries.items()) {
      data[key] = Base64Decode(StringAt(value, {})).value_or("");
    }
  }
  if (is_map) return data;
  for (auto& [key, value] : data.items()) {
    value = Base64Decode(StringAt(value, {})).value_or("");
  }
  return data;
}

}  // namespace berth::local::cluster
