// Goal: names stay within the API's limit, and attempts can be parsed at every length.
#include <gtest/gtest.h>

#include "provisioning/request_names.h"

namespace berth::provisioning {
namespace {

TEST(NamesTest, ShortNamesAreKueues) {
  EXPECT_EQ(RequestName("job-sample-job-e80e2", "dws-prov", 1), "job-sample-job-e80e2-dws-prov-1");
  EXPECT_EQ(TemplateName("job-sample-job-e80e2-dws-prov-1", "main"),
            "ppt-job-sample-job-e80e2-dws-prov-1-main");
}

TEST(NamesTest, NamesAreBoundedAndTheirAttemptIsReadBack) {
  for (std::size_t workload = 1; workload <= 253; workload += 4) {
    for (const std::size_t check : {1U, 40U, 120U, 253U}) {
      const std::string w(workload, 'w');
      const std::string c(check, 'c');
      for (const std::int32_t attempt : {1, 9, 10, 1234, INT32_MAX}) {
        const std::string name = RequestName(w, c, attempt);
        EXPECT_LE(name.size(), 253U);
        EXPECT_EQ(AttemptOf(name, w, c), attempt) << name;
        EXPECT_LE(TemplateName(name, std::string(63, 'p')).size(), 253U);
      }
    }
  }
}

// A name has 253 characters at most, a hash of them takes six.
TEST(NamesTest, TheLongestPlainNamesHave247Characters) {
  const std::string fits(247 - std::string("-check-1").size(), 'w');
  EXPECT_EQ(RequestName(fits, "check", 1), fits + "-check-1");
  EXPECT_NE(RequestName(fits + "w", "check", 1), fits + "w-check-1");
  const std::string request(247 - std::string("ppt--main").size(), 'r');
  EXPECT_EQ(TemplateName(request, "main"), "ppt-" + request + "-main");
  EXPECT_NE(TemplateName(request + "r", "main"), "ppt-" + request + "r-main");
}

TEST(NamesTest, LongNamesOfDifferentWorkloadsAreDistinct) {
  const std::string a = std::string(247, 'w') + "a";
  const std::string b = std::string(247, 'w') + "b";
  EXPECT_NE(RequestName(a, "check", 1), RequestName(b, "check", 1));
  EXPECT_FALSE(AttemptOf(RequestName(a, "check", 1), b, "check").has_value());
}

TEST(NamesTest, NameOfAnotherCheckHasNoAttempt) {
  EXPECT_FALSE(AttemptOf("wl-check-1", "wl", "other").has_value());
  EXPECT_FALSE(AttemptOf("wl-check-x", "wl", "check").has_value());
  EXPECT_FALSE(AttemptOf("wl-check-", "wl", "check").has_value());
  EXPECT_FALSE(AttemptOf("wl-check-+1", "wl", "check").has_value());
  EXPECT_FALSE(AttemptOf("wl-check--1", "wl", "check").has_value());
  EXPECT_FALSE(AttemptOf("wl-check-2147483648", "wl", "check").has_value());
  EXPECT_FALSE(AttemptOf("wl-check-99999999999999999999", "wl", "check").has_value());
  // Check "a" and check "a-1" of one workload.
  EXPECT_FALSE(AttemptOf("wl-a-1-1", "wl", "a").has_value());
}

TEST(NamesTest, NoHyphenFollowsADot) {
  const std::string workload = std::string(235, 'w') + ".x" + std::string(10, 'y');
  const std::string name = RequestName(workload, "check", 1);
  EXPECT_EQ(name.find(".-"), std::string::npos) << name;
}

}  // namespace
}  // namespace berth::provisioning
