// The url library: absolute URLs and absolute paths, split as Go's net/url splits them.
#include <algorithm>
#include <optional>
#include <string>

#include "base/strings.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

constexpr std::string_view kUrlType = "kubernetes.URL";

struct UrlParts {
  std::string scheme;
  std::string host;  // includes the port
  std::string path;  // escaped
  std::string query;
};

bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::optional<unsigned> HexDigit(char c) {
  if (IsDigit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return std::nullopt;
}

// `text` with %XX read, and + as a blank if `plus`; none if an escape is broken.
std::optional<std::string> Unescape(std::string_view text, bool plus) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += plus && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const auto high = i + 2 < text.size() ? HexDigit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? HexDigit(text[i + 2]) : std::nullopt;
    if (!high || !low) return std::nullopt;
    result += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return result;
}

// Takes "scheme:" from `rest`. An error if the text begins with a colon.
std::string TakeScheme(std::string_view& rest, std::string& error) {
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (IsAlpha(c)) continue;
    const bool later = IsDigit(c) || c == '+' || c == '-' || c == '.';
    if (later && i > 0) continue;
    if (c != ':') return "";
    if (i == 0) {
      error = "missing protocol scheme";
      return "";
    }
    std::string scheme = ToLower(rest.substr(0, i));
    rest.remove_prefix(i + 1);
    return scheme;
  }
  return "";
}

bool IsPort(std::string_view text) {
  if (text.empty()) return true;
  return text[0] == ':' && std::all_of(text.begin() + 1, text.end(), IsDigit);
}

// The host of "user:password@host:port"; empty with `error` set if it is none.
std::string HostOf(std::string_view authority, std::string& error) {
  const std::size_t at = authority.rfind('@');
  const std::string_view host = at == std::string_view::npos ? authority : authority.substr(at + 1);
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.rfind(']');
    if (end == std::string_view::npos) {
      error = "missing ']' in host";
      return "";
    }
    port = host.substr(end + 1);
  } else if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
  }
  if (!IsPort(port)) {
    error = "invalid port \"" + std::string(port) + "\" after host";
    return "";
  }
  for (const char c : host) {
    const bool allowed =
        IsAlpha(c) || IsDigit(c) || static_cast<unsigned char>(c) >= 0x80U ||
        std::string_view("-_.~!$&'()*+,;=:[]<>\"%").find(c) != std::string_view::npos;
    if (allowed) continue;
    error = std::string("invalid character \"") + c + "\" in host name";
    return "";
  }
  const auto plain = Unescape(host, false);
  if (!plain) error = "invalid URL escape in host";
  return plain ? *plain : "";
}

// `path` with what may not stand in a URL escaped.
std::string EscapePath(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string result;
  for (const char c : path) {
    const bool allowed =
        IsAlpha(c) || IsDigit(c) ||
        std::string_view("-_.~!$&'()*+,;=:@/[]%").find(c) != std::string_view::npos;
    const auto byte = static_cast<unsigned char>(c);
    if (allowed) {
      result += c;
    } else {
      result += '%';
      result += kHex[byte >> 4U];
      result += kHex[byte & 15U];
    }
  }
  return result;
}

UrlParts SplitUrl(std::string_view text, std::string& error) {
  UrlParts parts;
  const bool control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20U || c == 0x7F;
  });
  if (control) error = "net/url: invalid control character in URL";
  if (text.empty()) error = "empty url";
  std::string_view rest = text;
  if (error.empty()) parts.scheme = TakeScheme(rest, error);
  if (!error.empty()) return parts;
  if (!rest.starts_with('/') && parts.scheme.empty()) {
    error = "invalid URI for request";
    return parts;
  }
  rest = rest.substr(0, rest.find('#'));
  const std::size_t query = rest.find('?');
  if (query != std::string_view::npos) {
    parts.query = rest.substr(query + 1);
    rest = rest.substr(0, query);
  }
  if (!rest.starts_with('/')) return parts;  // opaque: mailto:somebody
  if (!parts.scheme.empty() && rest.starts_with("//")) {
    rest.remove_prefix(2);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    parts.host = HostOf(rest.substr(0, slash), error);
    rest.remove_prefix(slash);
  }
  if (error.empty() && !Unescape(rest, false)) error = "invalid URL escape in path";
  parts.path = EscapePath(rest);
  return parts;
}

class UrlObject final : public Object {
 public:
  UrlObject(UrlParts split, std::string text) : parts(std::move(split)), text_(std::move(text)) {}
  std::string_view type_name() const override { return kUrlType; }
  bool Equals(const Object& other) const override {
    return text_ == static_cast<const UrlObject&>(other).text_;
  }
  std::string ToText() const override { return text_; }

