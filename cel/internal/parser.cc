#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/strings.h"
#include "cel/internal/lexer.h"
#include "cel/internal/numbers.h"
#include "cel/internal/source_position.h"
#include "cel/internal/syntax.h"
#include "cel/property_names.h"

namespace berth::cel {
namespace {

SyntaxPtr MakeSyntax(Form form, std::size_t at, std::string name = "") {
  auto node = std::make_unique<Syntax>();
  node->form = form;
  node->at = at;
  node->name = std::move(name);
  return node;
}

// Parses by recursive descent. A function that fails sets error_ and returns null.
class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens, int nesting)
      : text_(text), tokens_(std::move(tokens)), nesting_(nesting) {}

  Result<SyntaxPtr> Run() {
    SyntaxPtr tree = Expression();
    if (tree && Peek().kind != TokenKind::kEnd) {
      tree = Refuse("extraneous input " + Shown(Peek()) + " expecting <EOF>");
    }
    if (!tree) return *error_;
    return tree;
  }

 private:
  const Token& Peek(std::size_t ahead = 0) const {
    return tokens_[std::min(index_ + ahead, tokens_.size() - 1)];
  }
  bool IsSymbol(std::string_view symbol, std::size_t ahead = 0) const {
    return Peek(ahead).kind == TokenKind::kSymbol && Peek(ahead).text == symbol;
  }
  bool Accept(std::string_view symbol) {
    if (!IsSymbol(symbol)) return false;
    ++index_;
    return true;
  }
  bool Expect(std::string_view symbol) {
    if (Accept(symbol)) return true;
    Refuse("mismatched input " + Shown(Peek()) + " expecting '" + std::string(symbol) + "'");
    return false;
  }

  static std::string Shown(const Token& token) {
    if (token.kind == TokenKind::kEnd) return "'<EOF>'";
    return "'" + std::string(TruncateUtf8(token.text, 100)) + "'";
  }

  SyntaxPtr RefuseAt(std::size_t at, std::string_view message) {
    if (!error_) error_ = ErrorAt(text_, at, message);
    return nullptr;
  }
  SyntaxPtr Refuse(const std::string& message) {
    return RefuseAt(Peek().at, "Syntax error: " + message);
  }
  SyntaxPtr RefuseDepth() {
    return RefuseAt(Peek().at, "expression recursion limit exceeded: " + std::to_string(nesting_));
  }

  // Sets the height of `node`, whose children are complete.
  SyntaxPtr Finish(SyntaxPtr node) {
    int height = node->target ? node->target->height : 0;
    for (const SyntaxPtr& child : node->arguments) height = std::max(height, child->height);
    node->height = height + 1;
    if (node->height > nesting_) return RefuseDepth();
    return node;
  }

  SyntaxPtr Call(std::size_t at, std::string name, SyntaxPtr a, SyntaxPtr b = nullptr,
                 SyntaxPtr c = nullptr) {
    SyntaxPtr node = MakeSyntax(Form::kCall, at, std::move(name));
    for (SyntaxPtr* operand : {&a, &b, &c}) {
      if (*operand) node->arguments.push_back(std::move(*operand));
    }
    return Finish(std::move(node));
  }

  SyntaxPtr Expression() {
    if (depth_ >= nesting_) return RefuseDepth();
    ++depth_;
    SyntaxPtr node = Conditional();
    --depth_;
    return node;
  }

  SyntaxPtr Conditional() {
    SyntaxPtr condition = Chain("||", "_||_");
    if (!condition || !IsSymbol("?")) return condition;
    const std::size_t at = Peek().at;
    ++index_;
    SyntaxPtr yes = Chain("||", "_||_");
    if (!yes || !Expect(":")) return nullptr;
    SyntaxPtr no = Expression();
    if (!no) return nullptr;
    return Call(at, "_?_:_", std::move(condition), std::move(yes), std::move(no));
  }

