// Keeping the results of a pipeline's first stages in a cache or a snapshot: which stages, the
// patch, what it saves, what it takes. Private to the room; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/findings/capacity.h"
#include "analyzer/findings/spec_view.h"

namespace stallscope::findings {

// Stages from the source on whose results are the same in every epoch: what a store may keep. Of
// the last map perhaps only some ops. A shuffle or a repeat on the way must move after the store,
// which would freeze the order, or never see the end of an epoch.
struct StablePrefix {
  size_t last = 0;                  // index of its last stage
  size_t ops = 0;                   // of that stage, where only some of its ops belong to it
  bool whole = true;                // all of it does
  bool maps = false;                // there is work in it besides reading
  std::vector<std::string> behind;  // stages that move, in their order
};
StablePrefix StablePrefixOf(const Spec& spec);

// Puts a stage after the prefix, and splits a map for it if it must.
Patch StoreBehind(const Spec& spec, const StablePrefix& prefix, StageSpec store);

struct StoreCase {
  StablePrefix prefix;
  double share = 0;          // of step time that is blamed on what would be stored
  std::string names;         // "read, decode"; of a map that is split "decode (decode_jpeg)"
  bool estimated = false;    // the share: by what its ops usually cost, a map is split
  double element_bytes = 0;  // of what would be stored; 0: unknown
  double usual_bytes = 0;    // then: as pictures usually are; 0: unknown, too
  uint64_t elements = 0;     // per epoch; 0: unknown
};

// Nothing if the stall has nothing to do with stages that a store could save, or if the spec has a
// store already.
std::optional<StoreCase> StoreCaseOf(const Case& c);

// The share of step time that is blamed on this stage's work, as far as a store would keep it.
double SharedOut(const Case& c, const StablePrefix& prefix, size_t stage);

// The part of the run that its first epoch took, which fills a store; nothing if it has no other.
std::optional<double> FirstEpoch(const Case& c, const StoreCase& store);

// A cache's max_bytes for a data set of this size, with some room to spare, because a full cache
// ends the run.
int64_t RoomFor(double bytes);

// The page cache cannot hold so many bytes of files (0: unknown): a disk reads them, and the run
// does not show how fast.
bool ReadFromDisk(const Case& c, double bytes);

// "about 63%" of an estimated share, "63.4%" of a measured one.
std::string ShareText(double share, bool estimated);

// The stages before the store no longer do anything. `left` of the source's time per sample
// remains: reading from the store. `late`: the part of the run that fills it.
Effect Stored(const Case& c, const StoreCase& store, Assumed left, double late);

// How much of a map's time its ops from `from` on take, 0 to 1, if the run shows only the time of
// the whole map. Ops whose cost is not in their call count as what they take for a photograph of
// 500x375: the share is enough, since they all grow with the picture.
double ShareFrom(const std::vector<OpCall>& ops, size_t from);

}  // namespace stallscope::findings
