// matches, find, findAll: RE2, in time linear in the text.
#include <re2/re2.h>

#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/internal/runes.h"

namespace berth::cel {
namespace {

// Memory of one compiled expression and its automata.
constexpr std::int64_t kRegexMemory = 1 << 20;

// The expression of argument 1; null with `failure` set.
std::shared_ptr<const re2::RE2> RegexOf(const Call& call, const char* prefix, Value& failure) {
  const std::string_view pattern = call[1].AsText();
  // Compilation is linear in the pattern with a factor for counted repetitions.
  if (!call.machine.Charge(pattern.size() * 10 + 100)) {
    failure = call.machine.Exhausted();
    return nullptr;
  }
  std::string error;
  auto regex = CompileRegex(pattern, call.machine.limits().regex_bytes, error);
  if (!regex) failure = Value::Failure(prefix + error);
  return regex;
}

Value Matches(const Call& call) {
  if (!call.Is(0, Kind::kString)) return Value::Failure("no such overload: matches");
  if (!call.Is(1, Kind::kString)) return FailNoOverload();
  if (!call.machine.ChargeText(call[0].AsText().size())) return call.machine.Exhausted();
  Value failure;
  const auto regex = RegexOf(call, "", failure);
  if (!regex) return failure;
  return Value::Bool(re2::RE2::PartialMatch(call[0].AsText(), *regex));
}

Value FindRegex(const Call& call) {
  if (!call.Is(0, Kind::kString) || !call.Is(1, Kind::kString)) return call.NoOverload();
  if (!call.machine.ChargeText(call[0].AsText().size())) return call.machine.Exhausted();
  Value failure;
  const auto regex = RegexOf(call, "Illegal regex: ", failure);
  if (!regex) return failure;
  const re2::StringPiece text(call[0].AsText().data(), call[0].AsText().size());
  re2::StringPiece match;
  if (!regex->Match(text, 0, text.size(), re2::RE2::UNANCHORED, &match, 1)) {
    return Value::String("");
  }
  return call.machine.MakeString(std::string(match));
}

Value FindAllRegex(const Call& call) {
  if (!call.Is(0, Kind::kString) || !call.Is(1, Kind::kString)) return call.NoOverload();
  if (call.size() == 3 && !call.Is(2, Kind::kInt)) return call.NoOverload();
  const std::int64_t limit = call.size() == 3 ? call[2].AsInt() : -1;
  if (!call.machine.ChargeText(call[0].AsText().size())) return call.machine.Exhausted();
  Value failure;
  const auto regex = RegexOf(call, "Illegal regex: ", failure);
  if (!regex) return failure;
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
    // As Go: an empty match right behind another match is none.
    if (!match.empty() || begin != last_end) {
      Value piece = call.machine.MakeString(std::string(match));
      if (piece.is_error()) return piece;
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
  error = "error parsing regexp: " + regex->error();
  return nullptr;
}

}  // namespace berth::cel
