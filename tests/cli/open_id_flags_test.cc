// Goal: flags that name half a provider are refused with the flag that mends them; files give the
// secret and the authority. Method: one row a mistake; files in a folder of the test.
#include "cli/open_id_flags.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using ::testing::HasSubstr;

std::string FileWith(const std::string& text) {
  const std::string path =
      testing::TempDir() + "open_id_" + std::to_string(std::hash<std::string>()(text)) + ".txt";
  std::ofstream(path) << text;
  return path;
}

TEST(OpenIdFlagsTest, NoIssuerMeansNoProvider) {
  const auto options = OpenIdOptionsOf({});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->issuer, "");
}

TEST(OpenIdFlagsTest, FilesGiveSecretAndAuthority) {
  const auto options = OpenIdOptionsOf({.issuer = "https://id.example.com",
                                        .client_id = "berth",
                                        .secret_file = FileWith("hidden\n"),
                                        .ca_file = FileWith("PEM\n")});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->client_secret, "hidden");
  EXPECT_EQ(options->ca_pem, "PEM");
  EXPECT_EQ(options->scopes, "openid");
}

TEST(OpenIdFlagsTest, HalfAProviderIsRefused) {
  const std::string url = "https://id.example.com";
  struct Row {
    OpenIdFlags flags;
    const char* problem;
  };
  const std::vector<Row> rows = {
      {{.issuer = "http://id.example.com", .client_id = "berth"}, "is not an https URL"},
      {{.issuer = url}, "--read-api-openid-client"},
      {{.issuer = url, .client_id = "berth", .scopes = "email openidx"}, "has no \"openid\""},
      {{.issuer = url, .client_id = "berth", .secret_file = "/none/secret"}, "/none/secret"},
      {{.issuer = url, .client_id = "berth", .secret_file = FileWith(" \n")}, "is empty"},
      {{.issuer = url, .client_id = "berth", .ca_file = FileWith("\n")}, "--read-api-openid-ca"},
  };
  for (const Row& row : rows) {
    const auto options = OpenIdOptionsOf(row.flags);
    ASSERT_FALSE(options) << row.problem;
    EXPECT_THAT(options.error().message, HasSubstr(row.problem));
  }
}

}  // namespace
}  // namespace berth::cli
