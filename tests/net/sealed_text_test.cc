// Goal: a sealed text is read with its secret and its context alone; a change of any byte is found.
//
// Method: secrets, contexts and bytes that differ in one place.
#include "net/sealed_text.h"

#include <gmock/gmock.h>

namespace berth::net {
namespace {

const std::string kSealSecret(43, 's');
const std::string kNonce(kNonceBytes, 'n');

std::string Seal(const std::string& text, const std::string& nonce = kNonce) {
  const Result<std::string> sealed = SealText(kSealSecret, "session 1", text, nonce);
  EXPECT_TRUE(sealed) << sealed.error().message;
  return sealed ? *sealed : "";
}

TEST(SealedTextTest, OpensOnlyWithItsSecretAndContext) {
  for (const std::string& text : {std::string(), std::string("a token"), std::string(20'000, 'x'),
                                  std::string("\0\xff", 2)}) {
    const std::string sealed = Seal(text);
    EXPECT_EQ(UnsealText(kSealSecret, "session 1", sealed), text);
    EXPECT_FALSE(UnsealText(kSealSecret, "session 2", sealed));
    EXPECT_FALSE(UnsealText(kSealSecret, "", sealed));
    EXPECT_FALSE(UnsealText(kSealSecret.substr(1), "session 1", sealed));
    EXPECT_FALSE(UnsealText("", "session 1", sealed));
  }
  EXPECT_EQ(Seal("a token").find("token"), std::string::npos);
  EXPECT_NE(Seal("a token").substr(kNonceBytes),
            Seal("a token", std::string(kNonceBytes, 'm')).substr(kNonceBytes));
}

TEST(SealedTextTest, RefusesEveryChangedOrMissingByte) {
  const std::string sealed = Seal("a token");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(UnsealText(kSealSecret, "session 1", changed)) << i;
    EXPECT_FALSE(UnsealText(kSealSecret, "session 1", sealed.substr(0, i))) << i;
  }
  EXPECT_FALSE(UnsealText(kSealSecret, "session 1", sealed + "x"));
}

TEST(SealedTextTest, RefusesANonceOfAnotherSize) {
  for (const std::size_t size : {std::size_t{0}, kNonceBytes - 1, kNonceBytes + 1}) {
    const auto refused = SealText(kSealSecret, "", "a token", std::string(size, 'n'));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  }
}

}  // namespace
}  // namespace berth::net
