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

TEST_P(ArgumentOrderTest, CommandWordIsPutBeforeTheOptions) {
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

TEST(ArgumentOrder, EmptyOptionValueBecomesAWordOfItsOwn) {
  const auto split = [](const Words& words) { return SplitEmptyValues(Program(), words); };
  EXPECT_EQ(split({"status", "--kubeconfig=", "q"}), (Words{"status", "--kubeconfig", "", "q"}));
  EXPECT_EQ(split({"status", "--kubeconfig=f"}), (Words{"status", "--kubeconfig=f"}));
  EXPECT_EQ(split({"status", "--kubeconfig=a="}), (Words{"status", "--kubeconfig=a="}));
  EXPECT_EQ(split({"status", "-A="}), (Words{"status", "-A="})) << "it takes no value";
  EXPECT_EQ(split({"status", "--other="}), (Words{"status", "--other="}));
  EXPECT_EQ(split({"nonsense", "--kubeconfig="}), (Words{"nonsense", "--kubeconfig="}));
  EXPECT_EQ(split({}), Words{});
}

// `berth list workload`, as the program has it.
Command VerbProgram() {
  Command program{.name = "berth"};
  Command list{.name = "list"};
  list.options.push_back({.names = {"-n", "--namespace"}, .help = "", .value = "NAMESPACE"});
  list.commands.push_back({.name = "workload", .aliases = {"wl", "kwl"}});
  program.commands = {list, {.name = "status"}, {.name = "why", .positionals = {"JOB"}}};
  return program;
}

TEST(UnknownCommand, MessageNamesTheWordAndTheNearestCommand) {
  const Command program = VerbProgram();
  EXPECT_EQ(UnknownCommand(program, {"statsu"}),
            "\"statsu\" is no command of berth; did you mean status?");
  EXPECT_EQ(UnknownCommand(program, {"list", "-n", "team", "wkl"}),
            "\"wkl\" is no command of berth list; did you mean workload?");
  EXPECT_EQ(UnknownCommand(program, {"frobnicate"}),
            "\"frobnicate\" is no command of berth; --help lists the commands");
  EXPECT_EQ(UnknownCommand(program, {"describe", "wl", "x"}),
            "\"describe\" is no command of berth: use kubectl describe");
}

TEST(UnknownCommand, AcceptsAliasesOptionsAndArguments) {
  const Command program = VerbProgram();
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"--version"},
                                             {"status", "x"},
                                             {"why", "statsu"},
                                             {"list", "kwl", "x"},
                                             {"list"},
                                             {"list", "-n", "wkl"}}) {
    EXPECT_EQ(UnknownCommand(program, words), "");
  }
}

}  // namespace
}  // namespace berth::cli
