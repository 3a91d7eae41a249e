// Goal: options may precede the command, as with kubectl; a word that is no option of the command
// keeps its position, for the parser's error.
#include "cli/argument_order.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using Words = std::vector<std::string>;

Command Program() {
  const CommandOption kubeconfig{.names = {"--kubeconfig"}, .value = "FILE"};
  const CommandOption all{.names = {"-A", "--all-namespaces"}};
  const CommandOption space{.names = {"-n", "--namespace"}, .value = "NAME"};
  return {.name = "berth",
          .commands = {{.name = "status", .options = {kubeconfig, all, space}},
                       {.name = "up", .options = {kubeconfig}}}};
}

struct ArgumentOrderCase {
  std::string name;
  Words words;
  Words ordered;
};
void PrintTo(const ArgumentOrderCase& c, std::ostream* out) { *out << c.name; }

class ArgumentOrderTest : public ::testing::TestWithParam<ArgumentOrderCase> {};

TEST_P(ArgumentOrderTest, PutsTheCommandFirst) {
  EXPECT_EQ(CommandFirst(Program(), GetParam().words), GetParam().ordered);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ArgumentOrderTest,
    ::testing::ValuesIn(std::vector<ArgumentOrderCase>{
        {"Value", {"--kubeconfig", "f", "status", "q"}, {"status", "--kubeconfig", "f", "q"}},
        {"Equals", {"--kubeconfig=f", "status"}, {"status", "--kubeconfig=f"}},
        {"Several", {"-n", "a", "-A", "status"}, {"status", "-n", "a", "-A"}},
        {"ValueThatIsACommand", {"-n", "up", "status"}, {"status", "-n", "up"}},
        {"AnotherCommand", {"--kubeconfig", "f", "up"}, {"up", "--kubeconfig", "f"}},
        {"BehindTheCommand", {"status", "--kubeconfig", "f"}, {"status", "--kubeconfig", "f"}},
        {"NotAnOptionOfIt", {"-A", "up"}, {"-A", "up"}},
        {"Unknown", {"--wrong", "status"}, {"--wrong", "status"}},
        {"NoCommand", {"--kubeconfig", "f"}, {"--kubeconfig", "f"}},
        {"ValueMissing", {"--kubeconfig"}, {"--kubeconfig"}},
        {"Nothing", {}, {}},
    }),
    [](const auto& row) { return row.param.name; });

TEST(ArgumentOrder, AnEmptyValueIsAWordOfItsOwn) {
  const auto split = [](const Words& words) { return SplitEmptyValues(Program(), words); };
  EXPECT_EQ(split({"status", "--kubeconfig=", "q"}), (Words{"status", "--kubeconfig", "", "q"}));
  EXPECT_EQ(split({"status", "--kubeconfig=f"}), (Words{"status", "--kubeconfig=f"}));
  EXPECT_EQ(split({"status", "--kubeconfig=a="}), (Words{"status", "--kubeconfig=a="}));
  EXPECT_EQ(split({"status", "-A="}), (Words{"status", "-A="})) << "it takes no value";
  EXPECT_EQ(split({"status", "--other="}), (Words{"status", "--other="}));
  EXPECT_EQ(split({"nonsense", "--kubeconfig="}), (Words{"nonsense", "--kubeconfig="}));
  EXPECT_EQ(split({}), Words{});
}

}  // namespace
}  // namespace berth::cli
