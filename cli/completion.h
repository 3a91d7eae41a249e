// cli/completion.h — completes the word at the cursor of a command line; the shells' scripts.
//
//     TAB ─▶ script in the shell ─▶ berth __complete WORD… ─▶ Complete(tree of commands, words)
//
// The scripts contain no command: they ask the program, which answers from the options that it
// parses. Pure; names of cluster objects are asked for by kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::cli {

// The kinds of values of an option or positional. Choices are written "text|json|yaml".
inline constexpr char kFileValue[] = "FILE";
inline constexpr char kDirectoryValue[] = "DIRECTORY";
inline constexpr char kNamespaceValue[] = "NAMESPACE";
inline constexpr char kReferenceValue[] = "JOB";  // argument of `berth why`
inline constexpr char kQueueValue[] = "QUEUE";    // ClusterQueue, LocalQueue or cohort
inline constexpr char kClusterQueueValue[] = "CLUSTERQUEUE";
inline constexpr char kLocalQueueValue[] = "LOCALQUEUE";
inline constexpr char kCohortValue[] = "COHORT";
inline constexpr char kWorkloadValue[] = "WORKLOAD";
inline constexpr char kOwnerValue[] = "TYPE[.GROUP]/NAME";               // a job
inline constexpr char kFlavorQuotaValue[] = "FLAVOR:RESOURCE=AMOUNT;…";  // begins with a flavor

struct CommandOption {
  std::vector<std::string> names;  // "-n", "--namespace"
  std::string help;
  std::string value;  // empty: a flag without value
};

struct Command {
  std::string name;
  std::string help;
  std::vector<CommandOption> options;
  std::vector<std::string> positionals;  // the value of each, in order
  std::vector<Command> commands;
  std::vector<std::string> aliases;
};

// The option of `command` with this name, or null.
const CommandOption* FindOption(const Command& command, std::string_view name);

struct Suggestion {
  std::string word;  // replaces the whole word at the cursor
  std::string help;
  friend bool operator==(const Suggestion&, const Suggestion&) = default;
};

struct Completion {
  enum class Paths { kNone, kFiles, kDirectories };
  std::vector<Suggestion> suggestions;
  Paths paths = Paths::kNone;  // the shell completes paths itself
  std::string names_of;    // the kind of value, such as kQueueValue, whose names are in the cluster
  std::string prefix;      // the start of those names
  std::string word_start;  // the word before the name: "--namespace="
  // The values of options on the line so far, by the option's longest name.
  std::vector<std::pair<std::string, std::string>> given;
};

// `words` follow the program's name; the last one is at the cursor and may be empty.
Completion Complete(const Command& program, const std::vector<std::string>& words);

// The first line names the paths that the shell completes ("none", "files", "directories"); each
// further line is a word, a tab and its help.
std::string CompletionAnswer(const Completion& completion);

// `shell`: bash, zsh or fish.
std::string CompletionScript(const std::string& shell);

}  // namespace berth::cli
