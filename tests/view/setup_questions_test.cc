// Goal: the questions of `berth init` lead to a set-up; bad answers are explained and asked for
// again, three times at most.
// Method: answers in a text, the dialogue in another.
#include "view/screens/setup_questions.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Dialogue {
  Result<SetupOptions> options;
  std::string shown;
};

Dialogue Answer(const std::string& answers) {
  std::istringstream in(answers);
  std::ostringstream out;
  auto options = AskSetup(in, out);
  return {std::move(options), out.str()};
}

TEST(SetupQuestions, EmptyLinesTakeTheDefaults) {
  const Dialogue dialogue = Answer("\n\n\n\n\n");
  ASSERT_TRUE(dialogue.options) << dialogue.options.error().message;
  EXPECT_EQ(dialogue.options->teams, (std::vector<SetupTeam>{{"team-a", {}}, {"team-b", {}}}));
  EXPECT_EQ(dialogue.options->cpu, 16000);
  EXPECT_EQ(dialogue.options->gpus.count, 0);
  EXPECT_TRUE(dialogue.options->borrow);
  EXPECT_EQ(dialogue.options->capacity, SetupCapacity::kFixed);
  EXPECT_THAT(dialogue.shown,
              HasSubstr("Teams, each a name or red=cpu=8,memory=32Gi,gpu=2 [team-a team-b]: "
                        "CPUs of all teams together [16]: "
                        "GPUs of all teams together (16, or amd.com/gpu=16) [0]: "
                        "Teams lend each other the quota that they do not use [yes]: "
                        "Where the machines"));
}

TEST(SetupQuestions, AnswersBecomeOptions) {
  const Dialogue dialogue = Answer("red  blue=cpu=4\n 64\namd.com/gpu=8\nNo\nKarpenter\n");
  ASSERT_TRUE(dialogue.options) << dialogue.options.error().message;
  EXPECT_EQ(dialogue.options->teams,
            (std::vector<SetupTeam>{{"red", {}}, {"blue", {{"cpu", 4000}}}}));
  EXPECT_EQ(dialogue.options->cpu, 64000);
  EXPECT_EQ(dialogue.options->gpus.resource, "amd.com/gpu");
  EXPECT_EQ(dialogue.options->gpus.count, 8);
  EXPECT_FALSE(dialogue.options->borrow);
  EXPECT_EQ(dialogue.options->capacity, SetupCapacity::kKarpenter);
}

TEST(SetupQuestions, QuestionsSettledByEarlierAnswersAreSkipped) {
  const Dialogue dialogue = Answer("red=cpu=4,gpu=1\n\n");
  ASSERT_TRUE(dialogue.options) << dialogue.options.error().message;
  for (const char* word : {"CPUs of all", "GPUs of all", "lend each other"}) {
    EXPECT_THAT(dialogue.shown, Not(HasSubstr(word)));
  }
}

TEST(SetupQuestions, WrongAnswerIsExplainedAndAskedForAgain) {
  const Dialogue dialogue =
      Answer("Red\nred=cpu=4 red\nred=cpu=4 blue\n2\n64\n\nmaybe\n\nmoon\ndws\n");
  ASSERT_TRUE(dialogue.options) << dialogue.options.error().message;
  for (const char* explained :
       {"[team-a team-b]:   \"Red\" is no name of a team", "  --team: the team red comes twice\n",
        "CPUs of all teams together [12]:   --cpu: the quotas of --team are 4 cpu, the machines "
        "have 2 cpu",
        "  \"maybe\" is no answer: write yes or no\n",
        "  \"moon\" is no capacity: write fixed, dws, spot or karpenter\n"}) {
    EXPECT_THAT(dialogue.shown, HasSubstr(explained));
  }
  EXPECT_EQ(dialogue.options->teams.size(), 2U);
  EXPECT_EQ(dialogue.options->capacity, SetupCapacity::kDws);
}

TEST(SetupQuestions, ThreeBadAnswersEndTheQuestions) {
  const Dialogue dialogue = Answer("A\nB\nC\nred\n");
  ASSERT_FALSE(dialogue.options);
  EXPECT_THAT(
      dialogue.options.error().message,
      StartsWith("\"Teams, each a name or red=cpu=8,memory=32Gi,gpu=2\" has no valid answer "
                 "after 3 attempts; the last one: \"C\" is no name of a team"));
  EXPECT_FALSE(Answer(std::string(kMostOfAnswer + 1, 'a') + "\n").options);
}

TEST(SetupQuestions, AnInputThatEndsIsAnError) {
  const Dialogue dialogue = Answer("red\n");
  ASSERT_FALSE(dialogue.options);
  EXPECT_EQ(
      dialogue.options.error().message,
      "the input ends at the question \"CPUs of all teams together\": answer it, or use flags "
      "(berth init --help)");
}

}  // namespace
}  // namespace berth::view
