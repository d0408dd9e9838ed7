// Apart from MakeDevice, which every module that gives out blocks would bring along otherwise.
#include <utility>

#include "collectors/device/device.h"

namespace stallscope::device {

Block& Block::operator=(Block&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Block::~Block() {
  if (owner_ != nullptr) owner_->Free(address_, bytes_);
}

}  // namespace stallscope::device
