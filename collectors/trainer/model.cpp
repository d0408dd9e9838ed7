#include "collectors/trainer/model.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/base/splitmix.h"

namespace stallscope::trainer {
namespace {

using device::Kernel;
using device::Type;

constexpr float kPixelScale = 4.0f / 255;
constexpr float kPixelOffset = -2;

class StepBuilder {
 public:
  StepBuilder(const TrainerSpec& trainer, Plan& plan)
      : model_(trainer.model),
        type_(ComputeType(trainer.precision)),
        tf32_(trainer.precision == Precision::kTf32 ? 1 : 0),
        plan_(plan) {}

  void Mixer(const BatchForm& form, float scale, float offset);
  void Mlp(const BatchForm& form, float scale, float offset);
  void SetLoss(int64_t whole_batch) { whole_batch_ = whole_batch; }

 private:
  struct Linear {
    std::string name;
    int64_t in = 0;
    int64_t out = 0;
    TensorId weight = 0;
    TensorId bias = 0;
    TensorId weight_gradient = 0;
    TensorId bias_gradient = 0;
  };
  // linear, gelu, linear
  struct TwoLayers {
    Linear first;
    Linear second;
    TensorId hidden = 0;  // before the gelu
  };
  struct Block {
    TwoLayers tokens;
    TwoLayers channels;
    TensorId in = 0;
    TensorId between = 0;
  };

  TensorId Op(Kernel kernel, std::vector<TensorId> in, int64_t elements, const std::string& name,
              std::vector<int64_t> ints = {}, std::vector<float> floats = {}) {
    const TensorId out = plan_.Add({name, Role::kActivation, type_, elements, 0});
    plan_.compute.push_back({kernel, std::move(in), {out}, std::move(ints), std::move(floats), {}});
    return out;
  }
  int64_t Size(TensorId id) const { return plan_.at(id).elements; }

  // A parameter and its gradient.
  std::pair<TensorId, TensorId> NewParameter(const std::string& name, int64_t elements,
                                             float deviation) {
    const int64_t offset = plan_.parameter_elements;
    plan_.parameters.push_back({name, offset, elements, deviation});
    plan_.parameter_elements += (elements + 31) / 32 * 32;  // 64 bytes of the narrowest type
    return {plan_.Add({name, Role::kWeights, Type::kFloat32, elements, offset}),
            plan_.Add({name + " gradient", Role::kGradients, type_, elements, offset})};
  }
  Linear NewLinear(const std::string& name, int64_t in, int64_t out, float scale = 1) {
    Linear made{name, in, out, 0, 0, 0, 0};
    const float deviation = scale / std::sqrt(static_cast<float>(in));
    std::tie(made.weight, made.weight_gradient) =
        NewParameter(name + " weight", in * out, deviation);
    std::tie(made.bias, made.bias_gradient) = NewParameter(name + " bias", out, 0);
    return made;
  }
  // The parameter in the type of the arithmetic.
  TensorId Use(TensorId parameter) {
    if (type_ == Type::kFloat32) return parameter;
    return Op(Kernel::kCast, {parameter}, Size(parameter), plan_.at(parameter).name + " narrow");
  }

  TensorId Forward(const Linear& layer, TensorId x) {
    const int64_t rows = Size(x) / layer.in;
    const TensorId product =
        Op(Kernel::kGemm, {x, Use(layer.weight)}, rows * layer.out, layer.name + " product",
           {0, 0, rows, layer.out, layer.in, tf32_}, {1, 0});
    return Op(Kernel::kAddBias, {product, Use(layer.bias)}, rows * layer.out, layer.name);
  }
  void ParameterGradients(const Linear& layer, TensorId x, TensorId gradient) {
    const int64_t rows = Size(x) / layer.in;
    plan_.compute.push_back({Kernel::kGemm,
                             {x, gradient},
                             {layer.weight_gradient},
                             {1, 0, layer.in, layer.out, rows, tf32_},
                             {1, 0},
                             {}});
    plan_.compute.push_back(
        {Kernel::kSumRows, {gradient}, {layer.bias_gradient}, {rows, layer.out}, {}, {}});
  }
  TensorId Backward(const Linear& layer, TensorId x, TensorId gradient) {
    ParameterGradients(layer, x, gradient);
    const int64_t rows = Size(x) / layer.in;
    return Op(Kernel::kGemm, {gradient, Use(layer.weight)}, Size(x), layer.name + " input gradient",
              {0, 1, rows, layer.in, layer.out, tf32_}, {1, 0});
  }