  const UrlParts parts;

 private:
  std::string text_;
};

const UrlParts* AsUrl(const Value& value) {
  if (!value.is(Kind::kObject) || TypeName(value) != kUrlType) return nullptr;
  return &static_cast<const UrlObject&>(value.AsObject()).parts;
}

Value ToUrl(const Call& call) {
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  const std::string text(call[0].AsText());
  if (!call.machine.Allocate(2 * text.size())) return call.machine.Exhausted();
  std::string error;
  UrlParts parts = SplitUrl(text, error);
  if (error.empty()) return Value(std::make_shared<const UrlObject>(std::move(parts), text));
  return Value::Failure("URL parse error during conversion from string: parse \"" +
                        std::string(TruncateUtf8(text, 200)) + "\": " + error);
}

Value IsUrl(const Call& call) {
  if (!call.Is(0, Kind::kString)) return call.NoOverload();
  if (!call.machine.ChargeText(call[0].AsText().size())) return call.machine.Exhausted();
  std::string error;
  SplitUrl(call[0].AsText(), error);
  return Value(error.empty());
}

Value GetScheme(const Call& call) {
  const UrlParts* url = AsUrl(call[0]);
  return url == nullptr ? call.NoOverload() : call.machine.MakeString(url->scheme);
}
Value GetHost(const Call& call) {
  const UrlParts* url = AsUrl(call[0]);
  return url == nullptr ? call.NoOverload() : call.machine.MakeString(url->host);
}
Value GetEscapedPath(const Call& call) {
  const UrlParts* url = AsUrl(call[0]);
  return url == nullptr ? call.NoOverload() : call.machine.MakeString(url->path);
}

// The colon of the port, or the end.
std::size_t PortAt(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || host.find(']', colon) != std::string_view::npos) {
    return host.size();
  }
  return colon;
}
Value GetHostname(const Call& call) {
  const UrlParts* url = AsUrl(call[0]);
  if (url == nullptr) return call.NoOverload();
  std::string_view host = std::string_view(url->host).substr(0, PortAt(url->host));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return call.machine.MakeString(std::string(host));
}
Value GetPort(const Call& call) {
  const UrlParts* url = AsUrl(call[0]);
  if (url == nullptr) return call.NoOverload();
  const std::size_t at = PortAt(url->host);
  return call.machine.MakeString(at < url->host.size() ? url->host.substr(at + 1) : "");
}

// A map from each name to the list of its values; pairs with a broken escape or a ; are left out.
Value GetQuery(const Call& call) {
  const UrlParts* url = AsUrl(call[0]);
  if (url == nullptr) return call.NoOverload();
  std::vector<std::pair<std::string, Values>> found;
  for (const std::string_view pair : Split(url->query, '&')) {
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = Unescape(pair.substr(0, equals), true);
    const auto value = Unescape(equals < pair.size() ? pair.substr(equals + 1) : "", true);
    if (!name || !value) continue;
    if (!call.machine.Allocate(name->size() + value->size() + sizeof(Entry)) ||
        !call.machine.Charge(found.size())) {
      return call.machine.Exhausted();
    }
    auto entry = std::find_if(found.begin(), found.end(),
                              [&](const auto& known) { return known.first == *name; });
    if (entry == found.end()) entry = found.insert(found.end(), {*name, {}});
    entry->second.push_back(Value::String(*value));
  }
  Entries entries;
  for (auto& [name, values] : found) {
    entries.emplace_back(Value::String(name), Value::List(std::move(values)));
  }
  return Value::Map(std::move(entries));
}

constexpr FunctionEntry kUrl[] = {
    {"url", Style::kGlobal, 1, 1, ToUrl},
    {"isURL", Style::kGlobal, 1, 1, IsUrl},
    {"getScheme", Style::kMethod, 1, 1, GetScheme},
    {"getHost", Style::kMethod, 1, 1, GetHost},
    {"getHostname", Style::kMethod, 1, 1, GetHostname},
    {"getPort", Style::kMethod, 1, 1, GetPort},
    {"getEscapedPath", Style::kMethod, 1, 1, GetEscapedPath},
    {"getQuery", Style::kMethod, 1, 1, GetQuery},
};

}  // namespace

std::span<const FunctionEntry> UrlFunctions() { return kUrl; }

std::string UrlProblem(std::string_view text) {
  std::string error;
  SplitUrl(text, error);
  return error;
}

}  // namespace berth::cel
