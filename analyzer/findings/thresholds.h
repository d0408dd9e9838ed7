// Every number that decides whether a rule speaks, each with its reason. Private to the room: rules
// name these and have no numbers of their own.
//
// "Published" ones are taken from the vendors' guides, so that nobody gets one answer from
// stallscope and another from the guide; the others follow from what a change costs to make.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_THRESHOLDS_H_
#define STALLSCOPE_ANALYZER_FINDINGS_THRESHOLDS_H_

#include <array>
#include <cstdint>

namespace stallscope::findings {

// --- Shares of step time
// --------------------------------------------------------------------------

// Published (the TensorFlow profiler's input-pipeline analyzer): a run is moderately input-bound
// from 5 % of step time on, highly from 20 % on. PyTorch's profiler recommends a change where its
// data loader takes over 5 %. The verdict's own bar is the same 5 %.
constexpr double kModerateShare = 0.05;
constexpr double kHighShare = 0.20;
// Published (PyTorch's profiler): a device that is busy for less than half of the time is worth a
// look, whatever the categories say.
constexpr double kLowDeviceUse = 0.50;
// Published (the same guides): an accelerator that is busy for 90 % has nothing left to gain from
// its input. The verdict calls a run compute-bound from here on.
constexpr double kFullDeviceUse = 0.90;
// Waiting of host and device for each other: below a fifth of the step it is the price of reading
// a loss; the verdict has no word for it, so only a large share is worth a line.
constexpr double kSyncShare = kHighShare;

// --- Gains
// --------------------------------------------------------------------------

// A gain whose interval holds 1.0 is not shown, but one of a tenth and more from a short recording
// may well be there: it is named without the figure.
constexpr double kPromisingGain = 1.1;
// From this many steps on a mean of them has settled, and an interval that still holds 1.0 means
// it.
constexpr uint64_t kTellingSteps = 100;

// --- Launches
// --------------------------------------------------------------------------

// A launch is 5 us of the driver, an eager operation around it up to 0.3 ms of Python in the real
// runs at hand. Where the device waits longer than this for each, the host does something else.
constexpr double kSlowestLaunchNs = 1e6;

// --- Workers and buffers
// --------------------------------------------------------------------------

// Workers to propose beyond what the demand needs: a service time's mean is not its 90th
// percentile.
constexpr double kWorkerHeadroom = 1.2;
// Above this many, scheduling and memory cost more than they bring; "auto" stops there as well.
constexpr int64_t kMostWorkers = 64;
// Between an epoch's last fetch and the next one's first, PyTorch draws seeds and an order: 12 to
// 16 operations, where a small model's step has hundreds. Validation lies on the other side of one.
constexpr double kBetweenEpochs = 0.25;
// A fetch that waits for workers to end or to begin takes 12 others and more, even of forked ones;
// a slow loader's fetches take as long as its workers' end, and have more to gain elsewhere.
constexpr double kRestartFetches = 5;
// Readers of one disk or bucket: past this the device's own queue is full.
constexpr int64_t kMostReaders = 16;
// Two batches ahead is what tf.data's and PyTorch's guides begin with; a first prefetch gets it.
constexpr int64_t kFirstPrefetch = 2;
// How full a deeper buffer is when a burst comes: what is known is that the stages before it have
// some capacity to spare, not how much of it until the next burst.
constexpr std::array<double, 3> kFilledBeforeABurst = {0.5, 0.9, 1.0};
// A deeper prefetch than this hides no burst that twice as much memory would not.
constexpr int64_t kMostPrefetch = 64;
// Cores are "all burned" from here on: the last tenth goes to the kernel and to unlucky placing.
constexpr double kCoresBurned = 0.90;
// Of the window that the cgroup stopped the program, or of the cores that the hypervisor took.
constexpr double kThrottled = 0.05;

// --- Elements
// -------------------------------------------------------------------------------------

// Handing an element from thread to thread costs some 20 to 40 ns where nobody sleeps and 32 us a
// wake where somebody does: below 50 us of work an element, the handing over is what is paid for.
constexpr double kCheapServiceNs = 50'000;
// Many small files: opening one takes tens of microseconds to milliseconds, as long as reading
// some 256 KiB of it from a disk that gives 100 MB/s and more.
constexpr uint64_t kSmallFileBytes = uint64_t{256} << 10;
// A copy below 64 KiB takes as long as its latency (10 us at 6 GB/s and more).
constexpr uint64_t kSmallCopyBytes = uint64_t{64} << 10;
// Copies to the device for one step: image, label and a weight are few; more belong together.
constexpr double kManyCopies = 8;
// JPEGs of photographs at quality 90 have 0.3 to 0.6 bytes a pixel: a file of this much for each
// pixel of a picture is that picture or a larger one.
constexpr double kMostJpegBytesPerPixel = 0.6;
// The dataset must fit this part of the memory that was left: the rest belongs to the page cache.
constexpr double kCacheableMemory = 0.7;
// A shuffle within fewer elements than two batches leaves neighbours together.
constexpr int64_t kFewestShuffledBatches = 2;
// Buffers below this are nobody's problem.
constexpr uint64_t kLargeBufferBytes = uint64_t{256} << 20;

// --- Memory
// ---------------------------------------------------------------------------------------

// The kernel reclaims from some 90 % of a limit on, and an epoch's end or a checkpoint needs more
// than a step.
constexpr double kMemoryRisk = 0.85;
constexpr double kMemoryDanger = 0.95;

// --- Stragglers
// -----------------------------------------------------------------------------------

// A step's wait for one element is worth naming where it is longer than the median step; what is
// shorter is a burst, and the prefetch's business.
constexpr double kStragglerSteps = 1.0;
// All of them together: below a hundredth of the window not even the fact is interesting.
constexpr double kStragglerShare = 0.01;
// Elements are "of one shard" where one file has this part of at least three of them.
constexpr double kShardShare = 0.6;
constexpr size_t kFewestOfShard = 3;
// A rank that is this much slower in its own work holds all others up.
constexpr double kSlowRank = 1.10;
// A first step of more than ten medians is compilation, warm caches and filling buffers.
constexpr double kWarmUpSteps = 10;

// --- Device
// ---------------------------------------------------------------------------------------

// Kernels shorter than this end before the next can be launched (5 to 10 us a launch).
constexpr double kShortKernelNs = 10'000;
// Steps that the loss scale threw away; dynamic scaling loses one in 2,000 by design.
constexpr double kSkippedSteps = 0.01;
// Batches of another size than the usual one: every one more than an epoch's last.
constexpr double kOddBatches = 0.01;

// --- Pricing
// --------------------------------------------------------------------------------------

// Of a gain's logarithm: what the law leaves out (caches, memory bandwidth, clock rates). The
// models of tf.data's authors were within a tenth on the pipelines that they measured.
constexpr double kLawError = 0.10;
// Where the law is off by more than this factor for the run as it was, it prices nothing.
constexpr double kLawUnusable = 2.0;

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_THRESHOLDS_H_
