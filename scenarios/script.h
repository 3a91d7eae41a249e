// scenarios/script.h — parses the text of a scenario; docs/guide/scenarios.md has the grammar.
// The lines between `repeat N` and `end` are read N times, with the number of the turn for {i}.
//
// Pure. Errors: kInvalid with the line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace berth::scenarios {

// `text` is the whole word; `key=value` is split at the first '='.
struct Word {
  std::string text;
  bool is_quoted = false;
  std::optional<std::pair<std::string, std::string>> option;
};

struct Step {
  int line = 0;
  std::string source;  // the line as written
  std::vector<Word> words;
  std::string body;  // between <<EOF and EOF

  const std::string& verb() const { return words.front().text; }
  // The `at`-th word that is not an option (0 is the verb); empty if there is none.
  std::string plain(std::size_t at) const;
  std::vector<std::string> plains() const;
  std::optional<std::string> Find(std::string_view key) const;
  std::string Get(std::string_view key, std::string_view fallback = "") const;
  std::vector<std::string> GetAll(std::string_view key) const;
};

struct Script {
  std::string name;
  std::string description;
  std::vector<Step> steps;
};

// The error of a line that cannot be understood or obeyed; the message is for its author.
inline Error Bad(const std::string& message) { return {ErrorCode::kInvalid, message}; }

Result<Script> ParseScript(std::string_view text);

// "90s", "2m", "1h30m", "72h", "3d", "500ms", "0s". nullopt: no time, or above kLongestSpan.
inline constexpr Duration kLongestSpan = std::chrono::hours(24 * 3660);
std::optional<Duration> ParseSpan(std::string_view text);
// "1m20s", "3d", "1.25s"
std::string FormatSpan(Duration span);

}  // namespace berth::scenarios
