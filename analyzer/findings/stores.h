// Keeping the results of a pipeline's first stages in a cache or a snapshot: which stages, the
// patch, what it saves, what it takes. Private to the room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_STORES_H_
#define STALLSCOPE_ANALYZER_FINDINGS_STORES_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/findings/capacity.h"
#include "analyzer/findings/spec_view.h"

namespace stallscope::findings {

// Stages from the source on whose results are the same in every epoch: what a store may keep. The
// last map may be of that kind only in part. A shuffle or a repeat on the way must move behind the
// store: it would freeze the order, or never see an epoch's end.
struct StablePrefix {
  size_t last = 0;                  // index of its last stage
  size_t ops = 0;                   // of that stage, where only some of its ops belong to it
  bool whole = true;                // all of it does
  bool maps = false;                // there is work in it besides reading
  std::vector<std::string> behind;  // stages that move, in their order
};
StablePrefix StablePrefixOf(const Spec& spec);

// Puts a stage behind the prefix, and splits a map for it where it must.
Patch StoreBehind(const Spec& spec, const StablePrefix& prefix, StageSpec store);

struct StoreCase {
  StablePrefix prefix;
  double share = 0;          // of step time that is blamed on its stages
  std::string names;         // "read, decode"
  double element_bytes = 0;  // of what would be stored; 0: the run does not tell
  uint64_t elements = 0;     // of an epoch; likewise
};

// Nothing where the run's stall has nothing to do with stages that a store could spare, or where
// the spec has a store already.
std::optional<StoreCase> StoreCaseOf(const Case& c);

// The stages before the store do nothing any more. `left` of the source's time stays for each
// sample, which is what reading from the store takes. `late`: the part of the run that fills it.
Effect Stored(const Case& c, const StoreCase& store, Assumed left, double late);

// Of the time that all of them take for an element, the part of those from `from` on; 0 to 1. Of
// ops whose cost is not in their call it is what they take of a photograph of 500x375: a share is
// all that is asked for, and they grow alike with the picture.
double ShareFrom(const std::vector<OpCall>& ops, size_t from);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_STORES_H_
