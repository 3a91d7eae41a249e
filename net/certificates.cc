#include "net/certificates.h"

#include <array>
#include <ctime>
#include <utility>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "net/internal/openssl.h"
#include "net/internal/tls.h"

namespace berth::net {
namespace {

struct FreeExtension {
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};

Error Internal(std::string_view what) {
  return {ErrorCode::kInternal, std::string(what) + ": " + TakeTlsError()};
}

Result<BioPtr> OpenPem(std::string_view pem) {
  ERR_clear_error();
  if (pem.size() > 1024 * 1024) return Error{ErrorCode::kInvalid, "the PEM is larger than 1 MiB"};
  BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  if (!bio) return Internal("BIO_new_mem_buf");
  return bio;
}

Result<std::string> TextOf(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  if (size <= 0) return Internal("writing a PEM");
  return std::string(data, static_cast<std::size_t>(size));
}

Result<KeyPtr> MakeKey() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return Internal("making a P-256 key");
  return key;
}

Status AddName(X509_NAME* name, const char* field, std::string_view value) {
  if (X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(value.data()),
                                 static_cast<int>(value.size()), -1, 0) != 1) {
    TakeTlsError();
    return Error{ErrorCode::kInvalid, std::string("\"") + std::string(value) +
                                          "\" cannot be a certificate's " + field +
                                          ": 1 to 64 characters"};
  }
  return OkStatus();
}

Status AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, FreeExtension> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) {
    const std::string reason = TakeTlsError();
    return Error{ErrorCode::kInvalid,
                 "certificate extension \"" + value + "\" is refused: " + reason};
  }
  return OkStatus();
}

Status SetSerialAndTimes(X509* certificate, WallTime not_before, WallTime not_after) {
  std::array<unsigned char, 16> serial{};
  if (RAND_bytes(serial.data(), static_cast<int>(serial.size())) != 1) return Internal("random");
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7fU) | 0x40U);  // positive, full length
  BIGNUM* number = BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr);
  const bool has_serial = number != nullptr &&
                          BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  if (!has_serial) return Internal("serial number");
  if (not_after <= not_before) {
    return Error{ErrorCode::kInvalid, "the certificate would end before it begins"};
  }
  const auto to_time_t = [](WallTime time) {
    return static_cast<std::time_t>(
        std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
  };
  if (ASN1_TIME_set(X509_getm_notBefore(certificate), to_time_t(not_before)) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(certificate), to_time_t(not_after)) == nullptr) {
    return Internal("validity");
  }
  return OkStatus();
}

// Builds the certificate without its signature.
Result<X509Ptr> Draft(const CertificateRequest& request, EVP_PKEY* key) {
  X509Ptr certificate(X509_new());
  if (!certificate || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      X509_set_pubkey(certificate.get(), key) != 1) {
    return Internal("making a certificate");
  }
  BERTH_CHECK_OK(SetSerialAndTimes(certificate.get(), request.not_before, request.not_after));
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (const std::string& organization : request.organizations) {
    BERTH_CHECK_OK(AddName(subject, "O", organization));
  }
  BERTH_CHECK_OK(AddName(subject, "CN", request.common_name));
  return certificate;
}

Result<std::string> AlternativeNames(const CertificateRequest& request) {
  std::string names;
  const auto add = [&](std::string_view kind, const std::string& value) -> Status {
    // A comma would start another name.
    if (value.empty() || value.find_first_of(", \r\n\t") != std::string::npos) {
      return Error{ErrorCode::kInvalid, "\"" + value + "\" cannot be a certificate's name"};
    }
    names += (names.empty() ? "" : ",") + std::string(kind) + ":" + value;
    return OkStatus();
  };
  for (const std::string& name : request.dns_names) BERTH_CHECK_OK(add("DNS", name));
  for (const std::string& address : request.ip_addresses) BERTH_CHECK_OK(add("IP", address));
  return names;
}

