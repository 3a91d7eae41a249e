// scenarios/junit.h — outcomes of scenarios as a JUnit report, the XML that CI systems read.
//
// Pure.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"

namespace berth::scenarios {

struct Outcome {
  std::string name;  // the path below the given folder, without its ending
  std::string file;
  int line = 0;         // the line of the failure; 0: passed, or the failure has no line
  std::string step;     // the failed step as written
  std::string failure;  // the actual state; empty: passed
  std::string story;    // the events until then
  Duration took{};      // real time that the scenario took
};

// One test suite for each folder. Characters that XML cannot have become "?".
std::string JunitReport(const std::vector<Outcome>& outcomes);

}  // namespace berth::scenarios
