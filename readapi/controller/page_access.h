// readapi/controller/page_access.h — how readers sign in to the page and the read API, and what
// they may do there.
//
// Threads: data. Errors: none.
#pragma once

#include <string>

#include "kube/runtime/front_proxy.h"
#include "readapi/open_id_options.h"

namespace berth::readapi {

struct PageAccess {
  bool actions = false;         // POST /api/v1/actions writes, with the rights of the caller
  std::string session_folder;   // sessions of the page (session_folder.h); empty: memory alone
  std::string cluster_name;     // that the page shows; empty: the page shows its address
  kube::FrontProxyTrust proxy;  // whose headers name users (sign_in.h); no authority: none
  OpenIdOptions open_id;        // the provider at which readers sign in; no issuer: none
};

}  // namespace berth::readapi
