#include "api/codec/reader.h"

#include <charconv>
#include <limits>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/rfc3339.h"

namespace berth::api {

namespace {

using Kind = JsonNode::Kind;

// nlohmann::json's names.
const char* TypeName(Kind kind) {
  switch (kind) {
    case Kind::kNull: return "null";
    case Kind::kFalse:
    case Kind::kTrue: return "boolean";
    case Kind::kInteger:
    case Kind::kFloat: return "number";
    case Kind::kString: return "string";
    case Kind::kArray: return "array";
    case Kind::kObject: return "object";
  }
  return "";
}

template <typename T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A number as a tree would serialise it: 1e3 is 1000.0.
std::string CanonicalNumber(std::string_view text) {
  const Result<Reader::Json> number = ParseJson(text);
  return number && number->is_number() ? FormatJson(*number) : std::string(text);
}

// The content of a string; nullopt: the value has another type.
std::optional<std::string_view> ContentOf(const JsonNode* node, const Reader::Json* tree) {
  if (node != nullptr) {
    if (node->kind != Kind::kString) return std::nullopt;
    return node->text;
  }
  const auto* text = tree == nullptr ? nullptr : tree->get_ptr<const std::string*>();
  if (text == nullptr) return std::nullopt;
  return *text;
}

}  // namespace

Reader::Reader(const JsonSource& root, Failure& failure)
    : tree_(root.tree()), node_(root.node()), parts_(root.parts()), failure_(&failure) {
  if (!IsObject()) FailType("an object");
}

bool Reader::IsObject() const {
  return node_ != nullptr ? node_->kind == Kind::kObject : tree_->is_object();
}

bool Reader::IsString() const { return ContentOf(node_, tree_).has_value(); }

Reader Reader::Field(std::string_view key) const& {
  if (!present()) return {*this, key};
  if (!IsObject()) {
    FailType("an object");
    return {*this, key};
  }
  if (node_ != nullptr) {
    const JsonNode* member = node_->Find(key);
    return member == nullptr ? Reader(*this, key) : Reader(*this, key, 0, *member);
  }
  const auto found = tree_->find(key);
  return found == tree_->end() ? Reader(*this, key) : Reader(*this, key, 0, *found);
}

std::string Reader::Text() const {
  if (!present()) return {};
  if (node_ != nullptr && !IsString()) return std::string(node_->text);
  const Json value = node_ != nullptr ? Json(node_->text) : *tree_;
  return FormatJson(value);
}

std::optional<std::string_view> Reader::StringValue() const {
  if (!present()) return std::nullopt;
  const auto content = ContentOf(node_, tree_);
  if (!content) FailType("a string");
  return content;
}

void Reader::Get(std::string& out) const {
  // An assignment would reserve 30 bytes for a text of 16.
  if (const auto text = StringValue()) out = std::string(*text);
}

void Reader::Get(bool& out) const {
  if (!present()) return;
  if (node_ != nullptr) {
    if (node_->kind != Kind::kTrue && node_->kind != Kind::kFalse) {
      return FailType("true or false");
    }
    out = node_->kind == Kind::kTrue;
    return;
  }
  if (!tree_->is_boolean()) return FailType("true or false");
  out = tree_->get<bool>();
}

void Reader::Get(std::int64_t& out) const {
  if (!present()) return;
  if (node_ != nullptr) {
    if (node_->kind != Kind::kInteger) return FailType("an integer");
    if (const auto value = Number<std::int64_t>(node_->text)) {
      out = *value;
    } else if (Number<std::uint64_t>(node_->text)) {
      Fail("the integer is too large");
    } else {
      FailType("an integer");  // too large for an integer: a tree has a floating-point number
    }
    return;
  }
  if (!tree_->is_number_integer()) return FailType("an integer");
  if (tree_->is_number_unsigned() &&
      tree_->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return Fail("the integer is too large");
  }
  out = tree_->get<std::int64_t>();
}

void Reader::Get(std::int32_t& out) const {
  if (!present()) return;
  std::int64_t wide = 0;
  Get(wide);
  if (wide < std::numeric_limits<std::int32_t>::min() ||
      wide > std::numeric_limits<std::int32_t>::max()) {
    return Fail("the integer does not fit 32 bits");
  }
  if (!failure_->has_value()) out = static_cast<std::int32_t>(wide);
}

void Reader::Get(WallTime& out) const {
  const std::optional<std::string_view> text = StringValue();
  if (!text || text->empty()) return;
  const std::optional<WallTime> time = ParseTime(*text);
  if (!time) return Fail("\"" + std::string(*text) + "\" is not an RFC 3339 time");
  out = *time;
}

void Reader::Get(StringMap& out) const {
  EachMember("a map of strings",
             [&](const std::string& key, const Reader& value) { value.Get(out[key]); });
}

void Reader::Get(std::vector<std::string>& out) const {
  List(out, [](const Reader& item, std::string& text) { item.Get(text); });
}

void Reader::Get(Quantity& out) const {
  if (!present()) return;
  const bool number = node_ != nullptr
                          ? node_->kind == Kind::kInteger || node_->kind == Kind::kFloat
                          : tree_->is_number();
  if (!number && !IsString()) return FailType("a quantity such as 2 or 500m");
  std::string written;
  std::string_view text;
  if (!number) {
    text = *StringValue();
  } else {
    written = node_ != nullptr ? CanonicalNumber(node_->text) : FormatJson(*tree_);
    text = written;
  }
  const Result<Quantity> quantity = Quantity::Parse(text);
  if (!quantity) return Fail(quantity.error().message);
  out = *quantity;
}

void Reader::GetAmount(std::string_view resource, Amount& out) const {
  if (!present()) return;
  Quantity quantity;
  Get(quantity);
  if (!failure_->has_value()) out = ToAmount(resource, quantity);
}

void Reader::Get(ResourceAmounts& out) const {
  EachMember("a map of quantities", [&](const std::string& resource, const Reader& quantity) {
    quantity.GetAmount(resource, out[resource]);
  });
}

bool Reader::CheckList() const {
  if (!present()) return false;
  if (node_ != nullptr ? node_->kind == Kind::kArray : tree_->is_array()) return true;
  FailType("a list");
  return false;
}

void Reader::FailType(const char* expected) const {
  const char* got = node_ != nullptr ? TypeName(node_->kind) : tree_->type_name();
  Fail(std::string("expected ") + expected + ", got " + got);
}

void Reader::Fail(const std::string& message) const {
  if (failure_->has_value()) return;
  const std::string path = Path();
  *failure_ = Error{ErrorCode::kInvalid, path.empty() ? message : path + ": " + message};
}

std::string Reader::Path() const {
  if (parent_ == nullptr) return {};
  std::string path = parent_->Path();
  if (key_.data() == nullptr) return path + "[" + std::to_string(index_) + "]";
  if (!path.empty()) path += '.';
  return path.append(key_);
}

}  // namespace berth::api
