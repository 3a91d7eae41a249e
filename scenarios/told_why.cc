#include "scenarios/told_why.h"

#include "kube/client/status_error.h"
#include "scenarios/short_forms.h"
#include "view/screens/why.h"
#include "view/session.h"

namespace berth::scenarios {
namespace {

class SimSession final : public view::Session {
 public:
  explicit SimSession(sim::SimWorld& world) : world_(world) {}

  const std::string& default_namespace() const override { return namespace_; }
  const std::string& server_url() const override { return name_; }
  const std::string& cluster_name() const override { return name_; }

  std::vector<Result<Json>> GetAll(const std::vector<std::string>& paths) override {
    std::vector<Result<Json>> answers;
    for (const std::string& path : paths) {
      const kube::ApiResponse response = world_.Get(path);
      if (response.status >= 400) {
        answers.emplace_back(kube::ErrorFromStatus(response.status, response.body.get()));
      } else {
        answers.emplace_back(*response.body);
      }
    }
    return answers;
  }
  Result<Json> GetTable(const std::string& path) override {
    return Error{ErrorCode::kInvalid, "a story shows no tables: " + path};
  }
  Result<std::string> GetText(const std::string& path) override {
    return Error{ErrorCode::kInvalid, "a story has no logs: " + path};
  }
  Result<Json> Write(const std::string& method, const std::string& path,
                     const std::string& /*content_type*/, const Json& /*body*/) override {
    return Error{ErrorCode::kInvalid, "a story writes nothing: " + method + " " + path};
  }
  Result<Json> Post(const std::string& path) override {
    return Error{ErrorCode::kInvalid, "a story posts nothing, not even to " + path};
  }

 private:
  sim::SimWorld& world_;
  std::string namespace_ = "default";
  std::string name_ = "story";
};

}  // namespace

Result<std::string> TellWhy(sim::SimWorld& world, const std::string& job) {
  const ObjectName named = ObjectNameOf(job);
  SimSession session(world);
  const view::StoryScope scope{.namespace_name = named.namespace_name, .reference = named.name};
  BERTH_TRY(const view::StoryView read, view::ReadStory(session, scope, world.clock().Now()));
  const view::TextStyle style;
  BERTH_TRY(const view::Story story,
            view::TellStory(read.view, read.namespace_name, named.name, style));
  return view::RenderStory(read.view, story, style);
}

}  // namespace berth::scenarios
