// Goal: base URLs are read as written or refused with the reason.
#include "net/internal/url.h"

#include <gtest/gtest.h>

namespace berth::net {
namespace {

TEST(BaseUrl, ReadsHostPortPrefixAndOrigin) {
  struct Row {
    const char* text;
    const char* host;
    int port;
    const char* prefix;
    const char* origin;
  };
  for (const Row& row : {
           Row{"http://localhost", "localhost", 80, "", "http://localhost"},
           Row{"https://10.0.0.1:6443/", "10.0.0.1", 6443, "", "https://10.0.0.1:6443"},
           Row{"https://a-b.example:443/x/y//", "a-b.example", 443, "/x/y", "https://a-b.example"},
           Row{"https://[::1]:6443", "::1", 6443, "", "https://[::1]:6443"},
           Row{"http://[fe80::1]/p", "fe80::1", 80, "/p", "http://[fe80::1]"},
       }) {
    const auto url = ParseBaseUrl(row.text);
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->host, row.host) << row.text;
    EXPECT_EQ(url->port, row.port) << row.text;
    EXPECT_EQ(url->path_prefix, row.prefix) << row.text;
    EXPECT_EQ(url->origin(), row.origin) << row.text;
  }
}

TEST(BaseUrl, RefusesInvalidBaseUrls) {
  for (const char* text : {"",
                           "localhost:80",
                           "ftp://x",
                           "http://",
                           "http://:80",
                           "http://x:0",
                           "http://x:65536",
                           "http://x:99999",
                           "http://x:",
                           "http://x:8a",
                           "http://user:pw@x",
                           "http://x y",
                           "http://x/a b",
                           "http://x/?q",
                           "http://x/#f",
                           "http://[::1",
                           "http://[]",
                           "http://[zz]",
                           "http://[ab]",
                           "http://[::1]x",
                           "http://%zz"}) {
    const auto url = ParseBaseUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, ErrorCode::kInvalid) << text;
  }
}

}  // namespace
}  // namespace berth::net
