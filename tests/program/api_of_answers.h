// tests/program/api_of_answers.h — an API server that gives or refuses answers by path.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "view/session.h"

namespace berth::program {

// Answers by the whole path; others are refused, and those that begin with `fails` fail.
class ApiOfAnswers : public view::Session {
 public:
  std::map<std::string, nlohmann::json> answers;
  std::map<std::string, std::string> texts;
  std::string fails = "none";
  std::vector<std::string> asked;

  const std::string& default_namespace() const override { return name_; }
  const std::string& server_url() const override { return name_; }
  const std::string& cluster_name() const override { return name_; }
  std::vector<Result<nlohmann::json>> GetAll(const std::vector<std::string>& paths) override {
    std::vector<Result<nlohmann::json>> given;
    for (const std::string& path : paths) {
      asked.push_back(path);
      const auto found = answers.find(path);
      if (path.starts_with(fails)) {
        given.emplace_back(Error{ErrorCode::kUnavailable, "not now: " + path});
      } else if (found != answers.end()) {
        given.emplace_back(found->second);
      } else {
        given.emplace_back(Error{ErrorCode::kForbidden, "not you: " + path});
      }
    }
    return given;
  }
  Result<nlohmann::json> GetTable(const std::string&) override { return nlohmann::json(); }
  Result<std::string> GetText(const std::string& path) override {
    const auto found = texts.find(path);
    if (found == texts.end()) return Error{ErrorCode::kForbidden, "not you: " + path};
    return found->second;
  }
  Result<nlohmann::json> Write(const std::string&, const std::string&, const std::string&,
                               const nlohmann::json&) override {
    return nlohmann::json();
  }
  Result<nlohmann::json> Post(const std::string&) override { return nlohmann::json(); }

 private:
  std::string name_ = "of-the-test";
};

}  // namespace berth::program