  TensorId Gelu(TensorId x) { return Op(Kernel::kGelu, {x}, Size(x), plan_.at(x).name + " gelu"); }
  TensorId GeluBackward(TensorId x, TensorId gradient) {
    return Op(Kernel::kGeluBackward, {x, gradient}, Size(x), plan_.at(x).name + " gradient");
  }
  TensorId Sum(TensorId a, TensorId b) {
    return Op(Kernel::kAdd, {a, b}, Size(a), plan_.at(a).name + " sum");
  }
  TensorId Transpose(TensorId x, int64_t rows, int64_t columns) {
    return Op(Kernel::kTranspose, {x}, Size(x), plan_.at(x).name + " transposed",
              {Size(x) / (rows * columns), rows, columns});
  }
  TensorId Forward(TwoLayers& layers, TensorId x) {
    layers.hidden = Forward(layers.first, x);
    return Forward(layers.second, Gelu(layers.hidden));
  }
  TensorId Backward(const TwoLayers& layers, TensorId x, TensorId gradient) {
    const TensorId hidden = Backward(layers.second, Gelu(layers.hidden), gradient);
    return Backward(layers.first, x, GeluBackward(layers.hidden, hidden));
  }

  TensorId Images(const BatchForm& form) {
    return plan_.Add({"images", Role::kImages, *DeviceType(form.dtype), form.values(), 0});
  }
  void BeginStep() {
    state_ = plan_.Add({"state", Role::kState, Type::kFloat32, device::kStateValues, 0});
    plan_.compute.push_back({Kernel::kBeginStep, {state_}, {}, {}, {}, {}});
  }
  // The gradient of the logits.
  TensorId Loss(TensorId logits, int64_t samples) {
    const TensorId labels = plan_.Add({"labels", Role::kLabels, Type::kInt32, samples, 0});
    return Op(Kernel::kSoftmaxCrossEntropy, {logits, labels, state_}, Size(logits),
              "logits gradient", {samples, model_.classes, whole_batch_});
  }
  Block NewBlock(const std::string& name, int64_t tokens);
  TensorId ForwardBlock(Block& block, TensorId x, int64_t tokens);
  TensorId BackwardBlock(const Block& block, TensorId gradient, int64_t tokens);

