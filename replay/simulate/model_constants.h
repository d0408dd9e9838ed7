// Every figure of the simulator that is neither recorded nor taken from the plan, with its reason.
// ../METHOD.md explains the model. Private to the room.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stallscope::replay {

// ---- What the pipeline costs where the run does not show it Queue, lock and an occasional
// wake-up, for an element that used to be worked on in the thread that asked for it (tests/bench, 2
// cores).
constexpr double kHandoverNs = 3'000;
// A copy of an element into a cache in memory or out of it: a core's memcpy with cold lines.
constexpr double kCopyBytesPerNs = 4;
constexpr double kStoreNs = 500;       // the store's own look-up and lock
constexpr double kRecordFraming = 16;  // TFRecord's length and two checksums, in bytes
// Where the run did not record what "auto" settled on: it stops growing once nothing is gained.
constexpr int64_t kTunedBuffer = 8;
// Larger buffers only lengthen the first filling, which is warm-up.
constexpr uint64_t kMostShuffled = 16'384;

// ---- The machine
// Cores share caches, memory and often execution units: of two busy ones each does 4% less than one
// alone (tests/bench saw 2% to 31% for decoding loops).
constexpr double kSharing = 0.08;
// Linux's fair scheduler with two cores (EEVDF, from 6.6 on): how long a thread runs before others
// that are owed as much have their turn; how often that is looked at (HZ=250, as distributions
// ship it); the most that a thread can save up.
constexpr double kSliceNs = 1.4e6;
constexpr double kTickNs = 4e6;
constexpr double kMostOwedNs = 4e6;
// An idle core does not take a waiting thread that ran on its own core less than this ago: its
// caches count as warm there (the kernel's migration cost).
constexpr double kHotNs = 5e5;
// CPU time of a thread between waking another one and going to sleep itself.
constexpr double kWakerNs = 2'000;
// Unused tokens of a throttled disk are kept this long (collectors/data/throttle.cpp).
constexpr double kDiskBurstNs = 20e6;
// Time that a thread owes is spent before it takes the next item if it is more than this: below it,
// one event does the work of two.
constexpr double kWorthAnEvent = 2'000;
// A turn that is shorter than this part of the work behind it is spent together with it.
constexpr double kShortTurn = 1.0 / 32;

// ---- What is drawn from the recorded costs
// A block keeps neighbors together, so one slow element in 64 stays one in 64.
constexpr uint64_t kLeastDrawBlock = 64;
constexpr uint64_t kDrawBlocks = 3;  // a block is a third of what is there: slow shards stay whole

// ---- How long is simulated
constexpr uint64_t kLeastBatches = 32;  // enough for the blocks below
constexpr uint64_t kFewestBatches = 6;  // of batches that are larger than all that is simulated
constexpr size_t kStepBlocks = 16;      // of neighboring steps, whose means count as independent

// ---- Doubt: halves of 90% intervals, as a part of the throughput
constexpr double kZ90 = 1.645;  // of a normal distribution
// Another run of the same spec differs by this much where the device's clock dominates; where the
// host's threads dominate, by the second figure as well (repeated runs of one spec).
constexpr double kDeviceRepeats = 0.03;
constexpr double kHostRepeats = 0.08;
// The simulation of the recorded spec, before calibration, is off by this much (tests/accuracy).
constexpr double kModelError = 0.10;
// Of what the calibration made up for: some of it was caused by other load and will not recur.
constexpr double kUnexplained = 0.6;
// Cores that the recorded run left idle may be less than whole, and those that others had may
// become free. Of the part of the cores' time at stake.
constexpr double kIdleCores = 0.15;
constexpr double kOthersCores = 0.8;

// Of a difference between the recording's shares and its simulation's: waiting that the model does
// not have, or has for another reason, may stay or go with a change.
constexpr double kUnlike = 0.5;
// Differences of shares that sound recordings show: the recorder, the samplers and each wake-up
// cost CPU that no stage has, and ready threads wait a little on an idle machine, too.
constexpr double kStallsDiffer = 0.10;
constexpr double kWaitsDiffer = 0.25;
constexpr double kBusyDiffers = 0.20;
constexpr double kScarce = 0.8;  // of the cores: from here on threads get into each other's way
// Of the items that follow an idle time in a recording where all do, or none, and in the simulation
// the others: decoding on a cold core took 5% to 20% more.
constexpr double kIdleDoubt = 0.10;
// A thread that sleeps for an event runs 20 to 60 us later.
constexpr double kWakeDoubtNs = 60'000;

// ---- Calibration and verdict
constexpr double kMostScale = 3;    // beyond it the model is wrong, and a factor would hide that
constexpr int kRounds = 3;          // what is hidden behind the device answers late
constexpr double kStalls = 0.05;    // share of the step time from which the input binds
constexpr double kAllCores = 0.97;  // of the cores' time: the cores are the bottleneck

}  // namespace stallscope::replay
