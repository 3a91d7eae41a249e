// tests/fuzz/targets.h — the parsers of outside bytes, each as a function of one text.
//
// A target aborts if the code violates a promise; the text may be invalid. The libFuzzer program
// (fuzz_main.cc) generates texts, the test fuzz_corpus (corpus_test.cc) replays the texts of
// corpus/TARGET/ and found/TARGET/.
#pragma once

#include <span>
#include <string_view>

namespace berth::fuzz {

struct Target {
  const char* name;
  void (*run)(std::string_view text);
};
std::span<const Target> Targets();
const Target* FindTarget(std::string_view name);

// Aborts with the message `words` unless `holds`.
void Require(bool holds, const char* words);

// `text` before the first line "--", and the text after that line.
struct Parts {
  std::string_view first;
  std::string_view second;
};
Parts SplitParts(std::string_view text);

void Http(std::string_view text);
void Urls(std::string_view text);
void AuditPolicies(std::string_view text);
void JsonText(std::string_view text);
void Objects(std::string_view text);
void Yaml(std::string_view text);
void Protobuf(std::string_view text);
void Patches(std::string_view text);
void Apply(std::string_view text);
void Selectors(std::string_view text);
void Quantities(std::string_view text);
void Times(std::string_view text);
void Streams(std::string_view text);
void Schedules(std::string_view text);
void CrdSchemas(std::string_view text);
void Expressions(std::string_view text);
void JobKinds(std::string_view text);
void JsonPaths(std::string_view text);
void Conversion(std::string_view text);
void Reviews(std::string_view text);
void Configurations(std::string_view text);
void KubeConfigs(std::string_view text);
void Plans(std::string_view text);
void Workloads(std::string_view text);
void EtaFiles(std::string_view text);
void ReadQueries(std::string_view text);
void ImageDocuments(std::string_view text);
void ImageLayers(std::string_view text);
void Scenarios(std::string_view text);

}  // namespace berth::fuzz
