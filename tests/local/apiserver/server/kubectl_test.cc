// Goal: an unmodified kubectl works with the server.
// Method: the kubectl on the machine, with a home of its own; skipped where there is none.
#include <array>
#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/apiserver/auth/credentials.h"
#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class KubectlTest : public ServerTest {
 protected:
  void SetUp() override {
    if (::access("/usr/bin/kubectl", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/kubectl";
    ServerTest::SetUp();
    ASSERT_TRUE(WriteKubeconfig(folder_.File("kubeconfig"), server_->kubeconfig()));
  }

  // Output and errors together; the exit code in `code_`.
  std::string Kubectl(const std::string& arguments, const std::string& input = "") {
    std::ofstream(folder_.File("input")) << input;
    const std::string command =
        "HOME=" + folder_.path() + " timeout 30 /usr/bin/kubectl --kubeconfig " +
        folder_.File("kubeconfig") + " " + arguments + " < " + folder_.File("input") + " 2>&1";
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string output;
    std::array<char, 4096> buffer{};
    while (true) {
      const std::size_t size = ::fread(buffer.data(), 1, buffer.size(), pipe);
      if (size == 0) break;
      output.append(buffer.data(), size);
    }
    const int status = ::pclose(pipe);
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return output;
  }

  int code_ = 0;
};

constexpr const char* kJobManifest = R"(
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: busybox, command: [sleep, "10"]}]
)";

TEST_F(KubectlTest, EverydayCommandsWork) {
  EXPECT_THAT(Kubectl("version"), HasSubstr("Server Version: v1.36."));
  EXPECT_THAT(Kubectl("api-resources"), HasSubstr("jobs "));
  EXPECT_THAT(Kubectl("get ns"), HasSubstr("kube-system       Active"));
  EXPECT_EQ(Kubectl("get cm nope"),
            "Error from server (NotFound): configmaps \"nope\" not found\n");
  EXPECT_EQ(Kubectl("create cm c --from-literal=a=b"), "configmap/c created\n");
  EXPECT_EQ(Kubectl("create ns foo"), "namespace/foo created\n");
  EXPECT_EQ(Kubectl("auth can-i create jobs"), "yes\n");
  EXPECT_EQ(Kubectl("label cm c x=y"), "configmap/c labeled\n");
  EXPECT_EQ(Kubectl("annotate cm c x=y"), "configmap/c annotated\n");
  EXPECT_EQ(Kubectl("delete cm c"), "configmap \"c\" deleted\n");
}

TEST_F(KubectlTest, ClientSideApplyCreatesAndChanges) {
  EXPECT_EQ(Kubectl("apply -f -", kJobManifest), "job.batch/j created\n");
  EXPECT_EQ(Kubectl("apply -f -", kJobManifest), "job.batch/j unchanged\n");
  EXPECT_EQ(Kubectl("diff -f -", kJobManifest), "");
  EXPECT_EQ(code_, 0);
  std::string changed = kJobManifest;
  changed.replace(changed.find("suspend: true"), 13, "suspend: false");
  EXPECT_THAT(Kubectl("diff -f -", changed), HasSubstr("+  suspend: false"));
  EXPECT_EQ(code_, 1);
  EXPECT_EQ(Kubectl("apply -f -", changed), "job.batch/j configured\n");
  EXPECT_THAT(Kubectl("get job j -o wide"), HasSubstr("busybox"));
  EXPECT_THAT(Kubectl("replace -f -", changed), HasSubstr("field is immutable"));
  EXPECT_EQ(
      Kubectl("patch job j --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/parallelism\","
              "\"value\":3}]'"),
      "job.batch/j patched\n");
}

TEST_F(KubectlTest, ServerSideApplyReportsAndForcesConflicts) {
  EXPECT_EQ(Kubectl("apply --server-side -f -", kJobManifest), "job.batch/j serverside-applied\n");
  std::string other = kJobManifest;
  other.replace(other.find("suspend: true"), 13, "suspend: false");
  const std::string conflict = Kubectl("apply --server-side --field-manager=other -f -", other);
  EXPECT_THAT(conflict, HasSubstr("Apply failed with 1 conflict: conflict with \"kubectl\": "
                                  ".spec.suspend"));
  EXPECT_EQ(Kubectl("apply --server-side --field-manager=other --force-conflicts -f -", other),
            "job.batch/j serverside-applied\n");
  // Fields of client-side apply are taken over, also where the text of a value differs.
  std::string moved = kJobManifest;
  moved.replace(moved.find("name: j"), 7, "name: k");
  moved.replace(moved.find("image: busybox"), 14,
                "image: busybox, resources: {requests: {cpu: 1}}");
  moved.replace(moved.find("    spec:"), 0, "    metadata: {labels: {app: x}}\n");
  EXPECT_EQ(Kubectl("apply -f -", moved), "job.batch/k created\n");
  EXPECT_EQ(Kubectl("apply --server-side -f -", moved), "job.batch/k serverside-applied\n");
}

TEST_F(KubectlTest, WrongManifestsAreRefusedWithTheReason) {
  std::string typo = kJobManifest;
  typo.replace(typo.find("suspend"), 7, "suspendd");
  EXPECT_THAT(Kubectl("create -f -", typo), HasSubstr("unknown field \"spec.suspendd\""));
  EXPECT_THAT(Kubectl("create -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_B}\n"),
              HasSubstr("a lowercase RFC 1123 subdomain must consist of"));
  EXPECT_THAT(Kubectl("create -f -", "apiVersion: x/v1\nkind: Nope\nmetadata: {name: a}\n"),
              HasSubstr("no matches for kind \"Nope\" in version \"x/v1\""));
}

TEST_F(KubectlTest, CustomKindIsAppliedShownExplainedAndDeleted) {
  EXPECT_EQ(
      Kubectl("apply --server-side -f -", WidgetCrd().dump()),
      "customresourcedefinition.apiextensions.k8s.io/widgets.example.com serverside-applied\n");
  EXPECT_THAT(Kubectl("wait --for=condition=Established crd/widgets.example.com --timeout=5s"),
              HasSubstr("condition met"));
  EXPECT_EQ(Kubectl("apply -f -", WidgetJson("w", 7).dump()), "widget.example.com/w created\n");
  EXPECT_THAT(Kubectl("get wd"), HasSubstr("w      7"));
  EXPECT_THAT(Kubectl("explain widget.spec"), HasSubstr("color"));
  EXPECT_THAT(Kubectl("delete crd widgets.example.com"), HasSubstr("deleted"));
  EXPECT_THAT(Kubectl("get wd"), Not(HasSubstr("w      7")));
}

}  // namespace
}  // namespace berth::local
