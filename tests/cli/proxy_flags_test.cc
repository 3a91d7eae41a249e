// Goal: no proxy is trusted unless its authority and its name are given; a header that every client
// sends names nobody.
#include "cli/proxy_flags.h"

#include <fstream>

#include <gmock/gmock.h>

#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProxyFlagsTest, NoProxyIsTrustedWithoutAnAuthority) {
  const auto trust = ProxyTrustOf({.names = {"front"}});
  ASSERT_TRUE(trust);
  EXPECT_EQ(*trust, kube::FrontProxyTrust{});
}

TEST(ProxyFlagsTest, TrustIsReadFromTheFileAndTheFlags) {
  const local::TempFolder folder;
  std::ofstream(folder.File("ca.pem")) << "PEM";
  const auto trust = ProxyTrustOf(
      {.client_ca = folder.File("ca.pem"), .names = {"front"}, .user_header = "X-User"});
  ASSERT_TRUE(trust) << trust.error().message;
  EXPECT_EQ(trust->client_ca_pem, "PEM");
  EXPECT_THAT(trust->allowed_names, ElementsAre("front"));
  EXPECT_THAT(trust->username_headers, ElementsAre("X-User"));
  EXPECT_THAT(trust->group_headers, ElementsAre("X-Forwarded-Groups"));
  EXPECT_TRUE(trust->extra_prefixes.empty() && trust->uid_headers.empty());
}

TEST(ProxyFlagsTest, IncompleteOrWrongFlagsAreRefusedWithTheReason) {
  const local::TempFolder folder;
  const std::string file = folder.File("ca.pem");
  std::ofstream(file) << "PEM";
  std::ofstream(folder.File("empty.pem")) << "";
  const std::pair<PageProxyFlags, const char*> rows[] = {
      {{.client_ca = file}, "--read-api-proxy-name"},
      {{.client_ca = file, .names = {""}}, "--read-api-proxy-name"},
      {{.client_ca = file, .names = {"front"}, .user_header = ""}, "--read-api-proxy-user-header"},
      {{.client_ca = file, .names = {"front"}, .user_header = "Cookie"}, "only the proxy sends"},
      {{.client_ca = file, .names = {"front"}, .groups_header = "a b"},
       "--read-api-proxy-groups-header"},
      {{.client_ca = folder.File("empty.pem"), .names = {"front"}}, "is empty"},
      {{.client_ca = folder.File("none.pem"), .names = {"front"}}, "none.pem"}};
  for (const auto& [flags, message] : rows) {
    const auto trust = ProxyTrustOf(flags);
    ASSERT_FALSE(trust) << message;
    EXPECT_THAT(trust.error().message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace berth::cli
