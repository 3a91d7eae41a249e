#include "cli/output.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include "base/strings.h"

namespace berth::cli {
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

void Emit(YAML::Emitter& out, const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::object:
      out << YAML::BeginMap;
      for (const auto& [key, item] : value.items()) {
        out << YAML::Key << key << YAML::Value;
        Emit(out, item);
      }
      out << YAML::EndMap;
      return;
    case nlohmann::json::value_t::array:
      if (value.empty()) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const auto& item : value) Emit(out, item);
      out << YAML::EndSeq;
      return;
    case nlohmann::json::value_t::string: {
      // Quoted where a YAML reader would take it for something else: "1", "true", "~", "on".
      const std::string& text = value.get_ref<const std::string&>();
      const bool is_plain_word =
          !text.empty() && text.find_first_of("0123456789.~<=-+?") != 0 && text.size() > 5;
      if (is_plain_word) {
        out << text;
      } else {
        out << YAML::DoubleQuoted << text;
      }
      return;
    }
    case nlohmann::json::value_t::null: out << YAML::Null; return;
    default: out << value.dump(); return;
  }
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

void Print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::string ToYaml(const nlohmann::json& value) {
  YAML::Emitter out;
  Emit(out, value);
  return std::string(out.c_str()) + "\n";
}

void PrintStructured(const nlohmann::json& value, OutputFormat format) {
  if (format == OutputFormat::kYaml) {
    Print(ToYaml(value));
    return;
  }
  Print(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

int Complain(const Error& error) {
  std::fprintf(stderr, "berth: %s\n", error.message.c_str());
  switch (error.code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadlineExceeded: return kExitUnreachable;
    default: return kExitRefused;
  }
}

}  // namespace berth::cli
