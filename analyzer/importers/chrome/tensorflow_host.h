// What a TensorFlow trace.json says of steps and of tf.data: kept while the file is read, and made
// stages, waits and steps of at its end. One thread at a time.
//
// Iterators come in two styles: with their whole path ("Iterator::Root::Prefetch::Map"), and by
// their own name alone ("Iterator::Map"), with their numbers or without. Where neither path nor
// number says who asks for an iterator's elements, the call that encloses its own on the thread
// does.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TENSORFLOW_HOST_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TENSORFLOW_HOST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/importers/chrome/event.h"
#include "analyzer/importers/chrome/lanes.h"
#include "analyzer/importers/chrome/text_table.h"
#include "analyzer/importers/foreign/host_event.h"
#include "analyzer/importers/foreign/run_builder.h"
#include "analyzer/importers/foreign/running_totals.h"
#include "analyzer/importers/foreign/tf_data.h"

namespace stallscope::importers::chrome {

class TensorFlowHost {
 public:
  explicit TensorFlowHost(RunBuilder& builder) : builder_(builder), known_(builder.allowance()) {}

  // An event of a host's thread.
  void Add(const Event& event, uint32_t lane, int64_t start_ns, int64_t end_ns);

  // Adds the pipeline to the run, and gives the steps: the trainer's numbered ones, else `derived`,
  // else where no batches are waited for the calls of its function.
  std::vector<StepMark> Finish(Lanes& lanes, std::vector<StepMark> derived);
  const PipelineSeen& pipeline() const { return pipeline_; }

 private:
  // What is known of all events of one name.
  struct Name {
    HostRole role = HostRole::kNone;  // unless an event's arguments give it another
    std::optional<uint32_t> kept;     // in HostEvents::names
  };

  Name& NameOf(std::string_view text);
  // Its place in HostEvents::names.
  uint32_t Keep(std::string_view text, Name& name);
  HostThread& ThreadOf(uint32_t lane);
  void FindParents();

  RunBuilder& builder_;
  HostEvents host_;
  std::vector<Occurrence> compilations_;
  std::vector<Occurrence> eager_ops_;
  TextTable known_;
  std::vector<Name> names_;                         // by the value in known_
  std::unordered_map<std::string, uint32_t> kept_;  // several names may be one iterator's path
  std::vector<size_t> threads_;  // by lane: its place in host_.threads, from 1 on
  std::vector<uint32_t> lanes_;  // by thread
  PipelineSeen pipeline_;
};

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_TENSORFLOW_HOST_H_
