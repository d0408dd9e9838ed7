// The changes that a tuner may try: those that give the trainer the same samples, only sooner. It
// never touches what is learned (the batch, the types, the precision, the ops, the optimizer), nor
// the data's format. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec.h"

namespace stallscope::replay {

// A knob with the values that are worth trying, the cheapest first.
struct TunedKnob {
  std::string path;
  std::vector<std::string> values;
};

// For a run on this many cores. Worker counts go beyond the number of cores: stages that wait need
// more. `threads_of_job`: also the number of threads of a job's math library, which has no effect
// where the job sets it itself.
std::vector<TunedKnob> TunedKnobs(const Spec& spec, int cores, bool threads_of_job = true);

// The next of the knob's values behind this one, or before it.
std::optional<std::string> NextValue(const TunedKnob& knob, const std::string& now, bool up);

// The changes from this spec by one knob, to its other values; also a prefetch after the last stage
// if there is none.
std::vector<Patch> MovesFrom(const Spec& spec, int cores, bool threads_of_job = true);

// Every tuned knob at its largest: the start of the search that then removes whatever gains
// nothing.
Spec Generous(Spec spec, int cores, bool threads_of_job = true);

// With more workers and deeper queues everywhere, two values further each.
Spec Roomier(Spec spec, int cores);

// Whether the trainer learns the same from both: the same samples in the same batches, though
// perhaps in another order. Of a job: as far as its settings tell. Random numbers that its data set
// draws are others in other workers, drawn alike.
bool LearnsTheSame(const Spec& a, const Spec& b);

// What the change does besides its speed, to be said beside its figures: "may change what is
// learned". Empty: nothing that is known.
std::string SideEffect(const Spec& from, const Spec& to);

// How far a spec is from the one that it was made from, over the knobs of both: doublings of
// workers and buffers, and switches. Of two equally fast specs the nearer one is better: nothing is
// changed without a gain.
double DistanceOf(const Spec& from, const Spec& to, int cores);

}  // namespace stallscope::replay
