// Goal: a block of a scenario is read once for each turn, and a wrong block is told with its line.
// Method: rows.
#include "scenarios/script.h"

#include <gtest/gtest.h>

namespace berth::scenarios {
namespace {

TEST(ScriptTest, RepeatBlockIsReadOnceForEachTurn) {
  const auto script = ParseScript(R"(# name: turns
repeat 3
  job b{i} queue=q runs={i}h   # the {i}-th
  apply <<YAML
name: n{i}
YAML
end
job last queue=q label=x={i}
)");
  ASSERT_TRUE(script) << script.error().message;
  std::string read;
  for (const Step& step : script->steps) {
    read += std::to_string(step.line) + " " + step.verb() + " " + step.plain(1) + step.body + ";";
  }
  EXPECT_EQ(read,
            "3 job b1;4 apply name: n1\n;3 job b2;4 apply name: n2\n;3 job b3;4 apply name: n3\n;"
            "8 job last;");
  EXPECT_EQ(script->steps[2].Get("runs"), "2h");
  EXPECT_EQ(script->steps.back().Get("label"), "x={i}") << "there are no turns here";
}

TEST(ScriptTest, WrongRepeatBlockIsRefusedWithItsLine) {
  struct Row {
    const char* text;
    const char* message;
  };
  for (const Row& row : {
           Row{"repeat 2\njob a queue=q\n", "line 2: there is no end of the repeat"},
           Row{"job a queue=q\nend\n", "line 3: there is no repeat that end ends"},
           Row{"repeat 0\nend\n", "line 2: repeat takes a number from 1 to 1000"},
           Row{"repeat\nend\n", "line 2: repeat takes a number from 1 to 1000"},
           Row{"repeat 2\nrepeat 2\nend\nend\n", "line 3: a repeat within a repeat"},
           Row{"repeat 2\napply <<E\nend\n", "line 3: there is no E that ends <<E"},
       }) {
    const auto script = ParseScript(std::string("# name: x\n") + row.text);
    ASSERT_FALSE(script) << row.text;
    EXPECT_EQ(script.error().message, row.message);
  }
}

TEST(ScriptTest, StepsOfAllTurnsOfARepeatBlockAreBounded) {
  std::string text = "# name: x\nrepeat 1000\n";
  for (int i = 0; i < 101; ++i) text += "job a queue=q\n";
  const auto script = ParseScript(text + "end\n");
  ASSERT_FALSE(script);
  EXPECT_EQ(script.error().message, "line 13: more than 100000 steps");
}

}  // namespace
}  // namespace berth::scenarios
