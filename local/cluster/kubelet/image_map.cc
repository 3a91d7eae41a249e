#include "local/cluster/kubelet/image_map.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/strings.h"

namespace berth::local::cluster {
namespace {

std::string Normalized(std::string_view image) {
  for (const std::string_view prefix : {"docker.io/", "library/"}) {
    if (image.substr(0, prefix.size()) == prefix) image.remove_prefix(prefix.size());
  }
  return std::string(image);
}

// Removes ":tag" and "@digest"; a colon before the last slash belongs to a port.
std::string WithoutTag(const std::string& image) {
  std::string name = image.substr(0, image.find('@'));
  const std::size_t colon = name.rfind(':');
  const std::size_t slash = name.rfind('/');
  if (colon == std::string::npos || (slash != std::string::npos && colon < slash)) return name;
  return name.substr(0, colon);
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

ImageMap::ImageMap() {
  programs_["gcr.io/k8s-staging-perf-tests/sleep"] = {
      "/bin/sleep", LocalProgram::Arguments::kDurationInSeconds, nullptr};
}

Status ImageMap::Add(const std::string& image, const std::string& path) {
  const std::string name = Normalized(image);
  if (name.empty()) return Error{ErrorCode::kInvalid, "image: the name is empty"};
  if (path.empty() || path[0] != '/') {
    return Error{ErrorCode::kInvalid,
                 fmt::format("image {}: \"{}\" is not an absolute path", image, path)};
  }
  programs_[name] = LocalProgram{path, LocalProgram::Arguments::kAsGiven, nullptr};
  return OkStatus();
}

Status ImageMap::AddImage(const std::string& image, images::ImageRoot root) {
  const std::string name = Normalized(image);
  if (name.empty()) return Error{ErrorCode::kInvalid, "image: the name is empty"};
  programs_[name] = LocalProgram{"", LocalProgram::Arguments::kAsGiven,
                                 std::make_shared<const images::ImageRoot>(std::move(root))};
  return OkStatus();
}

std::optional<LocalProgram> ImageMap::Find(const std::string& image) const {
  const std::string name = Normalized(image);
  for (const std::string& key : {name, WithoutTag(name)}) {
    const auto found = programs_.find(key);
    if (found != programs_.end()) return found->second;
  }
  return std::nullopt;
}

std::vector<std::string> MakeCommandLine(const LocalProgram& program,
                                         const std::vector<std::string>& command,
                                         const std::vector<std::string>& args) {
  std::vector<std::string> line = command;
  if (program.image != nullptr) {
    const std::vector<std::string>* rest = &args;
    if (command.empty()) {
      line = program.image->entrypoint;
      if (args.empty()) rest = &program.image->command;
    }
    line.insert(line.end(), rest->begin(), rest->end());
    return line;
  }
  if (line.empty()) {
    line.push_back(program.path);
  } else if (FileName(line[0]) == FileName(program.path)) {
    line[0] = program.path;
  }
  for (const std::string& arg : args) {
    const auto seconds = program.arguments == LocalProgram::Arguments::kDurationInSeconds
                             ? ParseGoDuration(arg)
                             : std::nullopt;
    line.push_back(seconds ? fmt::format("{:.9g}", *seconds) : arg);
  }
  return line;
}

std::optional<double> ParseGoDuration(std::string_view text) {
  static const std::vector<std::pair<std::string_view, double>> kUnits = {
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  while (!text.empty()) {
    const std::size_t number = text.find_first_not_of("0123456789.");
    if (number == 0 || number == std::string_view::npos) return std::nullopt;
    std::size_t unit = text.find_first_of("0123456789.", number);
    if (unit == std::string_view::npos) unit = text.size();
    const std::string_view name = text.substr(number, unit - number);
    const auto known = std::find_if(kUnits.begin(), kUnits.end(),
                                    [&](const auto& one) { return one.first == name; });
    if (known == kUnits.end()) return std::nullopt;
    const std::string digits(text.substr(0, number));
    seconds += std::strtod(digits.c_str(), nullptr) * known->second;
    text.remove_prefix(unit);
  }
  return seconds;
}

}  // namespace berth::local::cluster
