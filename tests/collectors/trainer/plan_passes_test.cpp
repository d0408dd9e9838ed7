#include "collectors/trainer/plan.h"

#include <doctest/doctest.h>

#include <set>

#include "collectors/trainer/model.h"
#include "tests/collectors/trainer/one_pass.h"

namespace stallscope {
namespace {

using namespace trainer;
using device::Kernel;

Plan MixerPlan(Precision precision) {
  TrainerSpec trainer;
  trainer.precision = precision;
  trainer.model = {ModelKind::kMixer, 8, 2, 4, 3};
  return BuildPlan(trainer, {2, {8, 8, 3}, data::DType::kUint8}, 2, true);
}

size_t Count(const Plan& plan, Kernel kernel) {
  size_t count = 0;
  for (const PlanOp& op : plan.compute) count += op.kernel == kernel;
  return count;
}

TEST_SUITE("fast") {
  TEST_CASE("what the backward pass needs again is computed once") {
    Plan plan = MixerPlan(Precision::kFp32);
    CHECK(Count(plan, Kernel::kGelu) == 8);
    CHECK(RemoveDuplicates(plan) == 4 + 2);  // gelus, and the transposed inputs of two blocks
    CHECK(Count(plan, Kernel::kGelu) == 4);
    CHECK(RemoveDuplicates(plan) == 0);
    Plan narrow = MixerPlan(Precision::kFp16);
    const size_t casts = Count(narrow, Kernel::kCast);
    RemoveDuplicates(narrow);
    CHECK(Count(narrow, Kernel::kCast) == narrow.parameters.size());
    CHECK(Count(narrow, Kernel::kCast) < casts);
  }

  TEST_CASE("different arguments and gradients are not duplicates") {
    Plan plan;
    const TensorId x = plan.Add({"x", Role::kImages, device::Type::kFloat32, 4, 0});
    const auto add = [&](Role role, std::vector<float> floats) {
      const TensorId out = plan.Add({"out", role, device::Type::kFloat32, 4, 0});
      plan.compute.push_back({Kernel::kConvert, {x}, {out}, {}, std::move(floats), {}});
    };
    add(Role::kActivation, {1, 0});
    add(Role::kActivation, {2, 0});
    add(Role::kGradients, {1, 0});
    CHECK(RemoveDuplicates(plan) == 0);
    add(Role::kActivation, {1, 0});
    CHECK(RemoveDuplicates(plan) == 1);
  }

  TEST_CASE("a product, its bias and its gelu merge if nothing else reads the product") {
    Plan plan = MixerPlan(Precision::kFp16);
    RemoveDuplicates(plan);
    const size_t products = Count(plan, Kernel::kGemm);
    const size_t biases = Count(plan, Kernel::kAddBias);
    const size_t gelus = Count(plan, Kernel::kGelu);
    const uint64_t flops = Flops(plan);
    CHECK(FuseDense(plan) == biases + gelus);
    CHECK(Count(plan, Kernel::kDense) == biases);
    CHECK(Count(plan, Kernel::kAddBias) == 0);
    CHECK(Count(plan, Kernel::kGelu) == 0);
    CHECK(Count(plan, Kernel::kGemm) == products - biases);
    CHECK(Flops(plan) == flops);  // the same arithmetic
    for (const PlanOp& op : plan.compute) {
      if (op.kernel == Kernel::kDense) CHECK(op.out.size() == (op.ints[6] != 0 ? 2 : 1));
    }
    CHECK(FuseDense(plan) == 0);
  }

  TEST_CASE("a product that something else reads, or that is added to, stays") {
    Plan plan;
    const auto add = [&](Role role) { return plan.Add({"t", role, device::Type::kFloat32, 4, 0}); };
    const TensorId x = add(Role::kImages);
    const TensorId product = add(Role::kActivation);
    const TensorId sum = add(Role::kActivation);
    plan.compute.push_back({Kernel::kGemm, {x, x}, {product}, {0, 0, 2, 2, 2}, {1, 0}, {}});
    plan.compute.push_back({Kernel::kAddBias, {product, x}, {sum}, {}, {}, {}});
    Plan read_twice = plan;
    read_twice.compute.push_back({Kernel::kGelu, {product}, {add(Role::kActivation)}, {}, {}, {}});
    CHECK(FuseDense(read_twice) == 0);
    Plan scaled = plan;
    scaled.compute[0].floats = {2, 0};
    CHECK(FuseDense(scaled) == 0);
    CHECK(FuseDense(plan) == 1);
    CHECK(plan.compute[0].in == std::vector<TensorId>{x, x, x});
  }

  TEST_CASE("on the host a dense kernel has the bits of its steps") {
    TrainerSpec trainer;
    trainer.model = {ModelKind::kMixer, 8, 2, 4, 3};
    const BatchForm form{3, {8, 8, 3}, data::DType::kFloat32};
    for (const Precision precision : {Precision::kFp32, Precision::kFp16, Precision::kBf16}) {
      trainer.precision = precision;
      Plan steps = BuildPlan(trainer, form, 3, false);
      RemoveDuplicates(steps);
      Plan dense = steps;
      FuseDense(dense);
      FuseElementwise(dense);
      const auto weights = InitialWeights(steps, 3);
      const auto type = ComputeType(precision);
      test::OnePass one(steps, form, device::Kind::kHost, type);
      test::OnePass other(dense, form, device::Kind::kHost, type);
      CHECK(one.Loss(weights) == other.Loss(weights));
      CHECK(one.Gradients() == other.Gradients());
    }
  }

  TEST_CASE("a fused chain stores what others read and nothing else") {
    Plan plan = MixerPlan(Precision::kFp32);
    RemoveDuplicates(plan);
    const uint64_t before = ActivationBytes(plan);
    std::set<TensorId> written;
    const size_t ops = plan.compute.size();
    const size_t saved = FuseElementwise(plan);
    CHECK(saved >= 6);
    CHECK(plan.compute.size() == ops - saved);
    CHECK(ActivationBytes(plan) < before);
    for (const PlanOp& op : plan.compute) {
      for (const TensorId in : op.in) {
        if (plan.at(in).role == Role::kActivation) CHECK(written.count(in) == 1);
      }
      written.insert(op.out.begin(), op.out.end());
    }
  }
}

}  // namespace
}  // namespace stallscope
