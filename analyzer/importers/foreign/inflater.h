// gzip, unpacked piece by piece with isa-l, which is twice as fast as zlib and checks each member's
// CRC-32 as well. One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_INFLATER_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_INFLATER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"

namespace stallscope::importers {

class Inflater {
 public:
  explicit Inflater(InputFile file);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `into` as far as the data goes; fewer bytes only at the end or at damage. An error is the
  // disk's.
  Result<size_t> Read(char* into, size_t size);
  // "the gzip data breaks off at packed offset 77", and the offset.
  struct Fault {
    std::string what;
    uint64_t offset = 0;
  };
  const std::optional<Fault>& damage() const { return damage_; }
  uint64_t unpacked() const { return unpacked_; }
  uint64_t packed() const;  // that the bytes so far were made of

 private:
  struct State;
  Result<bool> Refill();
  // At the end of a member: what follows is another one, or nothing that counts.
  Result<bool> NextMember();
  void Damaged(const std::string& what);

  InputFile file_;
  std::vector<uint8_t> block_;
  std::unique_ptr<State> state_;
  uint64_t read_ = 0;  // packed bytes
  uint64_t unpacked_ = 0;
  bool ended_ = false;
  std::optional<Fault> damage_;
};

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_INFLATER_H_
