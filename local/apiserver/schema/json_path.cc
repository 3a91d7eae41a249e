// JsonPath: the subset of kubectl's JSONPath that printer columns use.
#include <algorithm>
#include <functional>

#include "api/codec/json_tree.h"
#include "base/strings.h"
#include "local/apiserver/schema/printer_columns.h"

namespace berth::local {

constexpr int kMostIndex = 1'000'000;

class JsonPathParser {
 public:
  explicit JsonPathParser(std::string_view text) : text_(text) {}

  std::optional<JsonPath> Parse(std::string* why) {
    JsonPath path;
    if (text_.empty()) {
      why_ = "must not be empty";
    } else if (text_[0] != '.' && text_[0] != '[') {
      why_ = "must be a simple json path starting with .";
    }
    while (why_.empty() && at_ < text_.size()) Step(path);
    if (why_.empty()) return path;
    if (why != nullptr) *why = why_;
    return std::nullopt;
  }

 private:
  void Step(JsonPath& path) {
    const char c = text_[at_];
    if (c == '[') {
      Bracket(path);
      return;
    }
    if (c != '.') {
      why_ = "unexpected character at " + std::to_string(at_);
      return;
    }
    ++at_;
    if (at_ == text_.size()) {  // "." is the object itself
      if (text_.size() > 1) why_ = "must not end in .";
      return;
    }
    if (text_[at_] == '[') return;
    if (text_[at_] == '.') {
      why_ = "recursive descent is not supported";
      return;
    }
    if (text_[at_] == '*') {
      ++at_;
      path.steps_.emplace_back(JsonPath::Wildcard{});
      return;
    }
    path.steps_.emplace_back(JsonPath::Field{Name(".[")});
  }

  // Reads up to one of `ends`; a backslash escapes the next character.
  std::string Name(std::string_view ends) {
    std::string name;
    while (at_ < text_.size() && ends.find(text_[at_]) == std::string_view::npos) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      name += text_[at_++];
    }
    return name;
  }

  void Bracket(JsonPath& path) {
    const std::size_t close = Close();
    if (close == std::string_view::npos) {
      why_ = "unterminated [";
      return;
    }
    const std::string_view inner = text_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    if (inner == "*") {
      path.steps_.emplace_back(JsonPath::Wildcard{});
    } else if (inner.substr(0, 2) == "?(" && inner.back() == ')') {
      Filter(inner.substr(2, inner.size() - 3), path);
    } else if (inner.size() >= 2 && (inner[0] == '\'' || inner[0] == '"') &&
               inner.back() == inner[0]) {
      path.steps_.emplace_back(JsonPath::Field{std::string(inner.substr(1, inner.size() - 2))});
    } else if (const auto index = ParseInt64(inner);
               index && *index > -kMostIndex && *index < kMostIndex) {
      const int at = static_cast<int>(*index);
      path.steps_.emplace_back(JsonPath::Index{at, at + 1});
    } else if (const auto slice = SliceOf(inner)) {
      path.steps_.emplace_back(*slice);
    } else {
      why_ = "cannot read [" + std::string(inner) + "]";
    }
  }

  // "first:past", each of them optional; nullopt: something else.
  static std::optional<JsonPath::Index> SliceOf(std::string_view inner) {
    const std::size_t colon = inner.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto bound = [](std::string_view text, int fallback) -> std::optional<int> {
      if (text.empty()) return fallback;
      const auto number = ParseInt64(text);
      if (!number || *number <= -kMostIndex || *number >= kMostIndex) return std::nullopt;
      return static_cast<int>(*number);
    };
    const auto first = bound(inner.substr(0, colon), 0);
    const auto past = bound(inner.substr(colon + 1), kMostIndex);
    if (!first || !past) return std::nullopt;
    return JsonPath::Index{*first, *past};
  }

