#include "collectors/pipeline/runner.h"

#include <utility>

#include "collectors/pipeline/batch_assembler.h"
#include "collectors/recorder/track.h"

namespace stallscope::pipeline {

void WorkMeter::Begin(StageId stage) {
  if (recorder::CurrentTrack() == nullptr) return;
  mode_ = slow_down_ == nullptr ? SlowDown::Mode::kOff : slow_down_->ModeOf(stage);
  measures_ = always_ || count_++ % 64 == 0;
  if (measures_ || mode_ != SlowDown::Mode::kOff) wall_ns_ = MonotonicNs();
  if (measures_) cpu_ns_ = ThreadCpuNs();
  start_ = NowTicks();
}

void WorkMeter::Pay(StageId stage) {
  const int64_t work_ns = MonotonicNs() - wall_ns_;
  if (mode_ == SlowDown::Mode::kWatch) {
    slow_down_->Watched(stage, work_ns);
  } else {
    slow_down_->Delay(stage, work_ns, cpu_share_, debt_);
  }
}

void WorkMeter::End(StageId stage, ItemId item, uint64_t bytes) {
  recorder::Track* const track = recorder::CurrentTrack();
  if (track == nullptr) return;
  const Ticks end = NowTicks();
  if (measures_) {
    const int64_t cpu = ThreadCpuNs() - cpu_ns_;
    const int64_t wall = MonotonicNs() - wall_ns_;
    always_ = wall >= 100'000;
    cpu_share_ = wall > 0 ? static_cast<double>(cpu) / static_cast<double>(wall) : 1;
    track->Work(stage, item, start_, end, bytes, static_cast<uint64_t>(cpu));
  } else if (bytes != 0) {
    track->Work(stage, item, start_, end, bytes, 0);
  } else {
    track->Work(stage, item, start_, end);
  }
  if (mode_ != SlowDown::Mode::kOff) Pay(stage);
}

namespace {

// An error in another part of the element than the first, which callers locate.
Error WithOrigin(Error error, const Element& part, const Element& element) {
  const bool other = &part != &element && error.kind != ErrorKind::kUsage;
  return other ? Located(std::move(error), part) : error;
}

// All parts, or all but the very last op.
Status RunParts(const std::vector<MapPart>& parts, Element& element, RunnerWorker& worker,
                bool leave_last) {
  worker.NeedMeters(parts.size());
  for (size_t p = 0; p < parts.size(); ++p) {
    const size_t count =
        parts[p].ops.size() - (leave_last && p + 1 == parts.size() ? size_t{1} : size_t{0});
    const RangeScope range(worker.ops.context.ranges, parts[p].name.c_str());
    worker.meters[p].Begin(parts[p].stage);
    Element& part = element.part(parts[p].input);
    for (size_t i = 0; i < count; ++i) {
      const Op& op = *parts[p].ops[i];
      Status done =
          part.batch != nullptr ? op.ApplyToBatch(part, worker.ops) : op.Apply(part, worker.ops);
      if (!done.ok()) return WithOrigin(std::move(done).error(), part, element);
    }
    // What is left of the last part is measured by the caller.
    if (count == parts[p].ops.size()) worker.meters[p].End(parts[p].stage, element.item, 0);
  }
  return {};
}

// The error as the run sees it; or none, where the element is to be left out and counted.
Status Judge(Error error, const Element& element, StageContext& context) {
  if (context.token.cancelled()) return CancelledError();
  if (error.kind == ErrorKind::kUsage) return error;
  Error located = Located(std::move(error), element);
  if (!context.skip_errors) return located;
  context.ledger.Skip(located, element.bytes());
  return {};
}

}  // namespace

Result<std::optional<Element>> MapRunner::Run(std::vector<Element>& job,
                                              RunnerWorker& worker) const {
  Element element = std::move(job.front());
  Status status = RunParts(parts_, element, worker, false);
  if (status.ok()) {
    element.completed = NowTicks();
    return std::optional<Element>(std::move(element));
  }
  STALLSCOPE_RETURN_IF_ERROR(Judge(std::move(status).error(), element, context_));
  context_.Recycle(std::move(element));
  return std::optional<Element>();
}

Status BatchRunner::Fits(const std::vector<Element>& job, const Element& next) const {
  if (job.empty() || options_.pad || !parts_.empty()) return {};
  for (size_t i = 0; i < next.parts(); ++i) {
    const data::Tensor& first = job.front().part(i).value;
    const data::Tensor& value = next.part(i).value;
    if (first.dtype() == value.dtype() && first.shape() == value.shape()) continue;
    return DoesNotFit(value.dtype(), value.shape(), first.dtype(), first.shape());
  }
  return {};
}

Status BatchRunner::AddSample(Element& sample, BatchAssembler& assembler,
                              RunnerWorker& worker) const {
  if (parts_.empty()) return assembler.Add(sample);
  const MapPart& last = parts_.back();
  const bool may_place =
      !options_.pad && !last.ops.empty() && sample.batch == nullptr && last.input == 0;
  STALLSCOPE_RETURN_IF_ERROR(RunParts(parts_, sample, worker, may_place));
  bool placed = false;
  if (may_place) {
    STALLSCOPE_ASSIGN_OR_RETURN(placed, last.ops.back()->ApplyInto(sample, worker.ops, assembler));
    if (!placed) STALLSCOPE_RETURN_IF_ERROR(last.ops.back()->Apply(sample, worker.ops));
    worker.meters[parts_.size() - 1].End(last.stage, sample.item, 0);
  }
  sample.completed = NowTicks();
  return placed ? assembler.AddPlaced(sample) : assembler.Add(sample);
}

Result<std::optional<Element>> BatchRunner::Run(std::vector<Element>& job,
                                                RunnerWorker& worker) const {
  const RangeScope range(context_.ranges, options_.name.c_str());
  BatchAssembler assembler(context_, options_.size, options_.pad);
  std::vector<ItemId> samples;
  samples.reserve(job.size());
  // Where a map is done on the way, its spans are what is recorded.
  worker.NeedMeters(1);
  if (parts_.empty()) worker.meters[0].Begin(options_.stage);
  for (Element& sample : job) {
    samples.push_back(sample.item);
    Status status = AddSample(sample, assembler, worker);
    if (!status.ok()) {
      if (context_.token.cancelled()) return CancelledError();
      Error error = std::move(status).error();
      return error.kind == ErrorKind::kUsage ? error : Located(std::move(error), sample);
    }
    context_.Recycle(std::move(sample));
  }
  STALLSCOPE_ASSIGN_OR_RETURN(Element batch, assembler.Finish());
  if (auto* track = recorder::CurrentTrack(); track != nullptr && options_.padding.known()) {
    track->Sample(options_.padding, assembler.padding(), NowTicks());
  }
  batch.item = context_.NewItem();
  if (parts_.empty()) worker.meters[0].End(options_.stage, batch.item, batch.bytes());
  Record(batch, samples, worker);
  batch.completed = NowTicks();
  return std::optional<Element>(std::move(batch));
}

void BatchRunner::Record(const Element& batch, const std::vector<ItemId>& samples,
                         RunnerWorker& worker) const {
  recorder::Track* const track = recorder::CurrentTrack();
  if (track == nullptr || context_.recorder == nullptr) return;
  std::string shape = batch.value.shape().ToString();
  for (const Element& other : batch.others) shape += ", " + other.value.shape().ToString();
  if (shape != worker.shape_text) {
    worker.shape = context_.recorder->DefineString(shape);
    worker.shape_text = std::move(shape);
  }
  for (const ItemId sample : samples) track->Lineage(options_.stage, sample, batch.item);
  track->Batch(options_.stage, batch.item, static_cast<uint32_t>(samples.size()),
               samples[static_cast<size_t>(batch.batch->last)], worker.shape, NowTicks());
}

Status PullJob(Stage& input, const Runner& runner, StageContext& context,
               std::vector<Element>& job) {
  job.clear();
  const auto size = static_cast<size_t>(runner.JobSize());
  while (job.size() < size) {
    STALLSCOPE_ASSIGN_OR_RETURN(std::optional<Element> next, input.Next());
    if (!next.has_value()) break;
    Status fits = runner.Fits(job, *next);
    if (!fits.ok()) {
      STALLSCOPE_RETURN_IF_ERROR(Judge(std::move(fits).error(), *next, context));
      context.Recycle(std::move(*next));
      continue;
    }
    job.push_back(std::move(*next));
  }
  if (job.size() < size && !runner.KeepsRest()) {
    for (Element& element : job) context.Recycle(std::move(element));
    job.clear();
  }
  return {};
}

}  // namespace stallscope::pipeline
