// Goal: the processor of the program has the name that Kubernetes gives to that of this machine.
// Method: uname.
#include "base/architecture.h"

#include <map>
#include <string>

#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace berth {
namespace {

TEST(ArchitectureTest, NamesTheProcessorOfThisMachine) {
  utsname machine{};
  ASSERT_EQ(uname(&machine), 0);
  std::map<std::string, std::string> words{{"x86_64", "amd64"}, {"aarch64", "arm64"}};
  EXPECT_EQ(kArchitecture, words[machine.machine]) << machine.machine;
  EXPECT_EQ(kPlatform, "linux/" + words[machine.machine]);
}

}  // namespace
}  // namespace berth
