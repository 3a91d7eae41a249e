// Goal: `berth up` tells in five lines what to do next; the address of the page goes to the command
// of $BROWSER as one word, without a shell.
#include "cli/up_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/browser.h"

namespace berth::cli {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

TEST(UpScreen, TextHasTheApiAndTheNextCommands) {
  const UpScreen screen{.api_url = "https://127.0.0.1:6443", .kubeconfig = "/k", .process = 42};
  EXPECT_EQ(UpScreenText(screen),
            "berth is up at https://127.0.0.1:6443\n"
            "\n"
            "  export KUBECONFIG=/k\n"
            "  berth init              # manifests of queues for your teams; then kubectl apply -f "
            "queues\n"
            "  berth status            # the queues on one screen\n"
            "  berth up --open         # the next time: the page in your browser\n"
            "  kill 42                 # or Ctrl-C: stops the cluster, and keeps its objects\n"
            "\n");
}

TEST(UpScreen, TextHasTheDashboardAndTheReadApi) {
  const UpScreen screen{.api_url = "https://127.0.0.1:6443",
                        .kubeconfig = "/k",
                        .read_api_url = "https://localhost:1",
                        .sign_in = "https://localhost:1/sign-in#code=abc",
                        .process = 42,
                        .has_samples = true};
  EXPECT_EQ(UpScreenText(screen),
            "berth is up at https://127.0.0.1:6443\n"
            "\n"
            "  export KUBECONFIG=/k\n"
            "  kubectl apply -f JOB    # a Job with the label kueue.x-k8s.io/queue-name: team\n"
            "  berth status            # two sample jobs; berth why job/large says why one of them "
            "waits\n"
            "  dashboard: https://localhost:1/sign-in#code=abc  # signs in once, within five "
            "minutes\n"
            "  kill 42                 # or Ctrl-C: stops the cluster, and keeps its objects\n"
            "\n"
            "read API: https://localhost:1/api/v1\n"
            "\n");
}

TEST(UpScreen, TextOfAnApiOnlyServerHasNoQueueCommands) {
  const UpScreen screen{.api_url = "u", .kubeconfig = "/k", .process = 42, .api_only = true};
  EXPECT_EQ(UpScreenText(screen),
            "berth is up at u\n"
            "\n"
            "  export KUBECONFIG=/k\n"
            "  kubectl api-resources   # the kinds that this API serves\n"
            "  kill 42                 # or Ctrl-C: stops the cluster, and keeps its objects\n"
            "\n");
}

TEST(BrowserCommands, AddressStaysOneArgumentOfTheBrowser) {
  const std::string address = "https://localhost:1/sign-in#code=a;b c";
  EXPECT_THAT(BrowserCommands("", address), ElementsAre(Words{"xdg-open", address}));
  EXPECT_THAT(BrowserCommands(":  :", address), ElementsAre(Words{"xdg-open", address}));
  EXPECT_THAT(BrowserCommands("firefox", address), ElementsAre(Words{"firefox", address}));
  EXPECT_THAT(BrowserCommands("firefox  --new-window %s:w3m -o url=%s -v", address),
              ElementsAre(Words{"firefox", "--new-window", address},
                          Words{"w3m", "-o", "url=" + address, "-v"}));
}

}  // namespace
}  // namespace berth::cli
