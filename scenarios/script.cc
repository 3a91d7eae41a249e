#include "scenarios/script.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/strings.h"

namespace berth::scenarios {
namespace {

constexpr std::string_view kHereMark = "<<";

Error AtLine(int line, const std::string& message) {
  return {ErrorCode::kInvalid, "line " + std::to_string(line) + ": " + message};
}

// One word of `text` from `at`; quotes may begin inside a word: message="a b".
Result<Word> ReadWord(std::string_view text, std::size_t& at, int line) {
  Word word;
  std::optional<std::size_t> equals;
  word.is_quoted = text[at] == '"';
  while (at < text.size() && text[at] != ' ' && text[at] != '\t') {
    if (text[at] != '"') {
      if (text[at] == '=' && !equals) equals = word.text.size();
      word.text += text[at++];
      continue;
    }
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string_view::npos) return AtLine(line, "a quote is not closed");
    word.text += text.substr(at + 1, end - at - 1);
    at = end + 1;
  }
  if (!word.is_quoted && equals && *equals > 0) {
    word.option = {word.text.substr(0, *equals), word.text.substr(*equals + 1)};
  }
  return word;
}

Result<Step> ReadStep(std::string_view text, int line) {
  Step step;
  step.line = line;
  step.source = std::string(text);
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == ' ' || text[at] == '\t') {
      ++at;
      continue;
    }
    if (text[at] == '#' && !step.words.empty()) break;
    BERTH_TRY(Word word, ReadWord(text, at, line));
    step.words.push_back(std::move(word));
  }
  return step;
}

// The word that ends the here-document of the step: "<<YAML", "<<'YAML'"; empty: it has none.
std::string HereMarkOf(const Step& step) {
  const std::string& last = step.words.back().text;
  if (step.words.back().is_quoted || !std::string_view(last).starts_with(kHereMark)) return "";
  std::string mark = last.substr(kHereMark.size());
  if (mark.size() > 2 && mark.front() == '\'' && mark.back() == '\'') {
    mark = mark.substr(1, mark.size() - 2);
  }
  const bool is_word = std::all_of(mark.begin(), mark.end(), [](unsigned char each) {
    return std::isalnum(each) != 0 || each == '_' || each == '-';
  });
  return is_word ? mark : "";
}

void ReadComment(std::string_view text, Script& script) {
  const auto take = [&](std::string_view label, std::string& into) {
    const std::string_view rest = TrimSpace(text.substr(1));
    if (rest.substr(0, label.size()) == label) into = TrimSpace(rest.substr(label.size()));
  };
  take("name:", script.name);
  take("description:", script.description);
}

// Appends the steps of lines to a script, those of a repeated block once for each turn.
class BlockReader {
 public:
  BlockReader(const std::vector<std::string_view>& lines, Script& script)
      : lines_(lines), script_(script) {}

  Status ReadAll() {
    BERTH_TRY(const std::size_t end, Read(0, 0));
    if (end < lines_.size()) return AtLine(NumberOf(end), "there is no repeat that end ends");
    return OkStatus();
  }

 private:
  static int NumberOf(std::size_t index) { return static_cast<int>(index) + 1; }

  static std::string InTurn(std::string_view line, int turn) {
    constexpr std::string_view kTurn = "{i}";
    std::string read(line);
    if (turn == 0) return read;
    const std::string number = std::to_string(turn);
    for (std::size_t at = read.find(kTurn); at != std::string::npos;
         at = read.find(kTurn, at + number.size())) {
      read.replace(at, kTurn.size(), number);
    }
    return read;
  }

  // Reads from the line at `at` on, as the `turn`-th turn of a block (0: of none); returns the
  // index of the line with `end`, or of the end of the text.
  Result<std::size_t> Read(std::size_t at, int turn) {
    for (; at < lines_.size(); ++at) {
      const std::string line = InTurn(TrimSpace(lines_[at]), turn);
      if (line.empty()) continue;
      if (line[0] == '#') {
        ReadComment(line, script_);
        continue;
      }
      BERTH_TRY(Step step, ReadStep(line, NumberOf(at)));
      if (step.verb() == "end") return at;
      if (step.verb() == "repeat") {
        if (turn > 0) return AtLine(step.line, "a repeat within a repeat");
        BERTH_TRY(at, Repeat(step, at + 1));
        continue;
      }
      BERTH_TRY(at, ReadBody(step, at, turn));
      if (step.words.empty()) return AtLine(step.line, "a command is missing before <<");
      if (script_.steps.size() == kMostSteps) {
        return AtLine(step.line, "more than " + std::to_string(kMostSteps) + " steps");
      }
      script_.steps.push_back(std::move(step));
    }
    return at;
  }

