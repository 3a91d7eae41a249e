// kube/runtime/controller_program.h — what a program that runs controllers consists of: threads,
// one strand, the API over HTTPS, manager, events, metrics, health, leader election.
//
//     auto program = ControllerProgram::Create(clock, {.config = kubeconfig, …});
//     admission::AdmissionControllers admission((*program)->manager(), …);   // and the others
//     (*program)->Start([] { /* the lease is lost: exit */ });
//     … wait for a signal …
//     (*program)->Stop();          // then destroy the controllers, then the program
//
// Threads: every function is called by the owner's thread; between Start and Stop everything behind
// manager() belongs to the strand (RunOnStrand gets there).
// Errors of Create: kInvalid (URL, PEM), kUnavailable (the health port).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "kube/client/http_transport.h"
#include "kube/client/kubeconfig.h"
#include "kube/runtime/events.h"
#include "kube/runtime/health_server.h"
#include "kube/runtime/leader_election.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "kube/runtime/metrics_server.h"

namespace berth::kube {

struct ControllerProgramOptions {
  KubeConfig config;
  std::string identity;  // of this replica: host name and something random
  std::string event_controller = "kueue-admission";
  // nullopt: this is the only replica. Its identity is filled in.
  std::optional<LeaderElectionOptions> leader_election;
  std::optional<HealthServerOptions> health;  // nullopt: not served
  // Not empty: what /readyz says is missing until ConfirmReady. It also waits for the caches.
  std::string not_ready_before;
  HttpTransportOptions transport;
  int io_threads = 2;
};

class ControllerProgram {
 public:
  static Result<std::unique_ptr<ControllerProgram>> Create(const Clock& clock,
                                                           ControllerProgramOptions options);
  ~ControllerProgram();  // as Stop
  ControllerProgram(const ControllerProgram&) = delete;
  ControllerProgram& operator=(const ControllerProgram&) = delete;

  Manager& manager();
  EventRecorder& events();
  Metrics& metrics();
  std::uint16_t health_port() const;   // 0: not served
  std::uint16_t metrics_port() const;  // 0: not served

  // Serves /metrics: with a TLS identity to those whom the API server lets, without one plainly and
  // to everybody. Once. Errors: as net::HttpServer::Start.
  Status ServeMetrics(MetricsServerOptions options);
  // The certificate of /metrics from now on; nothing where it is not served over TLS.
  Status ReplaceMetricsTls(std::shared_ptr<const net::TlsIdentity> tls);

  // Informers at once, controllers when this replica leads. `on_lost` is called on an I/O thread.
  void Start(std::function<void()> on_lost);
  // What not_ready_before speaks of is there. Any thread.
  void ConfirmReady();
  // Waits until controllers run; kDeadlineExceeded names the kinds that have not synced.
  Status WaitUntilRunning(Duration timeout);
  // Runs `task` on the strand and waits for its end; false where the program has stopped.
  bool RunOnStrand(const std::function<void()>& task);
  // Stops controllers, gives the lease back (two seconds at most), ends all threads. Idempotent.
  void Stop();

 private:
  struct Impl;
  explicit ControllerProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::kube
