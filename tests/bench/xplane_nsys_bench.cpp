// How fast foreign files become runs: from the file to the Run, steps and order included.
#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "analyzer/base/file.h"
#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/importers/nsys/nsys.h"
#include "analyzer/importers/xplane/xplane.h"
#include "tests/support/made_space.h"

namespace {

using namespace stallscope;  // NOLINT(google-build-using-namespace)

std::string Path(const char* what) {
  return "/tmp/stallscope_import_bench." + std::to_string(getpid()) + what;
}

// The file is removed when the program ends.
struct TemporaryFile {
  std::string path;
  ~TemporaryFile() { std::remove(path.c_str()); }
};

// A host and a device as TensorFlow's profiler shows them: most events have two or three stats.
std::string MakeSpace() {
  constexpr uint64_t kEvents = 1'000'000;
  test::MadePlane host("/host:CPU");
  std::string lines[4];
  for (uint64_t i = 0; i < kEvents; ++i) {
    std::string& line = lines[i % 4];
    const uint64_t at = i * 2'000'000;
    switch (i % 5) {
      case 0:
        line += host.Event("ExecutorState::Process", at, 1'500'000,
                           host.Number("id", i * 77) + host.Number("_c", i << 32));
        break;
      case 1:
        line += host.Event("gradient_tape/Conv2DBackpropFilter:Conv2DBackpropFilter", at, 900'000);
        break;
      case 2:
        line += host.Event("cuLaunchKernel", at, 500'000,
                           host.Number("correlation_id", i) + host.Number("device_id", 0));
        break;
      default:
        line += host.Event(
            "MemoryAllocation", at, 0,
            host.Reference("allocator_name", "GPU_0_bfc") + host.Number("bytes_reserved", 0) +
                host.Number("bytes_allocated", i * 4'096) + host.Number("requested_bytes", 4'096));
    }
  }
  for (uint64_t i = 0; i < 4; ++i) host.Line(i + 1, "thread", 1'000, lines[i]);
  test::MadePlane device("/device:GPU:0");
  std::string stream;
  for (uint64_t i = 2; i < kEvents; i += 5) {
    stream += device.Event("ampere_sgemm_128x64_nn", i * 2'000'000 + 3'000'000, 1'000'000,
                           device.Number("correlation_id", i) +
                               device.Reference("kernel_details", "regs:38 grid:160,1,1"));
  }
  device.Line(14, "Stream #14(Compute)", 1'000, stream);
  return host.Bytes() + device.Bytes();
}

template <class Read>
uint64_t Import(const std::string& path, Read read) {
  auto source = importers::ByteSource::Open(path);
  if (!source.ok()) std::abort();
  auto run = read(*source.value());
  if (!run.ok()) std::abort();
  return model::CountSpans(run.value());
}

void XPlane(benchmark::State& state) {
  static const TemporaryFile file{Path(".xplane.pb")};
  static const uint64_t bytes = [] {
    const std::string space = MakeSpace();
    if (!WriteFileAtomically(file.path, space).ok()) std::abort();
    return space.size();
  }();
  uint64_t spans = 0;
  for (auto _ : state) spans += Import(file.path, importers::xplane::ReadXPlane);
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
  state.SetItemsProcessed(static_cast<int64_t>(spans));
}
BENCHMARK(XPlane)->Unit(benchmark::kMillisecond);

// Kernels, their launches and marked ranges, with as many columns as version 3.25 has.
uint64_t MakeDatabase(const std::string& path) {
  constexpr uint64_t kRows = 500'000;
  sqlite3* handle = nullptr;
  if (sqlite3_open(path.c_str(), &handle) != SQLITE_OK) std::abort();
  const auto run = [&](const std::string& sql) {
    if (sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) std::abort();
  };
  const std::string numbers =
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " +
      std::to_string(kRows - 1) + ") ";
  run("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'elementwise_kernel'), (2, 'cudaLaunchKernel_v7000');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, greenContextId, "
      "  streamId, correlationId, globalPid, demangledName, shortName, mangledName, launchType, "
      "  cacheConfig, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, "
      "  staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, gridId);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, "
      "  nameId, returnValue, callchainId);"
      "CREATE TABLE NVTX_EVENTS (start, end, eventType, rangeId, category, color, text, globalTid, "
      "  endGlobalTid, textId, domainId);");
  run(numbers +
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 10000000000 + i * 9000, 10000000000 + i * "
      "9000 "
      "+ 7000, 0, 1, 0, 7, i, 281477392629760, 1, 1, 1, 1, 1, 32, 93600, 1, 1, 128, 1, 1, 0, 0, 0, "
      "250871808, i FROM n;");
  run(numbers +
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 9999000000 + i * 9000, 9999000000 + i * 9000 "
      "+ "
      "5000, 0, 281477392629904, i, 2, 0, NULL FROM n;");
  run(numbers +
      "INSERT INTO NVTX_EVENTS SELECT 9998000000 + i * 9000, 9998000000 + i * 9000 + 6000, 59, "
      "NULL, "
      "NULL, NULL, 'aten::copy_, op_id = ' || i, 281477392629904, NULL, NULL, 0 FROM n;");
  sqlite3_close(handle);
  return 3 * kRows;
}

void Nsys(benchmark::State& state) {
  static const TemporaryFile file{Path(".sqlite")};
  static const uint64_t rows = MakeDatabase(file.path);
  for (auto _ : state) Import(file.path, importers::nsys::ReadNsys);
  state.SetItemsProcessed(static_cast<int64_t>(rows) * state.iterations());
}
BENCHMARK(Nsys)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
