#include "cli/completion.h"

#include <algorithm>

#include "base/strings.h"

namespace berth::cli {
namespace {

constexpr char kBash[] = R"END(# bash completion for berth and kubectl-berth
_berth() {
  local current=${COMP_WORDS[COMP_CWORD]} directive="" line at word
  local -a words=() answer=()
  # Bash splits --name=value where COMP_WORDBREAKS has '='; the program wants the word whole.
  for ((at = 1; at <= COMP_CWORD; at++)); do
    word=${COMP_WORDS[at]}
    if ((${#words[@]})) && [[ $word == "=" || ${COMP_WORDS[at - 1]} == "=" ]]; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
  done
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ -z $directive ]]; then directive=$line; else answer+=("${line%%$'\t'*}"); fi
  done < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${words[@]}" 2>/dev/null)
  local whole=${words[${#words[@]} - 1]}
  [[ $current == "=" ]] && current=""
  case "$directive" in
    files) mapfile -t COMPREPLY < <(compgen -f -- "$current"); compopt -o filenames ;;
    directories) mapfile -t COMPREPLY < <(compgen -d -- "$current"); compopt -o filenames ;;
  esac
  for word in "${answer[@]}"; do COMPREPLY+=("${word#"${whole%"$current"}"}"); done
}
complete -F _berth berth kubectl-berth
)END";

constexpr char kZsh[] = R"END(#compdef berth kubectl-berth
# zsh completion for berth and kubectl-berth
_berth() {
  local directive line word
  local -a lines found shown
  lines=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  directive=$lines[1]
  for line in "${(@)lines[2,-1]}"; do
    [[ -n $line ]] || continue
    word=${line%%$'\t'*}
    found+=("$word")
    shown+=("$word  -- ${line#*$'\t'}")
  done
  [[ $PREFIX == --*=* ]] && [[ $directive != none ]] && compset -P '*='
  case "$directive" in
    files) _files ;;
    directories) _files -/ ;;
    *) compadd -l -d shown -- "${found[@]}" ;;
  esac
}
if [ "${funcstack[1]}" = _berth ]; then
  _berth "$@"
else
  compdef _berth berth kubectl-berth
fi
)END";

constexpr char kFish[] = R"END(# fish completion for berth and kubectl-berth
function __berth_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
  switch "$lines[1]"
    case files
      __fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current")
    case directories
      __fish_complete_directories (string replace -r -- '^--[^=]*=' '' "$current")
  end
  test (count $lines) -gt 1; and printf '%s\n' $lines[2..-1]
end
complete -c berth -e
complete -c berth -f -a '(__berth_complete)'
complete -c kubectl-berth -e
complete -c kubectl-berth -f -a '(__berth_complete)'
)END";

const Command* FindCommand(const Command& command, const std::string& name) {
  for (const Command& below : command.commands) {
    if (below.name == name) return &below;
  }
  return nullptr;
}

std::string LongestName(const CommandOption& option) {
  return *std::max_element(option.names.begin(), option.names.end(),
                           [](const auto& a, const auto& b) { return a.size() < b.size(); });
}

// The position of the cursor: its command, and the words of the command before it.
struct Position {
  const Command* command = nullptr;
  std::size_t positionals = 0;          // before the cursor
  const CommandOption* open = nullptr;  // the cursor is at its value
  bool only_positionals = false;        // after "--"
};

Position Walk(const Command& program, const std::vector<std::string>& words,
              Completion& completion) {
  Position at{.command = &program};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (at.open != nullptr) {
      completion.given.emplace_back(LongestName(*at.open), word);
      at.open = nullptr;
    } else if (word == "--" && !at.only_positionals) {
      at.only_positionals = true;
    } else if (!at.only_positionals && word.size() > 1 && word[0] == '-') {
      const std::size_t equals = word.find('=');
      const CommandOption* option = FindOption(*at.command, word.substr(0, equals));
      if (option == nullptr || option->value.empty()) continue;
      if (equals == std::string::npos) {
        at.open = option;
      } else {
        completion.given.emplace_back(LongestName(*option), word.substr(equals + 1));
      }
    } else if (const Command* below = FindCommand(*at.command, word);
               below != nullptr && at.positionals == 0) {
      at.command = below;
    } else {
      ++at.positionals;
    }
  }
  return at;
}

// Whether the value is the name of an object, so that the cluster is asked.
bool IsNameOfCluster(std::string_view value) {
  constexpr std::string_view kNames[] = {kNamespaceValue,    kReferenceValue,  kQueueValue,
                                         kClusterQueueValue, kLocalQueueValue, kCohortValue,
                                         kWorkloadValue,     kOwnerValue,      kFlavorQuotaValue};
  return std::find(std::begin(kNames), std::end(kNames), value) != std::end(kNames);
}

// Suggests values of an option or a positional. `start` precedes the value in the word.
void SuggestValue(const std::string& value, const std::string& start, const std::string& typed,
                  Completion& completion) {
  if (value == kFileValue || value == kDirectoryValue) {
    completion.paths =
        value == kFileValue ? Completion::Paths::kFiles : Completion::Paths::kDirectories;
  } else if (IsNameOfCluster(value)) {
    completion.names_of = value;
    completion.prefix = typed;
    completion.word_start = start;
  } else if (value.find('|') != std::string::npos) {
    for (const std::string_view choice : Split(value, '|')) {
      if (!choice.starts_with(typed)) continue;
      completion.suggestions.push_back({start + std::string(choice), ""});
    }
  }
}

void SuggestOptions(const Command& command, const std::string& typed, Completion& completion) {
  for (const CommandOption& option : command.options) {
    for (const std::string& name : option.names) {
      if (name.starts_with(typed)) completion.suggestions.push_back({name, option.help});
    }
  }
}

}  // namespace

const CommandOption* FindOption(const Command& command, std::string_view name) {
  for (const CommandOption& option : command.options) {
    for (const std::string& known : option.names) {
      if (known == name) return &option;
    }
  }
  return nullptr;
}

Completion Complete(const Command& program, const std::vector<std::string>& words) {
  Completion completion;
  const Position at = Walk(program, words, completion);
  const std::string typed = words.empty() ? "" : words.back();
  if (at.open != nullptr) {
    SuggestValue(at.open->value, "", typed, completion);
    return completion;
  }
  if (!at.only_positionals && typed.starts_with("-")) {
    const std::size_t equals = typed.find('=');
    if (equals == std::string::npos) {
      SuggestOptions(*at.command, typed, completion);
    } else if (const auto* option = FindOption(*at.command, typed.substr(0, equals))) {
      SuggestValue(option->value, typed.substr(0, equals + 1), typed.substr(equals + 1),
                   completion);
    }
    return completion;
  }
  if (at.positionals == 0) {
    for (const Command& below : at.command->commands) {
      if (below.name.starts_with(typed)) completion.suggestions.push_back({below.name, below.help});
    }
  }
  if (at.positionals < at.command->positionals.size()) {
    SuggestValue(at.command->positionals[at.positionals], "", typed, completion);
  }
  return completion;
}

std::string CompletionAnswer(const Completion& completion) {
  std::string answer = completion.paths == Completion::Paths::kFiles         ? "files\n"
                       : completion.paths == Completion::Paths::kDirectories ? "directories\n"
                                                                             : "none\n";
  for (const Suggestion& suggestion : completion.suggestions) {
    answer += suggestion.word + "\t" + suggestion.help + "\n";
  }
  return answer;
}

std::string CompletionScript(const std::string& shell) {
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return kBash;
}

}  // namespace berth::cli