  const ModelSpec& model_;
  const Type type_;
  const int64_t tf32_;
  Plan& plan_;
  int64_t whole_batch_ = 1;
  TensorId state_ = 0;
};

StepBuilder::Block StepBuilder::NewBlock(const std::string& name, int64_t tokens) {
  const int64_t width = model_.width;
  const float small = 1 / std::sqrt(2 * static_cast<float>(model_.depth));
  const int64_t token_hidden = std::max<int64_t>(1, width / 2);
  Block block;
  block.tokens.first = NewLinear(name + " tokens in", tokens, token_hidden);
  block.tokens.second = NewLinear(name + " tokens out", token_hidden, tokens, small);
  block.channels.first = NewLinear(name + " channels in", width, 4 * width);
  block.channels.second = NewLinear(name + " channels out", 4 * width, width, small);
  return block;
}

TensorId StepBuilder::ForwardBlock(Block& block, TensorId x, int64_t tokens) {
  block.in = x;
  const TensorId turned = Transpose(x, tokens, model_.width);
  const TensorId mixed = Transpose(Forward(block.tokens, turned), model_.width, tokens);
  block.between = Sum(x, mixed);
  return Sum(Forward(block.channels, block.between), block.between);
}

TensorId StepBuilder::BackwardBlock(const Block& block, TensorId gradient, int64_t tokens) {
  const TensorId between = Sum(Backward(block.channels, block.between, gradient), gradient);
  const TensorId turned = Transpose(block.in, tokens, model_.width);
  const TensorId mixed = Backward(block.tokens, turned, Transpose(between, tokens, model_.width));
  return Sum(Transpose(mixed, model_.width, tokens), between);
}

void StepBuilder::Mixer(const BatchForm& form, float scale, float offset) {
  const int64_t side = model_.patch;
  const int64_t channels = form.sample[2];
  const int64_t tokens = (form.sample[0] / side) * (form.sample[1] / side);
  const int64_t values = side * side * channels;
  const Linear embed = NewLinear("embed", values, model_.width);
  std::vector<Block> blocks;
  for (int64_t i = 0; i < model_.depth; ++i) {
    blocks.push_back(NewBlock("block " + std::to_string(i), tokens));
  }
  const Linear head = NewLinear("head", model_.width, model_.classes);
  if (form.samples == 0) return;

  BeginStep();
  const TensorId patches =
      Op(Kernel::kPatches, {Images(form)}, form.samples * tokens * values, "patches",
         {form.samples, form.sample[0], form.sample[1], channels, side}, {scale, offset});
  TensorId x = Forward(embed, patches);
  for (Block& block : blocks) x = ForwardBlock(block, x, tokens);
  const TensorId pooled = Op(Kernel::kMeanPool, {x}, form.samples * model_.width, "pooled",
                             {form.samples, tokens, model_.width});
  TensorId gradient = Backward(head, pooled, Loss(Forward(head, pooled), form.samples));
  gradient = Op(Kernel::kMeanPoolBackward, {gradient}, Size(x), "pooled gradient",
                {form.samples, tokens, model_.width});
  for (size_t i = blocks.size(); i-- > 0;) gradient = BackwardBlock(blocks[i], gradient, tokens);
  ParameterGradients(embed, patches, gradient);
}

void StepBuilder::Mlp(const BatchForm& form, float scale, float offset) {
  std::vector<Linear> layers;
  int64_t in = form.sample.Elements();
  for (int64_t i = 0; i < model_.depth; ++i) {
    layers.push_back(NewLinear("layer " + std::to_string(i), in, model_.width));
    in = model_.width;
  }
  const Linear head = NewLinear("head", in, model_.classes);
  if (form.samples == 0) return;

  BeginStep();
  const TensorId values =
      Op(Kernel::kConvert, {Images(form)}, form.values(), "values", {}, {scale, offset});
  std::vector<TensorId> hidden;  // before the gelu
  TensorId x = values;
  for (const Linear& layer : layers) {
    hidden.push_back(Forward(layer, x));
    x = Gelu(hidden.back());
  }
  TensorId gradient = Backward(head, x, Loss(Forward(head, x), form.samples));
  for (size_t i = layers.size(); i-- > 0;) {
    gradient = GeluBackward(hidden[i], gradient);
    if (i == 0) {
      ParameterGradients(layers[0], values, gradient);
    } else {
      gradient = Backward(layers[i], Gelu(hidden[i - 1]), gradient);
    }
  }
}

// Mean 0, deviation 1, nearly normal: the sum of four uniform numbers, which is the same on every
// machine; logarithms and cosines are not.
float Draw(uint64_t bits) {
  float sum = -2;
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<float>(bits >> (16 * i) & 0xffff) / 65536.0f;
  }
  return sum * 1.7320508f;
}

// A narrow type would lose the small gradients of a batch beside the sum of the others.
void AddToSum(const TrainerSpec& trainer, Plan& plan) {
  const int64_t all = plan.parameter_elements;
  const TensorId gradients =
      plan.Add({"batch gradients", Role::kGradients, ComputeType(trainer.precision), all, 0});
  const TensorId sum = plan.Add({"gradient sum", Role::kSum, GradientType(trainer), all, 0});
  plan.compute.push_back({Kernel::kAdd, {sum, gradients}, {sum}, {}, {}, {}});
}

// The optimizer's ops.
void AddUpdate(const TrainerSpec& trainer, Plan& plan) {
  const int64_t all = plan.parameter_elements;
  const Type type = ComputeType(trainer.precision);
  const TensorId gradients =
      plan.Add({"all gradients", Role::kReduced, GradientType(trainer), all, 0});
  const TensorId state = plan.Add({"state", Role::kState, Type::kFloat32, device::kStateValues, 0});
  const TensorId weights = plan.Add({"all weights", Role::kWeights, Type::kFloat32, all, 0});
  const TensorId moment1 = plan.Add({"moment 1", Role::kMoment1, Type::kFloat32, all, 0});
  const auto rate = static_cast<float>(trainer.optimizer.learning_rate);
  const bool mixed = type != Type::kFloat32;

  // float32 needs no loss scale: what overflows it is lost anyway.
  if (mixed) plan.update.push_back({Kernel::kCheckFinite, {gradients, state}, {}, {}, {}, {}});
  if (trainer.optimizer.kind == OptimizerKind::kSgd) {
    const auto momentum = static_cast<float>(trainer.optimizer.momentum);
    plan.update.push_back(
        {Kernel::kSgd, {gradients, state}, {weights, moment1}, {}, {rate, momentum}, {}});
  } else {
    const TensorId moment2 = plan.Add({"moment 2", Role::kMoment2, Type::kFloat32, all, 0});
    plan.update.push_back({Kernel::kAdam,
                           {gradients, state},
                           {weights, moment1, moment2},
                           {},
                           {rate, 0.9f, 0.999f, 1e-8f},
                           {}});
  }
  if (mixed) {
    plan.update.push_back(
        {Kernel::kUpdateScale, {state}, {}, {trainer.loss_scale.growth_interval}, {}, {}});
  }
}

}  // namespace

