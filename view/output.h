// view/output.h — prints answers and errors on the terminal.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "view/screens/text.h"

namespace berth::view {

inline constexpr int kExitAnswered = 0;
inline constexpr int kExitRefused = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreachable = 4;

enum class OutputFormat { kText, kJson, kYaml };

// Detects the style from the terminal on stdout, the locale, NO_COLOR and --ascii.
TextStyle DetectStyle(bool force_ascii);

// Writes a screen; control characters of the objects shown become visible (base/terminal_text.h).
void Print(const std::string& text);
// Writes bytes as they are: files, and sequences of Berth's own.
void PrintRaw(std::string_view text);
// Prints `value` as JSON with two blanks of indentation, or as YAML.
void PrintStructured(const nlohmann::json& value, OutputFormat format);

// Writes "berth: <message>" to stderr and returns the exit code for the error.
int Complain(const Error& error);

}  // namespace berth::view
