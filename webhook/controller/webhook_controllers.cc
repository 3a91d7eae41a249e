#include "webhook/controller/webhook_controllers.h"

#include <utility>

#include "webhook/server.h"

namespace berth::webhook {

WebhookControllers::WebhookControllers(kube::Manager& manager, const Clock& clock,
                                       net::IoPool& pool, WebhookControllersOptions options)
    : manager_(manager),
      clock_(clock),
      pool_(pool),
      options_(std::move(options)),
      facts_(manager, options_.facts) {}

WebhookControllers::~WebhookControllers() { Stop(); }

void WebhookControllers::Start(std::function<void(Status)> ready) {
  if (options_.certificate) return Serve(*options_.certificate, std::move(ready));
  ObtainServingCertificate(
      manager_.client(), clock_, options_.shared_certificate,
      [this, ready = std::move(ready)](const Result<ServingCertificate>& certificate) {
        if (!certificate) {
          return ready(Annotate(certificate.error(), "certificate of the webhook server"));
        }
        Serve(*certificate, ready);
      });
}

void WebhookControllers::Serve(const ServingCertificate& certificate,
                               std::function<void(Status)> ready) {
  auto server =
      StartWebhookServer(pool_,
                         {.address = options_.address,
                          .port = options_.port,
                          .tls = std::make_shared<const net::TlsIdentity>(certificate.identity)},
                         [this](const api::Job& job) { return facts_.Of(job); });
  if (!server) return ready(Annotate(server.error(), "webhook server"));
  server_ = *std::move(server);
  injector_ = std::make_unique<CaInjector>(manager_.client(), manager_.executor(),
                                           certificate.ca_pem, options_.injector);
  injector_->Start([ready = std::move(ready)](bool) { ready(OkStatus()); });
}

std::uint16_t WebhookControllers::port() const { return server_ == nullptr ? 0 : server_->port(); }

void WebhookControllers::Stop() {
  if (server_ != nullptr) server_->Stop();
}

}  // namespace berth::webhook
