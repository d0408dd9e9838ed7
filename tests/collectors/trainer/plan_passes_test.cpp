#include "collectors/trainer/plan_passes.h"

#include <doctest/doctest.h>

#include <set>

#include "collectors/trainer/model.h"

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
  TEST_CASE("what the backward pass asks for again is computed once") {
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

  TEST_CASE("different arguments and gradients are no duplicates") {
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
