// How libFuzzer mutates a protobuf message of unknown schema: one field, at any depth, is changed,
// duplicated, dropped or gets another's content, and the enclosing lengths are rewritten. Without
// this, nearly every change would break everything around it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/importers/xplane/wire.h"
#include "analyzer/trace/varint.h"
#include "tests/support/random.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace stallscope;
using importers::xplane::WireReader;
using importers::xplane::WireType;

struct Field {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;
  std::string text;           // of one that is no message
  std::vector<Field> inside;  // of one that is
};
using Message = std::vector<Field>;

// A text that happens to be a message counts as one: that does no harm.
std::optional<Message> Parse(std::string_view bytes, int depth) {
  Message message;
  WireReader reader(bytes);
  while (reader.Next()) {
    Field& field = message.emplace_back();
    field.number = reader.field();
    field.type = reader.type();
    field.value = reader.Number();
    if (field.type != WireType::kBytes) continue;
    auto inside = depth > 0 ? Parse(reader.Bytes(), depth - 1) : std::nullopt;
    if (inside && !inside->empty()) {
      field.inside = std::move(*inside);
    } else {
      field.text = reader.Bytes();
    }
  }
  if (!reader.ok()) return std::nullopt;
  return message;
}

std::string Written(const Message& message) {
  std::string bytes;
  for (const Field& field : message) {
    trace::AppendVarint(bytes, uint64_t{field.number} << 3 | static_cast<uint64_t>(field.type));
    if (field.type == WireType::kVarint) {
      trace::AppendVarint(bytes, field.value);
    } else if (field.type == WireType::kBytes) {
      const std::string content = field.inside.empty() ? field.text : Written(field.inside);
      trace::AppendVarint(bytes, content.size());
      bytes += content;
    } else {
      const size_t size = field.type == WireType::kFixed64 ? 8 : 4;
      bytes.append(reinterpret_cast<const char*>(&field.value), size);
    }
  }
  return bytes;
}

struct Place {
  Message* message;
  size_t at;
  Field& field() const { return (*message)[at]; }
};

void Collect(Message& message, std::vector<Place>& places) {
  for (size_t i = 0; i < message.size(); ++i) {
    places.push_back({&message, i});
    Collect(message[i].inside, places);
  }
}

std::string Mutated(std::string bytes, size_t max_size) {
  const size_t size = bytes.size();
  bytes.resize(std::max<size_t>({size, max_size, 1}));
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, bytes.size()));
  return bytes;
}

void ChangeContent(Field& field, size_t room, test::Random& random) {
  if (field.type == WireType::kBytes) {
    const std::string content = field.inside.empty() ? field.text : Written(field.inside);
    field.text = Mutated(content, content.size() + room);
    field.inside.clear();
  } else if (random.OneIn(2)) {
    field.value = random.OfAnyLength();
  } else {
    LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(&field.value), sizeof field.value,
                     sizeof field.value);
  }
}

// Matching ids are rarely hit by chance.
void TakeContent(Field& field, const std::vector<Place>& places, test::Random& random) {
  std::vector<const Field*> others;
  for (const Place& place : places) {
    if (place.field().type == field.type) others.push_back(&place.field());
  }
  const Field other = *others[random.Below(others.size())];
  field.value = other.value;
  field.text = other.text;
  field.inside = other.inside;
}

void Change(Message& message, size_t room, test::Random& random) {
  std::vector<Place> places;
  Collect(message, places);
  if (places.empty()) return;
  const Place place = places[random.Below(places.size())];
  Message& around = *place.message;
  const auto at = around.begin() + static_cast<std::ptrdiff_t>(place.at);
  switch (random.Below(6)) {
    case 0: {
      const Field twin = *at;
      around.insert(at, twin);
      break;
    }
    case 1:
      around.erase(at);
      break;
    case 2:
      std::swap(*at, around[random.Below(around.size())]);
      break;
    case 3:
      TakeContent(*at, places, random);
      break;
    default:
      ChangeContent(*at, room, random);
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  constexpr int kDepth = 6;
  test::Random random(seed);
  std::optional<Message> message = Parse({reinterpret_cast<const char*>(data), size}, kDepth);
  if (!message || message->empty() || random.OneIn(8))
    return LLVMFuzzerMutate(data, size, max_size);
  Change(*message, max_size - size, random);
  if (random.OneIn(2)) Change(*message, max_size - size, random);
  const std::string bytes = Written(*message);
  if (bytes.empty() || bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
