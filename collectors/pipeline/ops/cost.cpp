// Ops of known cost: busy burns CPU, sleep waits. With `every` only the last of so many records
// of a file costs anything, in each epoch the same ones: stragglers whose place is known.
#include <algorithm>

#include "analyzer/base/clock.h"
#include "collectors/pipeline/ops/make.h"
#include "collectors/recorder/track.h"

namespace stallscope::pipeline {
namespace {

int64_t NsOf(const OpInstance& call, const Element& element) {
  const auto every = static_cast<uint64_t>(call.call.Integer("every"));
  const auto costs = [every](const ElementId& id) { return (id.record + 1) % every == 0; };
  int64_t samples = 0;
  if (element.batch == nullptr) {
    samples = costs(element.id) ? 1 : 0;
  } else {
    samples = std::count_if(element.batch->ids.begin(), element.batch->ids.end(), costs);
  }
  return static_cast<int64_t>(call.call.Number("us") * 1000 * static_cast<double>(samples));
}

// CPU time, not wall time: on a busy machine the work takes longer, as real work does.
class Busy final : public Op {
 public:
  explicit Busy(const OpInstance& call) : call_(call) {}
  Status Apply(Element& element, OpWorker& worker) const override {
    const int64_t end = ThreadCpuNs() + NsOf(call_, element);
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
    return worker.context.token.SleepFor(NsOf(call_, element)) ? Status()
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
