// A library with the driver's symbols. STALLSCOPE_FAKE_DRIVER says what is wrong with it: "old",
// "empty" (no device), "dead" (it does not start), "mute" (it does not tell its version).
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;
constexpr int kUnknown = 999;

bool Is(const char* what) {
  const char* const asked = std::getenv("STALLSCOPE_FAKE_DRIVER");
  return asked != nullptr && std::strcmp(asked, what) == 0;
}

}  // namespace

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = Is("old") ? 11080 : 13000;
  return Is("mute") ? kUnknown : kSuccess;
}
int cuInit(unsigned) { return Is("dead") ? kUnknown : Is("empty") ? kNoDevice : kSuccess; }
int cuDeviceGetCount(int* count) {
  *count = 2;
  return kSuccess;
}
int cuGetErrorString(int code, const char** words) {
  *words = code == kUnknown ? "unknown error" : "another error";
  return kSuccess;
}
}