  // Operands with `symbol` between them, as one call.
  SyntaxPtr Chain(std::string_view symbol, const char* name) {
    const bool outer = symbol == "||";
    const auto operand = [&] { return outer ? Chain("&&", "_&&_") : Relation(); };
    SyntaxPtr first = operand();
    if (!first || !IsSymbol(symbol)) return first;
    SyntaxPtr node = MakeSyntax(Form::kCall, Peek().at, name);
    node->arguments.push_back(std::move(first));
    while (Accept(symbol)) {
      SyntaxPtr next = operand();
      if (!next) return nullptr;
      node->arguments.push_back(std::move(next));
    }
    return Finish(std::move(node));
  }

  // The operator at the next token if it is one of `symbols`.
  template <std::size_t kCount>
  std::string Operator(const std::array<std::string_view, kCount>& symbols) const {
    if (Peek().kind == TokenKind::kName) {
      const bool in = Peek().text == "in" && symbols.front() == "<";
      return in ? "@in" : "";
    }
    if (Peek().kind != TokenKind::kSymbol) return "";
    for (const std::string_view symbol : symbols) {
      if (Peek().text == symbol) return "_" + std::string(symbol) + "_";
    }
    return "";
  }

  SyntaxPtr Relation() {
    constexpr std::array<std::string_view, 6> kSymbols{"<", "<=", ">=", ">", "==", "!="};
    SyntaxPtr left = Sum();
    while (left) {
      std::string name = Operator(kSymbols);
      if (name.empty()) break;
      const std::size_t at = Peek().at;
      ++index_;
      SyntaxPtr right = Sum();
      if (!right) return nullptr;
      left = Call(at, std::move(name), std::move(left), std::move(right));
    }
    return left;
  }

  SyntaxPtr Sum() {
    constexpr std::array<std::string_view, 2> kSymbols{"+", "-"};
    SyntaxPtr left = Product();
    while (left) {
      std::string name = Operator(kSymbols);
      if (name.empty()) break;
      const std::size_t at = Peek().at;
      ++index_;
      SyntaxPtr right = Product();
      if (!right) return nullptr;
      left = Call(at, std::move(name), std::move(left), std::move(right));
    }
    return left;
  }

  SyntaxPtr Product() {
    constexpr std::array<std::string_view, 3> kSymbols{"*", "/", "%"};
    SyntaxPtr left = Unary();
    while (left) {
      std::string name = Operator(kSymbols);
      if (name.empty()) break;
      const std::size_t at = Peek().at;
      ++index_;
      SyntaxPtr right = Unary();
      if (!right) return nullptr;
      left = Call(at, std::move(name), std::move(left), std::move(right));
    }
    return left;
  }

  bool IsNumber(std::size_t ahead) const {
    return Peek(ahead).kind == TokenKind::kInt || Peek(ahead).kind == TokenKind::kDouble;
  }

  // An even number of ! or - cancels out, as in cel-go.
  SyntaxPtr Unary() {
    for (const std::string_view symbol : {"!", "-"}) {
      if (!IsSymbol(symbol)) continue;
      if (symbol == "-" && IsNumber(1)) break;
      const std::size_t at = Peek().at;
      std::size_t count = 0;
      for (; IsSymbol(symbol); ++index_) ++count;
      SyntaxPtr operand = Member();
      if (!operand || count % 2 == 0) return operand;
      return Call(at, symbol == "!" ? "!_" : "-_", std::move(operand));
    }
    return Member();
  }

  SyntaxPtr Member() {
    SyntaxPtr node = Primary();
    while (node) {
      const std::size_t at = Peek().at;
      if (Accept(".")) {
        node = Selection(std::move(node), at);
      } else if (Accept("[")) {
        node = Index(std::move(node), at);
      } else {
        break;
      }
    }
    return node;
  }

