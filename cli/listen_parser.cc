#include "cli/listen_parser.h"

#include <CLI/CLI.hpp>

namespace berth::cli {

void AddReadApiFlags(CLI::App& command, std::string& listen, bool& actions) {
  command
      .add_option("--read-api-listen", listen,
                  "of the read API (/api/v1) over HTTPS, for tokens that may list what they ask "
                  "for (default: not served)")
      ->type_name("ADDRESS:PORT");
  command.add_flag("--read-api-actions", actions,
                   "over the read API and the page, users may stop and resume queues, set "
                   "priorities and deactivate workloads, with the rights of their own tokens");
}

void AddListenFlags(CLI::App& command, ControllerFlags& flags) {
  command
      .add_option("--metrics-listen", flags.metrics_listen,
                  "of /metrics; empty serves none (default: metrics.bindAddress of the "
                  "Configuration file, else :8443)")
      ->type_name("ADDRESS:PORT");
  command.add_flag("--metrics-secure,!--no-metrics-secure", flags.metrics_secure,
                   "/metrics over HTTPS, for tokens that may get /metrics; --no-metrics-secure "
                   "or --metrics-secure=false: plain HTTP, for everybody");
  command
      .add_option("--health-listen", flags.health_listen,
                  "of /healthz and /readyz; empty serves none (default: "
                  "health.healthProbeBindAddress of the Configuration file, else :8081)")
      ->type_name("ADDRESS:PORT");
  command
      .add_option("--webhook-listen", flags.webhook_listen,
                  "of the webhooks; empty serves none (default: webhook.host and webhook.port of "
                  "the Configuration file, else :9443)")
      ->type_name("ADDRESS:PORT");
  command
      .add_option("--visibility-listen", flags.visibility_listen,
                  "of the visibility API; empty serves none (default: visibilityServer of the "
                  "Configuration file, else :8082)")
      ->type_name("ADDRESS:PORT");
  AddReadApiFlags(command, flags.read_api_listen, flags.read_api_actions);
}

}  // namespace berth::cli
