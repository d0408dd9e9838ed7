#include "collectors/system/sampler.h"

#include <thread>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"
#include "collectors/system/gpus.h"
#include "collectors/system/kernel_sources.h"
#include "collectors/system/pacer.h"

namespace stallscope::system {
namespace {

// Writes into a recording. Each value has its own timestamp (11 ns), so a slow source before it
// does not shift it.
class TrackSink : public CounterSink {
 public:
  TrackSink(recorder::Recorder& recorder, const char* name)
      : recorder_(recorder), track_(recorder.NewTrack(About(name))) {}

  CounterId Define(const std::string& name, const std::string& unit) override {
    return recorder_.DefineCounter(name, unit);
  }
  void Put(CounterId counter, double value) override { track_->Sample(counter, value, NowTicks()); }

 private:
  static trace::TrackInfo About(const char* name) {
    trace::TrackInfo info;
    info.name = name;
    info.kind = trace::TrackKind::kSampler;
    return info;
  }

  recorder::Recorder& recorder_;
  std::shared_ptr<recorder::Track> track_;
};

// What the sampling itself costs: the CPU time of the thread that reads this source. The first
// reading runs on the thread that starts the sampler, whose time does not count.
class OwnCpu : public Source {
 public:
  OwnCpu() : Source("sampler", kNsPerSecond) {}
  void Read(CounterSink& sink, Effort) override {
    const bool started = std::this_thread::get_id() != starter_;
    cpu_.Put(sink, static_cast<double>(started ? ThreadCpuNs() : 0));
  }

 private:
  std::thread::id starter_ = std::this_thread::get_id();
  Counter cpu_{Row("sampler.cpu")};
};

}  // namespace

// A group of sources with its track and its thread.
class SystemSampler::Lane {
 public:
  Lane(recorder::Recorder& recorder, const char* name, std::vector<std::unique_ptr<Source>> sources,
       const SamplerOptions& options)
      : recorder_(recorder),
        sink_(recorder, name),
        round_(std::move(sources), sink_, {options.interval_ns, options.cpu_share}) {
    round_.SampleAll(MonotonicNs());
  }

  Status Start(const char* name, int64_t interval_ns) {
    return pacer_.Start(
        name, interval_ns, [this](int64_t now) { return round_.SampleOnce(now); },
        [this] { round_.SampleAll(MonotonicNs()); },
        [this](const Error& error) { recorder_.Fail(error); });
  }
  void Stop() { pacer_.Stop(); }
  std::vector<Absence> absences() const { return round_.absences(); }

 private:
  recorder::Recorder& recorder_;
  TrackSink sink_;
  Round round_;
  Pacer pacer_;  // last: its thread uses the others
};

SystemSampler::SystemSampler() = default;
SystemSampler::~SystemSampler() { Stop(); }

Result<std::unique_ptr<SystemSampler>> SystemSampler::Start(recorder::Recorder& recorder,
                                                            const SamplerOptions& options) {
  constexpr int64_t kShortest = kNsPerMs;
  if (options.interval_ns < kShortest) {
    return Error{ErrorKind::kUsage, "the sampling interval is under a millisecond", "",
                 "use at least 1 ms"};
  }
  std::unique_ptr<SystemSampler> sampler(new SystemSampler());
  auto kernel =
      options.own_process ? MakeKernelSources(options.root) : MakeMachineSources(options.root);
  kernel.push_back(std::make_unique<OwnCpu>());
  STALLSCOPE_RETURN_IF_ERROR(sampler->Add(recorder, "sst-sampler", std::move(kernel), options));
  if (options.nvml_library.empty()) return sampler;

  auto gpus = MakeGpus(options.nvml_library);
  const auto& missing = gpus->absences();
  if (!missing.empty()) {  // before the first reading only if there is no device at all
    sampler->absences_.insert(sampler->absences_.end(), missing.begin(), missing.end());
    return sampler;
  }
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(std::move(gpus));
  STALLSCOPE_RETURN_IF_ERROR(sampler->Add(recorder, "sst-gpu", std::move(sources), options));
  return sampler;
}

Status SystemSampler::Add(recorder::Recorder& recorder, const char* name,
                          std::vector<std::unique_ptr<Source>> sources,
                          const SamplerOptions& options) {
  auto lane = std::make_unique<Lane>(recorder, name, std::move(sources), options);
  const auto missing = lane->absences();
  absences_.insert(absences_.end(), missing.begin(), missing.end());
  STALLSCOPE_RETURN_IF_ERROR(lane->Start(name, options.interval_ns));
  lanes_.push_back(std::move(lane));
  return {};
}

void SystemSampler::Stop() {
  for (const auto& lane : lanes_) lane->Stop();
}

}  // namespace stallscope::system
