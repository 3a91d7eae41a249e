// Goal: only its owner can read a data directory, and one planted by another user is refused.
// Method: folders as they may be found, in a folder of the test's own.
#include "program/data_directory.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/listen_address.h"

namespace berth::program {
namespace {

namespace fs = std::filesystem;

class DataDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-data-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    data_ = base_ + "/data";
  }
  void TearDown() override { fs::remove_all(base_); }

  void Write(const std::string& path) {
    std::ofstream(path) << "x";
    fs::permissions(path, fs::perms(0644));
  }
  // The first bytes of a database of SQLite that the program with this number made.
  static std::string WriteBackup(const std::string& path, const std::string& program) {
    std::string head = "SQLite format 3";
    head.resize(68, '\0');
    head += program;
    head.resize(200, '\0');
    std::ofstream(path, std::ios::binary) << head;
    return path;
  }
  static unsigned ModeOf(const std::string& path) {
    struct stat info {};
    return lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0U;
  }
  std::string RefusalOf() {
    const Status prepared = PrepareDataDirectory(data_, false);
    return prepared ? "" : prepared.error().message;
  }

  std::string base_;
  std::string data_;
};

TEST_F(DataDirectoryTest, IsMadeReadableByItsOwnerAlone) {
  data_ = base_ + "/deep/er/data";
  EXPECT_EQ(RefusalOf(), "");
  EXPECT_EQ(ModeOf(data_), 0700U);
}

TEST_F(DataDirectoryTest, ABackupIsRestoredOnce) {
  const std::string backup = WriteBackup(base_ + "/monday.db", "BRTH");
  ASSERT_EQ(RefusalOf(), "");
  std::ofstream(data_ + "/state.db-shm") << "of an earlier file";
  ASSERT_TRUE(RestoreState(data_, backup));
  EXPECT_EQ(ModeOf(data_ + "/state.db"), 0600U);
  EXPECT_EQ(fs::file_size(data_ + "/state.db"), fs::file_size(backup));
  for (const char* left : {".part", "-wal", "-shm"}) {
    EXPECT_FALSE(fs::exists(data_ + "/state.db" + left)) << left;
  }
  const Status again = RestoreState(data_, backup);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
  EXPECT_NE(again.error().message.find("or say --reset"), std::string::npos);
  fs::remove(data_ + "/state.db");
  Write(data_ + "/state.db-wal");
  EXPECT_EQ(RestoreState(data_, backup).error().code, ErrorCode::kAlreadyExists) << "a log alone";
  ASSERT_TRUE(PrepareDataDirectory(data_, true));
  EXPECT_TRUE(RestoreState(data_, backup));
}

TEST_F(DataDirectoryTest, FilesThatAreNoBackupAreRefused) {
  ASSERT_EQ(RefusalOf(), "");
  Write(base_ + "/short");
  EXPECT_EQ(CheckBackup(data_, base_ + "/short").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(CheckBackup(data_, base_ + "/none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(CheckBackup(data_, base_).error().code, ErrorCode::kInvalid) << "a folder";
  const std::string ledger = WriteBackup(base_ + "/ledger.db", "BRTL");
  EXPECT_EQ(CheckBackup(data_, ledger).error().code, ErrorCode::kInvalid) << "another database";
  const std::string inside = WriteBackup(data_ + "/old.db", "BRTH");
  EXPECT_EQ(CheckBackup(data_, inside).error().code, ErrorCode::kInvalid)
      << "--reset could remove the file";
  EXPECT_EQ(RestoreState(data_, ledger).error().code, ErrorCode::kInvalid);
  EXPECT_FALSE(fs::exists(data_ + "/state.db"));
}

TEST_F(DataDirectoryTest, AnExistingDirectoryIsMadePrivate) {
  fs::create_directories(data_ + "/pki");
  fs::create_directories(data_ + "/pods");
  const std::string names[] = {"/state.db", "/state.db-wal", "/kubeconfig", "/pki/ca.key",
                               "/pki/token"};
  for (const std::string& name : names) Write(data_ + name);
  for (const char* folder : {"", "/pki", "/pods"}) {
    fs::permissions(data_ + folder, fs::perms(0755));
  }
  EXPECT_EQ(RefusalOf(), "");
  for (const char* folder : {"", "/pki", "/pods"}) EXPECT_EQ(ModeOf(data_ + folder), 0700U);
  for (const std::string& name : names) EXPECT_EQ(ModeOf(data_ + name), 0600U) << name;
}

TEST_F(DataDirectoryTest, KeysWithoutStateAreDetected) {
  EXPECT_FALSE(HasKeysAlone(data_)) << "nothing is there";
  ASSERT_TRUE(PrepareDataDirectory(data_, false));
  fs::create_directory(data_ + "/pki");
  Write(data_ + "/pki/ca.key");
  EXPECT_TRUE(HasKeysAlone(data_));
  std::ofstream(data_ + "/state.db") << "";
  EXPECT_TRUE(HasKeysAlone(data_)) << "an empty file";
  Write(data_ + "/state.db-wal");
  EXPECT_FALSE(HasKeysAlone(data_)) << "all changes are in the log";
  fs::remove(data_ + "/state.db-wal");
  Write(data_ + "/state.db");
  EXPECT_FALSE(HasKeysAlone(data_));
}

TEST_F(DataDirectoryTest, LinksAreRefused) {
  fs::create_directory(base_ + "/elsewhere");
  fs::create_symlink(base_ + "/elsewhere", data_);
  EXPECT_NE(RefusalOf().find(data_ + " is a symbolic link"), std::string::npos) << RefusalOf();
  fs::remove(data_);
  fs::create_directories(data_ + "/pki");
  fs::permissions(data_, fs::perms(0700));
  Write(base_ + "/mine");
  fs::create_symlink(base_ + "/mine", data_ + "/pki/token");
  EXPECT_NE(RefusalOf().find("/pki/token is a symbolic link"), std::string::npos) << RefusalOf();
  EXPECT_EQ(ModeOf(base_ + "/mine"), 0644U);
}

TEST_F(DataDirectoryTest, FoldersWithOtherFilesAreRefusedUnchanged) {
  fs::create_directory(data_);
  fs::permissions(data_, fs::perms(0755));
  Write(data_ + "/thesis.tex");
  EXPECT_NE(RefusalOf().find("holds other files"), std::string::npos) << RefusalOf();
  EXPECT_EQ(ModeOf(data_), 0755U);
  EXPECT_EQ(ModeOf(data_ + "/thesis.tex"), 0644U);
}

// Only root can give a folder away; other users test with a folder of root.
TEST_F(DataDirectoryTest, FoldersOfOtherUsersAreRefused) {
  if (geteuid() == 0) {
    fs::create_directory(data_);
    ASSERT_EQ(chown(data_.c_str(), 12345, 12345), 0);
  } else {
    data_ = "/usr";
  }
  EXPECT_NE(RefusalOf().find(" belongs to user "), std::string::npos) << RefusalOf();
}

TEST(ListenAddress, DistinguishesLoopbackFromOtherAddresses) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "localhost"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host :
       {"0.0.0.0", "::", "10.0.0.1", "192.168.127.1", "::ffff:10.0.0.1", "host"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace berth::program
