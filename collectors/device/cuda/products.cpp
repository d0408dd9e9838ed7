// The library's matrices are column-major, ours row-major: it gets the transposed problem, out' =
// b' a', which takes no copy. Its A is our b, its B our a.
#include "collectors/device/cuda/products.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "collectors/device/cuda/driver.h"
#include "collectors/device/cuda/status.h"
#include "collectors/device/shared_library.h"

namespace stallscope::device::cuda {
namespace {

Result<BlasLibrary> LoadCublasLt() {
  // cuBLASLt 12 is CUDA 12's, 13 is CUDA 13's.
  const std::string file = fmt::format("libcublasLt.so.{}", CUDART_VERSION / 1000);
  auto opened = SharedLibrary::Open(LibraryPlaces(file));
  const std::string hint = "install the CUDA toolkit's libraries, or set CUDA_HOME to their folder";
  if (!opened.ok()) {
    return Error{ErrorKind::kRun, "no cuBLASLt: " + opened.error().what, "cuda", hint};
  }
  const SharedLibrary& library = opened.value();
  BlasLibrary blas;
  blas.name = library.name();
  const bool whole = library.Bind(blas.create, "cublasLtCreate") &&
                     library.Bind(blas.destroy, "cublasLtDestroy") &&
                     library.Bind(blas.words, "cublasLtGetStatusString") &&
                     library.Bind(blas.version, "cublasLtGetVersion") &&
                     library.Bind(blas.matmul, "cublasLtMatmul") &&
                     library.Bind(blas.new_product, "cublasLtMatmulDescCreate") &&
                     library.Bind(blas.free_product, "cublasLtMatmulDescDestroy") &&
                     library.Bind(blas.set_product, "cublasLtMatmulDescSetAttribute") &&
                     library.Bind(blas.new_layout, "cublasLtMatrixLayoutCreate") &&
                     library.Bind(blas.free_layout, "cublasLtMatrixLayoutDestroy") &&
                     library.Bind(blas.new_preference, "cublasLtMatmulPreferenceCreate") &&
                     library.Bind(blas.free_preference, "cublasLtMatmulPreferenceDestroy") &&
                     library.Bind(blas.set_preference, "cublasLtMatmulPreferenceSetAttribute") &&
                     library.Bind(blas.choose, "cublasLtMatmulAlgoGetHeuristic");
  if (!whole) {
    return Error{ErrorKind::kRun, "this is not cuBLASLt: cublasLtMatmul or another call is missing",
                 library.name(), hint};
  }
  return blas;
}

// What NVIDIA recommends for Hopper; enough for every kernel on older devices.
constexpr size_t kWorkspace = size_t{32} << 20;

// False for types that it does not multiply.
bool TypeOf(Type type, cudaDataType_t& as) {
  switch (type) {
    case Type::kFloat32:
      as = CUDA_R_32F;
      return true;
    case Type::kFloat16:
      as = CUDA_R_16F;
      return true;
    case Type::kBfloat16:
      as = CUDA_R_16BF;
      return true;
    default:
      return false;
  }
}

// Kernels that read 16 bytes at a time are possible if all addresses allow it.
uint32_t AlignmentOf(Address address) {
  uint32_t alignment = 256;
  while (alignment > 1 && address % alignment != 0) alignment /= 2;
  return alignment;
}

bool HasGelu(const Launch& launch) {
  return launch.kernel == Kernel::kDense && launch.ints[6] != 0;
}
bool InTf32(const Launch& launch) { return launch.ints.size() > 5 && launch.ints[5] != 0; }

}  // namespace

Result<const BlasLibrary*> BlasLibrary::Find() {
  static const Result<BlasLibrary> library = LoadCublasLt();
  if (!library.ok()) return library.error();
  return &library.value();
}

Products::~Products() {
  for (auto& [key, plan] : plans_) Free(plan);
  cudaFree(workspace_);
}

Status Products::Checked(cublasStatus_t status, const char* what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Error{ErrorKind::kRun, fmt::format("{} failed: {}", what, library_.words(status)),
               "cuBLASLt", ""};
}

void Products::Free(Plan& plan) const {
  if (plan.product != nullptr) library_.free_product(plan.product);
  for (cublasLtMatrixLayout_t layout : {plan.a, plan.b, plan.out}) {
    if (layout != nullptr) library_.free_layout(layout);
  }
  plan = Plan();
}

Products::Key Products::KeyOf(const Launch& launch) {
  Key key(launch.ints.begin(), launch.ints.end());
  key.push_back(static_cast<int64_t>(launch.kernel));
  for (const auto* list : {&launch.in, &launch.out}) {
    for (const Operand& operand : *list) {
      key.push_back(static_cast<int64_t>(operand.type));
      key.push_back(AlignmentOf(operand.address));
    }
  }
  // Adding to a result needs a different kernel from replacing it.
  key.push_back(launch.kernel == Kernel::kGemm && launch.floats[1] != 0 ? 1 : 0);
  return key;
}

// Bias and gelu in the same kernel. False: not for these operands.
bool Products::SetEpilogue(const Launch& launch, Part part, Plan& plan) const {
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return library_.set_product(plan.product, attribute, &value, sizeof value) ==
           CUBLAS_STATUS_SUCCESS;
  };
  if (part == Part::kProduct) {
    return set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  }
  const bool gelu = part == Part::kAll && HasGelu(launch);
  const cublasLtEpilogue_t epilogue =
      gelu ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_BIAS;
  const void* bias = reinterpret_cast<const void*>(launch.in[2].address);
  if (launch.in[2].type != SumOf(launch).type || !set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue) ||
      !set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias)) {
    return false;
  }
  if (!gelu) return true;
  void* before = reinterpret_cast<void*>(launch.out[1].address);
  const int64_t columns = launch.ints[3];
  return launch.out[1].type == launch.out[0].type &&
         set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, before) &&
         set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, columns);
}

