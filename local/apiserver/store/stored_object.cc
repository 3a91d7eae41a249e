#include "local/apiserver/store/stored_object.h"

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"

namespace berth::local {
namespace {

constexpr std::size_t kGuessedSize = 2048;

// Every write is bounded to kMaxDepth levels; managedFields and members that a server adds come on
// top.
constexpr std::size_t kMaxStoredDepth = 1024;

void AppendMember(std::string& out, const std::string& key, const Json& value) {
  if (out.empty() || out.back() != '{') out.push_back(',');
  api::AppendJsonText(out, key);
  out.push_back(':');
  api::AppendJson(out, value);
}

std::string StringMember(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

void AppendHead(std::string& out, std::string_view kind, std::string_view api_version) {
  out += R"({"kind":")";
  out += kind;
  out += R"(","apiVersion":")";
  out += api_version;
  out.push_back('"');
}

// The text behind `{"metadata":{"resourceVersion":"…"`.
std::string TextAfterRevision(const Json& object) {
  std::string text;
  text.reserve(kGuessedSize);
  const Json& metadata = object.at("metadata");
  for (const auto& [key, value] : metadata.items()) {
    if (key != "resourceVersion") AppendMember(text, key, value);
  }
  text.push_back('}');
  for (const auto& [key, value] : object.items()) {
    if (key == "metadata" || key == "apiVersion" || key == "kind") continue;
    AppendMember(text, key, value);
  }
  text.push_back('}');
  return text;
}

// The text of a body up to the end of its metadata: `{"metadata":{…}`; empty: not found.
std::string_view MetadataOf(std::string_view body) {
  constexpr std::string_view kBegin = R"({"metadata":{)";
  if (!body.starts_with(kBegin)) return {};
  int depth = 1;
  bool in_string = false;
  for (std::size_t i = kBegin.size(); i < body.size(); ++i) {
    const char c = body[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return body.substr(0, i + 1);
    }
  }
  return {};
}

std::string BodyOf(std::int64_t revision, const std::string& text_after_revision) {
  constexpr std::string_view kBegin = R"({"metadata":{"resourceVersion":")";
  const std::string number = std::to_string(revision);
  std::string body;
  // Exactly: a text that grows takes twice its size, for the life of the object.
  body.reserve(kBegin.size() + number.size() + 1 + text_after_revision.size());
  body += kBegin;
  body += number;
  body.push_back('"');
  body += text_after_revision;
  return body;
}

}  // namespace

StoredObject::Draft StoredObject::MakeDraft(Json object, Text text) {
  Draft draft;
  static_cast<void>(object["metadata"]);  // makes metadata if absent
  if (text == Text::kNow) draft.text_after_revision = TextAfterRevision(object);
  draft.object = std::move(object);
  return draft;
}

StoredObject::StoredObject(ObjectKey key, std::int64_t revision, Draft draft)
    : key_(std::move(key)), revision_(revision), size_(kGuessedSize) {
  if (!draft.text_after_revision.empty()) {
    body_ = BodyOf(revision, draft.text_after_revision);
    size_ = body_.size();
  }
  draft.object["metadata"]["resourceVersion"] = std::to_string(revision);
  api_version_ = StringMember(draft.object, "apiVersion");
  kind_ = StringMember(draft.object, "kind");
  parsed_ = std::make_shared<const Json>(std::move(draft.object));
}

StoredObject::StoredObject(ObjectKey key, std::int64_t revision, std::string api_version,
                           std::string kind, std::string body)
    : key_(std::move(key)),
      revision_(revision),
      api_version_(std::move(api_version)),
      kind_(std::move(kind)),
      size_(body.size()),
      body_(std::move(body)) {}

const std::string& StoredObject::body() const {
  const std::lock_guard lock(mutex_);
  if (body_.empty() && parsed_ != nullptr) body_ = BodyOf(revision_, TextAfterRevision(*parsed_));
  return body_;
}

// Null if the text is no JSON object.
Object StoredObject::Parse(std::string_view text) const {
  Result<Json> parsed = api::ParseJson(text, {.max_depth = kMaxStoredDepth});
  if (!parsed || !parsed->is_object()) return nullptr;
  (*parsed)["apiVersion"] = api_version_;
  (*parsed)["kind"] = kind_;
  return std::make_shared<const Json>(*std::move(parsed));
}

Object StoredObject::json() const {
  const std::lock_guard lock(mutex_);
  if (parsed_ == nullptr) parsed_ = Parse(body_);
  return parsed_;
}

Object StoredObject::ReadOnce(Part part) const {
  const std::lock_guard lock(mutex_);
  if (parsed_ != nullptr) return parsed_;
  if (part == Part::kWhole) return Parse(body_);
  const std::string_view metadata = MetadataOf(body_);
  return metadata.empty() ? Parse(body_) : Parse(std::string(metadata) + "}");
}

void StoredObject::DropParsed() const {
  const std::lock_guard lock(mutex_);
  if (!body_.empty()) parsed_.reset();
}

void StoredObject::AppendTyped(std::string& out) const {
  AppendHead(out, kind_, api_version_);
  out.push_back(',');
  out.append(body(), 1);
}

std::string StoredObject::Typed() const {
  std::string out;
  out.reserve(size_ + kind_.size() + api_version_.size() + 32);
  AppendTyped(out);
  return out;
}

std::string EncodeObject(const Json& object) {
  std::string out;
  if (!object.is_object()) {
    api::AppendJson(out, object);
    return out;
  }
  out.push_back('{');
  constexpr const char* kFirst[] = {"kind", "apiVersion", "metadata"};
  for (const char* key : kFirst) {
    if (const auto it = object.find(key); it != object.end()) AppendMember(out, key, *it);
  }
  for (const auto& [key, value] : object.items()) {
    if (key == "metadata" || key == "apiVersion" || key == "kind") continue;
    AppendMember(out, key, value);
  }
  out.push_back('}');
  return out;
}

}  // namespace berth::local
