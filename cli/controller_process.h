// cli/controller_process.h — every controller of Berth in one object: what Kueue's manager is.
//
//     webhook server ─▶ its CA into the API ─▶ informers ─▶ (lease) ─▶ scheduler and reconcilers
//
// It knows the API through a kubeconfig alone, also when that API lives in the same process.
//
// Threads: owned and called by one thread.
// Errors of Start: kUnavailable (API, ports), kInvalid (configuration), kDeadlineExceeded (kinds
// that cannot be listed are named).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "admission/controller/configuration.h"
#include "base/clock.h"
#include "base/result.h"
#include "cli/listen_address.h"
#include "kube/client/kubeconfig.h"

namespace berth::cli {

struct ControllerProcessOptions {
  kube::KubeConfig api;
  std::optional<ListenAddress> health;   // /healthz, /readyz, plain; nullopt: not served
  std::optional<ListenAddress> metrics;  // nullopt: not served
  // HTTPS, for those whom the API server lets; false: plain HTTP, for everybody.
  bool metrics_secure = true;
  std::optional<ListenAddress> webhook;  // nullopt: no reviews, no conversion
  bool leader_election = true;
  // Of the identity in the lease. Not empty: whoever holds the lease under it is an earlier run of
  // this very program, and over.
  std::string role;
  admission::Configuration configuration;
  // Called with the port of the webhook server before the API is told of it.
  std::function<void(std::uint16_t port)> on_webhook_port;
  // Called on some thread when another replica has taken the lease: exit.
  std::function<void()> on_lease_lost;
};

class ControllerProcess {
 public:
  static Result<std::unique_ptr<ControllerProcess>> Start(const Clock& clock,
                                                          ControllerProcessOptions options);
  virtual ~ControllerProcess() = default;  // as Stop

  // Until this replica leads and its controllers run. Returns at once where they do already.
  virtual Status WaitUntilRunning(Duration timeout) = 0;
  virtual std::uint16_t health_port() const = 0;   // 0: not served
  virtual std::uint16_t metrics_port() const = 0;  // 0: not served
  virtual std::uint16_t webhook_port() const = 0;  // 0: not served
  virtual void Stop() = 0;                         // idempotent
};

}  // namespace berth::cli
