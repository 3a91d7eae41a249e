// scenarios/command.h — `berth test`: plays scenario files against their manifests, without a
// cluster.
#pragma once

#include <string>
#include <vector>

namespace berth::scenarios {

struct TestFlags {
  std::vector<std::string> paths;  // files, or folders with the .scenario files below them
  std::string manifests;           // the folder of `apply PATH`; empty: the folder of each scenario
  std::string only;                // plays the scenarios with this text in their name; empty: all
  std::string junit;               // file of the JUnit report; empty: none
  bool verbose = false;            // prints the events of every scenario
};

// Plays one scenario after the other, each in a cluster of its own in virtual time. Prints a line
// for each scenario, and for a failed scenario the step, the actual state and the events. Returns 0
// if all passed, 1 if one failed, 2 if there is no scenario or a file cannot be read or written.
int RunTest(const TestFlags& flags);

}  // namespace berth::scenarios
