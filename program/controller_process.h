// program/controller_process.h — all controllers of Berth in one process, as in Kueue's manager.
//
//     webhook server ─▶ its CA into the API ─▶ informers ─▶ (lease) ─▶ scheduler and reconcilers
//
// The controllers reach the API through a kubeconfig, also when the API runs in the same process.
//
// Threads: one owner thread calls all functions. Errors of Start: kUnavailable (API, ports),
// kInvalid (configuration), kDeadlineExceeded (names the kinds that cannot be listed).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "admission/controller/configuration/configuration.h"
#include "base/clock.h"
#include "base/result.h"
#include "kube/client/kubeconfig.h"
#include "kube/runtime/front_proxy.h"
#include "ledger/ledger.h"
#include "net/http.h"
#include "net/server.h"
#include "program/controller_selection.h"
#include "program/listen_address.h"
#include "program/page_options.h"

namespace berth::program {

struct ControllerProcessOptions {
  kube::KubeConfig api;
  std::optional<ListenAddress> health;   // /healthz, /readyz, plain; nullopt: not served
  std::optional<ListenAddress> metrics;  // nullopt: not served
  // HTTPS, for users whom the API server authorises; false: plain HTTP, for every client.
  bool metrics_secure = true;
  std::optional<ListenAddress> webhook;     // nullopt: no reviews, no conversion
  std::optional<ListenAddress> visibility;  // nullopt: the visibility API is not served
  std::optional<ListenAddress> read_api;    // nullopt: /api/v1 is not served
  // The certificate of /api/v1; null: the certificate of the other ports.
  std::shared_ptr<const net::TlsIdentity> read_api_tls;
  PageAccess page;
  bool leader_election = true;
  // Prefix of the identity in the lease. Not empty: a lease holder with this prefix is an earlier
  // run of this program, which has ended.
  std::string role;
  admission::Configuration configuration;
  ControllerSelection controllers;  // if none is selected, there is no leader election
  // Set: a shadow (admission/controller/shadow/shadow.h) in place of the controllers; nothing is
  // written. Excludes webhook, visibility, read_api and leader_election.
  std::optional<Duration> shadow_window;
  std::optional<ledger::LedgerOptions> ledger;  // nullopt: no history is written
  bool record_users = false;  // the users who made jobs are recorded (api/job_user.h)
  // The interval of forecasts (program/eta_writer.h); nullopt: no forecasts are made.
  std::optional<Duration> eta_interval;
  bool needs_ledger = true;  // false: a ledger that cannot be opened is a warning
  // Called with the port of the webhook server before the webhooks are registered.
  std::function<void(std::uint16_t port)> on_webhook_port;
  // Called on any thread when the lease is lost, with the lease and its holder: the program must
  // exit.
  std::function<void(const std::string& what)> on_lease_lost;
};

class ControllerProcess {
 public:
  static Result<std::unique_ptr<ControllerProcess>> Start(const Clock& clock,
                                                          ControllerProcessOptions options);
  virtual ~ControllerProcess() = default;  // calls Stop

  // Waits until this replica leads and its controllers run.
  virtual Status WaitUntilRunning(Duration timeout) = 0;
  virtual std::uint16_t health_port() const = 0;      // 0: not served
  virtual std::uint16_t metrics_port() const = 0;     // 0: not served
  virtual std::uint16_t webhook_port() const = 0;     // 0: not served
  virtual std::uint16_t visibility_port() const = 0;  // 0: not served
  virtual std::uint16_t read_api_port() const = 0;    // 0: not served
  // Returns a code that signs a browser in to the page once, with the rights of `token`; empty: the
  // page is not served.
  virtual std::string MakeSignInCode(const std::string& token) = 0;
  // Answers a request for the visibility API whose user has the right. Blocks for at most five
  // seconds; any thread but the strand's.
  virtual net::Response AnswerVisibility(const net::Request& request) = 0;
  virtual void Stop() = 0;  // idempotent
};

}  // namespace berth::program
