#include "webhook/controller/certificate_keeper.h"

#include <utility>

#include "base/log/log.h"

namespace berth::webhook {

struct CertificateKeeper::State : std::enable_shared_from_this<State> {
  State(kube::ApiClient& api_client, const Clock& the_clock, CertificateKeeperOptions the_options,
        ServingCertificate the_served, std::function<void(const net::TlsIdentity&)> the_serve)
      : client(api_client),
        clock(the_clock),
        options(std::move(the_options)),
        known(std::move(the_served)),
        served_key(known.identity.private_key_pem),
        serve(std::move(the_serve)),
        injector(client, client.executor(), known.ca_pem, options.registrations) {}

  void LookAfter(Duration delay) {
    client.executor().PostAfter(delay, [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self != nullptr && !self->stopped) self->Look();
    });
  }

  void Look() {
    ServingCertificateOptions secret = options.secret;
    secret.served_ca_pem = known.ca_pem;
    ObtainServingCertificate(client, clock, std::move(secret),
                             [self = shared_from_this()](Result<ServingCertificate> now) {
                               if (!self->stopped) self->Take(std::move(now));
                             });
  }

  void Take(Result<ServingCertificate> now) {
    if (!now) {
      LogWarning("the webhook certificate cannot be checked and renewed",
                 {{"error", now.error().message}});
      return LookAfter(options.look_again);
    }
    known = *std::move(now);
    if (known.identity.private_key_pem == served_key) return LookAfter(options.look_again);
    injector.SetCa(known.ca_pem, [self = shared_from_this()](bool trusted) {
      if (!trusted) return self->LookAfter(self->options.look_again);
      self->client.executor().PostAfter(self->options.pause, [weak = self->weak_from_this()] {
        if (const auto still = weak.lock(); still != nullptr && !still->stopped) still->Serve();
      });
    });
  }

  void Serve() {
    LogInfo("serving a renewed webhook certificate", {});
    served_key = known.identity.private_key_pem;
    serve(known.identity);
    LookAfter(options.look_again);
  }

  kube::ApiClient& client;
  const Clock& clock;
  const CertificateKeeperOptions options;
  ServingCertificate known;  // last read from the Secret
  std::string served_key;    // key of the served certificate
  std::function<void(const net::TlsIdentity&)> serve;
  CaInjector injector;
  bool stopped = false;
};

CertificateKeeper::CertificateKeeper(kube::ApiClient& client, const Clock& clock,
                                     CertificateKeeperOptions options, ServingCertificate served,
                                     std::function<void(const net::TlsIdentity&)> serve)
    : state_(std::make_shared<State>(client, clock, std::move(options), std::move(served),
                                     std::move(serve))) {}

CertificateKeeper::~CertificateKeeper() { state_->stopped = true; }

void CertificateKeeper::Start(std::function<void(bool)> first_done) {
  state_->injector.Start(std::move(first_done));
  state_->LookAfter(state_->options.look_again);
}

}  // namespace berth::webhook