  SyntaxPtr Selection(SyntaxPtr target, std::size_t at) {
    const bool optional = Accept("?");
    const Token name = Peek();
    if (name.kind != TokenKind::kName || IsKeyword(name.text)) {
      return Refuse("mismatched input " + Shown(name) + " expecting IDENTIFIER");
    }
    ++index_;
    if (!optional && IsSymbol("(")) {
      SyntaxPtr node = MakeSyntax(Form::kMethod, Peek().at, std::string(name.text));
      ++index_;
      node->target = std::move(target);
      if (!Arguments(*node, ")")) return nullptr;
      return Finish(std::move(node));
    }
    SyntaxPtr node = MakeSyntax(Form::kSelect, at, std::string(name.text));
    node->optional = optional;
    node->target = std::move(target);
    return Finish(std::move(node));
  }

  SyntaxPtr Index(SyntaxPtr target, std::size_t at) {
    SyntaxPtr node = MakeSyntax(Form::kIndex, at);
    node->optional = Accept("?");
    SyntaxPtr index = Expression();
    if (!index || !Expect("]")) return nullptr;
    node->target = std::move(target);
    node->arguments.push_back(std::move(index));
    return Finish(std::move(node));
  }

  // Expressions up to the symbol `end`. Lists allow ? in front and a comma at the end.
  bool Arguments(Syntax& node, std::string_view end) {
    const bool list = end == "]";
    if (Accept(end)) return true;
    if (list && IsSymbol(",") && IsSymbol(end, 1)) {
      index_ += 2;
      return true;
    }
    while (true) {
      if (list) node.optional_entry.push_back(Accept("?"));
      SyntaxPtr argument = Expression();
      if (!argument) return false;
      node.arguments.push_back(std::move(argument));
      if (Accept(end)) return true;
      if (!Expect(",")) return false;
      if (list && Accept(end)) return true;
    }
  }

  static bool IsKeyword(std::string_view word) {
    return word == "true" || word == "false" || word == "null" || word == "in";
  }

  SyntaxPtr Primary() {
    const Token token = Peek();
    if (Accept("(")) {
      SyntaxPtr node = Expression();
      if (!node || !Expect(")")) return nullptr;
      return node;
    }
    if (Accept("[")) {
      SyntaxPtr node = MakeSyntax(Form::kList, token.at);
      if (!Arguments(*node, "]")) return nullptr;
      return Finish(std::move(node));
    }
    if (Accept("{")) return MapEntries(token.at);
    if (token.kind == TokenKind::kName && !IsKeyword(token.text)) return NameOrCall(false);
    if (IsSymbol(".") && Peek(1).kind == TokenKind::kName && !IsKeyword(Peek(1).text)) {
      ++index_;
      return NameOrCall(true);
    }
    return Literal();
  }

  // Whether names with dots and a { follow: a construction.
  bool IsStruct() const {
    std::size_t ahead = 1;
    while (IsSymbol(".", ahead) && Peek(ahead + 1).kind == TokenKind::kName) ahead += 2;
    return IsSymbol("{", ahead);
  }

  SyntaxPtr NameOrCall(bool leading_dot) {
    if (IsStruct()) return Struct(leading_dot);
    const Token token = Peek();
    ++index_;
    if (IsReservedWord(token.text)) {
      return RefuseAt(token.at, "reserved identifier: " + std::string(token.text));
    }
    std::string name = leading_dot ? "." + std::string(token.text) : std::string(token.text);
    if (!IsSymbol("(")) return MakeSyntax(Form::kName, token.at, std::move(name));
    SyntaxPtr node = MakeSyntax(Form::kCall, Peek().at, std::move(name));
    ++index_;
    if (!Arguments(*node, ")")) return nullptr;
    return Finish(std::move(node));
  }

  SyntaxPtr Struct(bool leading_dot) {
    std::string name = leading_dot ? "." : "";
    name += Peek().text;
    ++index_;
    while (Accept(".")) {
      name += "." + std::string(Peek().text);
      ++index_;
    }
    SyntaxPtr node = MakeSyntax(Form::kStruct, Peek().at, std::move(name));
    ++index_;
    while (!Accept("}")) {
      node->optional_entry.push_back(Accept("?"));
      const Token field = Peek();
      if (field.kind != TokenKind::kName || IsKeyword(field.text)) {
        return Refuse("mismatched input " + Shown(field) + " expecting IDENTIFIER");
      }
      ++index_;
      node->fields.emplace_back(field.text);
      if (!EntryValue(*node)) return nullptr;
      if (!IsSymbol("}") && !Expect(",")) return nullptr;
    }
    return Finish(std::move(node));
  }

