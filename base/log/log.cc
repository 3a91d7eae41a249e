#include "base/log/log.h"

#include <memory>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/terminal_text.h"

namespace berth {
namespace {

constexpr std::size_t kMaxLineBytes = 4096;

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::shared_ptr<spdlog::logger> MakeLogger(const std::string& file_path) {
  spdlog::sink_ptr sink;
  if (file_path.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file_path);
  }
  auto logger = std::make_shared<spdlog::logger>("berth", std::move(sink));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%fZ %L %v", spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::info);
  return logger;
}

std::shared_ptr<spdlog::logger>& Logger() {
  static std::shared_ptr<spdlog::logger> logger = MakeLogger("");
  return logger;
}

void AppendValue(std::string& line, std::string_view value) {
  const bool plain = !value.empty() && value.find_first_of(" \"=\n\r\t") == std::string_view::npos;
  if (plain) {
    line += value;
    return;
  }
  line += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') line += '\\';
    if (c == '\n') {
      line += "\\n";
    } else if (c != '\r') {
      line += c;
    }
  }
  line += '"';
}

}  // namespace

void ConfigureLog(LogLevel lowest, const std::string& file_path) {
  Logger() = MakeLogger(file_path);
  Logger()->set_level(ToSpdlog(lowest));
}

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  spdlog::logger& logger = *Logger();
  const auto spdlog_level = ToSpdlog(level);
  if (!logger.should_log(spdlog_level)) return;
  std::string line(message);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    AppendValue(line, field.value);
  }
  line = TerminalLine(line);
  if (line.size() > kMaxLineBytes) line.resize(kMaxLineBytes);
  logger.log(spdlog_level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace berth
