#include "scenarios/teller.h"

#include <utility>

#include "api/codec/json_write.h"
#include "api/yaml/yaml.h"
#include "scenarios/actions.h"
#include "scenarios/expectations.h"
#include "scenarios/lookup.h"
#include "scenarios/short_forms.h"
#include "view/manifest_files.h"

namespace berth::scenarios {
namespace {

constexpr Duration kGrace = std::chrono::seconds(3);  // in which the controllers react
constexpr Duration kStride = std::chrono::milliseconds(200);

// The scenario plays the controller of such an AdmissionCheck.
bool IsAnsweredHere(const Json& check) {
  const Json* controller = At(check, "spec.controllerName");
  return controller != nullptr && *controller == "example.com/story";
}

Result<Duration> SpanOf(const std::string& text) {
  const auto span = ParseSpan(text);
  if (!span) return Bad("\"" + text + "\" is no time; write 20s, 5m, 72h or 3d");
  return *span;
}

// Runs until the next write, at most until `end`.
void RunToNextWrite(sim::SimWorld& world, WallTime end) {
  const std::int64_t before = world.revision();
  const Duration left = end - world.clock().Now();
  if (!world.RunUntil([&] { return world.revision() != before; }, left)) {
    world.RunFor(end - world.clock().Now());
  }
}

}  // namespace

Teller::Teller(sim::SimWorld& world, std::string manifests)
    : world_(world), manifests_(std::move(manifests)), chronicle_(world) {}

std::optional<Failure> Teller::Tell(const Script& script) {
  for (const Step& step : script.steps) {
    chronicle_.Note("> " + step.source);
    const Status done = Do(step);
    if (done) continue;
    return Failure{step.line, step.source, done.error().message};
  }
  return std::nullopt;
}

// The library of JSON throws where a text stands in place of an object.
Status Teller::Do(const Step& step) {
  try {
    return Perform(step);
  } catch (const Json::exception& wrong) {
    return Bad(std::string("a value has the wrong form: ") + wrong.what());
  }
}

Status Teller::Perform(const Step& step) {
  if (step.verb() == "expect") return Expect(step);
  if (step.verb() == "apply") return Apply(step);
  if (step.verb() == "refuse") return Refuse(step);
  if (step.verb() == "after" || step.verb() == "at") return Advance(step);
  if (step.verb() == "settle") {
    world_.Settle();
    return OkStatus();
  }
  if (step.verb() == "stop" || step.verb() == "start" || step.verb() == "restart") {
    if (step.plain(1) != "controllers") return Bad("write: " + step.verb() + " controllers");
    if (step.verb() != "start") world_.controllers().Stop();
    if (step.verb() == "stop" || world_.controllers().Start()) return OkStatus();
    return Bad("the controllers did not come up");
  }
  if (step.verb() == "config") return Configure(step);
  if (step.verb() == "break" && step.plain(1) == "watches") {
    world_.controllers().transport().BreakWatches();
    return OkStatus();
  }
  if (const auto acted = Act(world_, step)) return *acted;
  if (auto made = MakeObjects(step)) {
    BERTH_TRY(const std::vector<Json> objects, std::move(*made));
    return ApplyObjects(objects);
  }
  return Bad("no command is called \"" + step.verb() + "\"");
}

Status Teller::ApplyObjects(const std::vector<Json>& objects) {
  for (const Json& object : objects) {
    const auto applied = world_.ApplyOne(object);
    if (!applied) {
      return Bad("refused: " + object.value("kind", "") + ": " + applied.error().message);
    }
    const std::string kind = object.value("kind", "");
    const auto info = world_.FindKind(kind);
    Json status;
    if (kind == "Node" && object.contains("status")) status = object["status"];
    if (kind == "AdmissionCheck" && IsAnsweredHere(object)) {
      status = {{"conditions", Json::array({{{"type", "Active"},
                                             {"status", "True"},
                                             {"reason", "Active"},
                                             {"message", "the story answers it"},
                                             {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}};
    }
    if (status.is_null()) continue;
    const auto written = world_.api().Patch(
        info->id, "", object["metadata"]["name"].get<std::string>(), local::PatchType::kMerge,
        {{"status", status}}, {.field_manager = "story", .subresource = "status"});
    if (!written) return Bad("status of " + kind + ": " + written.error().message);
  }
  return OkStatus();
}

// The objects of `apply`: a block, a file, or all files of a folder.
Result<std::vector<Json>> Teller::ManifestsOf(const Step& step) const {
  std::vector<Json> objects;
  if (step.body.empty()) {
    if (step.plain(1).empty()) return Bad("apply: write a file, a folder or <<EOF");
    BERTH_TRY(const auto files, view::ManifestsBelow({manifests_ + "/" + step.plain(1)}));
    BERTH_TRY(objects, view::ReadManifests(files));
  } else {
    BERTH_TRY(std::vector<api::YamlDocument> documents, api::ParseYamlStream(step.body));
    for (api::YamlDocument& document : documents) objects.push_back(std::move(document.value));
  }
  for (const Json& object : objects) {
    for (const char* field : {"apiVersion", "kind", "metadata.name"}) {
      const Json* value = At(object, field);
      if (value != nullptr && value->is_string()) continue;
      return Bad(std::string("apply: an object needs ") + field +
                 ", a text: " + api::FormatJson(object));
    }
  }
  return objects;
}

Status Teller::Apply(const Step& step) {
  BERTH_TRY(const std::vector<Json> objects, ManifestsOf(step));
  return ApplyObjects(objects);
}

// config <<EOF … EOF: fields of Kueue's Configuration file; the controllers restart with them.
Status Teller::Configure(const Step& step) {
  BERTH_TRY(api::YamlDocument document, api::ParseYaml(step.body));
  if (!document.value.is_object()) return Bad("config: write fields and values");
  document.value["apiVersion"] = "config.kueue.x-k8s.io/v1beta2";
  document.value["kind"] = "Configuration";
  auto read = admission::ReadConfiguration(document.value);
  if (!read) return Bad("refused: " + read.error().message);
  world_.controllers().Stop();
  world_.controllers().Configure(*std::move(read));
  return world_.controllers().Start() ? OkStatus() : Bad("the controllers did not come up");
}

// refuse "part of the message" apply|SHORT FORM|set|delete …
Status Teller::Refuse(const Step& step) {
  if (step.words.size() < 3 || !step.words[1].is_quoted) {
    return Bad("write: refuse \"part of the message\" COMMAND …");
  }
  Step inner = step;
  const std::string wanted = step.words[1].text;
  inner.words.erase(inner.words.begin(), inner.words.begin() + 2);
  const Status done = Do(inner);
  if (done) return Bad("it was accepted");
  if (done.error().message.find("refused: ") == std::string::npos ||
      done.error().message.find(wanted) == std::string::npos) {
    return Bad("the answer was: " + done.error().message);
  }
  return OkStatus();
}

Status Teller::Advance(const Step& step) {
  BERTH_TRY(const Duration span, SpanOf(step.plain(1)));
  if (step.verb() == "after") {
    world_.RunFor(span);
    return OkStatus();
  }
  const Duration left = world_.started_at() + span - world_.clock().Now();
  if (left < Duration::zero()) {
    return Bad("it is " + FormatSpan(world_.clock().Now() - world_.started_at()) + " already");
  }
  world_.RunFor(left);
  return OkStatus();
}

// expect [within SPAN | for SPAN] [not] SUBJECT …
Status Teller::Expect(const Step& step) {
  Step inner = step;
  inner.words.erase(inner.words.begin());
  const auto next_is = [&](std::string_view word) {
    return !inner.words.empty() && !inner.words.front().is_quoted &&
           inner.words.front().text == word;
  };
  const auto take = [&] {
    std::string text = inner.words.front().text;
    inner.words.erase(inner.words.begin());
    return text;
  };
  Duration within = kGrace;
  bool lasting = false;
  if (next_is("within") || next_is("for")) {
    lasting = take() == "for";
    if (inner.words.empty()) return Bad("a time is missing");
    BERTH_TRY(within, SpanOf(take()));
  }
  const bool negated = next_is("not");
  if (negated) take();
  if (inner.words.empty()) return Bad("what is expected?");
  const WallTime end = world_.clock().Now() + within;
  // A negated expectation waits, so that the state has time to come true.
  if (negated && !lasting) world_.RunFor(within);
  while (true) {
    BERTH_TRY(const Finding finding, Examine(world_, chronicle_, inner));
    const bool holds = finding.holds != negated;
    const bool at_end = world_.clock().Now() >= end;
    if (lasting ? !holds : (!holds && at_end)) return Bad("found: " + finding.found);
    if (lasting ? at_end : holds) return OkStatus();
    RunToNextWrite(world_, lasting ? end : std::min(end, world_.clock().Now() + kStride));
  }
}

}  // namespace berth::scenarios
