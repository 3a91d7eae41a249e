// Goal: the proxy that Go's clients choose. Source: the tests of golang.org/x/net's httpproxy have
// the same rows.

#include "kube/client/proxy.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

TEST(Proxy, ProxyFollowsTheClusterAndTheEnvironment) {
  struct Row {
    const char* server;
    const char* configured;
    const char* https_proxy;
    const char* no_proxy;
    const char* expected;
  };
  const Row rows[] = {
      {"https://api.example.com", "", "", "", ""},
      {"https://api.example.com", "", "http://p:1", "", "http://p:1"},
      {"https://api.example.com", "", "p:1", "", "http://p:1"},
      {"https://api.example.com", "http://q:2", "http://p:1", "*", "http://q:2"},
      {"http://api.example.com", "", "http://p:1", "", ""},
      {"https://127.0.0.1:6443", "", "http://p:1", "", ""},
      {"https://[::1]:6443", "", "http://p:1", "", ""},
      {"https://localhost:6443", "", "http://p:1", "", ""},
      {"https://127.0.0.1:6443", "http://q:2", "", "", "http://q:2"},
      {"https://api.example.com", "", "http://p:1", "*", ""},
      {"https://api.example.com", "", "http://p:1", "example.com", ""},
      {"https://API.example.com", "", "http://p:1", " Example.com ", ""},
      {"https://example.com", "", "http://p:1", "example.com", ""},
      {"https://example.com", "", "http://p:1", ".example.com", "http://p:1"},
      {"https://api.example.com", "", "http://p:1", "*.example.com", ""},
      {"https://notexample.com", "", "http://p:1", "example.com", "http://p:1"},
      {"https://api.example.com", "", "http://p:1", "example.com:6443", "http://p:1"},
      {"https://api.example.com:6443", "", "http://p:1", "x,example.com:6443", ""},
      {"https://10.1.2.3", "", "http://p:1", "10.0.0.0/8", ""},
      {"https://11.1.2.3", "", "http://p:1", "10.0.0.0/8", "http://p:1"},
      {"https://[fd00::1]:6443", "", "http://p:1", "fd00::/8", ""},
      {"https://10.1.2.3", "", "http://p:1", "10.1.2.3", ""},
      {"https://10.1.2.3", "", "http://p:1", "1.2.3", "http://p:1"},
  };
  for (const Row& row : rows) {
    const auto proxy = ProxyFor(row.server, row.configured, {row.https_proxy, row.no_proxy});
    ASSERT_TRUE(proxy);
    EXPECT_EQ(*proxy, row.expected) << row.server << " " << row.no_proxy;
  }
  EXPECT_FALSE(ProxyFor("https://", "", {"http://p:1", ""}));
}

}  // namespace
}  // namespace berth::kube
