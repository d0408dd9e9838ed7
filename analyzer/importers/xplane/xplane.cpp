#include "analyzer/importers/xplane/xplane.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/importers/foreign/host_events.h"
#include "analyzer/importers/foreign/run_builder.h"
#include "analyzer/importers/foreign/tf_data.h"
#include "analyzer/importers/xplane/device_plane.h"
#include "analyzer/importers/xplane/host_plane.h"
#include "analyzer/importers/xplane/line_events.h"
#include "analyzer/importers/xplane/space.h"

namespace stallscope::importers::xplane {
namespace {

// The kind of a device by its plane's name: "gpu" for "/device:GPU:0".
std::string DeviceKind(std::string_view plane) {
  constexpr std::string_view kStart = "/device:";
  std::string kind(plane.substr(kStart.size(), plane.find(':', kStart.size()) - kStart.size()));
  std::transform(kind.begin(), kind.end(), kind.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return kind;
}

class Importer {
 public:
  Importer(SpaceBytes& bytes, SpaceIndex index, ByteSource& source)
      : index_(std::move(index)),
        times_(index_.planes),
        builder_(source.path(), "xplane", "", &source.allowance()),
        host_(bytes, times_, builder_),
        devices_(bytes, times_, host_.launches(), builder_) {}

  Result<model::Run> Run() {
    Describe();
    for (const Plane& plane : index_.planes) {
      if (IsDevicePlane(plane)) continue;
      STALLSCOPE_RETURN_IF_ERROR(host_.Add(plane));
    }
    host_.launches().Close();
    for (const Plane& plane : index_.planes) {
      if (IsDevicePlane(plane)) STALLSCOPE_RETURN_IF_ERROR(devices_.Add(plane));
    }
    const std::vector<StepMark> marks = host_.record().Finish(devices_.marks());
    SayLimits();
    return builder_.Finish(marks);
  }

 private:
  void Describe() {
    trace::RunInfo& info = builder_.info();
    if (!index_.hosts.empty()) info.host.name = index_.hosts.front();
    for (const Plane& plane : index_.planes) {
      const bool used = std::any_of(plane.lines.begin(), plane.lines.end(),
                                    [](const Line& line) { return line.events_from != line.end; });
      if (!IsDevicePlane(plane) || !used) continue;
      info.device.kind = DeviceKind(plane.name);
      info.device.name = plane.device_name.empty() ? plane.device_vendor : plane.device_name;
      info.device.memory_bytes = plane.memory_bytes;
      break;
    }
    if (info.device.kind.empty()) info.device.kind = "host";
    if (times_.knows_realtime()) builder_.SetRealtimeAhead(times_.realtime_ahead_ns());
    if (times_.mixed()) {
      builder_.Warn(
          "some lines count time from 1970 and some from the start of the recording: the former "
          "were shifted to match the latter");
    }
    for (const std::string& message : index_.messages) {
      builder_.Warn("the profiler reports: " + message);
    }
    for (const Fault& fault : index_.faults) {
      builder_.Damaged(fault.offset, fault.bytes, fault.reason, fault.cut);
    }
    builder_.LeaveOut(
        "{plane, line, name or message|planes, lines, names or messages} past the limits "
        "{was|were} left out",
        index_.left_out);
    if (index_.cut_names) builder_.LimitNames();
  }

  void SayLimits() {
    const bool copies = !builder_.copies().empty();
    const bool kinds = std::any_of(
        builder_.copies().begin(), builder_.copies().end(),
        [](const trace::Copy& copy) { return copy.memory != trace::CopyMemory::kUnknown; });
    if (copies && !kinds) {
      builder_.Limit(
          "devices.copies.memory: this profiler does not say whether the host's memory "
          "was pinned");
    }
    if (host_.record().has_pipeline()) {
      builder_.Limit(
          "stages.cpu_s: an XPlane does not say when a thread was on a core, so what a stage's "
          "work waited for is unknown");
    } else {
      builder_.Limit(
          "stages: this file contains no tf.data iterators, so what prepared the batches is "
          "unknown; with tf.data, record with host_tracer_level=2");
    }
    if (host_.record().has_pipeline() && host_.record().samples_per_batch() == 0) {
      builder_.Limit("throughput: the batch size is not in the file");
    }
  }

  SpaceIndex index_;
  const TimeBase times_;
  RunBuilder builder_;
  HostPlanes host_;
  DevicePlanes devices_;
};

// A plane begins with its number, unless that is 0, and its name.
bool IsPlane(std::string_view plane) {
  WireReader reader(plane);
  if (!reader.Next()) return false;
  if (reader.field() == 1 && reader.type() == WireType::kVarint && !reader.Next()) return false;
  if (reader.field() != 2 || reader.type() != WireType::kBytes) return false;
  const std::string_view name = reader.Bytes();
  return !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

}  // namespace

bool LooksLikeXSpace(std::string_view head) {
  const char* at = head.data();
  const char* const end = at + head.size();
  while (at != nullptr && at < end) {
    uint64_t tag = 0;
    uint64_t length = 0;
    at = ReadVarint(at, end, tag);
    if (at == nullptr || tag != 0x0a) return false;
    at = ReadVarint(at, end, length);
    if (at == nullptr || length > SpaceBytes::kMostBytes) return false;
    const auto left = static_cast<uint64_t>(end - at);
    if (length != 0) return IsPlane({at, static_cast<size_t>(std::min(length, left))});
  }
  return false;
}

Result<model::Run> ReadXPlane(ByteSource& source) {
  STALLSCOPE_ASSIGN_OR_RETURN(SpaceBytes bytes, SpaceBytes::Open(source));
  STALLSCOPE_ASSIGN_OR_RETURN(SpaceIndex index, IndexSpace(bytes));
  const bool anything =
      std::any_of(index.planes.begin(), index.planes.end(),
                  [](const Plane& plane) { return !plane.name.empty() || !plane.lines.empty(); });
  if (!anything) {
    return Error{ErrorKind::kInput, "this XSpace contains no readable plane", source.path(),
                 "record the run again"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(model::Run run, Importer(bytes, std::move(index), source).Run());
  TellDamage(source, run.quality);
  return run;
}

}  // namespace stallscope::importers::xplane