  SyntaxPtr MapEntries(std::size_t at) {
    SyntaxPtr node = MakeSyntax(Form::kMap, at);
    if (IsSymbol(",") && IsSymbol("}", 1)) ++index_;
    while (!Accept("}")) {
      node->optional_entry.push_back(Accept("?"));
      SyntaxPtr key = Expression();
      if (!key) return nullptr;
      node->arguments.push_back(std::move(key));
      if (!EntryValue(*node)) return nullptr;
      if (!IsSymbol("}") && !Expect(",")) return nullptr;
    }
    return Finish(std::move(node));
  }

  bool EntryValue(Syntax& node) {
    node.ats.push_back(Peek().at);
    if (!Expect(":")) return false;
    SyntaxPtr value = Expression();
    if (!value) return false;
    node.arguments.push_back(std::move(value));
    return true;
  }

  SyntaxPtr LiteralOf(std::size_t at, Value value) {
    SyntaxPtr node = MakeSyntax(Form::kLiteral, at);
    node->literal = std::move(value);
    return node;
  }

  SyntaxPtr Literal() {
    const std::size_t at = Peek().at;
    const bool negative = IsSymbol("-") && IsNumber(1);
    if (negative) ++index_;
    const Token token = Peek();
    ++index_;
    switch (token.kind) {
      case TokenKind::kInt: return IntLiteral(at, token, negative);
      case TokenKind::kUint: {
        const auto number = ParseNumber(token.text.substr(0, token.text.size() - 1));
        if (!number) return RefuseAt(at, "invalid uint literal");
        return LiteralOf(at, Value::Uint(*number));
      }
      case TokenKind::kDouble: {
        const auto number = ParseDouble(token.text);
        if (!number) return RefuseAt(at, "invalid double literal");
        return LiteralOf(at, Value(negative ? -*number : *number));
      }
      case TokenKind::kString:
      case TokenKind::kBytes: {
        auto content = Unquote(token);
        if (!content) return RefuseAt(at, content.error().message);
        if (token.kind == TokenKind::kBytes) {
          return LiteralOf(at, Value::Bytes(*std::move(content)));
        }
        return LiteralOf(at, Value::String(ReplaceInvalidUtf8(*content)));
      }
      case TokenKind::kName:
        if (token.text == "null") return LiteralOf(at, Value());
        if (token.text == "true") return LiteralOf(at, Value(true));
        if (token.text == "false") return LiteralOf(at, Value(false));
        [[fallthrough]];
      default:
        --index_;
        return Refuse("mismatched input " + Shown(token) + " expecting an expression");
    }
  }

  static std::optional<std::uint64_t> ParseNumber(std::string_view text) {
    if (!text.starts_with("0x")) return ParseUint64(text);
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data() + 2, end, value, 16);
    if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
    return value;
  }

  SyntaxPtr IntLiteral(std::size_t at, const Token& token, bool negative) {
    const auto number = ParseNumber(token.text);
    constexpr std::uint64_t kLimit = std::uint64_t{1} << 63U;
    if (!number || *number > kLimit || (*number == kLimit && !negative)) {
      return RefuseAt(at, "invalid int literal");
    }
    if (*number == kLimit) return LiteralOf(at, Value::Int(INT64_MIN));
    const auto value = static_cast<std::int64_t>(*number);
    return LiteralOf(at, Value::Int(negative ? -value : value));
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  int nesting_;
  std::size_t index_ = 0;
  int depth_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<SyntaxPtr> Parse(std::string_view text, int nesting) {
  BERTH_TRY(auto tokens, Tokenize(text));
  return Parser(text, std::move(tokens), nesting).Run();
}

}  // namespace berth::cel