Type ComputeType(Precision precision) {
  switch (precision) {
    case Precision::kFp16:
      return Type::kFloat16;
    case Precision::kBf16:
      return Type::kBfloat16;
    case Precision::kFp32:
    case Precision::kTf32:
      break;
  }
  return Type::kFloat32;
}

Type GradientType(const TrainerSpec& trainer) {
  return trainer.accumulate > 1 ? Type::kFloat32 : ComputeType(trainer.precision);
}

Plan BuildPlan(const TrainerSpec& trainer, const BatchForm& form, int64_t whole_batch,
               bool pixels) {
  Plan plan;
  plan.samples = form.samples;
  plan.batches_per_update = trainer.accumulate;
  StepBuilder builder(trainer, plan);
  builder.SetLoss(whole_batch * trainer.accumulate);
  const float scale = pixels ? kPixelScale : 1;
  const float offset = pixels ? kPixelOffset : 0;
  if (trainer.model.kind == ModelKind::kMixer) {
    builder.Mixer(form, scale, offset);
  } else {
    builder.Mlp(form, scale, offset);
  }
  if (form.samples == 0) {
    const TensorId state =
        plan.Add({"state", Role::kState, Type::kFloat32, device::kStateValues, 0});
    const TensorId gradients =
        plan.Add({"gradients", Role::kGradients, ComputeType(trainer.precision),
                  plan.parameter_elements, 0});
    plan.compute.push_back({Kernel::kBeginStep, {state}, {}, {}, {}, {}});
    plan.compute.push_back({Kernel::kZero, {}, {gradients}, {}, {}, {}});
  }
  if (trainer.accumulate > 1) AddToSum(trainer, plan);
  AddUpdate(trainer, plan);
  return plan;
}

std::vector<float> InitialWeights(const Plan& plan, uint64_t seed) {
  std::vector<float> arena(static_cast<size_t>(plan.parameter_elements));
  for (const Parameter& parameter : plan.parameters) {
    if (parameter.deviation == 0) continue;
    for (int64_t i = 0; i < parameter.elements; ++i) {
      const auto at = static_cast<size_t>(parameter.offset + i);
      arena[at] = parameter.deviation * Draw(SplitMix(SplitMix(seed) + at));
    }
  }
  return arena;
}

}  // namespace stallscope::trainer
