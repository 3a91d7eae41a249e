#include "local/cluster/kubelet/pod_executor.h"

#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "local/cluster/kubelet/pod_volumes.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/scheduler/pod_resources.h"

namespace berth::local::cluster {
namespace {

constexpr Duration kRetryDelay = std::chrono::seconds(10);
constexpr std::size_t kMostLastWords = 2048;  // kubelet's limit
constexpr int kStartFailed = 128;             // exit code of a container that did not start

}  // namespace

PodExecutor::PodExecutor(const Services& services)
    : services_(services),
      tasks_(services.executor, owner_),
      writer_(services.api, services.cache, "kubelet"),
      events_(services.api, services.clock, services.executor, services.event_writes, "kubelet"),
      pods_(
          services.executor, "executor", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(services.clock)),
      specs_({.api = services_.api,
              .cache = services_.cache,
              .folders = services_.folders,
              .job_user = services_.job_user,
              .log_bytes = services_.log_bytes,
              .network = services_.network,
              .account_kubeconfig = services_.account_kubeconfig,
              .api_variables = services_.api_variables}),
      volumes_({.api = services_.api,
                .cache = services_.cache,
                .folders = services_.folders,
                .clock = services_.clock,
                .events = events_,
                .has_job_user = services_.job_user.has_value()}),
      probes_({.executor = services_.executor,
               .tasks = tasks_,
               .runner = services_.runner,
               .images = services_.images,
               .specs = specs_,
               .events = events_,
               .pods = live_by_uid_,
               .caller = services_.probes,
               .on_verdict = [this](const ObjectKey& pod) { pods_.Add(pod); }}),
      streams_({.tasks = tasks_,
                .runner = services_.runner,
                .images = services_.images,
                .specs = specs_,
                .pods = live_by_uid_,
                .pump = services_.streams}),
      processes_(live_by_uid_, streams_, services_.runner) {
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

PodExecutor::~PodExecutor() {
  owner_.reset();  // tasks that are posted already find no owner
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

void PodExecutor::OnData(const ObjectChange& change, DataKind kind) {
  const std::string namespace_name = NamespaceOf(change.any());
  const std::string name = NameOf(change.any());
  for (const auto& [uid, live] : live_by_uid_) {
    if (NamespaceOf(*live.pod) != namespace_name) continue;
    NoteStale(uid, VolumesShowing(*live.pod, kind, name));
  }
}

void PodExecutor::NoteStale(const std::string& uid, std::set<std::string> volumes) {
  const auto live = live_by_uid_.find(uid);
  if (volumes.empty() || live == live_by_uid_.end()) return;
  live->second.volumes.stale.merge(volumes);
  pods_.Add(KeyOf(*live->second.pod));
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
  LivePod& live = at->second;
  if (is_new) {
    live.pod = pod;
    live.run = NewRun(*pod, services_.clock.Now());
    live.run.address = AddressFor(*pod);
    uids_by_key_[key].insert(uid);
  }
  live.run.node_is_gone = *node == nullptr;
  PodStep step = Advance(*pod, live);
  volumes_.RenewTokens(*pod, live.volumes, !live.processes.empty());
  volumes_.RenewStale(*pod, live.volumes, !live.processes.empty());
  const std::optional<WallTime> renewal = live.volumes.renew_tokens_at;
  if (renewal && (!step.look_again || *renewal < *step.look_again)) step.look_again = renewal;
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
    LivePod& live = live_by_uid_.at(other);
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
PodStep PodExecutor::Advance(const Json& pod, LivePod& live) {
  for (int round = 0;; ++round) {
    PodStep step = PlanPod(pod, live.run, services_.clock.Now());
    if (round == 8 || !Perform(pod, live, step)) return step;
  }
}

bool PodExecutor::Perform(const Json& pod, LivePod& live, const PodStep& step) {
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

void PodExecutor::StartContainer(const Json& pod, LivePod& live, std::size_t at) {
  ContainerRun& container = live.run.containers[at];
  const auto program = services_.images.Find(container.image);
  if (!program) return ReportMissingImage(pod, container);
  if (const Status written = volumes_.Prepare(pod, live.volumes); !written) {
    return Hold(container, "ContainerCreating", written.error().message);
  }
  if (program->image != nullptr) {
    const Status prepared = specs_.PrepareImage(pod, container);
    if (!prepared) return Hold(container, "CreateContainerError", prepared.error().message);
  }
  const Result<ProcessSpec> spec = specs_.Make(pod, live.run, container, *program);
  if (!spec) {
    const bool is_config = spec.error().code == ErrorCode::kInvalid;
    const char* reason = is_config ? "CreateContainerConfigError" : "CreateContainerError";
    events_.Record(pod, EventType::kWarning, "Failed", "Error: " + spec.error().message);
    return Hold(container, reason, spec.error().message);
  }
  const ContainerPlace place{UidOf(pod), at};
  const auto spawned = services_.runner.Spawn(*spec, [this, place](ProcessExit exit) {
    tasks_.Post([this, place, exit] { OnExit(place, exit); });
  });
  NoteStart(pod, live, at, spawned);
}

void PodExecutor::NoteStart(const Json& pod, LivePod& live, std::size_t at,
                            const Result<ProcessId>& spawned) {
  ContainerRun& container = live.run.containers[at];
  const WallTime now = services_.clock.Now();
  if (spawned) {
    live.processes[at] = *spawned;
    container.state = ContainerRun::State::kRunning;
    container.started_at = now;
    events_.Record(pod, EventType::kNormal, "Started", "Started container " + container.name);
    if (const Json* declared = DeclarationOf(pod, container)) probes_.Start(live, at, *declared);
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

void PodExecutor::SignalAll(const LivePod& live, int signal) {
  for (const auto& [at, process] : live.processes) services_.runner.Signal(process, signal);
}

void PodExecutor::OnExit(const ContainerPlace& place, ProcessExit exit) {
  const auto found = live_by_uid_.find(place.first);
  if (found == live_by_uid_.end()) return;
  LivePod& live = found->second;
  live.processes.erase(place.second);
  streams_.End(place);
  probes_.Stop(place);
  ContainerRun& container = live.run.containers[place.second];
  container.state = ContainerRun::State::kEnded;
  container.ended_at = services_.clock.Now();
  container.exit_code = exit.exit_code;
  container.signal = exit.signal;
  container.end_reason.clear();
  container.end_message = exit.exit_code == 0 ? "" : LastWords(*live.pod, container);
  pods_.Add(KeyOf(*live.pod));
}

ApiResult<std::unique_ptr<RunningProgram>> PodExecutor::StartProgram(
    const ProgramRequest& request, const std::shared_ptr<ProgramObserver>& observer) {
  return streams_.Start(request, observer);
}

ApiResult<std::string> PodExecutor::FindPort(const PodPlace& place, std::uint16_t port) const {
  return processes_.FindPort(place, port);
}

UsageReading PodExecutor::ReadUsage() const { return processes_.ReadUsage(services_.clock.Now()); }

// terminationMessagePolicy FallbackToLogsOnError: returns the end of the log.
std::string PodExecutor::LastWords(const Json& pod, const ContainerRun& container) const {
  const Json* spec = DeclarationOf(pod, container);
  if (spec == nullptr || StringAt(*spec, {"terminationMessagePolicy"}) != "FallbackToLogsOnError") {
    return "";
  }
  const std::string tail =
      services_.folders.LogTail(pod, container.name, container.restarts, kMostLastWords);
  // Programs may write any bytes; JSON is UTF-8.
  return ReplaceInvalidUtf8(tail);
}

}  // namespace berth::local::cluster
