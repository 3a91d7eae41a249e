// Targets of image folders: their documents, and the archives of their layers.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "local/images/image_documents.h"
#include "local/images/layer.h"
#include "local/images/root_folder.h"
#include "tests/fuzz/targets.h"

namespace berth::fuzz {
namespace {

namespace fs = std::filesystem;
using local::images::LayerCompression;

constexpr std::int64_t kMostBytes = 1024 * 1024;
constexpr std::int64_t kMostEntries = 100;

// A folder for the layer beside a file that no layer may change.
struct Scratch {
  Scratch() {
    std::string pattern = fs::temp_directory_path() / "berth-fuzz-layer-XXXXXX";
    Require(mkdtemp(pattern.data()) != nullptr, "a folder for temporary files");
    folder = pattern;
    fs::create_directories(folder + "/root/etc");
    fs::create_directory_symlink("../outside", folder + "/root/link");
    fs::create_directory(folder + "/outside");
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code error;
    fs::remove_all(folder, error);
  }
  std::string folder;
};

}  // namespace

void ImageDocuments(std::string_view text) {
  if (const auto index = local::images::ReadIndex(text, "amd64")) {
    Require(index->blob.digest.size() == 64, "a digest has 64 digits");
  }
  if (const auto manifest = local::images::ReadManifest(text)) {
    Require(manifest->layers.size() <= local::images::kMostLayers, "layers are bounded");
  }
  for (const auto& program :
       {local::images::ReadImageConfig(text), local::images::ReadRuntimeConfig(text)}) {
    if (!program) continue;
    for (const std::string& variable : program->environment) {
      Require(variable.find('=') != std::string::npos, "a variable has a name");
    }
  }
  if (const auto parts = local::images::PathParts(text)) {
    for (const std::string& part : *parts) {
      Require(part != ".." && part.find('/') == std::string::npos, "a part leads downwards");
    }
  }
}

// The first character chooses the compression.
void ImageLayers(std::string_view text) {
  if (text.empty()) return;
  const auto compression = static_cast<LayerCompression>(static_cast<unsigned char>(text[0]) % 3);
  text.remove_prefix(1);
  const int file = memfd_create("layer", MFD_CLOEXEC);
  Require(file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
          "a file in memory");
  const Scratch scratch;
  {
    const auto root = local::images::RootFolder::Open(scratch.folder + "/root");
    Require(root.has_value(), "the root opens");
    local::images::ImageBudget budget{kMostBytes, kMostEntries};
    const Status applied = local::images::ApplyLayer("/proc/self/fd/" + std::to_string(file),
                                                     compression, *root, budget);
    if (applied) Require(budget.bytes >= 0 && budget.entries >= 0, "a layer keeps to its budget");
  }
  close(file);
  Require(fs::is_empty(scratch.folder + "/outside"), "a layer stays below its root");
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(scratch.folder)) count += entry.exists() ? 1 : 0;
  Require(count == 2, "a layer makes nothing beside its root");
}

}  // namespace berth::fuzz
