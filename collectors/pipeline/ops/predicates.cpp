// What filters ask of an element.
#include <fmt/format.h>

#include "collectors/pipeline/ops/make.h"

namespace stallscope::pipeline {
namespace {

class KeepOneIn final : public Predicate {
 public:
  explicit KeepOneIn(int64_t n) : n_(n) {}
  Result<bool> Keeps(const Element&, OpWorker&) override { return seen_++ % n_ == 0; }
  void Restart() override { seen_ = 0; }

 private:
  const int64_t n_;
  int64_t seen_ = 0;
};

class KeepFraction final : public Predicate {
 public:
  KeepFraction(double p, uint64_t salt) : p_(p), salt_(salt) {}
  Result<bool> Keeps(const Element& element, OpWorker& worker) override {
    return Random(worker.context.seed, salt_, element.id).Uniform() < p_;
  }

 private:
  const double p_;
  const uint64_t salt_;
};

class MinBytes final : public Predicate {
 public:
  explicit MinBytes(int64_t bytes) : bytes_(static_cast<uint64_t>(bytes)) {}
  Result<bool> Keeps(const Element& element, OpWorker&) override {
    return element.value.bytes() >= bytes_;
  }

 private:
  const uint64_t bytes_;
};

class LabelBelow final : public Predicate {
 public:
  LabelBelow(int64_t classes, FeatureKeys keys) : classes_(classes), keys_(std::move(keys)) {}
  Result<bool> Keeps(const Element& element, OpWorker& worker) override {
    STALLSCOPE_ASSIGN_OR_RETURN(const int64_t label, LabelOf(element, keys_, worker));
    return label < classes_;
  }

 private:
  const int64_t classes_;
  const FeatureKeys keys_;
};

// busy and sleep in a filter keep every element.
class KeepAll final : public Predicate {
 public:
  explicit KeepAll(OpPtr op) : op_(std::move(op)) {}
  Result<bool> Keeps(const Element& element, OpWorker& worker) override {
    Element one;
    one.id = element.id;
    if (element.batch != nullptr) one.batch = std::make_unique<BatchMembers>(*element.batch);
    STALLSCOPE_RETURN_IF_ERROR(op_->Apply(one, worker));
    return true;
  }

 private:
  const OpPtr op_;
};

}  // namespace

Result<std::unique_ptr<Predicate>> MakePredicate(const OpInstance& call, const FeatureKeys& keys) {
  const std::string_view name = call.call.name();
  std::unique_ptr<Predicate> made;
  if (name == "keep_one_in") made = std::make_unique<KeepOneIn>(call.call.Integer("n"));
  if (name == "keep_fraction") {
    made = std::make_unique<KeepFraction>(call.call.Number("p"), call.salt);
  }
  if (name == "min_bytes") made = std::make_unique<MinBytes>(call.call.Integer("bytes"));
  if (name == "label_below") {
    made = std::make_unique<LabelBelow>(call.call.Integer("classes"), keys);
  }
  if (OpPtr cost = MakeCostOp(call); cost != nullptr) {
    made = std::make_unique<KeepAll>(std::move(cost));
  }
  if (made != nullptr) return made;
  return Error{ErrorKind::kUsage, fmt::format("'{}' is not a filter predicate", name),
               call.call.Text(), "see the table of ops"};
}

}  // namespace stallscope::pipeline
