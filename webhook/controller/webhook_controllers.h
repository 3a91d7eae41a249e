// webhook/controller/webhook_controllers.h — everything webhooks need, in one object: facts for
// reviews, a certificate, the HTTPS server, CA bundles in the registrations.
//
//     WebhookControllers webhooks(manager, clock, pool, options);   // before informers start
//     manager.StartInformers();
//     executor.Post([&] { webhooks.Start(ready); });
//
// Every replica serves; each writes the CA bundle, which is the same for all.
//
// Threads: construction before the manager starts; Start on the manager's Executor; port and Stop
// from any thread that is not one of the pool's. Must outlive the manager.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "kube/runtime/manager.h"
#include "net/server.h"
#include "webhook/controller/ca_injector.h"
#include "webhook/controller/facts_mirror.h"
#include "webhook/controller/serving_certificate.h"

namespace berth::net {
class IoPool;
}

namespace berth::webhook {

struct WebhookControllersOptions {
  FactsMirrorOptions facts;
  std::string address = "0.0.0.0";
  std::uint16_t port = 9443;  // 0: any free one
  // Given: used as it is (local mode, files). Absent: shared through a Secret.
  std::optional<ServingCertificate> certificate;
  ServingCertificateOptions shared_certificate;
  CaInjectorOptions injector;
};

class WebhookControllers {
 public:
  WebhookControllers(kube::Manager& manager, const Clock& clock, net::IoPool& pool,
                     WebhookControllersOptions options);
  ~WebhookControllers();  // as Stop

  // `ready` once: when the server listens and the bundle has been written wherever its place
  // exists, or why there is no server.
  void Start(std::function<void(Status)> ready);
  // 0 before the server listens.
  std::uint16_t port() const;
  void Stop();

 private:
  void Serve(const ServingCertificate& certificate, std::function<void(Status)> ready);

  kube::Manager& manager_;
  const Clock& clock_;
  net::IoPool& pool_;
  WebhookControllersOptions options_;
  FactsMirror facts_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<CaInjector> injector_;
};

}  // namespace berth::webhook
