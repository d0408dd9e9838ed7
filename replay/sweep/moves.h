// The changes that a tuner may try: those that give the trainer the same samples, only sooner. It
// never touches what is learnt (the batch, the types, the precision, the ops, the optimizer), nor
// the data's format. Any thread.
#ifndef STALLSCOPE_REPLAY_SWEEP_MOVES_H_
#define STALLSCOPE_REPLAY_SWEEP_MOVES_H_

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

// Of a run on so many cores. Stages with workers go beyond the cores: those that wait need more.
std::vector<TunedKnob> TunedKnobs(const Spec& spec, int cores);

// The changes from this spec by one knob, to its other values; also a prefetch behind the last
// stage where there is none.
std::vector<Patch> MovesFrom(const Spec& spec, int cores);

// Every tuned knob at its largest: where the search begins that then takes away what brings
// nothing.
Spec Generous(Spec spec, int cores);

// Whether the trainer learns the same from both: the same samples in the same batches, though
// perhaps in another order.
bool LearnsTheSame(const Spec& a, const Spec& b);

// How far a spec is from the one that it was made from, in knobs of both: doublings of workers and
// buffers, and switches. Of two that are as fast the nearer one is better: what brings nothing is
// not changed.
double DistanceOf(const Spec& from, const Spec& to, int cores);

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SWEEP_MOVES_H_
