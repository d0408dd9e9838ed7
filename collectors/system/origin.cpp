#include "collectors/system/origin.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string_view>

#include "analyzer/base/file.h"
#include "analyzer/base/folders.h"

namespace stallscope::system {
namespace {

constexpr size_t kKeyBytes = crypto_generichash_KEYBYTES;
constexpr size_t kDigestBytes = crypto_generichash_BYTES;
using Key = std::array<unsigned char, kKeyBytes>;

// Valid only if nobody else can read it or could have written it.
std::optional<Key> ReadKey(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  Key key{};
  struct stat about {};
  const bool sound = fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                     about.st_uid == geteuid() && (about.st_mode & 077) == 0 &&
                     read(fd, key.data(), key.size()) == static_cast<ssize_t>(key.size());
  close(fd);
  return sound ? std::optional(key) : std::nullopt;
}

std::optional<Key> MakeKey(const std::string& path) {
  Key key{};
  randombytes_buf(key.data(), key.size());
  // Linked, not renamed: of two processes that create one at once, the first wins.
  const std::string beside = path + "." + RandomName(8);
  const int fd =
      open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return std::nullopt;
  const bool whole = write(fd, key.data(), key.size()) == static_cast<ssize_t>(key.size());
  close(fd);
  if (whole) link(beside.c_str(), path.c_str());
  unlink(beside.c_str());
  return ReadKey(path);
}

std::optional<Key> UsersKey() {
  const auto folder = StateFolder();
  if (!folder.ok() || sodium_init() < 0) return std::nullopt;
  const std::string path = folder.value() + "/origin.key";
  if (auto key = ReadKey(path)) return key;
  struct stat about {};
  if (lstat(path.c_str(), &about) == 0) return std::nullopt;  // exists, but cannot be trusted
  return MakeKey(path);
}

class Digest {
 public:
  explicit Digest(const Key& key) {
    crypto_generichash_init(&state_, key.data(), key.size(), kDigestBytes);
  }
  // With its length, so that no two lists of texts give the same bytes.
  void Add(std::string_view text) {
    const uint64_t size = text.size();
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(&size), sizeof size);
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(text.data()),
                              text.size());
  }
  std::string Finish() {
    std::string digest(kDigestBytes, '\0');
    crypto_generichash_final(&state_, reinterpret_cast<unsigned char*>(digest.data()),
                             digest.size());
    return digest;
  }

 private:
  crypto_generichash_state state_;
};

std::string DigestOf(const trace::RunInfo& run, const Key& key) {
  Digest digest(key);
  const auto machine = ReadWholeFile("/etc/machine-id", 4096);
  digest.Add(machine.ok() ? machine.value() : std::string());
  digest.Add(run.folder);
  digest.Add(run.spec_json);
  for (const std::string& word : run.command_line) digest.Add(word);
  for (const std::string& word : run.job.command) digest.Add(word);
  return digest.Finish();
}

}  // namespace

std::string OriginOf(const trace::RunInfo& run) {
  const auto key = UsersKey();
  return key.has_value() ? DigestOf(run, *key) : std::string();
}

bool RecordedHere(const trace::RunInfo& run) {
  if (run.origin.size() != kDigestBytes) return false;
  const auto key = UsersKey();
  if (!key.has_value()) return false;
  const std::string digest = DigestOf(run, *key);
  return sodium_memcmp(digest.data(), run.origin.data(), kDigestBytes) == 0;
}

}  // namespace stallscope::system