Result<TlsIdentity> SignAndWrite(X509* certificate, EVP_PKEY* signer, EVP_PKEY* key) {
  if (X509_sign(certificate, signer, EVP_sha256()) == 0) return Internal("signing");
  const BioPtr certificate_out(BIO_new(BIO_s_mem()));
  const BioPtr key_out(BIO_new(BIO_s_mem()));
  if (!certificate_out || !key_out || PEM_write_bio_X509(certificate_out.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(key_out.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return Internal("writing a PEM");
  }
  TlsIdentity identity;
  BERTH_TRY(identity.certificate_chain_pem, TextOf(certificate_out.get()));
  BERTH_TRY(identity.private_key_pem, TextOf(key_out.get()));
  return identity;
}

std::vector<std::string> SubjectEntries(const X509& certificate, int nid) {
  std::vector<std::string> values;
  const X509_NAME* subject = X509_get_subject_name(&certificate);
  for (int at = X509_NAME_get_index_by_NID(subject, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(subject, nid, at)) {
    unsigned char* text = nullptr;
    const int length =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (length < 0) continue;
    values.emplace_back(reinterpret_cast<char*>(text), static_cast<std::size_t>(length));
    OPENSSL_free(text);
  }
  return values;
}

}  // namespace

Result<std::vector<X509Ptr>> ReadCertificates(std::string_view pem) {
  BERTH_TRY(const BioPtr bio, OpenPem(pem));
  std::vector<X509Ptr> certificates;
  for (;;) {
    X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (!certificate) break;
    certificates.push_back(std::move(certificate));
  }
  const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = TakeTlsError();
  if (!certificates.empty() && is_end) return certificates;
  return Error{ErrorCode::kInvalid, is_end
                                        ? "no certificate in the PEM: BEGIN CERTIFICATE is missing"
                                        : "a certificate in the PEM cannot be read: " + reason};
}

Result<KeyPtr> ReadPrivateKey(std::string_view pem) {
  BERTH_TRY(const BioPtr bio, OpenPem(pem));
  // OpenSSL must not ask for the password of an encrypted key on the terminal.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!key) {
    return Error{ErrorCode::kInvalid,
                 "the private key in the PEM cannot be read: " + TakeTlsError()};
  }
  return key;
}

std::string CommonName(const X509& certificate) {
  const std::vector<std::string> names = SubjectEntries(certificate, NID_commonName);
  return names.empty() ? std::string() : names.back();
}

std::vector<std::string> Organizations(const X509& certificate) {
  return SubjectEntries(certificate, NID_organizationName);
}

Result<TlsIdentity> MakeCertificateAuthority(std::string_view common_name, WallTime not_before,
                                             WallTime not_after) {
  CertificateRequest request;
  request.common_name = std::string(common_name);
  request.not_before = not_before;
  request.not_after = not_after;
  BERTH_TRY(const KeyPtr key, MakeKey());
  BERTH_TRY(const X509Ptr certificate, Draft(request, key.get()));
  X509* draft = certificate.get();
  if (X509_set_issuer_name(draft, X509_get_subject_name(draft)) != 1) return Internal("issuer");
  BERTH_CHECK_OK(AddExtension(draft, draft, NID_basic_constraints, "critical,CA:TRUE"));
  BERTH_CHECK_OK(
      AddExtension(draft, draft, NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign"));
  BERTH_CHECK_OK(AddExtension(draft, draft, NID_subject_key_identifier, "hash"));
  return SignAndWrite(draft, key.get(), key.get());
}

Result<TlsIdentity> IssueCertificate(const TlsIdentity& authority,
                                     const CertificateRequest& request) {
  BERTH_TRY(const std::vector<X509Ptr> chain, ReadCertificates(authority.certificate_chain_pem));
  BERTH_TRY(const KeyPtr signer, ReadPrivateKey(authority.private_key_pem));
  X509* issuer = chain.front().get();
  if (X509_check_private_key(issuer, signer.get()) != 1) {
    TakeTlsError();
    return Error{ErrorCode::kInvalid, "the authority's certificate and key do not belong together"};
  }
  BERTH_TRY(const KeyPtr key, MakeKey());
  BERTH_TRY(const X509Ptr certificate, Draft(request, key.get()));
  X509* draft = certificate.get();
  if (X509_set_issuer_name(draft, X509_get_subject_name(issuer)) != 1) return Internal("issuer");
  BERTH_CHECK_OK(AddExtension(draft, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  BERTH_CHECK_OK(AddExtension(draft, issuer, NID_key_usage, "critical,digitalSignature"));
  std::string usages = request.for_server ? "serverAuth" : "";
  if (request.for_client) usages += usages.empty() ? "clientAuth" : ",clientAuth";
  if (!usages.empty()) BERTH_CHECK_OK(AddExtension(draft, issuer, NID_ext_key_usage, usages));
  BERTH_TRY(const std::string names, AlternativeNames(request));
  if (!names.empty()) BERTH_CHECK_OK(AddExtension(draft, issuer, NID_subject_alt_name, names));
  BERTH_CHECK_OK(AddExtension(draft, issuer, NID_subject_key_identifier, "hash"));
  BERTH_CHECK_OK(AddExtension(draft, issuer, NID_authority_key_identifier, "keyid"));
  return SignAndWrite(draft, signer.get(), key.get());
}

Result<std::vector<std::string>> CertificateDnsNames(std::string_view certificate_pem) {
  BERTH_TRY(const std::vector<X509Ptr> certificates, ReadCertificates(certificate_pem));
  std::vector<std::string> names;
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> all(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificates.front().get(), NID_subject_alt_name, nullptr, nullptr)),
      &GENERAL_NAMES_free);
  if (all == nullptr) {
    TakeTlsError();
    return names;
  }
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type != GEN_DNS) continue;
    const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
    names.emplace_back(text, static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  return names;
}

Result<WallTime> CertificateEnd(std::string_view certificate_pem) {
  BERTH_TRY(const std::vector<X509Ptr> certificates, ReadCertificates(certificate_pem));
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificates.front().get()), &parts) != 1) {
    TakeTlsError();
    return Error{ErrorCode::kInvalid, "the certificate's end cannot be read"};
  }
  return WallTime(std::chrono::seconds(timegm(&parts)));
}

}  // namespace berth::net
