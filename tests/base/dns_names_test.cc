// Goal: labels and subdomains have the characters that Kubernetes allows. Method: a table.
#include "base/dns_names.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(DnsNames, DistinguishesLabelsAndSubdomains) {
  struct Row {
    const char* text;
    bool label;
    bool subdomain;
  };
  const Row rows[] = {{"a", true, true},      {"a-1", true, true},        {"1", true, true},
                      {"a.b-2", false, true}, {"", false, false},         {"A", false, false},
                      {"-a", false, false},   {"a-", false, false},       {"a.", false, false},
                      {".a", false, false},   {"a..b", false, false},     {"a-.b", false, false},
                      {"a_b", false, false},  {"a\xC3\xA4", false, false}};
  for (const Row& row : rows) {
    EXPECT_EQ(IsDnsLabel(row.text), row.label) << row.text;
    EXPECT_EQ(IsDnsSubdomain(row.text), row.subdomain) << row.text;
  }
}

}  // namespace
}  // namespace berth
