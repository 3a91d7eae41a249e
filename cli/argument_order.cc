#include "cli/argument_order.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace berth::cli {
namespace {

constexpr char kProgram[] = "berth";

// The number of words of the option at the start of `words`, its value included; 0: no option of
// `command`.
std::size_t WordsOfOption(const Command& command, const std::vector<std::string>& words,
                          std::size_t at) {
  const std::size_t equals = words[at].find('=');
  const CommandOption* option = FindOption(command, words[at].substr(0, equals));
  if (option == nullptr) return 0;
  return option->value.empty() || equals != std::string::npos ? 1 : 2;
}

const Command* FindByWord(const Command& command, const std::string& word) {
  for (const Command& each : command.commands) {
    const auto& aliases = each.aliases;
    if (each.name == word || std::find(aliases.begin(), aliases.end(), word) != aliases.end()) {
      return &each;
    }
  }
  return nullptr;
}

// The name of the command whose name or alias is next to the word; empty: none is near enough.
std::string NearestCommand(const Command& command, const std::string& word) {
  std::string nearest;
  std::size_t best = word.size() / 3 + 2;
  for (const Command& each : command.commands) {
    std::vector<std::string> names = each.aliases;
    names.insert(names.begin(), each.name);
    for (const std::string& name : names) {
      const std::size_t distance = EditDistance(word, name);
      if (distance >= best || distance >= name.size()) continue;
      best = distance;
      nearest = each.name;
    }
  }
  return nearest;
}

std::string NoCommand(const Command& command, const std::string& word) {
  // Verbs of kueuectl that kubectl carries out.
  constexpr std::array<std::string_view, 5> kOfKubectl{"delete", "describe", "edit", "get",
                                                       "patch"};
  const std::string no = "\"" + word + "\" is no command of " +
                         (command.name == kProgram ? "" : std::string(kProgram) + " ") +
                         command.name;
  if (command.name == kProgram &&
      std::find(kOfKubectl.begin(), kOfKubectl.end(), word) != kOfKubectl.end()) {
    return no + ": use kubectl " + word;
  }
  const std::string nearest = NearestCommand(command, word);
  return no + (nearest.empty() ? "; --help lists the commands" : "; did you mean " + nearest + "?");
}

}  // namespace

std::vector<std::string> CommandFirst(const Command& program,
                                      const std::vector<std::string>& words) {
  for (const Command& command : program.commands) {
    std::size_t at = 0;
    while (at < words.size() && words[at] != command.name) {
      const std::size_t taken = WordsOfOption(command, words, at);
      if (taken == 0) break;
      at += taken;
    }
    if (at == 0 || at >= words.size() || words[at] != command.name) continue;
    std::vector<std::string> ordered{command.name};
    const auto command_at = words.begin() + static_cast<std::ptrdiff_t>(at);
    ordered.insert(ordered.end(), words.begin(), command_at);
    ordered.insert(ordered.end(), command_at + 1, words.end());
    return ordered;
  }
  return words;
}

std::vector<std::string> SplitEmptyValues(const Command& program, std::vector<std::string> words) {
  for (const Command& command : program.commands) {
    if (words.empty() || words.front() != command.name) continue;
    std::vector<std::string> split;
    for (std::string& word : words) {
      const bool is_empty = word.ends_with('=') && word.find('=') + 1 == word.size();
      const CommandOption* option =
          is_empty ? FindOption(command, word.substr(0, word.size() - 1)) : nullptr;
      const bool splits = option != nullptr && !option->value.empty();
      if (splits) word.pop_back();
      split.push_back(std::move(word));
      if (splits) split.emplace_back();
    }
    return split;
  }
  return words;
}

std::string UnknownCommand(const Command& program, const std::vector<std::string>& words) {
  const Command* at = &program;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") return "";
    if (words[i].starts_with('-')) {
      const std::size_t taken = WordsOfOption(*at, words, i);
      i += taken == 0 ? 0 : taken - 1;
      continue;
    }
    const Command* below = FindByWord(*at, words[i]);
    if (below == nullptr) return at->positionals.empty() ? NoCommand(*at, words[i]) : "";
    if (below->commands.empty()) return "";
    at = below;
  }
  return "";
}

}  // namespace berth::cli
