#include "local/images/image_documents.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "base/strings.h"
#include "local/images/image_errors.h"

namespace berth::local::images {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kMostTexts = 10'000;
constexpr std::string_view kDigestKind = "sha256:";

Result<Json> ReadObject(std::string_view text, std::string_view document) {
  if (text.size() > static_cast<std::size_t>(kMostDocumentBytes)) {
    return RefuseImage(fmt::format("{}: longer than {} bytes", document, kMostDocumentBytes));
  }
  auto json = api::ParseJson(text, {.max_depth = 64, .max_values = 200'000});
  if (!json) return RefuseImage(fmt::format("{}: {}", document, json.error().message));
  if (!json->is_object()) return RefuseImage(fmt::format("{}: write an object", document));
  return *std::move(json);
}

// Null: the field is absent or null.
const Json* Field(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto field = object.find(name);
  return field == object.end() || field->is_null() ? nullptr : &*field;
}

Result<std::string> Text(const Json& object, const char* name) {
  const Json* field = Field(object, name);
  if (field == nullptr) return std::string();
  if (!field->is_string()) return RefuseImage(fmt::format("{}: write a text", name));
  std::string text = field->get<std::string>();
  if (text.find('\0') != std::string::npos)
    return RefuseImage(fmt::format("{}: has a zero byte", name));
  return text;
}

Result<std::vector<std::string>> Texts(const Json& object, const char* name) {
  std::vector<std::string> texts;
  const Json* field = Field(object, name);
  if (field == nullptr) return texts;
  if (!field->is_array() || field->size() > kMostTexts) {
    return RefuseImage(fmt::format("{}: write a list of at most {} texts", name, kMostTexts));
  }
  for (const Json& one : *field) {
    const bool is_text =
        one.is_string() && one.get_ref<const std::string&>().find('\0') == std::string::npos;
    if (!is_text)
      return RefuseImage(fmt::format("{}: write a list of texts without zero bytes", name));
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

Result<BlobReference> Blob(const Json& descriptor, const char* what) {
  BERTH_TRY(const std::string digest, Text(descriptor, "digest"));
  const std::string_view digits = std::string_view(digest).substr(
      digest.starts_with(kDigestKind) ? kDigestKind.size() : digest.size());
  const bool is_digest = digits.size() == kDigestDigits &&
                         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!is_digest)
    return RefuseImage(fmt::format("{}.digest \"{}\": write sha256:DIGITS", what, digest));
  const Json* size = Field(descriptor, "size");
  if (size == nullptr || !size->is_number_integer() || *size < 0) {
    return RefuseImage(fmt::format("{}.size: write the bytes of the blob", what));
  }
  return BlobReference{std::string(digits), size->get<std::int64_t>()};
}

Result<LayerCompression> CompressionOf(const std::string& media_type) {
  if (media_type.ends_with(".tar") || media_type.ends_with("diff.tar")) {
    return LayerCompression::kNone;
  }
  if (media_type.ends_with("tar+gzip") || media_type.ends_with("tar.gzip")) {
    return LayerCompression::kGzip;
  }
  if (media_type.ends_with("tar+zstd") || media_type.ends_with("tar.zstd")) {
    return LayerCompression::kZstd;
  }
  return RefuseImage(
      fmt::format("layers: the media type \"{}\" is not a tar archive, plain or packed "
                  "with gzip or zstd",
                  media_type));
}

bool IsPlatform(const Json& descriptor, std::string_view architecture) {
  const Json* platform = Field(descriptor, "platform");
  if (platform == nullptr) return true;
  return platform->value("os", Json("linux")) == "linux" &&
         platform->value("architecture", Json(architecture)) == architecture;
}

Result<ImageProgram> Checked(ImageProgram program) {
  for (const std::string& variable : program.environment) {
    if (variable.find('=') == std::string::npos || variable.front() == '=') {
      return RefuseImage(fmt::format("Env \"{}\": write NAME=value", variable));
    }
  }
  if (!program.working_folder.empty() && program.working_folder.front() != '/') {
    return RefuseImage(
        fmt::format("WorkingDir \"{}\": write an absolute path", program.working_folder));
  }
  return program;
}

}  // namespace

Result<ManifestReference> ReadIndex(std::string_view text, std::string_view architecture) {
  BERTH_TRY(const Json index, ReadObject(text, "index"));
  const Json* manifests = Field(index, "manifests");
  if (manifests == nullptr || !manifests->is_array() || manifests->empty()) {
    return RefuseImage("index: manifests: write the manifest of the image");
  }
  const Json* chosen = nullptr;
  for (const Json& descriptor : *manifests) {
    if (!descriptor.is_object()) return RefuseImage("index: manifests: write objects");
    if (chosen == nullptr && IsPlatform(descriptor, architecture)) chosen = &descriptor;
  }
  if (chosen == nullptr) {
    return RefuseImage(
        fmt::format("index: no image for linux/{} among {}", architecture, manifests->size()));
  }
  ManifestReference reference;
  BERTH_TRY(reference.blob, Blob(*chosen, "index: manifests"));
  BERTH_TRY(const std::string type, Text(*chosen, "mediaType"));
  reference.is_index =
      type.find("index") != std::string::npos || type.find("manifest.list") != std::string::npos;
  return reference;
}

Result<ImageManifest> ReadManifest(std::string_view text) {
  BERTH_TRY(const Json document, ReadObject(text, "manifest"));
  ImageManifest manifest;
  const Json* config = Field(document, "config");
  if (config == nullptr) return RefuseImage("manifest: config: is not there");
  BERTH_TRY(manifest.config, Blob(*config, "manifest: config"));
  const Json* layers = Field(document, "layers");
  if (layers == nullptr || !layers->is_array() || layers->size() > kMostLayers) {
    return RefuseImage(
        fmt::format("manifest: layers: write a list of at most {} layers", kMostLayers));
  }
  for (const Json& layer : *layers) {
    LayerReference reference;
    BERTH_TRY(reference.blob, Blob(layer, "manifest: layers"));
    BERTH_TRY(const std::string type, Text(layer, "mediaType"));
    BERTH_TRY(reference.compression, CompressionOf(type));
    manifest.layers.push_back(std::move(reference));
  }
  return manifest;
}

Result<ImageProgram> ReadImageConfig(std::string_view text) {
  BERTH_TRY(const Json document, ReadObject(text, "config"));
  ImageProgram program;
  const Json* config = Field(document, "config");
  if (config == nullptr) return program;
  BERTH_TRY(program.entrypoint, Texts(*config, "Entrypoint"));
  BERTH_TRY(program.command, Texts(*config, "Cmd"));
  BERTH_TRY(program.environment, Texts(*config, "Env"));
  BERTH_TRY(program.working_folder, Text(*config, "WorkingDir"));
  BERTH_TRY(program.user, Text(*config, "User"));
  return Checked(std::move(program));
}

Result<ImageProgram> ReadRuntimeConfig(std::string_view text) {
  BERTH_TRY(const Json document, ReadObject(text, "config.json"));
  ImageProgram program;
  const Json* process = Field(document, "process");
  if (process == nullptr) return program;
  BERTH_TRY(program.command, Texts(*process, "args"));
  BERTH_TRY(program.environment, Texts(*process, "env"));
  BERTH_TRY(program.working_folder, Text(*process, "cwd"));
  if (const Json* user = Field(*process, "user")) {
    const auto number = [user](const char* name) -> std::int64_t {
      const Json* field = Field(*user, name);
      return field != nullptr && field->is_number_integer() ? field->get<std::int64_t>() : 0;
    };
    program.user = fmt::format("{}:{}", number("uid"), number("gid"));
  }
  return Checked(std::move(program));
}

}  // namespace berth::local::images
