// readapi/controller/open_id_provider.h — an OpenID provider, at which readers of the page sign in
// with the code flow and PKCE.
//
//     AddressOf ─▶ discovery document, kept for an hour ─▶ the address for the browser
//     Redeem(code) ─▶ POST to the token endpoint ─▶ ID token, whose claims are checked
//
// The ID token is the reader's token for the API server, which has to trust the same issuer and
// client (`kube-apiserver --oidc-issuer-url --oidc-client-id`).
//
// Threads: any; callbacks come on an I/O thread, or inside the call. Destroy the pool later.
// Errors: kUnavailable: the provider does not answer, refuses the client, or answers nonsense, with
// a warning in the log; kTooManyRequests; kInvalid: the code is not valid, or a claim is wrong.
// Source: OpenID Connect Discovery 1.0 section 4, OpenID Connect Core 1.0 section 3.1, RFC 7636.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/client.h"
#include "readapi/controller/open_id_flow.h"
#include "readapi/open_id_options.h"

namespace berth::readapi {

class OpenIdProvider : public std::enable_shared_from_this<OpenIdProvider> {
 public:
  using Done = std::function<void(Result<std::string>)>;

  // Errors: kInvalid: the issuer is no https URL, the client has no name, or the PEM is invalid.
  static Result<std::shared_ptr<OpenIdProvider>> Create(net::IoPool& pool, const Clock& clock,
                                                        OpenIdOptions options);

  // The provider's host, for the button of the page.
  const std::string& host() const { return host_; }

  // Gives `done` the address at which the browser signs in.
  void AddressOf(const OpenIdFlow& flow, Done done);
  // Gives `done` the ID token for the code with which the browser has come back.
  void Redeem(const OpenIdFlow& flow, const std::string& code, Done done);

 private:
  struct Endpoints {
    std::string authorization;
    std::string token;
    bool secret_in_body = false;  // client_secret_post; else client_secret_basic
  };
  using WithEndpoints = std::function<void(const Result<Endpoints>&)>;

  OpenIdProvider(net::IoPool& pool, const Clock& clock, OpenIdOptions options, std::string host)
      : pool_(pool), clock_(clock), options_(std::move(options)), host_(std::move(host)) {}
  // A client of one origin of the provider.
  Result<std::shared_ptr<net::HttpClient>> MakeClient(const std::string& origin) const;
  Result<std::shared_ptr<net::HttpClient>> ClientFor(const std::string& origin);
  void Discover(const WithEndpoints& then);
  void TakeDiscovery(const Result<net::Response>& response);
  Result<Endpoints> EndpointsIn(const Result<net::Response>& response) const;
  void SendCode(const Endpoints& endpoints, const OpenIdFlow& flow, const std::string& code,
                const Done& done);
  Result<std::string> TokenIn(const Result<net::Response>& response, const OpenIdFlow& flow) const;

  net::IoPool& pool_;
  const Clock& clock_;
  const OpenIdOptions options_;
  const std::string host_;
  std::mutex mutex_;
  std::optional<Result<Endpoints>> known_;
  SteadyTime known_until_{};
  std::vector<WithEndpoints> waiting_;  // for the discovery under way
  std::shared_ptr<net::HttpClient> discovery_client_;
  std::string token_origin_;                       // origin of token_client_
  std::shared_ptr<net::HttpClient> token_client_;  // null: none was needed
};

}  // namespace berth::readapi
