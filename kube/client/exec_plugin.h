// kube/client/exec_plugin.h — runs the program that returns credentials (client-go credential
// plugins), and parses its output.
//
//     PluginRunner runner(60 s);
//     runner.Run(plugin, config, [](Result<PluginCredential> credential) { … });
//
// The plugin gets KUBERNETES_EXEC_INFO and this process' environment and standard error. If the
// plugin may ask the user and there is a terminal, the plugin gets this process' standard input;
// else it gets an empty input.
//
// Threads: Run starts a thread for the run and calls `done` on it. Destroying the runner kills the
// plugin and waits for that thread.
// Errors: kNotFound (no such program, with the install hint), kDeadlineExceeded, kInvalid (the
// output is no ExecCredential), kUnavailable (the program failed).
// Source: Kubernetes "client-go credential plugins", API client.authentication.k8s.io/v1.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client/kubeconfig.h"

namespace berth::kube {

struct PluginCredential {
  std::string token;
  std::string certificate_pem;  // comes with key_pem; both or neither
  std::string key_pem;
  std::optional<WallTime> expires;
};

enum class Terminal { kNone, kThere };

// The value of KUBERNETES_EXEC_INFO.
std::string ExecInfo(const ExecPlugin& plugin, const KubeConfig& config, Terminal terminal);

// Parses the output of a plugin.
Result<PluginCredential> ParseExecCredential(std::string_view text, const std::string& api_version);

class PluginRunner {
 public:
  explicit PluginRunner(Duration timeout);
  ~PluginRunner();
  PluginRunner(const PluginRunner&) = delete;
  PluginRunner& operator=(const PluginRunner&) = delete;

  // One run at a time: call Run again only after `done` of the previous run.
  void Run(const ExecPlugin& plugin, const KubeConfig& config,
           std::function<void(Result<PluginCredential>)> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::kube
