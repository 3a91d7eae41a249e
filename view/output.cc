#include "view/output.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/codec/json_write.h"
#include "api/yaml/yaml.h"
#include "base/strings.h"
#include "base/terminal_text.h"

namespace berth::view {
namespace {

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? "" : value;
}

bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string locale = ToLower(Environment(name));
    if (locale.empty()) continue;
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

TextStyle DetectStyle(bool force_ascii) {
  TextStyle style;
  style.ascii = force_ascii || !LocaleIsUtf8();
  const bool on_terminal = isatty(STDOUT_FILENO) == 1;
  style.color = on_terminal && Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
  winsize size{};
  if (on_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.width = size.ws_col;
  return style;
}

void Print(const std::string& text) { PrintRaw(TerminalScreen(text)); }

void PrintRaw(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void PrintStructured(const nlohmann::json& value, OutputFormat format) {
  if (format == OutputFormat::kYaml) {
    Print(api::FormatYaml(value));
    return;
  }
  PrintRaw(TerminalJson(api::FormatIndentedJson(value)) + "\n");
}

int Complain(const Error& error) {
  std::fprintf(stderr, "berth: %s\n", TerminalScreen(error.message).c_str());
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded: return kExitUnreachable;
    default: return kExitRefused;
  }
}

}  // namespace berth::view
