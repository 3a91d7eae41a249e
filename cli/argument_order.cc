#include "cli/argument_order.h"

#include <cstddef>
#include <utility>

namespace berth::cli {
namespace {

// The number of words of the option at the start of `words`, its value included; 0: no option of
// `command`.
std::size_t WordsOfOption(const Command& command, const std::vector<std::string>& words,
                          std::size_t at) {
  const std::size_t equals = words[at].find('=');
  const CommandOption* option = FindOption(command, words[at].substr(0, equals));
  if (option == nullptr) return 0;
  return option->value.empty() || equals != std::string::npos ? 1 : 2;
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

}  // namespace berth::cli
