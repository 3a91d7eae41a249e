#include "tests/faults/episode.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/yaml/yaml.h"
#include "base/rfc3339.h"
#include "scenarios/actions.h"
#include "scenarios/chronicle.h"
#include "scenarios/short_forms.h"
#include "scenarios/world/sim_world.h"
#include "tests/faults/gatekeeper.h"
#include "tests/faults/player.h"
#include "tests/faults/pod_play.h"
#include "tests/faults/saboteur.h"
#include "tests/faults/shared_edits.h"
#include "tests/faults/standing.h"

namespace berth::sim {
namespace {

using local::Json;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kStride = seconds(2);      // between checks
constexpr Duration kPatience = seconds(120);  // for a violation that may pass
constexpr Duration kStill = minutes(25);      // without a write: at rest
constexpr Duration kLongest = std::chrono::hours(4);
constexpr Duration kStalenessWithFaults = seconds(75);

// The options in which the worlds of two episodes differ.
Result<SimWorldOptions> OptionsOf(const Story& story) {
  SimWorldOptions options;
  options.seed = story.seed;
  options.controllers.replicas = story.replicas;
  // Real proportions, but slower: an episode has hours.
  options.controllers.election.lease_duration = seconds(30);
  options.controllers.election.renew_deadline = seconds(20);
  options.controllers.election.retry_period = seconds(4);
  if (story.config.empty()) return options;
  BERTH_TRY(api::YamlDocument document, api::ParseYaml(story.config));
  document.value["apiVersion"] = "config.kueue.x-k8s.io/v1beta2";
  document.value["kind"] = "Configuration";
  BERTH_TRY(options.controllers.configuration, admission::ReadConfiguration(document.value));
  return options;
}

// The sum of all backward jumps of the clock.
Duration SetBack(const Story& story) {
  Duration sum{};
  for (const Blow& blow : story.blows) {
    if (blow.kind == Blow::Kind::kJumpClock) sum += std::max(-blow.span, Duration::zero());
  }
  return sum;
}

bool TimeLeaps(const Story& story) {
  return std::any_of(story.blows.begin(), story.blows.end(), [](const Blow& blow) {
    return blow.kind == Blow::Kind::kJumpClock && blow.span > Duration::zero();
  });
}

// The default: both strategies.
FairStrategies StrategiesOf(const Story& story) {
  if (story.config.find("preemptionStrategies") == std::string::npos) return {};
  const auto names = [&](const char* name) { return story.config.find(name) != std::string::npos; };
  return {.final_share = names("LessThanOrEqualToFinalShare"),
          .initial_share = names("LessThanInitialShare")};
}

class Episode {
 public:
  Episode(const Story& story, const EpisodeOptions& options, SimWorld& world)
      : story_(story),
        world_(world),
        invariants_({.staleness = story.faults.empty() && story.blows.empty()
                                      ? Duration(seconds(2))
                                      : kStalenessWithFaults,
                     .time_leaps = TimeLeaps(story),
                     .trouble_until = [this] { return saboteur_.trouble_until(); },
                     .fair_strategies = StrategiesOf(story),
                     .fair_sharing = story.config.find("fairSharing:") != std::string::npos}),
        standing_(invariants_,
                  {.patience = kPatience,
                   .blocks_admission = story.config.find("blockAdmission") != std::string::npos}),
        saboteur_(story, world, options.saboteur),
        gatekeeper_(world, story.seed),
        players_(story, world, invariants_, kPatience) {
    if (options.chronicle) chronicle_ = std::make_unique<scenarios::Chronicle>(world);
    saboteur_.on_crash = [this] { invariants_.OnCrash(); };
    saboteur_.on_request = [this](const kube::ApiRequest& request, const std::string& identity) {
      invariants_.OnRequest(request, identity);
    };
    saboteur_.on_blow = [this](const std::string& what) { Note("! " + what); };
    listener_ = world.store().AddListener([this](const std::vector<local::EventPtr>& events) {
      for (const local::EventPtr& event : events) See(*event);
    });
    world.controllers().SetAnswerHook(
        [this](const kube::ApiRequest& request, const kube::ApiResponse& response) {
          invariants_.OnAnswer(request, response);
        });
  }
  ~Episode() {
    world_.store().RemoveListener(listener_);
    world_.controllers().SetAnswerHook(nullptr);
    world_.controllers().SetFault(nullptr);
  }
  Episode(const Episode&) = delete;
  Episode& operator=(const Episode&) = delete;