Result<bool> Products::Choose(const Launch& launch, Part part, Plan& plan) {
  if (!SetEpilogue(launch, part, plan)) return false;
  cublasLtMatmulPreference_t preference = nullptr;
  STALLSCOPE_RETURN_IF_ERROR(Checked(library_.new_preference(&preference), "a preference"));
  const Operand& out = part == Part::kAll ? launch.out[0] : SumOf(launch);
  const uint32_t alignments[] = {AlignmentOf(launch.in[1].address),
                                 AlignmentOf(launch.in[0].address), AlignmentOf(out.address),
                                 AlignmentOf(out.address)};
  constexpr cublasLtMatmulPreferenceAttributes_t kAlignments[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  cublasStatus_t status = library_.set_preference(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace, sizeof kWorkspace);
  for (size_t i = 0; i < std::size(kAlignments) && status == CUBLAS_STATUS_SUCCESS; ++i) {
    status =
        library_.set_preference(preference, kAlignments[i], &alignments[i], sizeof alignments[i]);
  }
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = library_.choose(handle_, plan.product, plan.a, plan.b, plan.out, plan.out, preference,
                             1, &found, &count);
  }
  library_.free_preference(preference);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
  STALLSCOPE_RETURN_IF_ERROR(Checked(status, "the choice of a kernel"));
  if (count == 0) return false;
  plan.algorithm = found.algo;
  plan.workspace = found.workspaceSize;
  plan.part = part;
  return true;
}

