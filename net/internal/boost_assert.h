// net/internal/boost_assert.h — what becomes of an assertion of Boost that does not hold: an
// exception, in every build.
//
// Boost's own choices are to end the process, so that a fault of the parser which some bytes of a
// stranger reach ends a server, or (with NDEBUG) to go on with a state that the library excludes.
// Whoever calls a part of Boost that reads outside bytes catches the exception, drops the object
// that threw it, and refuses the bytes. Where nobody catches, the process ends with the text of the
// assertion. BERTH_ASSERT is not concerned.
//
// The definition BOOST_ENABLE_ASSERT_HANDLER of the target makes Boost call the handlers.
#pragma once

#include <stdexcept>

namespace berth::net {

class BoostAssertion : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace berth::net
