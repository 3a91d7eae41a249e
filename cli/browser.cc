#include "cli/browser.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/strings.h"

namespace berth::cli {
namespace {

constexpr std::chrono::seconds kBetweenLooks{1};
constexpr std::string_view kAddressMark = "%s";

std::vector<std::string> WordsOf(std::string_view command, const std::string& address) {
  std::vector<std::string> words;
  bool has_address = false;
  for (const std::string_view part : Split(command, ' ')) {
    if (part.empty()) continue;
    std::string& word = words.emplace_back(part);
    const std::size_t mark = word.find(kAddressMark);
    if (mark == std::string::npos) continue;
    word.replace(mark, kAddressMark.size(), address);
    has_address = true;
  }
  if (!words.empty() && !has_address) words.push_back(address);
  return words;
}

// Returns the error number of posix_spawnp.
int Spawn(std::vector<std::string> words, pid_t& process) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t ignored;  // by this process; the browser has the default
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID));
  const int error =
      posix_spawnp(&process, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string ValueOfBrowser() {
  const char* value = std::getenv("BROWSER");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value == nullptr ? "" : value;
}

}  // namespace

std::vector<std::vector<std::string>> BrowserCommands(const std::string& browser,
                                                      const std::string& address) {
  std::vector<std::vector<std::string>> commands;
  for (const std::string_view command : Split(browser, ':')) {
    std::vector<std::string> words = WordsOf(command, address);
    if (!words.empty()) commands.push_back(std::move(words));
  }
  if (commands.empty()) commands.push_back({"xdg-open", address});
  return commands;
}

Status Browser::Open(const std::string& address) {
  std::string problems;
  for (const std::vector<std::string>& words : BrowserCommands(ValueOfBrowser(), address)) {
    const int error = Spawn(words, process_);
    if (error == 0) {
      command_ = words.front();
      executor_.PostAfter(kBetweenLooks, [this] { Watch(); });
      return OkStatus();
    }
    problems += (problems.empty() ? "" : "; ") + words.front() + ": " +
                std::generic_category().message(error);
  }
  process_ = -1;
  return Error{ErrorCode::kNotFound,
               problems + ": open the address yourself, or name a program in BROWSER"};
}

void Browser::Watch() {
  int status = 0;
  const pid_t ended = waitpid(process_, &status, WNOHANG);
  if (ended == 0) return executor_.PostAfter(kBetweenLooks, [this] { Watch(); });
  if (ended != process_ || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return;
  LogWarning("the browser's command failed: open the address yourself",
             {{"command", command_},
              {"status", WIFEXITED(status) ? std::to_string(WEXITSTATUS(status))
                                           : "signal " + std::to_string(WTERMSIG(status))}});
}

}  // namespace berth::cli
