// net/certificates.h — a certificate authority (ECDSA P-256) and the certificates that it signs, as
// PEM.
//
// Errors: kInvalid for a PEM that cannot be parsed, kInternal for a failure of OpenSSL.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/server.h"  // TlsIdentity

namespace berth::net {

// How far the clock of a client may be behind that of the machine that makes a certificate.
inline constexpr std::chrono::hours kClockSlack{24};

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;     // subject alternative names
  std::vector<std::string> ip_addresses;  // subject alternative names: "127.0.0.1", "::1"
  bool for_server = false;                // extended key usage; both false: none
  bool for_client = false;
  WallTime not_before;
  WallTime not_after;
};

// Makes a self-signed CA certificate and its key.
Result<TlsIdentity> MakeCertificateAuthority(std::string_view common_name, WallTime not_before,
                                             WallTime not_after);

// Makes a key pair and its certificate, signed by `authority`.
Result<TlsIdentity> IssueCertificate(const TlsIdentity& authority,
                                     const CertificateRequest& request);

// The DNS names of the first certificate of the PEM (subject alternative names).
Result<std::vector<std::string>> CertificateDnsNames(std::string_view certificate_pem);

// The end of validity (notAfter) of the first certificate of the PEM.
Result<WallTime> CertificateEnd(std::string_view certificate_pem);

}  // namespace berth::net
