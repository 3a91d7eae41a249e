// matches, find, findAll: RE2, in time linear in the text.
#include <re2/re2.h>

#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/internal/runes.h"

namespace berth::cel {
namespace {

// Memory of one compiled expression and its automata.
constexpr std::int64_t kRegexMemory = 1 << 20;

// The expression of argument 1: that of the plan, or else a new one in `made`; pays for compiling
// it and for one search of argument 0. Null with `failure` set.
const re2::RE2* RegexOf(const Call& call, const char* prefix, std::shared_ptr<const re2::RE2>& made,
                        Value& failure) {
  const re2::RE2* regex = call.regex;
  if (regex == nullptr) {
    std::string error;
    made = CompileRegex(call[1].AsText(), call.machine.limits().regex_bytes, error);
    regex = made.get();
    if (regex == nullptr) failure = Value::Failure(prefix + error);
    const int size = regex == nullptr ? 0 : regex->ProgramSize();
    call.machine.Charge(100 + call[1].AsText().size() + static_cast<std::uint64_t>(size));
  }
  // In the worst case a search simulates the whole program at each byte.
  const std::uint64_t program =
      regex == nullptr ? 0 : static_cast<std::uint64_t>(regex->ProgramSize());
  if (call.machine.Charge((call[0].AsText().size() / 10 + 1) * (program / 50 + 1))) return regex;
  failure = call.machine.Exhausted();
  return nullptr;
}

bool AreTexts(const Call& call) { return call.Is(0, Kind::kString) && call.Is(1, Kind::kString); }

// Go's words for what is wrong with a pattern.
std::string_view GoWords(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorMissingParen: return "missing closing )";
    case re2::RE2::ErrorMissingBracket: return "missing closing ]";
    case re2::RE2::ErrorRepeatArgument: return "missing argument to repetition operator";
    case re2::RE2::ErrorRepeatSize: return "invalid repeat count";
    case re2::RE2::ErrorRepeatOp: return "invalid nested repetition operator";
    case re2::RE2::ErrorBadEscape: return "invalid escape sequence";
    case re2::RE2::ErrorBadCharClass: return "invalid character class";
    case re2::RE2::ErrorBadCharRange: return "invalid character class range";
    case re2::RE2::ErrorTrailingBackslash: return "trailing backslash at end of expression";
    case re2::RE2::ErrorBadPerlOp: return "invalid or unsupported Perl syntax";
    case re2::RE2::ErrorBadUTF8: return "invalid UTF-8";
    case re2::RE2::ErrorBadNamedCapture: return "invalid named capture";
    default: return "expression too large";
  }
}

// The error in cel-go's words: values that take calls of methods know this one by no name.
Value MatchesMisfit(const Call& call) {
  const bool receiver =
      call.Is(0, Kind::kString) || call.Is(0, Kind::kDuration) || call.Is(0, Kind::kTimestamp);
  if (receiver || call.Is(1, Kind::kString)) return FailNoOverload();
  return Value::Failure("no such overload: matches");
}

Value Matches(const Call& call) {
  if (!AreTexts(call)) return MatchesMisfit(call);
  Value failure;
  std::shared_ptr<const re2::RE2> made;
  const re2::RE2* regex = RegexOf(call, "", made, failure);
  if (regex == nullptr) return failure;
  return Value(re2::RE2::PartialMatch(call[0].AsText(), *regex));
}

Value FindMisfit(const Call& call) {
  return call.Is(1, Kind::kString) ? FailNoOverload() : call.NoOverload();
}

Value FindRegex(const Call& call) {
  if (!AreTexts(call)) return FindMisfit(call);
  Value failure;
  std::shared_ptr<const re2::RE2> made;
  const re2::RE2* regex = RegexOf(call, "Illegal regex: ", made, failure);
  if (regex == nullptr) return failure;
  const re2::StringPiece text(call[0].AsText().data(), call[0].AsText().size());
  re2::StringPiece match;
  if (!regex->Match(text, 0, text.size(), re2::RE2::UNANCHORED, &match, 1)) {
    return Value::String("");
  }
  return call.machine.MakeString(std::string(match));
}

Value FindAllRegex(const Call& call) {
  if (!AreTexts(call) || (call.size() == 3 && !call.Is(2, Kind::kInt))) return FindMisfit(call);
  const std::int64_t limit = call.size() == 3 ? call[2].AsInt() : -1;
  Value failure;
  std::shared_ptr<const re2::RE2> made;
  const re2::RE2* regex = RegexOf(call, "Illegal regex: ", made, failure);
  if (regex == nullptr) return failure;
  const re2::StringPiece text(call[0].AsText().data(), call[0].AsText().size());
  Values found;
  std::size_t at = 0;
  std::size_t last_end = std::string_view::npos;
  while (at <= text.size() && (limit < 0 || found.size() < static_cast<std::size_t>(limit))) {
    re2::StringPiece match;
    // A search may read the rest of the text.
    if (!call.machine.Charge((text.size() - at) / 100 + 1)) return call.machine.Exhausted();
    if (!regex->Match(text, at, text.size(), re2::RE2::UNANCHORED, &match, 1)) break;
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    const std::size_t end = begin + match.size();
    // Go does the same: an empty match right behind another match is none.
    if (!match.empty() || begin != last_end) {
      Value piece = call.machine.MakeString(std::string(match));
      if (piece.is(Kind::kError)) return piece;
      found.push_back(std::move(piece));
    }
    last_end = end;
    if (!match.empty()) {
      at = end;
    } else if (end < text.size()) {
      at = end + RuneSize({text.data() + end, text.size() - end});
    } else {
      break;
    }
  }
  return call.machine.MakeList(std::move(found));
}

constexpr FunctionEntry kRegex[] = {
    {"matches", Style::kGlobal, 2, 2, Matches},
    {"matches", Style::kMethod, 2, 2, Matches},
    {"find", Style::kMethod, 2, 2, FindRegex},
    {"findAll", Style::kMethod, 2, 3, FindAllRegex},
};

}  // namespace

std::span<const FunctionEntry> RegexFunctions() { return kRegex; }

bool TakesRegex(std::string_view function) {
  return function == "matches" || function == "find" || function == "findAll";
}

std::shared_ptr<const re2::RE2> CompileRegex(std::string_view pattern, std::size_t limit,
                                             std::string& error) {
  if (pattern.size() > limit) {
    error = "the regular expression has more than " + std::to_string(limit) + " bytes";
    return nullptr;
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kRegexMemory);
  auto regex =
      std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (regex->ok()) return regex;
  error = "error parsing regexp: " + std::string(GoWords(regex->error_code())) + ": `" +
          regex->error_arg() + "`";
  return nullptr;
}

}  // namespace berth::cel
