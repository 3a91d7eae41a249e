// cel/internal/functions.h — the functions of CEL and of its libraries.
//
// A function gets evaluated arguments without errors, a method its target as the first one. It
// charges its work to the machine and returns a value or a failure; arguments that do not fit give
// call.NoOverload().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cel/value.h"

namespace re2 {
class RE2;
}

namespace berth::cel {

class Machine;

struct Call {
  Machine& machine;
  std::string_view name;
  std::span<const Value> arguments;
  // The compiled argument 1, if that is a literal of an expression.
  const re2::RE2* regex = nullptr;

  const Value& operator[](std::size_t index) const { return arguments[index]; }
  std::size_t size() const { return arguments.size(); }
  bool Is(std::size_t index, Kind kind) const { return arguments[index].is(kind); }
  // "no such overload: name(int, string)".
  Value NoOverload() const;
};

using Function = Value (*)(const Call& call);

enum class Style : std::uint8_t { kGlobal, kMethod };

struct FunctionEntry {
  std::string_view name;
  Style style = Style::kGlobal;
  int min_arguments = 0;  // a method's target counts
  int max_arguments = 0;
  Function function = nullptr;
};

constexpr int kManyArguments = 1000;

std::span<const FunctionEntry> OperatorFunctions();  // _+_, _<_, -_, …
std::span<const FunctionEntry> CoreFunctions();      // size, contains, conversions, …
std::span<const FunctionEntry> TimeFunctions();
std::span<const FunctionEntry> OptionalFunctions();
std::span<const FunctionEntry> StringFunctions();
std::span<const FunctionEntry> ListFunctions();
std::span<const FunctionEntry> MathFunctions();
std::span<const FunctionEntry> QuantityFunctions();
std::span<const FunctionEntry> RegexFunctions();
std::span<const FunctionEntry> SetFunctions();
std::span<const FunctionEntry> FormatFunctions();
std::span<const FunctionEntry> NetFunctions();
std::span<const FunctionEntry> UrlFunctions();
std::span<const FunctionEntry> SemverFunctions();
std::span<const FunctionEntry> NameFunctions();
std::span<const FunctionEntry> AuthorizerFunctions();

// null: there is no such function. `known`: whether another style or count has the name.
const FunctionEntry* FindFunction(std::string_view name, Style style, std::size_t arguments,
                                  bool& known);

// The type that a name stands for (int, string, google.protobuf.Duration), or null.
const Value* FindType(std::string_view name);

// Why `text` is no absolute URL or path; empty if it is one.
std::string UrlProblem(std::string_view text);

// Whether argument 1 of the function is a regular expression.
bool TakesRegex(std::string_view function);
// Returns null, and sets `error` in Go's words, if `pattern` has more than `limit` bytes or RE2
// refuses it.
std::shared_ptr<const re2::RE2> CompileRegex(std::string_view pattern, std::size_t limit,
                                             std::string& error);

}  // namespace berth::cel
