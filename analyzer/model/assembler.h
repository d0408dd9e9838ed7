// Assembles a run from the chunks of a trace, in any order and with any gaps. Keeps the promises of
// run.h whatever the chunks contain: what is past limits.h is dropped and counted. One thread at a
// time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/model/interner.h"
#include "analyzer/model/run.h"
#include "analyzer/trace/chunk.h"

namespace stallscope::model {

// What all chunks together will bring.
struct Expected {
  std::map<TrackId, uint64_t> spans;
  std::map<int, uint64_t> rows;  // by the table's number in ForEachTable
  void Add(const trace::ChunkCounts& counts);
};

// Whether a job's trainers become ranks (trainers.h), and its loaders get names; kAsRecorded for a
// run that is saved again.
enum class Trainers : uint8_t { kSeparate, kAsRecorded };

class Assembler {
 public:
  Assembler();
  Assembler(const Assembler&) = delete;  // the interners point into run_
  Assembler& operator=(const Assembler&) = delete;

  // Makes room for exactly this much; more may come anyway.
  void Reserve(const Expected& expected);
  // False if some of its spans could not be decoded; everything else was added.
  bool Add(trace::Chunk chunk);
  // What was left out, one line each; `quality.left_out` counts it.
  std::vector<std::string> LimitWarnings() const;
  // The run, sorted and padded. The assembler is spent.
  Run Finish(Trainers trainers = Trainers::kSeparate);
  // A copy of what is there so far, sorted and padded; more may be added afterwards.
  Run Snapshot() const;

 private:
  void AddNames(const trace::Chunk& chunk);
  void AddStrings(const trace::Names& names);
  void AddDefinitions(trace::Definitions definitions);
  void AddJobDefinitions(trace::Definitions definitions);
  void AddSeal(trace::Seal seal);
  bool AddSpans(const trace::Chunk& chunk);
  template <class Row>
  void AddRows(std::vector<Row>& from, std::vector<Row>& to);
  template <class Table>
  bool Admit(Table& table, uint32_t index, size_t limit, const char* what);
  template <class Table, class IdType>
  IdType Known(Table& table, IdType id, size_t limit, const char* what);
  StageId Known(StageId id);
  QueueId Known(QueueId id);
  TrackId Known(TrackId id);
  CounterId Known(CounterId id);
  ProcessId Known(ProcessId id);
  LoaderId Known(LoaderId id);
  template <class Field>
  void Check(Field& field);
  void LeaveOut(const char* what);

  Run run_;
  StringInterner strings_;
  SpanClassInterner classes_;
  std::unordered_map<uint32_t, trace::StringId> chunk_strings_;  // the current chunk's numbers
  std::map<TrackId, uint64_t> expected_spans_;
  std::set<std::string> op_names_;
  std::map<std::pair<std::string, uint32_t>, size_t> functions_;  // rows of Run::code_lines
  std::map<std::string, uint64_t> left_out_;
};

// Takes over every field of `later` that is set.
void Update(trace::RunInfo& run, trace::RunInfo later);

}  // namespace stallscope::model
