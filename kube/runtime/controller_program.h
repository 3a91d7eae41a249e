// kube/runtime/controller_program.h — the parts of a program that runs controllers: threads, one
// strand, the API over HTTPS, manager, events, metrics, health, leader election.
//
//     auto program = ControllerProgram::Create(clock, {.config = kubeconfig, …});
//     admission::AdmissionControllers admission((*program)->manager(), …);   // and the others
//     (*program)->Start([] { /* the lease is lost: exit */ });
//     … wait for a signal …
//     (*program)->Stop();          // then destroy the controllers, then the program
//
// Threads: every function is called by the owner's thread; between Start and Stop everything that
// manager() returns belongs to the strand (RunOnStrand runs code there).
// With leader election, writes through manager() are sent only while this replica holds the
// lease (leader_fence.h); client() writes at any time.
//
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
#include "kube/client/rate_limited_transport.h"
#include "kube/runtime/events.h"
#include "kube/runtime/extension_server.h"
#include "kube/runtime/health_server.h"
#include "kube/runtime/leader_election.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "kube/runtime/metrics_server.h"

namespace berth::kube {

struct ControllerProgramOptions {
  KubeConfig config;
  std::string identity;  // names this replica: host name and a random suffix
  std::string event_controller = "kueue-admission";
  // nullopt: this is the only replica. ControllerProgram fills the identity in.
  std::optional<LeaderElectionOptions> leader_election;
  std::optional<HealthServerOptions> health;  // nullopt: not served
  // If not empty: the reason in /readyz until ConfirmReady. /readyz waits for the caches, too.
  std::string not_ready_before;
  HttpTransportOptions transport;
  // nullopt: none. Requests for the lease and reviews of /metrics are outside it.
  std::optional<TokenBucket::Limit> request_limit;
  // True: no write of controllers, events or client() is sent. Excludes leader election.
  bool read_only = false;
  int io_threads = 2;
};

class ControllerProgram {
 public:
  static Result<std::unique_ptr<ControllerProgram>> Create(const Clock& clock,
                                                           ControllerProgramOptions options);
  ~ControllerProgram();  // does what Stop does
  ControllerProgram(const ControllerProgram&) = delete;
  ControllerProgram& operator=(const ControllerProgram&) = delete;

  Manager& manager();
  ApiClient& client();  // for writes that every replica makes, such as certificates
  EventRecorder& events();
  Metrics& metrics();
  std::uint16_t health_port() const;     // 0: not served
  std::uint16_t metrics_port() const;    // 0: not served
  std::uint16_t extension_port() const;  // 0: not served

  // Serves /metrics: with a TLS identity to users whom the API server authorises, without one in
  // plain HTTP to every client. Call once. Errors: as net::HttpServer::Start.
  Status ServeMetrics(MetricsServerOptions options);
  // Serves an API group to users whom kube-apiserver names, or whose token it knows. Call once.
  Status ServeExtension(ExtensionServerOptions options, ExtensionApi api);
  // Makes a gate that asks for rights on behalf of a server that the owner runs. The gate caches
  // answers for a few seconds. Any thread may use the gate until Stop. Call once.
  AccessGate MakeGate();
  // Replaces the certificate of /metrics and of the API group, where they are served over TLS.
  Status ReplaceServingTls(const std::shared_ptr<const net::TlsIdentity>& tls);

  // Starts informers only; Start starts the rest.
  void StartInformers();
  // Starts informers at once, controllers when this replica leads. `on_lost` runs on an I/O thread
  // and gets the holder of the lease, which is this replica if the lease could not be renewed.
  void Start(std::function<void(const std::string& holder)> on_lost);
  // Call it when the condition of not_ready_before holds, on any thread.
  void ConfirmReady();
  // Waits until controllers run; kDeadlineExceeded names the kinds that have not synced.
  Status WaitUntilRunning(Duration timeout);
  // Runs `task` on the strand and waits for its end; false: the program has stopped and `task` did
  // not run.
  bool RunOnStrand(const std::function<void()>& task);
  // Stops controllers, waits for their open writes, gives the lease back (two seconds at most for
  // both; a lease that was not given back runs out), writes the events that wait (three seconds at
  // most for all), ends all threads. Idempotent.
  void Stop();

 private:
  struct Impl;
  explicit ControllerProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::kube
