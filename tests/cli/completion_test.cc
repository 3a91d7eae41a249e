// Goal: completion follows from the command tree and the words on the line.
// Method: a small tree; the words after the program, the last one at the cursor.
#include "cli/completion.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

Command Program() {
  const CommandOption config{{"--kubeconfig"}, "path", kFileValue};
  const CommandOption output{{"-o", "--output"}, "format", "text|json|yaml"};
  const CommandOption name_space{{"-n", "--namespace"}, "where", kNamespaceValue};
  const CommandOption watch{{"-w", "--watch"}, "redraw", ""};
  Command status{"status", "queues", {config, output, name_space, watch}, {kQueueValue}, {}};
  Command completion{"completion", "script", {}, {"bash|zsh|fish"}, {}};
  return {"berth", "", {{{"--version"}, "version", ""}}, {}, {status, completion}};
}

std::vector<std::string> Words(const Completion& completion) {
  std::vector<std::string> words;
  for (const Suggestion& suggestion : completion.suggestions) words.push_back(suggestion.word);
  return words;
}

using List = std::vector<std::string>;

TEST(Complete, OffersCommandsFirstAndOptionsAfterADash) {
  EXPECT_EQ(Words(Complete(Program(), {""})), (List{"status", "completion"}));
  EXPECT_EQ(Words(Complete(Program(), {"st"})), (List{"status"}));
  EXPECT_EQ(Words(Complete(Program(), {"--v"})), (List{"--version"}));
  EXPECT_EQ(Words(Complete(Program(), {"status", "--"})),
            (List{"--kubeconfig", "--output", "--namespace", "--watch"}));
  EXPECT_EQ(Complete(Program(), {"sta"}).suggestions.front(), (Suggestion{"status", "queues"}));
}

TEST(Complete, OffersValuesOrFilesForAnOption) {
  EXPECT_EQ(Words(Complete(Program(), {"status", "-o", ""})), (List{"text", "json", "yaml"}));
  EXPECT_EQ(Words(Complete(Program(), {"status", "--output=j"})), (List{"--output=json"}));
  EXPECT_EQ(Words(Complete(Program(), {"completion", "z"})), (List{"zsh"}));
  EXPECT_EQ(Complete(Program(), {"status", "--kubeconfig", "/"}).paths, Completion::Paths::kFiles);
  EXPECT_EQ(Complete(Program(), {"status", "--kubeconfig=/"}).paths, Completion::Paths::kFiles);
}

TEST(Complete, NamesAreRequestedWithTheOptionsOnTheLine) {
  const Completion queues = Complete(Program(), {"status", "-n", "team-a", "-w", "tr"});
  EXPECT_EQ(queues.names_of, kQueueValue);
  EXPECT_EQ(queues.prefix, "tr");
  EXPECT_EQ(queues.given, (decltype(queues.given){{"--namespace", "team-a"}}));
  const Completion spaces = Complete(Program(), {"status", "--namespace=te"});
  EXPECT_EQ(spaces.names_of, kNamespaceValue);
  EXPECT_EQ(spaces.word_start, "--namespace=");
  EXPECT_EQ(spaces.prefix, "te");
}

TEST(Complete, OffersNothingAfterTheLastArgument) {
  EXPECT_TRUE(Complete(Program(), {"status", "q", ""}).names_of.empty());
  EXPECT_TRUE(Words(Complete(Program(), {"nonsense", ""})).empty());
  EXPECT_TRUE(Words(Complete(Program(), {"status", "--", "--"})).empty());
  EXPECT_TRUE(Words(Complete(Program(), {"completion", "bash", ""})).empty());
  EXPECT_TRUE(Words(Complete(Program(), {"--unknown=", "--"})).size() == 1);
}

TEST(Complete, AnswerHasOneWordOnEachLine) {
  EXPECT_EQ(CompletionAnswer(Complete(Program(), {"st"})), "none\nstatus\tqueues\n");
  EXPECT_EQ(CompletionAnswer(Complete(Program(), {"status", "--kubeconfig", ""})), "files\n");
}

}  // namespace
}  // namespace berth::cli