Status Products::Describe(const Launch& launch, const Types& types, Plan& plan) const {
  const auto& i = launch.ints;
  const auto m = static_cast<uint64_t>(i[2]);
  const auto n = static_cast<uint64_t>(i[3]);
  const auto k = static_cast<uint64_t>(i[4]);
  // Each in place: our rows are their columns.
  const uint64_t a_across = i[0] != 0 ? m : k;
  const uint64_t b_across = i[1] != 0 ? k : n;
  const cublasComputeType_t compute =
      InTf32(launch) ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  const cublasOperation_t turn_a = i[1] != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t turn_b = i[0] != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
  const auto layout = [&](cublasLtMatrixLayout_t& made, cudaDataType_t type, uint64_t across,
                          uint64_t values) {
    return Checked(
        library_.new_layout(&made, type, across, values / across, static_cast<int64_t>(across)),
        "the description of a matrix");
  };
  constexpr const char* kWhat = "the description of a product";
  STALLSCOPE_RETURN_IF_ERROR(
      Checked(library_.new_product(&plan.product, compute, CUDA_R_32F), kWhat));
  STALLSCOPE_RETURN_IF_ERROR(layout(plan.a, types.b, b_across, k * n));
  STALLSCOPE_RETURN_IF_ERROR(layout(plan.b, types.a, a_across, m * k));
  STALLSCOPE_RETURN_IF_ERROR(layout(plan.out, types.out, n, m * n));
  STALLSCOPE_RETURN_IF_ERROR(Checked(
      library_.set_product(plan.product, CUBLASLT_MATMUL_DESC_TRANSA, &turn_a, sizeof turn_a),
      kWhat));
  return Checked(
      library_.set_product(plan.product, CUBLASLT_MATMUL_DESC_TRANSB, &turn_b, sizeof turn_b),
      kWhat);
}

// The most that one kernel of the library does.
Status Products::ChooseBest(const Launch& launch, Plan& plan) {
  for (const Part part : {Part::kAll, Part::kWithBias, Part::kProduct}) {
    if (launch.kernel == Kernel::kGemm && part != Part::kProduct) continue;
    if (part == Part::kWithBias && !HasGelu(launch)) continue;  // then that is all
    STALLSCOPE_ASSIGN_OR_RETURN(const bool chosen, Choose(launch, part, plan));
    if (chosen) return {};
  }
  Free(plan);
  return {};
}

Result<Products::Plan> Products::Make(const Launch& launch) {
  Plan plan;
  Types types;
  if (!TypeOf(launch.in[0].type, types.a) || !TypeOf(launch.in[1].type, types.b) ||
      !TypeOf(SumOf(launch).type, types.out) || types.a != types.b) {
    return plan;
  }
  Status made = Describe(launch, types, plan);
  if (made.ok()) made = ChooseBest(launch, plan);
  if (made.ok()) return plan;
  Free(plan);
  return std::move(made).error();
}

Result<Products::Part> Products::Prepare(const Launch& launch) {
  const Key key = KeyOf(launch);
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second.part;
  if (workspace_ == nullptr) {
    STALLSCOPE_RETURN_IF_ERROR(
        StatusOf(cudaMalloc(&workspace_, kWorkspace), "allocating cuBLASLt's 32 MiB of scratch"));
  }
  STALLSCOPE_ASSIGN_OR_RETURN(Plan plan, Make(launch));
  return plans_.emplace(key, plan).first->second.part;
}

Status Products::Run(const Launch& launch, cudaStream_t stream) {
  Plan& plan = plans_.at(KeyOf(launch));
  // Shapes share a plan; addresses are each launch's own.
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const void* address) {
    return library_.set_product(plan.product, attribute, &address, sizeof address);
  };
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const bool dense = launch.kernel == Kernel::kDense;
  if (dense && plan.part != Part::kProduct) {
    status =
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void*>(launch.in[2].address));
  }
  if (status == CUBLAS_STATUS_SUCCESS && plan.part == Part::kAll && HasGelu(launch)) {
    status = set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
                 reinterpret_cast<const void*>(launch.out[1].address));
  }
  STALLSCOPE_RETURN_IF_ERROR(Checked(status, "the description of a product"));
  const float scale = dense ? 1 : launch.floats[0];
  const float keep = dense ? 0 : launch.floats[1];
  const Operand& into = plan.part == Part::kAll ? launch.out[0] : SumOf(launch);
  void* out = reinterpret_cast<void*>(into.address);
  return Checked(
      library_.matmul(handle_, plan.product, &scale,
                      reinterpret_cast<const void*>(launch.in[1].address), plan.a,
                      reinterpret_cast<const void*>(launch.in[0].address), plan.b, &keep, out,
                      plan.out, out, plan.out, &plan.algorithm, workspace_, plan.workspace, stream),
      "a product");
}

}  // namespace stallscope::device::cuda
