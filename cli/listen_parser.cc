#include "cli/listen_parser.h"

#include <CLI/CLI.hpp>

namespace berth::cli {

namespace {

void AddProxyFlags(CLI::App& command, PageProxyFlags& proxy) {
  CLI::Option* authority =
      command
          .add_option("--read-api-proxy-ca", proxy.client_ca,
                      "CA of the client certificate of an authenticating proxy, whose headers name "
                      "the users of the read API and the page (default: headers are ignored)")
          ->type_name("FILE");
  command
      .add_option("--read-api-proxy-name", proxy.names,
                  "common name of the proxy's certificate; needed with --read-api-proxy-ca")
      ->type_name("NAME")
      ->needs(authority);
  command.add_option("--read-api-proxy-user-header", proxy.user_header, "names the reader")
      ->type_name("HEADER")
      ->capture_default_str()
      ->needs(authority);
  command
      .add_option("--read-api-proxy-groups-header", proxy.groups_header,
                  "names the reader's groups, separated by commas or one a header")
      ->type_name("HEADER")
      ->capture_default_str()
      ->needs(authority);
}

void AddOpenIdFlags(CLI::App& command, OpenIdFlags& provider) {
  CLI::Option* issuer =
      command
          .add_option("--read-api-openid-issuer", provider.issuer,
                      "OpenID provider at which readers of the page sign in; the API server has to "
                      "trust the same issuer and client (default: they sign in with tokens)")
          ->type_name("URL");
  command
      .add_option("--read-api-openid-client", provider.client_id,
                  "client of the page at the provider; needed with --read-api-openid-issuer")
      ->type_name("ID")
      ->needs(issuer);
  command
      .add_option("--read-api-openid-secret-file", provider.secret_file,
                  "secret of the client (default: a public client)")
      ->type_name("FILE")
      ->needs(issuer);
  command
      .add_option("--read-api-openid-ca", provider.ca_file,
                  "CA certificates of the provider (default: those of the system)")
      ->type_name("FILE")
      ->needs(issuer);
  command
      .add_option("--read-api-openid-scopes", provider.scopes,
                  "scopes that the page requests, such as \"openid email groups\"")
      ->type_name("SCOPES")
      ->capture_default_str()
      ->needs(issuer);
}

}  // namespace

void AddReadApiFlags(CLI::App& command, ReadApiFlags& flags) {
  command
      .add_option("--cluster-name", flags.cluster_name,
                  "that the page shows (default: the address of the page)")
      ->type_name("NAME");
  command
      .add_option("--read-api-listen", flags.listen,
                  "of the read API (/api/v1) over HTTPS, for tokens that may list what they ask "
                  "for (default: not served)")
      ->type_name("ADDRESS:PORT");
  command.add_flag("--read-api-actions", flags.actions,
                   "over the read API and the page, users may stop and resume queues, set "
                   "priorities, deactivate workloads and set the stock of emulated pools, with the "
                   "rights of their own tokens");
  AddProxyFlags(command, flags.proxy);
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
  AddReadApiFlags(command, flags.read_api);
  AddOpenIdFlags(command, flags.read_api.open_id);
  command
      .add_option("--read-api-sessions", flags.read_api.sessions,
                  "folder of its own for the sessions of the page, which then outlive a restart; "
                  "they are encrypted with a key that only the browser's cookie has (default: "
                  "sessions end with the program)")
      ->type_name("FOLDER");
}

}  // namespace berth::cli
