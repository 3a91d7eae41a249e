// net/internal/boost_assert.h — turns a failed assertion of Boost into an exception, in every
// build.
//
// Boost's own choices are to end the process, so that a parser fault which a client's bytes trigger
// ends a server, or (with NDEBUG) to continue in a state that the library excludes. Code that calls
// a part of Boost that parses outside bytes catches the exception, drops the object that threw it,
// and refuses the bytes. An uncaught exception ends the process with the text of the assertion.
// BERTH_ASSERT is not affected.
//
// The target's definition BOOST_ENABLE_ASSERT_HANDLER makes Boost call the handlers.
#pragma once

#include <stdexcept>

namespace berth::net {

class BoostAssertion : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace berth::net
