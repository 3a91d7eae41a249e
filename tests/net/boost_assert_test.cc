// Goal: a failed assertion of Boost is an exception, in release builds too. Method: calls Boost's
// handlers through their declarations in Boost's headers.
#include "net/internal/boost_assert.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace boost {

void assertion_failed(const char* expression, const char* function, const char* file, long line);
void assertion_failed_msg(const char* expression, const char* message, const char* function,
                          const char* file, long line);

}  // namespace boost

namespace berth::net {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

TEST(BoostAssertTest, FailedBoostAssertionIsThrown) {
  EXPECT_THAT(
      [] { boost::assertion_failed("size >= 5", "parse", "/include/basic_parser.hpp", 42); },
      ThrowsMessage<BoostAssertion>(StartsWith("basic_parser.hpp:42: assertion of Boost: "
                                               "size >= 5 does not hold")));
  EXPECT_THAT(
      [] { boost::assertion_failed_msg("ok", "text", "parse", "/include/basic_parser.hpp", 42); },
      ThrowsMessage<BoostAssertion>(HasSubstr("ok does not hold")));
}

}  // namespace
}  // namespace berth::net
