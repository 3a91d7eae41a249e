// Goal: issued certificates have the requested content; unreadable PEM is refused.
#include "net/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/x509v3.h>

#include "net/internal/openssl.h"

namespace berth::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr WallTime kStart = WallTime(std::chrono::sys_days(std::chrono::year(2026) / 11 / 20));
constexpr WallTime kEnd = kStart + std::chrono::hours(24 * 365);

X509Ptr Read(const TlsIdentity& identity) {
  auto chain = ReadCertificates(identity.certificate_chain_pem);
  EXPECT_TRUE(chain);
  return std::move((*chain)[0]);
}

TEST(Certificates, IssuedCertificateHasTheRequestedNames) {
  const auto authority = MakeCertificateAuthority("berth-ca", kStart, kEnd);
  ASSERT_TRUE(authority) << authority.error().message;
  CertificateRequest request;
  request.common_name = "system:admin";
  request.organizations = {"system:masters", "Größe, Inc."};
  request.dns_names = {"kubernetes", "*.svc.local"};
  request.ip_addresses = {"127.0.0.1", "::1"};
  request.for_server = true;
  request.not_before = kStart;
  request.not_after = kEnd;
  const auto issued = IssueCertificate(*authority, request);
  ASSERT_TRUE(issued) << issued.error().message;

  const X509Ptr root = Read(*authority);
  const X509Ptr leaf = Read(*issued);
  EXPECT_EQ(CommonName(*leaf), "system:admin");
  EXPECT_THAT(Organizations(*leaf), ElementsAre("system:masters", "Größe, Inc."));
  EXPECT_EQ(X509_check_issued(root.get(), leaf.get()), X509_V_OK);
  EXPECT_EQ(X509_verify(leaf.get(), X509_get0_pubkey(root.get())), 1);
  EXPECT_EQ(X509_check_ca(root.get()), 1);
  EXPECT_EQ(X509_check_ca(leaf.get()), 0);
  EXPECT_EQ(X509_check_host(leaf.get(), "kubernetes", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(leaf.get(), "a.svc.local", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(leaf.get(), "other", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "::1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "127.0.0.2", 0), 0);
  EXPECT_EQ(X509_check_purpose(leaf.get(), X509_PURPOSE_SSL_SERVER, 0), 1);
  EXPECT_EQ(X509_check_purpose(leaf.get(), X509_PURPOSE_SSL_CLIENT, 0), 0);
  EXPECT_EQ(*CertificateEnd(issued->certificate_chain_pem), kEnd);
  EXPECT_THAT(*CertificateDnsNames(issued->certificate_chain_pem),
              ElementsAre("kubernetes", "*.svc.local"));
  EXPECT_THAT(*CertificateDnsNames(authority->certificate_chain_pem), testing::IsEmpty());
  EXPECT_FALSE(CertificateDnsNames("no PEM"));
  EXPECT_THAT(issued->private_key_pem, testing::StartsWith("-----BEGIN PRIVATE KEY-----\n"));
}

TEST(Certificates, EndsAfter2050AreKept) {
  const WallTime far = kStart + std::chrono::years(100);
  const auto authority = MakeCertificateAuthority("x", kStart, far);
  ASSERT_TRUE(authority);
  EXPECT_EQ(*CertificateEnd(authority->certificate_chain_pem), CutToSeconds(far));
}

TEST(Certificates, BadRequestsAreInvalid) {
  const auto authority = MakeCertificateAuthority("ca", kStart, kEnd);
  ASSERT_TRUE(authority);
  CertificateRequest good;
  good.common_name = "x";
  good.not_before = kStart;
  good.not_after = kEnd;
  ASSERT_TRUE(IssueCertificate(*authority, good));
  const auto expect_invalid = [&](const CertificateRequest& request) {
    const auto issued = IssueCertificate(*authority, request);
    ASSERT_FALSE(issued);
    EXPECT_EQ(issued.error().code, ErrorCode::kInvalid) << issued.error().message;
  };
  CertificateRequest bad = good;
  bad.common_name = std::string(65, 'x');
  expect_invalid(bad);
  bad = good;
  bad.ip_addresses = {"not an address"};
  expect_invalid(bad);
  bad.ip_addresses = {"300.1.2.3"};
  expect_invalid(bad);
  bad = good;
  bad.dns_names = {"a,DNS:evil"};
  expect_invalid(bad);
  bad = good;
  bad.not_after = bad.not_before;
  expect_invalid(bad);
}

TEST(Certificates, UnreadablePemsAreInvalid) {
  const auto one = MakeCertificateAuthority("one", kStart, kEnd);
  const auto two = MakeCertificateAuthority("two", kStart, kEnd);
  ASSERT_TRUE(one && two);
  for (const std::string& pem :
       {std::string(), std::string("garbage"), one->private_key_pem,
        one->certificate_chain_pem.substr(0, 200),
        one->certificate_chain_pem + two->certificate_chain_pem.substr(0, 200)}) {
    const auto end = CertificateEnd(pem);
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ErrorCode::kInvalid);
  }
  const TlsIdentity mixed{one->certificate_chain_pem, two->private_key_pem};
  CertificateRequest request;
  request.common_name = "x";
  request.not_before = kStart;
  request.not_after = kEnd;
  const auto issued = IssueCertificate(mixed, request);
  ASSERT_FALSE(issued);
  EXPECT_EQ(issued.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(issued.error().message, HasSubstr("do not belong together"));
}

TEST(Certificates, EveryCertificateOfAChainIsRead) {
  const auto one = MakeCertificateAuthority("one", kStart, kEnd);
  const auto two = MakeCertificateAuthority("two", kStart, kEnd);
  ASSERT_TRUE(one && two);
  const auto chain = ReadCertificates(one->certificate_chain_pem + "\n# comment\n" +
                                      two->certificate_chain_pem + "trailing text\n");
  ASSERT_TRUE(chain) << chain.error().message;
  EXPECT_EQ(chain->size(), 2U);
}

}  // namespace
}  // namespace berth::net
