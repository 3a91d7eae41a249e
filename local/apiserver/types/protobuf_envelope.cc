// The wire format and the envelope: magic number, then {typeMeta, raw, encoding, type}.
#include <string>

#include "base/strings.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/types/protobuf.h"
#include "local/apiserver/types/protobuf_internal.h"
#include "local/apiserver/types/wire.h"

namespace berth::local {
namespace {

constexpr std::string_view kMagic{"k8s\0", 4};

struct Envelope {
  std::string_view type_meta;
  std::string_view raw;
  std::string_view content_encoding;
};

bool ReadEnvelope(std::string_view message, Envelope& out) {
  WireReader reader(message);
  WireField field;
  while (true) {
    const WireReader::Outcome outcome = reader.Next(field);
    if (outcome == WireReader::Outcome::kEnd) return true;
    if (outcome == WireReader::Outcome::kBroken) return false;
    if (field.type != WireType::kBytes) continue;
    if (field.number == 1) out.type_meta = field.bytes;
    if (field.number == 2) out.raw = field.bytes;
    if (field.number == 3) out.content_encoding = field.bytes;
  }
}

struct TypeMeta {
  std::string api_version;
  std::string kind;
};

TypeMeta ReadTypeMeta(std::string_view message) {
  TypeMeta out;
  WireReader reader(message);
  WireField field;
  while (reader.Next(field) == WireReader::Outcome::kField) {
    if (field.number == 1) out.api_version = ReplaceInvalidUtf8(field.bytes);
    if (field.number == 2) out.kind = ReplaceInvalidUtf8(field.bytes);
  }
  return out;
}

}  // namespace

bool WireReader::TakeVarint(std::string_view& text, std::uint64_t& value) {
  value = 0;
  for (unsigned i = 0; i < 10 && i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * i);
    if (byte < 0x80) {
      text.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

bool WireReader::TakeFixed(std::size_t size, std::uint64_t& value) {
  if (rest_.size() < size) return false;
  value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(size);
  return true;
}

WireReader::Outcome WireReader::Next(WireField& field) {
  if (rest_.empty()) return Outcome::kEnd;
  std::uint64_t key = 0;
  if (!TakeVarint(rest_, key)) return Outcome::kBroken;
  field = WireField{};
  field.number = static_cast<std::uint32_t>(key >> 3U);
  if (key >> 3U > 0x1fffffffU || field.number == 0) return Outcome::kBroken;
  bool read = false;
  switch (key & 7U) {
    case 0:
      field.type = WireType::kVarint;
      read = TakeVarint(rest_, field.number_value);
      break;
    case 1:
      field.type = WireType::kFixed64;
      read = TakeFixed(8, field.number_value);
      break;
    case 5:
      field.type = WireType::kFixed32;
      read = TakeFixed(4, field.number_value);
      break;
    case 2: {
      field.type = WireType::kBytes;
      std::uint64_t length = 0;
      read = TakeVarint(rest_, length) && length <= rest_.size();
      if (!read) break;
      field.bytes = rest_.substr(0, static_cast<std::size_t>(length));
      rest_.remove_prefix(static_cast<std::size_t>(length));
      break;
    }
    default: break;  // Kubernetes does not use groups
  }
  return read ? Outcome::kField : Outcome::kBroken;
}

bool IsProtobufBody(std::string_view body) { return body.substr(0, kMagic.size()) == kMagic; }

ApiResult<Json> DecodeProtobuf(const TypeTable& types, std::string_view body,
                               std::string_view default_group_version,
                               std::string_view default_kind) {
  if (!IsProtobufBody(body)) {
    return BadRequest(
        "provided data does not appear to be a protobuf message, expected prefix "
        "[107 56 115 0]");
  }
  Envelope envelope;
  if (!ReadEnvelope(body.substr(kMagic.size()), envelope)) {
    return BadRequest("couldn't decode the protobuf body: broken envelope");
  }
  if (!envelope.content_encoding.empty()) {
    return BadRequest("couldn't decode the protobuf body: content encoding " +
                      GoQuote(envelope.content_encoding) + " is not supported");
  }
  TypeMeta meta = ReadTypeMeta(envelope.type_meta);
  if (meta.api_version.empty()) meta.api_version = default_group_version;
  if (meta.kind.empty()) meta.kind = default_kind;
  const std::size_t slash = meta.api_version.find('/');
  const bool core = slash == std::string::npos;
  const TypeNode* type =
      types.Find(core ? "" : meta.api_version.substr(0, slash),
                 core ? meta.api_version : meta.api_version.substr(slash + 1), meta.kind);
  if (type == nullptr) {
    return BadRequest("no kind " + GoQuote(meta.kind) + " is registered for version " +
                      GoQuote(meta.api_version));
  }
  ApiResult<Json> value = DecodeMessage(*type, envelope.raw);
  if (!value) return value.error();
  (*value)["apiVersion"] = meta.api_version;
  (*value)["kind"] = meta.kind;
  return value;
}

}  // namespace berth::local
