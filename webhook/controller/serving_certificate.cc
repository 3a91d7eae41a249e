#include "webhook/controller/serving_certificate.h"

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "api/codec/kinds.h"
#include "base/strings.h"
#include "net/certificates.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;
using kube::JsonPtr;

constexpr auto kLifetime = std::chrono::hours(24 * 365);
constexpr auto kRenewBefore = std::chrono::hours(24 * 30);
constexpr auto kCaLifetime = std::chrono::hours(24 * 3650);
constexpr std::size_t kMaxCas = 4;  // the most CAs of a bundle
constexpr api::ResourceKind kSecretKind{"", "v1", "Secret", "secrets", true};

std::string DataOf(const Json& secret, const char* key) {
  const auto data = secret.find("data");
  if (data == secret.end() || !data->is_object()) return "";
  const auto value = data->find(key);
  if (value == data->end() || !value->is_string()) return "";
  return Base64Decode(value->get<std::string>()).value_or("");
}

// Decodes the Secret; an error if it is incomplete, ends soon or lacks one of the names.
Result<ServingCertificate> Read(const Json& secret, const std::vector<std::string>& dns_names,
                                WallTime now) {
  ServingCertificate result;
  result.identity.certificate_chain_pem = DataOf(secret, "tls.crt");
  result.identity.private_key_pem = DataOf(secret, "tls.key");
  result.ca_pem = DataOf(secret, "ca.crt");
  if (result.identity.certificate_chain_pem.empty() || result.identity.private_key_pem.empty() ||
      result.ca_pem.empty()) {
    return Error{ErrorCode::kNotFound, "the secret is not complete"};
  }
  BERTH_TRY(const WallTime end, net::CertificateEnd(result.identity.certificate_chain_pem));
  if (end - kRenewBefore < now) return Error{ErrorCode::kExpired, "the certificate ends soon"};
  BERTH_TRY(const std::vector<std::string> names,
            net::CertificateDnsNames(result.identity.certificate_chain_pem));
  for (const std::string& name : dns_names) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return Error{ErrorCode::kNotFound, "the certificate is not for " + name};
    }
  }
  return result;
}

// The certificates of `bundles`, without repetitions and expired ones, at most kMaxCas.
std::string JoinCas(const std::vector<std::string>& bundles, WallTime now) {
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::vector<std::string> kept;
  for (const std::string& bundle : bundles) {
    std::string_view rest = bundle;
    for (std::size_t end = rest.find(kEnd); end != rest.npos; end = rest.find(kEnd)) {
      std::string certificate(TrimSpace(rest.substr(0, end + kEnd.size())));
      rest.remove_prefix(end + kEnd.size());
      const Result<WallTime> ends = net::CertificateEnd(certificate);
      if (!ends || *ends < now || kept.size() == kMaxCas) continue;
      if (std::find(kept.begin(), kept.end(), certificate) == kept.end()) {
        kept.push_back(std::move(certificate));
      }
    }
  }
  return Join(kept, "\n") + "\n";
}

Json SecretData(const ServingCertificate& certificate) {
  return {{"tls.crt", Base64Encode(certificate.identity.certificate_chain_pem)},
          {"tls.key", Base64Encode(certificate.identity.private_key_pem)},
          {"ca.crt", Base64Encode(certificate.ca_pem)}};
}

struct Obtaining : std::enable_shared_from_this<Obtaining> {
  Obtaining(kube::ApiClient& api_client, const Clock& the_clock)
      : client(api_client), clock(the_clock) {}

  void Look() {
    client.Get(kSecretKind, options.secret,
               [self = shared_from_this()](const Result<JsonPtr>& secret) {
                 if (secret) return self->Use(**secret);
                 if (secret.error().code != ErrorCode::kNotFound) return self->done(secret.error());
                 self->Make(nullptr);
               });
  }

  void Use(const Json& secret) {
    Result<ServingCertificate> read = Read(secret, options.dns_names, clock.Now());
    if (read) return done(std::move(read));
    Make(&secret);
  }

  // If another replica creates the Secret at the same time, this replica takes that certificate.
  void Make(const Json* old) {
    if (++attempts > 3) {
      return done(Error{ErrorCode::kConflict, "secret " + options.secret.ToString() +
                                                  " keeps being changed by somebody else"});
    }
    Result<ServingCertificate> made = MakeServingCertificate(options.dns_names, clock.Now());
    if (!made) return done(std::move(made));
    made->ca_pem = JoinCas({made->ca_pem, options.served_ca_pem,
                            old == nullptr ? std::string() : DataOf(*old, "ca.crt")},
                           clock.Now());
    const auto written = [self = shared_from_this(),
                          certificate = *made](const Result<JsonPtr>& result) {
      if (result) return self->done(certificate);
      if (result.error().code == ErrorCode::kAlreadyExists ||
          result.error().code == ErrorCode::kConflict) {
        return self->Look();
      }
      self->done(Annotate(result.error(), "writing secret " + self->options.secret.ToString()));
    };
    Json secret = {
        {"apiVersion", "v1"},
        {"kind", "Secret"},
        {"metadata", {{"name", options.secret.name}, {"namespace", options.secret.namespace_name}}},
        {"data", SecretData(*made)}};
    if (old == nullptr) {
      return client.Create(kSecretKind, options.secret.namespace_name, std::move(secret), {},
                           written);
    }
    secret["metadata"] = (*old)["metadata"];
    client.Update(kSecretKind, options.secret, std::move(secret), {}, written);
  }

  kube::ApiClient& client;
  const Clock& clock;
  ServingCertificateOptions options;
  std::function<void(Result<ServingCertificate>)> done;
  int attempts = 0;
};

}  // namespace

ServingCertificateOptions CertificateIn(const std::string& namespace_name,
                                        const std::string& service, const std::string& secret) {
  constexpr std::string_view kUsual = "kueue-system";
  ServingCertificateOptions options;
  options.secret = {namespace_name, secret};
  const auto add = [&options](const std::string& name) {
    const auto& known = options.dns_names;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      options.dns_names.push_back(name);
    }
  };
  const std::vector<std::string> usual = options.dns_names;
  for (std::string here : usual) {
    add(here.replace(here.find(kUsual), kUsual.size(), namespace_name));
  }
  const std::string own = service + "." + namespace_name + ".svc";
  add(own);
  add(own + ".cluster.local");
  return options;
}

Result<ServingCertificate> MakeServingCertificate(const std::vector<std::string>& dns_names,
                                                  WallTime now) {
  const WallTime start = now - net::kClockSlack;
  BERTH_TRY(const net::TlsIdentity authority,
            net::MakeCertificateAuthority("kueue-ca", start, now + kCaLifetime));
  BERTH_TRY(net::TlsIdentity identity,
            net::IssueCertificate(
                authority, {.common_name = dns_names.empty() ? "kueue-webhook" : dns_names.front(),
                            .dns_names = dns_names,
                            .for_server = true,
                            .not_before = start,
                            .not_after = now + kLifetime}));
  return ServingCertificate{std::move(identity), authority.certificate_chain_pem};
}

void ObtainServingCertificate(kube::ApiClient& client, const Clock& clock,
                              ServingCertificateOptions options,
                              std::function<void(Result<ServingCertificate>)> done) {
  auto obtaining = std::make_shared<Obtaining>(client, clock);
  obtaining->options = std::move(options);
  obtaining->done = std::move(done);
  obtaining->Look();
}

}  // namespace berth::webhook
