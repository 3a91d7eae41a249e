// An API server alone, for manual tests: berth_test_apiserver DIRECTORY [PORT].
// Writes DIRECTORY/kubeconfig, prints its URL, ends at the end of standard input.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "local/apiserver/api_server.h"
#include "local/apiserver/auth/credentials.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: berth_test_apiserver DIRECTORY [PORT]\n", stderr);
    return 2;
  }
  const std::string directory = argv[1];
  berth::local::ApiServerOptions options;
  options.data_directory = directory;
  if (argc > 2) options.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  auto server = berth::local::ApiServer::Start(options);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    return 1;
  }
  const auto written =
      berth::local::WriteKubeconfig(directory + "/kubeconfig", (*server)->kubeconfig());
  if (!written) {
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return 1;
  }
  std::printf("%s\n", (*server)->url().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  (*server)->Stop();
  return 0;
}
