// local/apiserver/auth/credentials.h — the secrets of one local cluster, kept beside its database:
// certificate authority, serving certificate, bearer token; and the kubeconfig made of them.
//
// Errors: kUnavailable (files that cannot be written), kInvalid (PEM that cannot be read).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/server.h"

namespace berth::local {

struct Credentials {
  net::TlsIdentity authority;
  net::TlsIdentity serving;
  std::string token;
};

// Reads what is in `folder`, makes what is missing (files of mode 0600). The serving certificate is
// made anew when it has less than 30 days left.
// An empty folder name: everything is made in memory.
Result<Credentials> LoadOrMakeCredentials(const std::string& folder, WallTime now);

// kubeconfig text for `url` with the context "berth".
std::string MakeKubeconfig(const Credentials& credentials, const std::string& url);

// Writes it with mode 0600, atomically. A file that is there and was not written by Berth is left
// alone: kAlreadyExists names it and the way out.
Status WriteKubeconfig(const std::string& path, const std::string& text);

}  // namespace berth::local
