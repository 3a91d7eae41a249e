// Goal: a signature proves that the holder of the key has signed the text.
// Method: real keys; texts, signatures and PEMs that are changed or foreign.
#include "net/signing_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>

#include "base/strings.h"

namespace berth::net {
namespace {

using ::testing::HasSubstr;

TEST(SigningKey, VerifiesWhatItHasSigned) {
  const auto key = SigningKey::Make();
  ASSERT_TRUE(key) << key.error().message;
  // The length of r and s varies in DER: with many signatures the short ones occur.
  for (int i = 0; i < 300; ++i) {
    const std::string text = "text " + std::to_string(i);
    const auto signature = key->Sign(text);
    ASSERT_TRUE(signature) << signature.error().message;
    ASSERT_EQ(signature->size(), 64U);
    ASSERT_TRUE(key->Verify(text, *signature)) << i;
    ASSERT_FALSE(key->Verify(text + " ", *signature));
  }
}

TEST(SigningKey, RefusesEveryChange) {
  const auto key = SigningKey::Make();
  const auto other = SigningKey::Make();
  ASSERT_TRUE(key);
  ASSERT_TRUE(other);
  const auto signature = key->Sign("text");
  ASSERT_TRUE(signature);
  EXPECT_FALSE(other->Verify("text", *signature));
  for (std::size_t i = 0; i < signature->size(); ++i) {
    std::string changed = *signature;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(key->Verify("text", changed)) << i;
  }
  for (const std::string& wrong : {std::string(), signature->substr(1), *signature + "x",
                                   std::string(64, '\0'), std::string(64, '\xff')}) {
    EXPECT_FALSE(key->Verify("text", wrong));
  }
}

TEST(SigningKey, IsRestoredFromItsPem) {
  const auto key = SigningKey::Make();
  ASSERT_TRUE(key);
  const auto again = SigningKey::FromPem(key->pem());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->id(), key->id());
  EXPECT_EQ(again->id().size(), 43U);
  EXPECT_NE(SigningKey::Make()->id(), key->id());
  const auto signature = key->Sign("text");
  ASSERT_TRUE(signature);
  EXPECT_TRUE(again->Verify("text", *signature));
}

TEST(SigningKey, RefusesPemsOfOtherKeys) {
  for (const char* pem :
       {"", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}) {
    EXPECT_FALSE(SigningKey::FromPem(pem)) << pem;
  }
  EVP_PKEY* large = EVP_EC_gen("P-384");
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, large, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  const auto key = SigningKey::FromPem({data, static_cast<std::size_t>(size)});
  BIO_free_all(bio);
  EVP_PKEY_free(large);
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().message, HasSubstr("P-256"));
}

// The PEM of a private key has the public point, too: 4, x, y.
TEST(SigningKey, ReturnsItsPublicPoint) {
  const auto key = SigningKey::Make();
  ASSERT_TRUE(key);
  std::string body;
  for (const std::string_view line : Split(key->pem(), '\n')) {
    if (line.find("-----") == std::string_view::npos) body += line;
  }
  const auto der = Base64Decode(body);
  ASSERT_TRUE(der);
  const auto point = key->PublicPoint();
  ASSERT_TRUE(point);
  EXPECT_EQ(point->x.size(), 32U);
  EXPECT_NE(der->find("\x04" + point->x + point->y), std::string::npos);
}

}  // namespace
}  // namespace berth::net
