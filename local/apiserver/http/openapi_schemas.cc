#include "local/apiserver/http/openapi_schemas.h"

#include <functional>

#include <zlib.h>

#include "base/assert.h"
#include "base/strings.h"

namespace berth::local {

// The definitions are in openapi_definitions.cc.in, which the build fills in.
extern const unsigned char kOpenApiDefinitions[];
extern const std::size_t kOpenApiDefinitionsBytes;
extern const std::size_t kOpenApiDefinitionsTextBytes;

namespace {

constexpr int kGzipStream = MAX_WBITS + 16;
constexpr std::string_view kReference = "#/components/schemas/";
constexpr std::string_view kKinds = "\"x-kubernetes-group-version-kind\":[{";

std::string Inflated() {
  std::string text(kOpenApiDefinitionsTextBytes, '\0');
  z_stream stream{};
  BERTH_ASSERT(inflateInit2(&stream, kGzipStream) == Z_OK);
  stream.next_in = kOpenApiDefinitions;
  stream.avail_in = static_cast<uInt>(kOpenApiDefinitionsBytes);
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int outcome = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  BERTH_ASSERT(outcome == Z_STREAM_END && stream.avail_out == 0);
  return text;
}

// The text behind `"NAME":"` in `object`, up to the quote.
std::string_view Value(std::string_view object, std::string_view name) {
  const std::string start = "\"" + std::string(name) + "\":\"";
  const std::size_t at = object.find(start);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = object.substr(at + start.size());
  return rest.substr(0, rest.find('"'));
}

}  // namespace

BuiltinSchemas::BuiltinSchemas() : text_(Inflated()) {
  for (const std::string_view line : Split(text_, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, blank);
    const std::string_view schema = line.substr(blank + 1);
    text_by_name_[name] = schema;
    const std::size_t kinds = schema.rfind(kKinds);
    if (kinds == std::string_view::npos) continue;
    const std::string_view list = schema.substr(kinds);
    const std::string_view kind = list.substr(0, list.find('}'));
    name_by_kind_[std::string(Value(kind, "group")) + "/" + std::string(Value(kind, "version")) +
                  "/" + std::string(Value(kind, "kind"))] = name;
  }
}

std::string_view BuiltinSchemas::NameOf(const ResourceInfo& resource) const {
  if (resource.crd_version != nullptr) return {};
  const auto found =
      name_by_kind_.find(resource.id.group + "/" + resource.id.version + "/" + resource.kind);
  return found == name_by_kind_.end() ? std::string_view() : found->second;
}

void BuiltinSchemas::AddReachable(std::string_view name, std::set<std::string_view>& names) const {
  std::vector<std::string_view> queue{name};
  while (!queue.empty()) {
    const auto found = text_by_name_.find(queue.back());
    queue.pop_back();
    if (found == text_by_name_.end() || !names.insert(found->first).second) continue;
    std::string_view rest = found->second;
    for (std::size_t at = rest.find(kReference); at != std::string_view::npos;
         at = rest.find(kReference)) {
      rest.remove_prefix(at + kReference.size());
      queue.push_back(rest.substr(0, rest.find('"')));
    }
  }
}

std::string_view BuiltinSchemas::TextOf(std::string_view name) const {
  const auto found = text_by_name_.find(name);
  return found == text_by_name_.end() ? std::string_view() : found->second;
}

std::size_t BuiltinSchemas::Fingerprint() {
  const std::string_view bytes(reinterpret_cast<const char*>(kOpenApiDefinitions),
                               kOpenApiDefinitionsBytes);
  return std::hash<std::string_view>()(bytes);
}

}  // namespace berth::local
