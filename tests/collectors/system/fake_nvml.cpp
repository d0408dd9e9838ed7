// A library with NVML's symbols and two devices: the first tells everything, the second refuses its
// power and its PCIe rate. STALLSCOPE_FAKE_NVML changes that: "broken" does not start, "empty" has
// no device.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kVersionMismatch = 18;

struct Device {
  unsigned index;
};
Device devices[2] = {{0}, {1}};

bool Asked(const char* behaviour) {
  const char* const asked = std::getenv("STALLSCOPE_FAKE_NVML");
  return asked != nullptr && std::strcmp(asked, behaviour) == 0;
}

unsigned IndexOf(void* device) { return static_cast<Device*>(device)->index; }

}  // namespace

extern "C" {

int nvmlInit_v2() { return Asked("broken") ? kVersionMismatch : kSuccess; }
int nvmlShutdown() { return kSuccess; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = Asked("empty") ? 0 : 2;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &devices[index];
  return kSuccess;
}

int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::strncpy(name, "Fake GPU", length);
  return kSuccess;
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::strncpy(version, "999.1", length);
  return kSuccess;
}

const char* nvmlErrorString(int code) {
  return code == kNotSupported ? "Not Supported" : "Driver/library version mismatch";
}

int nvmlDeviceGetUtilizationRates(void* device, unsigned* rates) {
  rates[0] = 40 + IndexOf(device);
  rates[1] = 7;
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 80ull << 30;
  memory[1] = 70ull << 30;
  memory[2] = 10ull << 30;
  return kSuccess;
}

int nvmlDeviceGetClockInfo(void*, int kind, unsigned* mhz) {
  *mhz = kind == 1 ? 1755 : 1;
  return kSuccess;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 123456;
  return IndexOf(device) == 0 ? kSuccess : kNotSupported;
}

int nvmlDeviceGetPcieThroughput(void* device, int direction, unsigned* kilobytes) {
  *kilobytes = direction == 0 ? 10 : 2000;  // 0: out of the device
  return IndexOf(device) == 0 ? kSuccess : kNotSupported;
}
}
