// Ops of known cost: busy burns CPU, sleep waits.
#include "analyzer/base/clock.h"
#include "collectors/pipeline/ops/make.h"
#include "collectors/recorder/track.h"

namespace stallscope::pipeline {
namespace {

int64_t NsOf(const OpInstance& call, int64_t samples) {
  return static_cast<int64_t>(call.call.Number("us") * 1000 * static_cast<double>(samples));
}

// CPU time, not wall time: on a busy machine the work takes longer, as real work does.
class Busy final : public Op {
 public:
  explicit Busy(const OpInstance& call) : call_(call) {}
  Status Apply(Element& element, OpWorker& worker) const override {
    const int64_t end = ThreadCpuNs() + NsOf(call_, element.samples());
    while (ThreadCpuNs() < end) {
      if (worker.context.token.cancelled()) return CancelledError();
    }
    return {};
  }
  Status ApplyToBatch(Element& batch, OpWorker& worker) const override {
    return Apply(batch, worker);
  }

 private:
  const OpInstance call_;
};

class Sleep final : public Op {
 public:
  explicit Sleep(const OpInstance& call) : call_(call) {}
  Status Apply(Element& element, OpWorker& worker) const override {
    return worker.context.token.SleepFor(NsOf(call_, element.samples())) ? Status()
                                                                         : Status(CancelledError());
  }
  Status ApplyToBatch(Element& batch, OpWorker& worker) const override {
    return Apply(batch, worker);
  }

 private:
  const OpInstance call_;
};

}  // namespace

OpPtr MakeCostOp(const OpInstance& call) {
  if (call.call.name() == "busy") return std::make_unique<Busy>(call);
  if (call.call.name() == "sleep") return std::make_unique<Sleep>(call);
  return nullptr;
}

}  // namespace stallscope::pipeline
