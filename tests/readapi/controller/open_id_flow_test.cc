// Goal: a flow comes back only to the browser that began it, whole, and in time; an ID token counts
// only if its claims name this issuer, this client and this sign-in. Method: rows of one change
// each.
#include "readapi/controller/open_id_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace berth::readapi {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

const WallTime kNow{std::chrono::seconds(1'800'000'000)};
const std::string kKey(32, 'k');
const std::string kNonce(12, 'n');

OpenIdFlow Flow() {
  int count = 0;
  return MakeOpenIdFlow(
      [&count](std::size_t size) { return std::string(size, static_cast<char>('a' + count++)); },
      "https://berth.example.com/sign-in", kNow);
}

TEST(OpenIdFlowTest, SecretsOfAFlowDiffer) {
  const OpenIdFlow flow = Flow();
  EXPECT_NE(flow.state, flow.nonce);
  EXPECT_NE(flow.state, flow.verifier);
  EXPECT_NE(flow.nonce, flow.verifier);
}

TEST(OpenIdFlowTest, ChallengeIsThatOfTheStandard) {  // RFC 7636, appendix B
  EXPECT_EQ(ChallengeOf("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

TEST(OpenIdFlowTest, SealedFlowComesBackWhole) {
  const OpenIdFlow flow = Flow();
  const Result<std::string> sealed = SealFlow(kKey, flow, kNonce);
  ASSERT_TRUE(sealed);
  EXPECT_EQ(sealed->find(flow.state), std::string::npos);
  const auto back = UnsealFlow(kKey, *sealed, kNow + std::chrono::minutes(9));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->state, flow.state);
  EXPECT_EQ(back->nonce, flow.nonce);
  EXPECT_EQ(back->verifier, flow.verifier);
  EXPECT_EQ(back->redirect_uri, flow.redirect_uri);
}

TEST(OpenIdFlowTest, ChangedOldAndForeignFlowsAreRefused) {
  const std::string sealed = *SealFlow(kKey, Flow(), kNonce);
  std::string changed = sealed;
  changed[20] = changed[20] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(UnsealFlow(kKey, changed, kNow));
  EXPECT_FALSE(UnsealFlow(std::string(32, 'x'), sealed, kNow));
  EXPECT_FALSE(UnsealFlow(kKey, sealed, kNow + kOpenIdFlowLife));
  for (const char* text : {"", "?", "AAAA"}) EXPECT_FALSE(UnsealFlow(kKey, text, kNow)) << text;
}

std::string TokenOf(const Json& claims) {
  return "head." + Base64UrlEncode(claims.dump()) + ".signature";
}

TEST(OpenIdFlowTest, TokenWithTheExpectedClaimsCounts) {
  const OpenIdExpectation expected{"https://id.example.com", "berth", "once"};
  Json claims = {{"iss", expected.issuer}, {"aud", "berth"}, {"nonce", "once"}};
  EXPECT_TRUE(CheckIdToken(TokenOf(claims), expected));
  claims["aud"] = Json::array({"berth"});
  EXPECT_TRUE(CheckIdToken(TokenOf(claims), expected));
  claims["aud"] = Json::array({"other", "berth"});
  claims["azp"] = "berth";
  EXPECT_TRUE(CheckIdToken(TokenOf(claims), expected));
}

TEST(OpenIdFlowTest, TokenWithAnyOtherClaimIsRefused) {
  const OpenIdExpectation expected{"https://id.example.com", "berth", "once"};
  struct Row {
    const char* claim;
    Json value;
    const char* problem;
  };
  const std::vector<Row> rows = {
      {"iss", "https://id.example.com/", "another issuer"},
      {"iss", nullptr, "another issuer"},
      {"aud", "other", "another client"},
      {"aud", nullptr, "another client"},
      {"aud", 7, "another client"},
      {"aud", Json::array({7, "other"}), "another client"},
      {"aud", Json::array({"berth", "other"}), "another client"},  // without azp
      {"nonce", "twice", "another sign-in"},
      {"nonce", nullptr, "another sign-in"},
  };
  for (const Row& row : rows) {
    Json claims = {{"iss", expected.issuer}, {"aud", "berth"}, {"nonce", "once"}};
    claims[row.claim] = row.value;
    const Status checked = CheckIdToken(TokenOf(claims), expected);
    ASSERT_FALSE(checked) << row.claim << " " << row.value;
    EXPECT_THAT(checked.error().message, HasSubstr(row.problem));
  }
  for (const char* token : {"", "a.b", "a.b.c", "a.e30.c.d", "a.W10.c"}) {
    const Status checked = CheckIdToken(token, expected);
    ASSERT_FALSE(checked) << token;
    EXPECT_THAT(checked.error().message, HasSubstr("not a signed JSON Web Token"));
  }
}

}  // namespace
}  // namespace berth::readapi
