// Goal: a certificate that another program maintains is served, and served anew when its files
// change; what cannot be served does not replace what is. Method: files in a folder of the test's
// own, virtual time.
#include "webhook/controller/certificate_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "scenarios/world/sim_executor.h"

namespace berth::webhook {
namespace {

using namespace std::chrono_literals;

std::string Pem(const std::string& text) {
  return "-----BEGIN X-----\n" + text + "\n-----END X-----\n";
}

class CertificateFilesTest : public ::testing::Test {
 protected:
  CertificateFilesTest() {
    std::string pattern = ::testing::TempDir() + "berth-certificate-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~CertificateFilesTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
  }
  void WritePair(const std::string& name) {
    Write("tls.crt", Pem(name));
    Write("tls.key", Pem("key of " + name));
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  std::string folder_;
};

TEST_F(CertificateFilesTest, ErrorNamesTheMissingFile) {
  const auto none = ReadCertificateFiles(folder_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, folder_ + "/tls.crt: cannot be read");
  Write("tls.crt", Pem("a"));
  Write("tls.key", "nothing");
  const auto no_key = ReadCertificateFiles(folder_);
  ASSERT_FALSE(no_key);
  EXPECT_EQ(no_key.error().message, folder_ + "/tls.key: is no PEM file");
}

TEST_F(CertificateFilesTest, ServesAChangedPair) {
  WritePair("a");
  const auto first = ReadCertificateFiles(folder_);
  ASSERT_TRUE(first);
  std::vector<std::string> served;
  CertificateFiles files(executor_, {.folder = folder_}, *first,
                         [&served](const net::TlsIdentity& identity) -> Status {
                           const bool fits =
                               identity.private_key_pem.find("bad") == std::string::npos;
                           served.push_back((fits ? "served " : "refused ") +
                                            identity.certificate_chain_pem.substr(18, 1));
                           if (fits) return OkStatus();
                           return Error{ErrorCode::kInvalid, "the key is another's"};
                         });
  executor_.RunFor(60s);
  EXPECT_TRUE(served.empty()) << "nothing has changed";
  WritePair("b");
  executor_.RunFor(11s);
  EXPECT_EQ(served, std::vector<std::string>{"served b"});
  Write("tls.key", Pem("bad"));
  executor_.RunFor(60s);
  std::filesystem::remove(folder_ + "/tls.crt");
  executor_.RunFor(60s);
  WritePair("c");
  executor_.RunFor(11s);
  EXPECT_EQ(served, (std::vector<std::string>{"served b", "refused b", "served c"}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2)
      << "nothing is written there";
}

}  // namespace
}  // namespace berth::webhook
