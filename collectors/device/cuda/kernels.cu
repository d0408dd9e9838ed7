// How the bodies of kernel_bodies.h are spread over a device. One file, because nvcc is slow.
#include "collectors/device/cuda/kernels.h"

#include "collectors/device/cuda/kernel_calls.h"

namespace stallscope::device::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
// Enough to fill any device; threads loop past the end of the grid.
constexpr int64_t kMostBlocks = 4096;
constexpr unsigned kAllLanes = 0xffffffffu;

unsigned Blocks(int64_t count, int64_t each) {
  const int64_t blocks = (count + each - 1) / each;
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

}  // namespace

// KernelName identifies the launch by `kNumber`, the first argument.
template <int kNumber, class Body>
__global__ void Each(const Body body, int64_t count) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) body(i);
}

struct WarpLanes {
  int lane;
  int lanes;
  template <class T>
  __device__ T Sum(T value) const {
    for (int step = kWarp / 2; step > 0; step /= 2) {
      value += __shfl_xor_sync(kAllLanes, value, step);
    }
    return value;
  }
  __device__ float Max(float value) const {
    for (int step = kWarp / 2; step > 0; step /= 2) {
      value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
    }
    return value;
  }
  __device__ int64_t Min(int64_t value) const {
    for (int step = kWarp / 2; step > 0; step /= 2) {
      const int64_t other = __shfl_xor_sync(kAllLanes, static_cast<long long>(value), step);
      value = other < value ? other : value;
    }
    return value;
  }
};

template <int kNumber, class Body>
__global__ void Rows(const Body body, int64_t count) {
  const WarpLanes lanes{static_cast<int>(threadIdx.x % kWarp), kWarp};
  const int64_t warps = int64_t{gridDim.x} * (blockDim.x / kWarp);
  // A whole warp has the same row, so that all its lanes take part in each sum.
  for (int64_t row = int64_t{blockIdx.x} * (blockDim.x / kWarp) + threadIdx.x / kWarp; row < count;
       row += warps) {
    body(row, lanes);
  }
}

// Tiles of 32 x 32 go through shared memory, so that reads and writes both touch whole lines. The
// 33rd column avoids bank conflicts.
constexpr int kTile = 32;
constexpr int kTileRows = 8;

template <int kNumber>
__global__ void Turn(const Transpose body, int64_t across, int64_t down, int64_t tiles) {
  __shared__ float tile[kTile][kTile + 1];
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t matrix = t / (across * down);
    const int64_t within = t - matrix * across * down;
    const int64_t tile_y = within / across;
    const int64_t tile_x = within - tile_y * across;
    const int64_t base = matrix * body.rows * body.columns;
    const int64_t c = tile_x * kTile + threadIdx.x;
    for (int y = threadIdx.y; y < kTile; y += kTileRows) {
      const int64_t r = tile_y * kTile + y;
      if (r < body.rows && c < body.columns) {
        tile[y][threadIdx.x] = Load(body.x, base + r * body.columns + c);
      }
    }
    __syncthreads();
    const int64_t r = tile_y * kTile + threadIdx.x;
    for (int y = threadIdx.y; y < kTile; y += kTileRows) {
      const int64_t column = tile_x * kTile + y;
      if (r < body.rows && column < body.columns) {
        Store(body.out, base + column * body.rows + r, tile[threadIdx.x][y]);
      }
    }
    __syncthreads();
  }
}

namespace {

class DeviceRunner {
 public:
  explicit DeviceRunner(cudaStream_t stream) : stream_(stream) {}

  template <int kNumber, class Body>
  void Each(const Body& body, int64_t count) {
    if (count == 0) return;
    cuda::Each<kNumber><<<Blocks(count, kThreads), kThreads, 0, stream_>>>(body, count);
    Keep(cudaGetLastError());
  }
  template <int kNumber, class Body>
  void Rows(const Body& body, int64_t count) {
    if (count == 0) return;
    const int threads = count == 1 ? kWarp : 4 * kWarp;
    cuda::Rows<kNumber><<<Blocks(count, threads / kWarp), threads, 0, stream_>>>(body, count);
    Keep(cudaGetLastError());
  }
  template <int kNumber>
  void Turn(const Transpose& body, int64_t matrices) {
    const int64_t across = (body.columns + kTile - 1) / kTile;
    const int64_t down = (body.rows + kTile - 1) / kTile;
    const int64_t tiles = matrices * across * down;
    if (tiles == 0) return;
    cuda::Turn<kNumber>
        <<<Blocks(tiles, 1), dim3(kTile, kTileRows), 0, stream_>>>(body, across, down, tiles);
    Keep(cudaGetLastError());
  }
  void Zero(Address address, size_t bytes) {
    Keep(cudaMemsetAsync(reinterpret_cast<void*>(address), 0, bytes, stream_));
  }

  cudaError_t first_error() const { return first_error_; }

 private:
  void Keep(cudaError_t error) {
    if (first_error_ == cudaSuccess) first_error_ = error;
  }

  const cudaStream_t stream_;
  cudaError_t first_error_ = cudaSuccess;
};

}  // namespace

cudaError_t RunKernel(const Launch& launch, float* scratch, Fault* fault, cudaStream_t stream) {
  DeviceRunner runner(stream);
  CallKernel(launch, scratch, fault, runner);
  return runner.first_error();
}

}  // namespace stallscope::device::cuda
