// cli/output.h — answers and complaints on the terminal.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/commands.h"
#include "cli/screens/text.h"

namespace berth::cli {

// From the terminal on stdout, the locale, NO_COLOR and --ascii.
TextStyle DetectStyle(bool force_ascii);

void Print(const std::string& text);
// JSON with two blanks of indent, or the same as YAML.
void PrintStructured(const nlohmann::json& value, OutputFormat format);

// Writes "berth: <message>" to stderr and returns the exit code that fits.
int Complain(const Error& error);

}  // namespace berth::cli