  // Reads the block that begins at `first`; returns the index of its `end`.
  Result<std::size_t> Repeat(const Step& step, std::size_t first) {
    const auto turns = ParseInt64(step.plain(1));
    if (!turns || *turns < 1 || *turns > kMostTurns) {
      return AtLine(step.line, "repeat takes a number from 1 to " + std::to_string(kMostTurns));
    }
    std::size_t end = first;
    for (int turn = 1; turn <= *turns; ++turn) {
      BERTH_TRY(end, Read(first, turn));
      if (end == lines_.size()) return AtLine(step.line, "there is no end of the repeat");
    }
    return end;
  }

  // Reads the here-document of the step at `at`, if it has one; returns the index of its last line.
  Result<std::size_t> ReadBody(Step& step, std::size_t at, int turn) {
    const std::string mark = HereMarkOf(step);
    if (mark.empty()) return at;
    step.words.pop_back();
    std::size_t end = at + 1;
    while (end < lines_.size() && TrimSpace(lines_[end]) != mark) {
      step.body += InTurn(lines_[end++], turn) + "\n";
    }
    if (end == lines_.size()) {
      return AtLine(step.line, "there is no " + mark + " that ends <<" + mark);
    }
    return end;
  }

  static constexpr int kMostTurns = 1000;
  static constexpr std::size_t kMostSteps = 100'000;

  const std::vector<std::string_view>& lines_;
  Script& script_;
};

}  // namespace

std::string Step::plain(std::size_t at) const {
  for (const Word& word : words) {
    if (word.option || word.is_quoted) continue;
    if (at-- == 0) return word.text;
  }
  return "";
}

std::vector<std::string> Step::plains() const {
  std::vector<std::string> all;
  for (const Word& word : words) {
    if (!word.option && !word.is_quoted) all.push_back(word.text);
  }
  return all;
}

std::optional<std::string> Step::Find(std::string_view key) const {
  for (const Word& word : words) {
    if (word.option && word.option->first == key) return word.option->second;
  }
  return std::nullopt;
}

std::string Step::Get(std::string_view key, std::string_view fallback) const {
  return Find(key).value_or(std::string(fallback));
}

std::vector<std::string> Step::GetAll(std::string_view key) const {
  std::vector<std::string> all;
  for (const Word& word : words) {
    if (word.option && word.option->first == key) all.push_back(word.option->second);
  }
  return all;
}

Result<Script> ParseScript(std::string_view text) {
  const std::vector<std::string_view> lines = Split(text, '\n');
  Script script;
  BERTH_CHECK_OK(BlockReader(lines, script).ReadAll());
  if (script.name.empty()) return AtLine(1, "the first lines need \"# name: …\"");
  return script;
}

std::optional<Duration> ParseSpan(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kUnits{
      {{"ms", 1000},
       {"s", 1'000'000},
       {"m", 60'000'000},
       {"h", 3'600'000'000},
       {"d", 86'400'000'000}}};
  if (text.empty()) return std::nullopt;
  Duration total{};
  while (!text.empty()) {
    std::size_t digits = 0;
    while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) {
      ++digits;
    }
    const auto number = ParseInt64(text.substr(0, digits));
    if (!number) return std::nullopt;
    text.remove_prefix(digits);
    bool known = false;
    for (const auto& [unit, micros] : kUnits) {
      if (text.substr(0, unit.size()) != unit) continue;
      if (*number > kLongestSpan.count() / micros) return std::nullopt;
      total += Duration(*number * micros);
      if (total > kLongestSpan) return std::nullopt;
      text.remove_prefix(unit.size());
      known = true;
      break;
    }
    if (!known) return std::nullopt;
  }
  return total;
}

std::string FormatSpan(Duration span) {
  const std::int64_t millis = std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
  const std::int64_t seconds = millis / 1000;
  std::string text;
  const auto add = [&](std::int64_t count, const char* unit) {
    if (count != 0) text += std::to_string(count) + unit;
  };
  add(seconds / 86400, "d");
  add(seconds / 3600 % 24, "h");
  add(seconds / 60 % 60, "m");
  add(seconds % 60, "s");
  add(millis % 1000, "ms");
  return text.empty() ? "0s" : text;
}

}  // namespace berth::scenarios
