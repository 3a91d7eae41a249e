#include "net/internal/boost_assert.h"

#include <string>
#include <string_view>

#include <boost/assert.hpp>

namespace {

// Drops the path: it is of the machine that compiled the header.
[[noreturn]] void Throw(const char* expression, std::string_view file, long line) {
  file.remove_prefix(file.rfind('/') + 1);
  throw berth::net::BoostAssertion(std::string(file) + ":" + std::to_string(line) +
                                   ": assertion of Boost: " + expression + " does not hold");
}

}  // namespace

namespace boost {

void assertion_failed(const char* expression, const char* /*function*/, const char* file,
                      long line) {
  Throw(expression, file, line);
}

void assertion_failed_msg(const char* expression, const char* /*message*/, const char* /*function*/,
                          const char* file, long line) {
  Throw(expression, file, line);
}

}  // namespace boost
