// kube/client/exec_plugin.h — runs the program that gives credentials (client-go credential
// plugins), and reads what it printed.
//
//     PluginRunner runner(60 s);
//     runner.Run(plugin, config, [](Result<PluginCredential> credential) { … });
//
// The plugin gets KUBERNETES_EXEC_INFO and our environment; its standard error is ours; its
// standard input is ours where it may ask and there is a terminal, else empty.
//
// Threads: Run starts a thread for the run; `done` comes on it. Destroying the runner kills the
// plugin and waits for that thread.
// Errors: kNotFound (no such program, with the install hint), kDeadlineExceeded, kInvalid (what was
// printed is no ExecCredential), kUnavailable (it failed).
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
  std::string certificate_pem;  // with key_pem; both or neither
  std::string key_pem;
  std::optional<WallTime> expires;
};

enum class Terminal { kNone, kThere };

// The value of KUBERNETES_EXEC_INFO.
std::string ExecInfo(const ExecPlugin& plugin, const KubeConfig& config, Terminal terminal);

// What a plugin printed.
Result<PluginCredential> ParseExecCredential(std::string_view text, const std::string& api_version);

class PluginRunner {
 public:
  explicit PluginRunner(Duration timeout);
  ~PluginRunner();
  PluginRunner(const PluginRunner&) = delete;
  PluginRunner& operator=(const PluginRunner&) = delete;

  // One run at a time: not before `done` of the one before.
  void Run(const ExecPlugin& plugin, const KubeConfig& config,
           std::function<void(Result<PluginCredential>)> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::kube
