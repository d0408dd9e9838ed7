// A set of 64-bit hashes in 11 to 22 bytes each, where a std::set of what was hashed takes 80: for
// what is noted once per file of a data set, of which there may be millions.
//
// Two things with the same hash are one to it. Among ten million that comes once in 10^12 sets, and
// what asks must be able to live with a "yes" too many; there is never one too few. A value; one
// thread at a time.
#ifndef STALLSCOPE_ANALYZER_BASE_FINGERPRINT_SET_H_
#define STALLSCOPE_ANALYZER_BASE_FINGERPRINT_SET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stallscope {

class FingerprintSet {
 public:
  void Insert(uint64_t hash);
  void Erase(uint64_t hash);
  bool Contains(uint64_t hash) const;

 private:
  size_t Home(uint64_t hash) const { return hash & (slots_.size() - 1); }
  size_t Next(size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
  size_t Find(uint64_t hash) const;  // where it is, or the free slot where it would be
  void Grow();

  std::vector<uint64_t> slots_;  // as many as a power of two; kFree where there is none
  size_t used_ = 0;
};

}  // namespace stallscope

#endif  // STALLSCOPE_ANALYZER_BASE_FINGERPRINT_SET_H_
