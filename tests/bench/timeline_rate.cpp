// The desktop program's figures that need no display.
//
//   timeline_rate FILE    open FILE, then draw its timeline, find what is under the pointer, list
//                         and scroll its spans; one figure per line: name, value
//
// FILE is one that attribution_rate has written. Figures of frames are medians, followed by the
// 99th percentile.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/attribution/partition.h"
#include "analyzer/model/loader.h"
#include "gui/session/span_table.h"
#include "gui/viewmodel/spans.h"
#include "gui/viewmodel/timeline_hit.h"
#include "tests/bench/usage.h"

namespace {

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using Clock = std::chrono::steady_clock;

double Since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void Print(const char* name, std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  std::printf("%s %.4f %.4f\n", name, ms[ms.size() / 2], ms[ms.size() * 99 / 100]);
}

template <class Frame>
std::vector<double> Frames(int count, Frame&& frame) {
  std::vector<double> ms;
  for (int i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    frame(i);
    ms.push_back(Since(begin));
  }
  return ms;
}

size_t BytesOfSpans(const model::Run& run) {
  size_t bytes = 0;
  for (const model::Track& track : run.tracks) {
    bytes += track.spans.start_ns.capacity() * 8 + track.spans.duration.capacity() * 4 +
             track.spans.span_class.capacity() * 2 + track.spans.item.capacity() * 8 +
             track.spans.bytes.capacity() * 8 + track.spans.cpu_ns.capacity() * 8 +
             track.spans.waker.capacity() * 4;
  }
  return bytes;
}

// The state that a window of 1600 x 900 would have, with everything unfolded.
struct Scene {
  session::State state;
  std::shared_ptr<session::OpenRun> open = std::make_shared<session::OpenRun>();

  bool Open(const char* path) {
    auto begin = Clock::now();
    auto run = model::LoadTrace(path);
    if (!run.ok()) {
      std::fprintf(stderr, "%s\n", run.error().Line().c_str());
      return false;
    }
    const auto whole = std::make_shared<const model::Run>(std::move(run).value());
    const double read = Since(begin);
    begin = Clock::now();
    open->index = std::make_shared<const timeline::RunIndex>(
        timeline::MakeRunIndex(whole, &attribution::IsCommunication));
    open->spans = std::make_shared<const session::SpanTable>(whole);
    const double indexed = Since(begin);
    open->number = 1;
    open->run = whole;
    std::printf("spans %zu\n", open->spans->size());
    std::printf("read_ms %.1f\nindex_ms %.1f\ninteractive_ms %.1f\n", read, indexed,
                read + indexed);
    size_t lanes = 0;
    for (const timeline::LaneIndex& lane : open->index->tracks) lanes += lane.Bytes();
    const auto spans = static_cast<double>(open->spans->size());
    std::printf("bytes_a_span %.1f\n",
                (static_cast<double>(BytesOfSpans(*whole)) + static_cast<double>(lanes)) / spans);
    state.runs.push_back(open);
    state.active = 1;
    state.view.panel = session::Panel::kTimeline;
    state.view.visible = {open->index->window.start_ns, open->index->window.end_ns};
    state.sizes[session::At(session::Panel::kTimeline)] = {1'600, 900, 8, 18};
    return true;
  }
};

void Draw(Scene& scene) {
  viewmodel::TimelineBuilder builder;
  const session::Range whole = scene.state.view.visible;
  // A nanosecond more or less: a different view, the same work.
  const auto fit = [&](int i) { scene.state.view.visible.end_ns = whole.end_ns - i % 2; };
  builder.Build(scene.state);
  Print("build_fit_ms", Frames(60, [&](int i) {
          fit(i + 1);
          builder.Build(scene.state);
        }));
  Print("build_unchanged_ms", Frames(200, [&](int) { builder.Build(scene.state); }));
  Print("build_zoom_ms", Frames(120, [&](int i) {
          const int64_t length = std::max<int64_t>(whole.ns() >> (i / 4), 1'000);
          const int64_t start = whole.start_ns + whole.ns() / 3 - length / 3;
          scene.state.view.visible = {start, start + length};
          builder.Build(scene.state);
        }));
  scene.state.view.visible = whole;
  const auto model = builder.Build(scene.state);
  std::printf("rows %zu\n", model->rows.size());
  constexpr int kHovers = 100'000;
  size_t hit = 0;
  const auto begin = Clock::now();
  for (int i = 0; i < kHovers; ++i) {
    const double x =
        static_cast<double>(static_cast<size_t>(i) * 7919 % static_cast<size_t>(model->width)) +
        0.5;
    const double y = model->rows[static_cast<size_t>(i) % model->rows.size()].y + 0.5;
    if (viewmodel::HitTest(*model, scene.state, x, y).interval.has_value()) ++hit;
  }
  std::printf("hover_ns %.1f\n", Since(begin) * 1e6 / kHovers);
  std::printf("hover_hits %zu\n", hit);
}

void Scroll(Scene& scene) {
  const std::atomic<bool> go_on{false};
  const auto begin = Clock::now();
  auto list = session::ListSpans(*scene.open->spans, {}, go_on);
  std::printf("list_ms %.1f\n", Since(begin));
  scene.state.spans.list = std::make_shared<const session::SpanList>(std::move(list).value());
  constexpr size_t kVisible = 50;
  const size_t rows = scene.state.spans.list->rows.size();
  size_t characters = 0;
  Print("table_frame_ms", Frames(200, [&](int i) {
          const size_t first = static_cast<size_t>(i) * 104'729 * 31 % (rows - kVisible);
          for (size_t row = first; row < first + kVisible; ++row) {
            for (const std::string& cell : viewmodel::SpanRowAt(scene.state, row).cells) {
              characters += cell.size();
            }
          }
        }));
  std::printf("table_characters %zu\n", characters);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: timeline_rate FILE\n");
    return 2;
  }
  Scene scene;
  if (!scene.Open(argv[1])) return 3;
  Draw(scene);
  Scroll(scene);
  std::printf("resident_mib %.0f\n", PeakMib());
  return 0;
}
