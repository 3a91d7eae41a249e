#include "kube/client/exec_plugin.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "base/threads/guarded.h"

extern char** environ;  // NOLINT: POSIX leaves the declaration to programs

namespace berth::kube {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxOutputBytes = 1024 * 1024;
// How often to look whether the plugin has ended.
constexpr std::chrono::milliseconds kLookInterval{50};
constexpr char kInfoVariable[] = "KUBERNETES_EXEC_INFO";

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() { Close(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  void Set(int fd) {
    Close();
    fd_ = fd;
  }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Pipe {
  Fd read;
  Fd write;
  bool Open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read.Set(ends[0]);
    write.Set(ends[1]);
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
  }
};

std::string Quoted(const ExecPlugin& plugin) { return "exec plugin \"" + plugin.command + "\""; }

Error SystemError(const ExecPlugin& plugin, const char* what, int error) {
  return {ErrorCode::kUnavailable,
          Quoted(plugin) + ": " + what + ": " + std::generic_category().message(error)};
}

Error StartError(const ExecPlugin& plugin, int error) {
  if (error != ENOENT) return SystemError(plugin, "it cannot be started", error);
  std::string message = Quoted(plugin) + " is not installed, or not in PATH";
  if (!plugin.install_hint.empty()) message += ": " + plugin.install_hint;
  return {ErrorCode::kNotFound, std::move(message)};
}

std::vector<std::string> EnvironmentFor(const ExecPlugin& plugin, const std::string& info) {
  std::map<std::string, std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
  }
  for (const auto& [name, value] : plugin.env) variables[name] = value;
  variables[kInfoVariable] = info;
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A running plugin: its process and its standard output.
class Child {
 public:
  explicit Child(const ExecPlugin& plugin) : plugin_(plugin) {}
  ~Child() { End(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Status Start(const std::string& info, Terminal terminal) {
    if (!output_.Open()) return SystemError(plugin_, "no pipe", errno);
    std::vector<std::string> words{plugin_.command};
    words.insert(words.end(), plugin_.args.begin(), plugin_.args.end());
    std::vector<std::string> lines = EnvironmentFor(plugin_, info);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output_.write.get(), STDOUT_FILENO);
    if (terminal == Terminal::kNone) {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    sigset_t ignored;  // by this process; the plugin has the default
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &ignored);
    // A process group can be ended as a whole, but cannot read from the terminal.
    is_group_ = terminal == Terminal::kNone;
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                (is_group_ ? POSIX_SPAWN_SETPGROUP : 0)));
    const int error = posix_spawnp(&pid_, plugin_.command.c_str(), &actions, &attributes,
                                   Pointers(words).data(), Pointers(lines).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    output_.write.Close();
    if (error == 0) return OkStatus();
    pid_ = -1;
    return StartError(plugin_, error);
  }

  // Reads the available output; returns false where it is too long.
  bool Read(std::string& text) {
    std::array<char, 4096> buffer{};
    while (true) {
      const ssize_t count = read(output_.read.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        if (count == 0) output_.read.Close();
        return true;
      }
      if (text.size() + static_cast<std::size_t>(count) > kMaxOutputBytes) return false;
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }
  int output() const { return output_.read.get(); }  // -1 after its end

  // The status of wait(2) after the end; nullopt while the plugin runs.
  std::optional<int> Ended() {
    int status = 0;
    if (pid_ < 0 || waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    pid_ = -1;
    return status;
  }

 private:
  void End() {
    if (pid_ < 0) return;
    kill(is_group_ ? -pid_ : pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

  const ExecPlugin& plugin_;
  Pipe output_;
  pid_t pid_ = -1;
  bool is_group_ = false;
};

Status CheckEnd(const ExecPlugin& plugin, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return OkStatus();
  const std::string how = WIFEXITED(status)
                              ? "failed with exit status " + std::to_string(WEXITSTATUS(status))
                              : "was ended by signal " + std::to_string(WTERMSIG(status));
  return Error{ErrorCode::kUnavailable, Quoted(plugin) + " " + how + "; its messages say why"};
}

// The output of the plugin. `stop` becomes readable when the runner is destroyed.
Result<std::string> OutputOf(const ExecPlugin& plugin, const std::string& info, Terminal terminal,
                             Duration timeout, int stop) {
  Child child(plugin);
  BERTH_CHECK_OK(child.Start(info, terminal));
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::string text;
  while (true) {
    std::array<pollfd, 2> fds{pollfd{stop, POLLIN, 0}, pollfd{child.output(), POLLIN, 0}};
    poll(fds.data(), fds.size(), static_cast<int>(kLookInterval.count()));
    if (fds[0].revents != 0) return Error{ErrorCode::kUnavailable, Quoted(plugin) + ": stopping"};
    const std::optional<int> status = child.Ended();
    if (child.output() >= 0 && !child.Read(text)) {
      return Error{ErrorCode::kInvalid, Quoted(plugin) + " printed more than 1 MiB"};
    }
    if (status) {
      BERTH_CHECK_OK(CheckEnd(plugin, *status));
      return text;
    }
    if (std::chrono::steady_clock::now() >= end) {
      return Error{ErrorCode::kDeadlineExceeded,
                   Quoted(plugin) + " gave no credential within " +
                       std::to_string(
                           std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count()) +
                       " ms"};
    }
  }
}

std::string TextOf(const Json& object, const char* key) {
  const auto value = object.find(key);
  return value != object.end() && value->is_string() ? value->get<std::string>() : std::string();
}

}  // namespace

std::string ExecInfo(const ExecPlugin& plugin, const KubeConfig& config, Terminal terminal) {
  Json spec = {{"interactive", terminal == Terminal::kThere}};
  if (plugin.provide_cluster_info) {
    Json& cluster = spec["cluster"];
    cluster["server"] = config.server;
    if (!config.server_name.empty()) cluster["tls-server-name"] = config.server_name;
    if (!config.ca_pem.empty()) {
      cluster["certificate-authority-data"] = Base64Encode(config.ca_pem);
    }
    if (!config.proxy_url.empty()) cluster["proxy-url"] = config.proxy_url;
    if (!plugin.cluster_config.empty()) {
      cluster["config"] = api::ParseJsonOrNull(plugin.cluster_config);
    }
  }
  const Json info = {
      {"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", spec}};
  return api::FormatJson(info);
}

Result<PluginCredential> ParseExecCredential(std::string_view text,
                                             const std::string& api_version) {
  const auto invalid = [](const std::string& why) {
    return Error{ErrorCode::kInvalid, "the plugin's ExecCredential: " + why};
  };
  const Json json = api::ParseJsonOrNull(text);
  if (!json.is_object()) return invalid("it is not a JSON object");
  if (TextOf(json, "kind") != "ExecCredential") return invalid("kind is not ExecCredential");
  if (TextOf(json, "apiVersion") != api_version) {
    return invalid("apiVersion is \"" + TextOf(json, "apiVersion") + "\", the kubeconfig has \"" +
                   api_version + "\"");
  }
  const auto status = json.find("status");
  if (status == json.end() || !status->is_object()) return invalid("it has no status");
  PluginCredential credential{.token = TextOf(*status, "token"),
                              .certificate_pem = TextOf(*status, "clientCertificateData"),
                              .key_pem = TextOf(*status, "clientKeyData")};
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    return invalid("status.clientCertificateData and clientKeyData must come together");
  }
  if (credential.token.empty() && credential.certificate_pem.empty()) {
    return invalid("status has neither a token nor a client certificate");
  }
  if (const std::string end = TextOf(*status, "expirationTimestamp"); !end.empty()) {
    credential.expires = ParseTime(end);
    if (!credential.expires) return invalid("status.expirationTimestamp is no RFC 3339 time");
  }
  return credential;
}

namespace {

Result<PluginCredential> CredentialOf(const ExecPlugin& plugin, const std::string& info,
                                      Terminal terminal, Duration timeout, int stop) {
  BERTH_TRY(const std::string text, OutputOf(plugin, info, terminal, timeout, stop));
  Result<PluginCredential> credential = ParseExecCredential(text, plugin.api_version);
  if (!credential) return Annotate(credential.error(), Quoted(plugin));
  return credential;
}

}  // namespace

struct PluginRunner::State {
  Duration timeout;
  Pipe stop;
  std::thread thread;
};

PluginRunner::PluginRunner(Duration timeout) : state_(std::make_unique<State>()) {
  state_->timeout = timeout;
}

PluginRunner::~PluginRunner() {
  state_->stop.write.Close();  // makes the other end readable
  if (state_->thread.joinable()) state_->thread.join();
}

void PluginRunner::Run(const ExecPlugin& plugin, const KubeConfig& config,
                       std::function<void(Result<PluginCredential>)> done) {
  if (state_->thread.joinable()) state_->thread.join();  // the thread has called `done`
  if (state_->stop.read.get() < 0 && !state_->stop.Open()) {
    return done(SystemError(plugin, "no pipe", errno));
  }
  const bool asks = plugin.interactive != ExecPlugin::Interactive::kNever;
  const Terminal terminal = asks && isatty(STDIN_FILENO) == 1 ? Terminal::kThere : Terminal::kNone;
  if (plugin.interactive == ExecPlugin::Interactive::kAlways && terminal == Terminal::kNone) {
    return done(Error{ErrorCode::kInvalid, Quoted(plugin) + " has interactiveMode Always, and "
                                                            "standard input is no terminal"});
  }
  auto run = [plugin, info = ExecInfo(plugin, config, terminal), terminal,
              timeout = state_->timeout, stop = state_->stop.read.get(), done = std::move(done)] {
    Result<PluginCredential> credential =
        Error{ErrorCode::kUnavailable, Quoted(plugin) + ": a bug of Berth; the log has its error"};
    RunGuarded("a credential plugin failed",
               [&] { credential = CredentialOf(plugin, info, terminal, timeout, stop); });
    RunGuarded("the use of a plugin's credential failed", [&] { done(std::move(credential)); });
  };
  state_->thread = StartThread("the thread of a credential plugin failed", std::move(run));
}

}  // namespace berth::kube
