// Every number that a rule decides by or assumes, and the bars of the verdict, each with its
// reason. How far a doubt lowers the verdict's confidence stands in verdict.cpp. Private to the
// room.
//
// "Published" ones are the vendors' own, so that stallscope and the guide give the same answer; the
// others follow from what a change costs to make. An assumption about a change goes from the least
// helpful to the most: low, middle, high.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "analyzer/attribution/attribution.h"

namespace stallscope::findings {

using Assumed = std::array<double, 3>;

// --- Shares of step time -------------------------------------------------------------------------

// Published (the TensorFlow profiler's input-pipeline analyzer): a run is moderately input-bound
// from 5% of step time on, highly from 20%. PyTorch's profiler recommends a change where its data
// loader takes more than 5%. The verdict mentions what takes that much.
constexpr double kModerateShare = 0.05;
constexpr double kHighShare = 0.20;
// Published (PyTorch's profiler): a device that is busy for less than half of the time is worth a
// look, whatever the categories are.
constexpr double kLowDeviceUse = 0.50;
// Published (the same guides): an accelerator that is busy 90% of the time has nothing left to gain
// from its input. From here on the verdict is compute-bound.
constexpr double kFullDeviceUse = 0.90;
// Host and device waiting for each other: below a fifth of the step that is the price of reading a
// loss. The verdict has no word for it, so only a large share is worth a line.
constexpr double kSyncShare = kHighShare;

// Share of step time: anything less reads as nothing.
constexpr double kLeastSaid = 0.001;

// --- The verdict ---------------------------------------------------------------------------------

// From here on a share may name the bound: without it the run would be 1.11 times as fast. A
// smaller one is worth a sentence, not the headline: a device that computes for 85% of the time is
// not launch-bound because launches take 9%.
constexpr double kNamesTheBound = 0.10;
// Compute bounds the run from here on if nothing else reaches kNamesTheBound.
constexpr double kMostlyCompute = 0.60;
// The largest share names the bound if it is this many times the next one. Closer than that, the
// order of the two is noise, and the run is balanced.
constexpr double kClearlyFirst = 1.25;
// A stage whose sensitivity is nearer to 0 has time to spare: slowed by a quarter of its work, it
// costs less than 5.5% of the throughput, about what the noise of a few windows hides.
constexpr double kFeltSensitivity = 0.25;
// The sensitivities of all stages add up to about 1: beyond this, a stage has more than all others.
constexpr double kMostOfSensitivity = 0.5;
// What a doubt leaves of the confidence. No run tells how much that is: one doubt must leave a
// verdict that is more likely than not, and two of the last two kinds must not.
constexpr double kSlightDoubt = 0.85;  // a detail of the answer is less sure
constexpr double kPlainDoubt = 0.8;    // another answer is near
constexpr double kStrongDoubt = 0.7;   // the trace does not show what would settle it
constexpr double kContradicted = 0.6;  // two parts of the trace give different answers
// Another answer is near within this much of step time of a bar above: a fifth of the lowest one.
constexpr double kNear = 0.02;
// It is near, too, if the largest share is at most a step short of kClearlyFirst, or hardly past
// it.
constexpr double kNearlyFirst = 1.15;
constexpr double kHardlyFirst = 1.5;
// The second stage is blamed nearly as much as the first if it has this part of its blame.
constexpr double kNearlyAsMuch = 0.75;
// With fewer steps there is no spread to judge by; from kManySteps on, their number costs no
// confidence.
constexpr size_t kLeastSteps = 3;
constexpr size_t kManySteps = 20;
// If more of the run is lost, what is left may differ from the whole.
constexpr double kBearableLoss = 0.10;

// Profiled steps are no sample of a run whose other steps wait for this much more of their time, or
// take so much longer: the first bound to be named begins at a tenth.
constexpr double kUnlikeWaits = 0.25;

// --- Gains ---------------------------------------------------------------------------------------

// The most that a change can gain is worth a word as long as it is below 20 times as fast.
constexpr double kLimitTells = 0.95;

// A gain times what is left without the finding's share: 1 is all that the share is worth, and the
// rest of this is what simulated means are off by.
constexpr double kMoreThanItsShare = 1.02;
// A gain is shown if the low end of its interval is more than nothing as it is printed: 1.01x.
constexpr double kLeastShownGain = 1.005;
// A gain whose interval includes 1.0 is not shown, but a tenth or more from a short recording may
// well be real: the change is named without the figure.
constexpr double kPromisingGain = 1.1;
// From this many steps on the mean has settled, and an interval that still includes 1.0 is final.
constexpr uint64_t kTellingSteps = 100;

// --- Launches ------------------------------------------------------------------------------------

// A launch takes 5 us in the driver; an eager operation around it takes up to 0.3 ms of Python in
// the real runs at hand. If the device waits longer than this per launch, the host is busy with
// something else.
constexpr double kSlowestLaunchNs = 5e5;
// A loop reads a loss and a metric or two per step. Each read lets the queue of launches run empty.
constexpr double kManyReadsAStep = 4;
// Every loop runs fewer eager operations than this per step: fetching a batch, reading the loss.
constexpr double kManyOpsAStep = 10;
// Kernels shorter than this end before the next one can be launched (5 to 10 us per launch).
constexpr double kShortKernelNs = 10'000;
// What a captured graph leaves of the launch time: one launch per step in place of hundreds, plus
// what is not captured.
constexpr Assumed kLeftWhenCaptured = {0.3, 0.08, 0.02};
// What fusing kernels leaves of it, if their names do not show which ones are elementwise: from a
// tenth to half of them can be fused.
constexpr Assumed kLeftWhenFused = {0.9, 0.75, 0.5};
// Of elementwise kernels right behind another one, those that use its result.
constexpr double kFusedAtLeast = 0.5;
// What reading the loss less often leaves of the waiting: other synchronization may remain.
constexpr Assumed kLeftWithoutSync = {0.7, 0.4, 0.1};

// --- Workers and buffers -------------------------------------------------------------------------

// Workers to propose beyond what the demand needs: a mean service time is not its 90th percentile.
constexpr double kWorkerHeadroom = 1.2;
// Above this many, scheduling and memory cost more than they bring.
constexpr int64_t kMostWorkers = 64;
// Workers that are forked, give their first batch and end within 0.2 s, those of a small job, take
// 5% of a shorter pass.
constexpr double kShortPassNs = 4e9;
// Passes of one step each, this many of them, are no epochs of a tiny data set that is tried out.
constexpr size_t kManyPasses = 10;
// The error of a stage's recorded service time once it has other workers beside it.
constexpr Assumed kTunedService = {0.8, 1.0, 1.2};
// The tuner's limit for a stage is twice the cores, and at least this many workers (analyzer/plan).
constexpr double kTunersLeastLimit = 4;
// A DataLoader's workers must load a batch in what the load leaves of a step; at least this much of
// a step is taken as left, so that a loader that takes all of it does not ask for endless workers.
constexpr double kLeastRestOfStep = 0.01;
// PyTorch draws seeds and an order between one epoch's last fetch and the next one's first: 12 to
// 16 operations, where a small model's step has hundreds. A validation pass separates two epochs,
// too.
constexpr double kBetweenEpochs = 0.25;
// A fetch that waits for workers to end or to start takes as long as 12 others or more, even if
// they are forked. A slow loader's fetches take as long as its workers' end, and have more to gain
// elsewhere.
constexpr double kRestartFetches = 5;
// A stage that is off the CPU for more than this part of its work mostly waits: parallel calls
// hardly compete for a core or for Python's lock.
constexpr double kMostlyWaits = 2.0 / 3;
// An op that takes at least this much of its stage is what to look at first: with less, no change
// of it alone makes the stage a third faster.
constexpr double kSlowOpShare = 0.25;
constexpr size_t kOpsShown = 3;
// With fewer sampled calls, an op's share is what one or two batches happened to take.
constexpr uint64_t kEnoughCalls = 4;
// Lines shown of the slowest op.
constexpr size_t kLinesShown = 3;
// Readers of one disk or bucket: past this the device's own queue is full.
constexpr int64_t kMostReaders = 16;
// tf.data's and PyTorch's guides start with two batches ahead, and so does a first prefetch.
constexpr int64_t kFirstPrefetch = 2;
// How full a deeper buffer is when a burst comes: the stages before it have capacity to spare, but
// the run does not show how much of it they get until the next burst.
constexpr Assumed kFilledBeforeABurst = {0.5, 0.9, 1.0};
// A deeper prefetch hides no burst that twice the memory would not.
constexpr int64_t kMostPrefetch = 64;
// What handing elements on out of order saves of the time they were held back: without order some
// of it turns into waiting for unfinished elements.
constexpr Assumed kSavedWithoutOrder = {0.7, 0.95, 1.0};
// All cores are in use from here on: the last tenth goes to the kernel and to unlucky scheduling.
constexpr double kCoresBurned = 0.90;
// A lock that is held for less of the work than this lets more workers work than a machine has
// cores.
constexpr double kHeldLock = 0.05;
// From here on, workers that wait for a lock are too many already.
using attribution::kTakeTurns;
// Of the window in which the cgroup stopped the program, or of the cores that the hypervisor took.
constexpr double kThrottled = 0.05;

// --- Elements ------------------------------------------------------------------------------------

// Passing an element between threads costs 20 to 40 ns if no thread sleeps, and 32 us per wake-up
// otherwise: below 50 us of work per element, passing it on is the main cost.
constexpr double kCheapServiceNs = 50'000;
// Opening a small file takes tens of microseconds to milliseconds, as long as reading some 256 KiB
// of it from a disk that delivers 100 MB/s or more.
constexpr uint64_t kSmallFileBytes = uint64_t{256} << 10;
// So many elements show whether a file holds several: readers rarely have more than this many open.
constexpr size_t kElementsPerFileSeen = 64;
// JPEGs of photographs at quality 90 have 0.3 to 0.6 bytes per pixel: a file with this much for
// each pixel of a picture holds that picture or a larger one.
constexpr double kMostJpegBytesPerPixel = 0.6;
// Bytes of a value are told apart by the ratio of two sizes: 1, or 2 and more.
constexpr double kOneByteAValue = 1.5;

// Of very many elements these are enough to see whether two ranks read the same.
constexpr size_t kComparedElements = size_t{1} << 16;
// Two ranks read the same data from here on. What pads an epoch is far less, and shards of orders
// that have nothing in common are half the same.
constexpr double kMostlySame = 2.0 / 3;
constexpr size_t kFewestCompared = 8;
// Each element's first ranks are compared with all others.
constexpr size_t kComparedRanks = 32;

// --- Stores and shuffles -------------------------------------------------------------------------

// The data set must fit into this part of the free memory: the rest belongs to the page cache.
constexpr double kCacheableMemory = 0.7;
// Size of a cache relative to the recorded mean size of its elements: the rest of the data may be
// larger.
constexpr double kCacheHeadroom = 1.25;
// A picture may have so many times the pixels that are usual for its file's size.
constexpr double kLeanPicture = 4;
// Variants of each element to prepare: fewer repeat soon, and each one takes the same disk space.
constexpr int64_t kVariants = 4;
// What a cache leaves of a source's time per sample: almost nothing from memory; from disk, reading
// the larger results takes from half to twice as long as reading the source.
constexpr Assumed kLeftFromMemory = {0.1, 0.01, 0.0};
constexpr Assumed kLeftFromDisk = {2.0, 1.0, 0.5};
// What a cache moved behind a map leaves of the map's time.
constexpr Assumed kLeftBehindCache = {0.1, 0.02, 0.0};
// A shuffle among fewer elements than two batches leaves neighbors together; one among 16 batches
// is cheap and mixes well.
constexpr int64_t kFewestShuffledBatches = 2;
constexpr int64_t kGoodShuffledBatches = 16;
// Smaller buffers are nobody's problem.
constexpr uint64_t kLargeBufferBytes = uint64_t{256} << 20;

// --- Memory --------------------------------------------------------------------------------------

// The kernel reclaims memory from some 90% of a limit on, and an epoch's end or a checkpoint needs
// more than a step.
constexpr double kMemoryRisk = 0.85;
constexpr double kMemoryDanger = 0.95;
// Memory that grows by less than these in the window, or would take more than a day to fill the
// machine, may be a buffer that fills.
constexpr double kGrownBytes = 128 << 20;
constexpr double kGrownOfLimit = 0.02;
constexpr double kFilledWithinS = 24 * 3600;

// Sending a batch takes clearly longer than making it: without workers it need not be sent.
constexpr double kSendsLonger = 1.25;
// Workers for an evaluation, whose passes are short: each has to start, and few have a second
// batch.
constexpr int64_t kMostToEvaluate = 8;
// A first epoch that takes this many times as long per batch fills something that later ones read.
constexpr double kFillsCache = 2;

// A warm-up that takes this much of the time of the steps behind it is worth a look of its own.
constexpr double kLongWarmUp = 0.25;

// --- Stragglers ----------------------------------------------------------------------------------

// A step's wait for one element is worth naming if it is longer than the median step; a shorter one
// is a burst, which a prefetch hides.
constexpr double kStragglerSteps = 1.0;
// And if the work on the element took this many times as long as on most in its stage: where
// several workers finish together, one step waits for what every element costs.
constexpr double kStragglerSlower = 1.5;
// All of them together: below a hundredth of the window not even the fact is interesting.
constexpr double kStragglerShare = 0.01;
// So many are named.
constexpr size_t kShownStragglers = 10;
// Batches prepared ahead that hide an element which takes as long as some ten steps.
constexpr int64_t kHidingPrefetch = 16;
// Elements are "of one shard" if one file has this part of them, and at least three.
constexpr double kShardShare = 0.6;
constexpr size_t kFewestOfShard = 3;
// Files to read at once, so that the others go on while one is slow.
constexpr int64_t kReadersAroundAShard = 4;
// A rank that is this much slower in its own work delays all others.
constexpr double kSlowRank = 1.10;
// So does one that waits this much longer for its input, if that is a part of the step.
constexpr double kSlowInputOfRank = 1.5;
constexpr double kSlowInputShare = 0.1;
// A first step of more than ten medians is compilation, cold caches and empty buffers.
constexpr double kWarmUpSteps = 10;

// --- Copies --------------------------------------------------------------------------------------

// A copy below 64 KiB takes as long as its latency (10 us at 6 GB/s and more).
constexpr uint64_t kSmallCopyBytes = uint64_t{64} << 10;
// Of the time that fewer copies save by a latency which is estimated in this way, the low end: a
// faster link has a smaller one.
constexpr double kEstimatedLatency = 0.5;
// One step copies an image, a label and a weight to the device; more copies belong together.
constexpr double kManyCopies = 8;
// What packing them leaves: two copies in place of kManyCopies and more, if latency is all they
// cost; the low end for those that cost bandwidth, too.
constexpr double kPackedCopies = kManyCopies / 4;
constexpr double kLeftWhenPacked = 0.6;
// What of a copy is hidden behind computing: all but the beginnings and ends of steps.
constexpr Assumed kHiddenCopy = {0.6, 0.9, 1.0};
// What pinned memory leaves of a copy's time: it is 1.5 to 4 times as fast on PCIe 3 to 5.
constexpr Assumed kLeftWhenPinned = {0.67, 0.4, 0.25};

// --- Device --------------------------------------------------------------------------------------

// The largest factor by which a rule enlarges a batch at once: the learning rate must follow, and a
// larger factor makes it a different training run.
constexpr int64_t kMostBatchFactor = 8;
// The batch doubles again while a step's fixed cost would still take more than this share.
constexpr double kStillFixed = 0.3;

// Of a batch's values, those that only pad it. Samples that are all within a fourth of the longest
// have about an eighth; of lengths drawn evenly from a range that begins near 0, a batch has half.
constexpr double kPaddedShare = 0.2;

// Of the kernels' time: with less than this in matrix products, another precision changes little.
constexpr double kProductShare = 0.2;
// How compute grows with the batch, as a power of the factor: in proportion, as far as a run shows;
// less if a small batch leaves units idle, which only the interval's high end counts on.
constexpr Assumed kComputeGrowth = {1.0, 1.0, 0.85};
// What replicas exchange, as a part of what one device computed.
constexpr Assumed kExchanged = {0.3, 0.1, 0.02};
// Steps whose gradients are reduced at once: four batches make an update that a usual learning rate
// still fits.
constexpr int64_t kBatchesPerReduction = 4;
// Steps that the loss scale discarded; dynamic scaling loses one in 2,000 by design.
constexpr double kSkippedSteps = 0.01;
// Frameworks start with a scale of 65536 or 32768. Gradients of a deep network go down to 2^-30,
// and float16 ends at 2^-24: a scale below 1024 loses some of them.
constexpr double kSmallLossScale = 1024;
constexpr double kUsualLossScale = 16384;
constexpr double kMostDoublings = 64;
// A lower scale to start from is so many halvings below the one that overflows, or more.
constexpr double kFewestHalvings = 6;
// Batches of another size than the usual one: more than the last one of each epoch.
constexpr double kOddBatches = 0.01;

// --- Pricing -------------------------------------------------------------------------------------

// Of a gain's logarithm: what the law leaves out (caches, memory bandwidth, clock rates). The
// models of tf.data's authors were within a tenth on the pipelines that they measured.
constexpr double kLawError = 0.10;
// If the law is off by more than this factor for the run as it was, it prices nothing.
constexpr double kLawUnusable = 2.0;

}  // namespace stallscope::findings
