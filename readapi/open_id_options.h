// readapi/open_id_options.h — the OpenID provider at which readers of the page sign in
// (readapi/controller/open_id_provider.h).
//
// Threads: data. Errors: none.
#pragma once

#include <string>

namespace berth::readapi {

struct OpenIdOptions {
  std::string issuer;         // "https://accounts.example.com", as in the claim iss; empty: none
  std::string client_id;      // the client of the page
  std::string client_secret;  // empty: a public client
  std::string scopes = "openid";
  std::string ca_pem;  // authorities of the provider's certificate; empty: those of the system
};

}  // namespace berth::readapi
