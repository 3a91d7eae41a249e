// base/log/log.h — the log of the shells: a constant message, then key=value pairs.
//
//     LogInfo("workload admitted", {{"workload", key}, {"clusterQueue", name}});
//
// Logs never decide anything; pure folders do not include this file.
//
// Threads: every function may be called from any thread.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace berth {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogField {
  std::string_view key;
  std::string value;  // quoted in the output if it contains blanks or quotes
};

// Sets output and lowest level. Call once, before the first thread starts. Default: stderr, kInfo.
void ConfigureLog(LogLevel lowest, const std::string& file_path = "");

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

inline void LogDebug(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kDebug, message, fields);
}
inline void LogInfo(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void LogWarning(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarning, message, fields);
}
inline void LogError(std::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, message, fields);
}

}  // namespace berth