  // The bracket that closes the one at `at_`, outside of quotes.
  std::size_t Close() const {
    char quote = 0;
    int depth = 0;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quote != 0) {
        if (c == '\\') ++i;
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '[') {
        ++depth;
      } else if (c == ']' && --depth == 0) {
        return i;
      }
    }
    return std::string_view::npos;
  }

  // Parses @.type=="Admitted", @.ready.
  void Filter(std::string_view text, JsonPath& path) {
    JsonPath::Filter filter;
    std::size_t at = text.find("==");
    if (at == std::string_view::npos) at = text.find("!=");
    const std::string_view left = TrimSpace(text.substr(0, at));
    if (left.substr(0, 2) != "@.") {
      why_ = "a filter must start with @.";
      return;
    }
    for (const std::string_view part : Split(left.substr(2), '.')) {
      filter.path.emplace_back(part);
    }
    if (at != std::string_view::npos) {
      filter.op = std::string(text.substr(at, 2));
      const std::string_view right = TrimSpace(text.substr(at + 2));
      if (right.size() >= 2 && (right[0] == '\'' || right[0] == '"') && right.back() == right[0]) {
        filter.value = std::string(right.substr(1, right.size() - 2));
      } else {
        Result<Json> value = api::ParseJson(right);
        if (!value) {
          why_ = "cannot read the filter's value: " + value.error().message;
          return;
        }
        filter.value = *std::move(value);
      }
    }
    path.steps_.emplace_back(std::move(filter));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string why_;
};

namespace {

const Json* Walk(const Json& value, const std::vector<std::string>& path) {
  const Json* at = &value;
  for (const std::string& name : path) {
    if (!at->is_object()) return nullptr;
    const auto member = at->find(name);
    if (member == at->end()) return nullptr;
    at = &*member;
  }
  return at;
}

}  // namespace

std::optional<JsonPath> JsonPath::Parse(std::string_view text, std::string* why) {
  // kubectl's form with braces is accepted too.
  if (text.size() >= 2 && text.front() == '{' && text.back() == '}') {
    text = text.substr(1, text.size() - 2);
  }
  return JsonPathParser(text).Parse(why);
}

std::vector<const Json*> JsonPath::Select(const Json& object) const {
  std::vector<const Json*> values{&object};
  for (const Step& step : steps_) {
    std::vector<const Json*> next;
    for (const Json* value : values) {
      if (const auto* field = std::get_if<Field>(&step)) {
        if (!value->is_object()) continue;
        const auto at = value->find(field->name);
        if (at != value->end()) next.push_back(&*at);
      } else if (const auto* index = std::get_if<Index>(&step)) {
        if (!value->is_array()) continue;
        const auto size = static_cast<std::ptrdiff_t>(value->size());
        // From the end, where negative; the item behind −1 is the end.
        const bool is_to_end = index->past < 0 || (index->past == 0 && index->first < 0);
        const std::ptrdiff_t past = is_to_end ? size + index->past : index->past;
        const std::ptrdiff_t first = index->first < 0 ? size + index->first : index->first;
        for (std::ptrdiff_t at = std::max<std::ptrdiff_t>(first, 0); at < std::min(past, size);
             ++at) {
          next.push_back(&(*value)[static_cast<std::size_t>(at)]);
        }
      } else if (std::holds_alternative<Wildcard>(step)) {
        if (!value->is_structured()) continue;
        for (const Json& element : *value) next.push_back(&element);
      } else if (const auto* filter = std::get_if<Filter>(&step)) {
        if (!value->is_structured()) continue;
        for (const Json& element : *value) {
          const Json* found = Walk(element, filter->path);
          const bool equal = found != nullptr && *found == filter->value;
          const bool holds = filter->op.empty()   ? found != nullptr
                             : filter->op == "==" ? equal
                                                  : found != nullptr && !equal;
          if (holds) next.push_back(&element);
        }
      }
    }
    values = std::move(next);
  }
  return values;
}

}  // namespace berth::local