  Outcome Run();

 private:
  bool Failed() const { return invariants_.violation().has_value(); }
  const Truth& truth() const { return invariants_.truth(); }
  void Note(const std::string& line) {
    if (chronicle_ != nullptr) chronicle_->Note(line);
  }
  void See(const local::StoreEvent& event);
  Status Do(const std::string& line);
  // Skips lines that cannot be executed, such as those about deleted objects.
  void DoAll(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) static_cast<void>(Do(line));
  }
  Status DoStep(const scenarios::Step& step);
  // The objects of the line; a line without a command is an error of MakeStory.
  Result<std::vector<Json>> ObjectsOf(const scenarios::Step& step);
  void Pass(Duration span);
  const admission::Scheduler* core() const {
    return world_.controllers().running() ? &world_.controllers().scheduler() : nullptr;
  }

  void TellStory();
  void PutRight();
  bool DropWhatNeverFits();
  bool IsOver(const JobFacts& job) const;
  std::function<bool(const WorkloadFacts&)> CouldRun();
  void UntilNothingMoves();
  void CheckRest();
  void CheckRestart();
  void TearDown();
  void ExpectNothingLeft();

  const Story& story_;
  SimWorld& world_;
  Invariants invariants_;
  Standing standing_;
  Saboteur saboteur_;
  Gatekeeper gatekeeper_;
  Players players_;
  std::unique_ptr<scenarios::Chronicle> chronicle_;
  int listener_ = 0;
  bool story_acts_ = false;
  const bool keeps_usage_ = story_.config.find("admissionFairSharing") != std::string::npos;
  std::uint64_t hash_ = 0xCBF29CE484222325U;
  std::string last_written_;
  // Writes that show progress: without lease renewals and decaying usage.
  std::int64_t moves_ = 0;
  std::int64_t looked_at_ = -1;  // writes
  bool was_changed_ = true;
};

void Episode::See(const local::StoreEvent& event) {
  const local::ObjectKey& where = event.object->key();
  const auto mix = [this](std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001B3U; };
  mix(static_cast<std::uint64_t>(event.revision));
  mix(static_cast<std::uint64_t>(world_.clock().SteadyNow().time_since_epoch().count()));
  for (const char c : where.name) mix(static_cast<unsigned char>(c));
  const bool fades = where.resource == "localqueues.kueue.x-k8s.io" &&
                     event.type == local::WatchEvent::Type::kModified && keeps_usage_;
  if (where.resource != "leases.coordination.k8s.io" && !fades && !PodPlay::TellsAgain(event)) {
    ++moves_;
    last_written_ = where.resource + " " + where.namespace_name + "/" + where.name;
  }
  const Key key{where.namespace_name, where.name};
  const bool is_job = where.resource == "jobs.batch";
  const auto found = truth().jobs().find(key);
  const std::optional<JobFacts> before =
      is_job && found != truth().jobs().end() ? std::optional(found->second) : std::nullopt;
  invariants_.See(event, story_acts_ ? Invariants::Actor::kStory : Invariants::Actor::kPrograms,
                  world_.clock().SteadyNow());
  players_.See(event, story_acts_);
  if (event.type == local::WatchEvent::Type::kDeleted) return;
  if (is_job) {
    const JobFacts& job = truth().jobs().at(key);
    const bool is_new = !before || before->uid != job.uid;
    if (is_new) standing_.OnJobMade(job);
    if (!is_new && story_acts_) standing_.OnJobEdited(*before, job);
  }
  if (where.resource == "workloads.kueue.x-k8s.io") {
    gatekeeper_.See(truth().workloads().at(key));
    standing_.OnWorkload(truth().workloads().at(key));
  }
}

Status Episode::Do(const std::string& line) {
  const auto script = scenarios::ParseScript("# name: x\n" + line + "\n");
  if (!script) return script.error();
  const scenarios::Step& step = script->steps.front();
  story_acts_ = true;
  Status done = DoStep(step);
  story_acts_ = false;
  Note("> " + step.source + (done ? "" : "  (" + done.error().message + ")"));
  return done;
}

Result<std::vector<Json>> Episode::ObjectsOf(const scenarios::Step& step) {
  if (step.verb() == "apply") {
    BERTH_TRY(auto documents, api::ParseYamlStream(step.body));
    std::vector<Json> objects;
    for (api::YamlDocument& document : documents) objects.push_back(std::move(document.value));
    return objects;
  }
  auto made = scenarios::MakeObjects(step);
  if (made) return *std::move(made);
  invariants_.Report("bad-story", "no command is called " + step.verb());
  return Error{ErrorCode::kInvalid, "no such command"};
}

Status Episode::DoStep(const scenarios::Step& step) {
  if (auto acted = scenarios::Act(world_, step)) return *acted;
  BERTH_TRY(const std::vector<Json> objects, ObjectsOf(step));
  for (const Json& object : objects) {
    const auto applied = world_.ApplyOne(object);
    if (!applied) return Error{ErrorCode::kInvalid, "refused: " + applied.error().message};
    Json status = object.value("status", Json());
    // The episode plays the controller of a story's own check.
    if (object["kind"] == "AdmissionCheck" &&
        object["spec"]["controllerName"] == "example.com/story") {
      status = {{"conditions",
                 Json::array({{{"type", "Active"},
                               {"status", "True"},
                               {"reason", "Active"},
                               {"message", "the story answers it"},
                               {"lastTransitionTime", FormatTime(world_.clock().Now())}}})}};
    }
    if (status.is_null()) continue;
    const auto kind = world_.FindKind(object["kind"].get<std::string>());
    const auto written = world_.api().Patch(
        kind->id, "", object["metadata"]["name"].get<std::string>(), local::PatchType::kMerge,
        {{"status", status}}, {.field_manager = "story", .subresource = "status"});
    if (!written) return Error{ErrorCode::kInvalid, "refused: " + written.error().message};
  }
  return OkStatus();
}

void Episode::Pass(Duration span) {
  const SteadyTime end = world_.clock().SteadyNow() + span;
  while (!Failed() && world_.clock().SteadyNow() < end) {
    const SteadyTime before = world_.clock().SteadyNow();
    const bool ran = world_.controllers().running();
    world_.RunFor(std::min(kStride, end - before));
    const bool healthy =
        before >= saboteur_.trouble_until() && ran && world_.controllers().running();
    const Duration well = healthy ? world_.clock().SteadyNow() - before : Duration::zero();
    // Twice after each change: the core may not have processed the last write.
    const bool changed = std::exchange(looked_at_, world_.writes()) != world_.writes();
    if (changed || was_changed_) {
      standing_.Look(well, core());
    } else {
      standing_.LookAgain(well);
    }
    players_.Look(well);
    was_changed_ = changed;
  }
}

void Episode::TellStory() {
  players_.Begin();
  for (const std::string& line : story_.setup) {
    if (const Status done = Do(line); !done) {
      return invariants_.Report("bad-story", line + ": " + done.error().message);
    }
  }
  Pass(seconds(1));
  Duration end = story_.length;
  for (const StoryEvent& event : story_.events) {
    end = std::max(end, event.at + seconds(1));
    world_.executor().PostAfter(event.at, [this, line = event.line] {
      if (!Failed()) DoAll({line});
    });
  }
  saboteur_.Begin();
  Pass(end);
  while (!Failed() && (!world_.controllers().running() ||
                       world_.clock().SteadyNow() < saboteur_.trouble_until())) {
    Pass(seconds(5));
  }
}

// Plays an administrator: all queues open, all machines and flavors present.
void Episode::PutRight() {
  Note("! everything is put right");
  gatekeeper_.BecomeKind();
  std::vector<std::string> lines;
  for (const auto& [name, queue] : truth().cluster_queues()) {
    if (queue.stopped) lines.push_back("set clusterqueue " + name + " stopPolicy=None");
  }
  for (const auto& [key, queue] : truth().local_queues()) {
    if (queue.stopped) lines.push_back("set localqueue " + Show(key) + " stopPolicy=None");
  }
  for (const std::string& line : story_.setup) {
    if (line.compare(0, 5, "node ") == 0 || IsShared(line)) lines.push_back(line);
    if (line.compare(0, 5, "pool ") == 0) {
      lines.push_back("set nodepool " + line.substr(5, line.find(' ', 5) - 5) + " stock=1000");
    }
  }
  DoAll(lines);
}

// False: everything could run.
bool Episode::DropWhatNeverFits() {
  Pass(seconds(10));
  std::vector<std::string> lines;
  for (const auto& [key, workload] : truth().workloads()) {
    const bool never = !workload.finished && !workload.reserved && !CouldRun()(workload);
    if (Player* player = players_.OwnerOf(workload)) {
      if (never) player->Drop(workload, lines);
      continue;
    }
    const bool alone = workload.job.empty() && !truth().IsNamed(key);
    if (alone) lines.push_back("delete workload " + Show(key));
    // The job of a slice that replaces another one with quota runs in that one's size.
    if (!never || workload.job.empty() || truth().ReplacedBy(workload) != nullptr) continue;
    lines.push_back("delete job " + Show({key.first, workload.job}));
  }
  for (const Key& job : JobsWithoutNodes(truth())) {
    if (LosesRequest(story_, job)) lines.push_back("delete job " + Show(job));
  }
  DoAll(lines);
  return !lines.empty();
}

// Whether no further progress of the job is expected.
bool Episode::IsOver(const JobFacts& job) const {
  if (job.finished || job.queue.empty()) return true;
  if (!job.prebuilt.empty()) {
    // A job whose own Workload is gone, is another's, or differs from the job, never runs.
    const auto own = truth().workloads().find({job.key.first, job.prebuilt});
    const bool is_mine = own != truth().workloads().end() && !own->second.finished &&
                         (own->second.job_uid.empty() || own->second.job_uid == job.uid);
    if (!is_mine) return job.suspended;
  }
  const WorkloadFacts* workload = truth().WorkloadOfJob(job.uid);
  // Deactivated: by users, by a check, or after too many attempts.
  return workload != nullptr && (!workload->active || !standing_.CouldEverRun(*workload)) &&
         !workload->reserved;
}

void Episode::UntilNothingMoves() {
  const SteadyTime start = world_.clock().SteadyNow();
  std::int64_t revision = moves_;
  SteadyTime written = start;
  while (!Failed() && world_.clock().SteadyNow() - start < kLongest) {
    Pass(seconds(10));
    if (moves_ != revision) written = world_.clock().SteadyNow();
    revision = moves_;
    const bool over = std::all_of(truth().jobs().begin(), truth().jobs().end(),
                                  [this](const auto& job) { return IsOver(job.second); }) &&
                      players_.IsOver(CouldRun());
    // Idle nodes are removed minutes later, by the wall clock.
    const Duration still = over ? minutes(5) + SetBack(story_) : kStill;
    if (world_.clock().SteadyNow() - written > still) return;
  }
}

std::function<bool(const WorkloadFacts&)> Episode::CouldRun() {
  return [this](const WorkloadFacts& workload) { return standing_.CouldEverRun(workload); };
}

void Episode::CheckRest() {
  players_.CheckRest(CouldRun());
  for (const auto& [key, job] : truth().jobs()) {
    if (!IsOver(job)) invariants_.Report("never-finishes", "job " + Show(key));
    if (job.deleting) invariants_.Report("stuck", "job " + Show(key));
  }
  for (const auto& [key, workload] : truth().workloads()) {
    if (workload.deleting) invariants_.Report("stuck", "workload " + Show(key));
  }
  for (const auto& [name, queue] : truth().cluster_queues()) {
    if (queue.deleting) invariants_.Report("stuck", "ClusterQueue " + name);
  }
  for (const auto& [key, pod] : truth().pods()) {
    if (!pod.over && !players_.Keep(key)) {
      invariants_.Report("left-over", "pod " + Show(key) + " at work");
    }
  }
  if (Failed()) return;
  if (!world_.controllers().running()) return invariants_.Report("stuck", "no controllers");
  standing_.LookAtRest(world_.controllers().scheduler());
  const std::int64_t revision = moves_;
  Pass(minutes(10));
  if (moves_ != revision) {
    invariants_.Report("restless", std::to_string(moves_ - revision) +
                                       " writes in ten quiet minutes, the last of " +
                                       last_written_);
  }
}

void Episode::CheckRestart() {
  if (Failed()) return;
  Note("! restart");
  const auto [revision, asked] = std::pair(moves_, invariants_.write_requests());
  world_.controllers().Stop();
  if (!world_.controllers().Start()) return invariants_.Report("stuck", "controllers do not start");
  Pass(minutes(2));
  if (moves_ != revision) {
    invariants_.Report("restart-writes",
                       std::to_string(moves_ - revision) + " writes, the last of " + last_written_);
  }
  world_.controllers().ForEachTransport([](SimTransport& transport) { transport.ExpireWatches(); });
  Pass(minutes(1));
  if (!keeps_usage_) invariants_.ExpectNoWriteSince(asked);
  standing_.LookAtRest(world_.controllers().scheduler());
}

void Episode::TearDown() {
  if (Failed()) return;
  Note("! everything is deleted");
  std::vector<std::string> lines = players_.End();
  for (const auto& [key, job] : truth().jobs()) lines.push_back("delete job " + Show(key));
  DoAll(lines);
  Pass(minutes(1));
  ExpectNothingLeft();
  lines.clear();
  for (const auto& [key, queue] : truth().local_queues()) {
    lines.push_back("delete localqueue " + Show(key));
  }
  for (const auto& [name, queue] : truth().cluster_queues()) {
    lines.push_back("delete clusterqueue " + name);
  }
  for (const auto& [name, cohort] : truth().cohorts()) lines.push_back("delete cohort " + name);
  for (const auto& [name, f] : truth().flavors()) lines.push_back("delete resourceflavor " + name);
  DoAll(lines);
  Pass(minutes(1));
  for (const auto& [name, queue] : truth().cluster_queues()) {
    invariants_.Report("left-over", "ClusterQueue " + name);
  }
  for (const auto& [name, flavor] : truth().flavors()) {
    invariants_.Report("left-over", "ResourceFlavor " + name);
  }
}

void Episode::ExpectNothingLeft() {
  const auto report = [this](const char* kind, const Key& key) {
    invariants_.Report("left-over", std::string(kind) + " " + Show(key));
  };
  for (const auto& [key, job] : truth().jobs()) report("Job", key);
  for (const auto& [key, workload] : truth().workloads()) report("Workload", key);
  for (const auto& [key, request] : truth().requests()) report("ProvisioningRequest", key);
  for (const auto& [key, owner] : truth().templates()) report("PodTemplate", key);
  for (const auto& [key, pod] : truth().pods()) {
    if (!pod.job_uid.empty()) report("Pod", key);
  }
  players_.ExpectNothingLeft();
}

Outcome Episode::Run() {
  const SteadyTime start = world_.clock().SteadyNow();
  TellStory();
  saboteur_.End();
  if (!Failed()) PutRight();
  if (!Failed()) DropWhatNeverFits();
  UntilNothingMoves();
  // A job of which no controller had heard may stand before others.
  for (int i = 0; i < 3 && !Failed() && DropWhatNeverFits(); ++i) UntilNothingMoves();
  CheckRest();
  Outcome outcome;
  for (const auto& [key, job] : truth().jobs()) outcome.jobs_finished += job.finished ? 1 : 0;
  CheckRestart();
  TearDown();
  outcome.violation = invariants_.violation();
  outcome.faults = saboteur_.counts();
  if (story_.replicas > 1) outcome.faults["leader changes"] = invariants_.leader_changes();
  outcome.at = world_.clock().SteadyNow() - start;
  outcome.trace_hash = hash_;
  outcome.writes = world_.writes();
  if (chronicle_ != nullptr) outcome.chronicle = chronicle_->lines();
  return outcome;
}

}  // namespace

Outcome Play(const Story& story, const EpisodeOptions& options) {
  Outcome outcome;
  auto world_options = OptionsOf(story);
  if (!world_options) {
    outcome.violation = Violation{"bad-story", world_options.error().message};
    return outcome;
  }
  const auto world = SimWorld::Start(*std::move(world_options));
  if (!world) {
    outcome.violation = Violation{"no-world", world.error().message};
    return outcome;
  }
  return Episode(story, options, **world).Run();
}

}  // namespace berth::sim
