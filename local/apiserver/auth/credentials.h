// local/apiserver/auth/credentials.h — the secrets of one local cluster, stored beside its
// database: certificate authority, serving certificate, bearer token, key of account tokens; and
// their kubeconfig.
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
  // Signs the client certificate for requests that are passed on, and nothing else.
  net::TlsIdentity front_proxy_authority;
  std::string token;
  std::string account_key_pem;  // signs the tokens of service accounts
};

// Reads the files in `folder` and makes missing ones (mode 0600). A serving certificate
// with less than 30 days left is replaced. An empty folder name: makes everything in
// memory.
Result<Credentials> LoadOrMakeCredentials(const std::string& folder, WallTime now);

// kubeconfig text for `url` with the context "berth".
std::string MakeKubeconfig(const Credentials& credentials, const std::string& url);

// The authority in `folder`, to sign certificates of users. kNotFound: there is none.
Result<net::TlsIdentity> ReadAuthority(const std::string& folder);

struct UserKubeconfig {
  std::string authority_pem;
  std::string url;
  std::string user;
  std::string namespace_name;
};
// kubeconfig text of a user with a certificate.
std::string MakeUserKubeconfig(const UserKubeconfig& about, const net::TlsIdentity& identity);
// kubeconfig text of a user with a token.
std::string MakeTokenKubeconfig(const UserKubeconfig& about, const std::string& token);

// Writes the file with mode 0600, atomically. An existing file that Berth has not written is kept:
// kAlreadyExists names the file and the remedy.
Status WriteKubeconfig(const std::string& path, const std::string& text);

}  // namespace berth::local
