#include "gui/app/picture.h"

#include <imgui.h>

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "analyzer/base/file.h"
#include "gui/app/places.h"
#include "gui/raster/image.h"
#include "gui/raster/rasterize.h"
#include "gui/raster/svg.h"
#include "gui/session/session.h"
#include "gui/viewmodel/snapshot.h"
#include "gui/views/keys.h"
#include "gui/views/look.h"
#include "gui/views/window.h"

namespace stallscope::app {
namespace {

using session::Intents;
using session::Session;

// Frames until a picture settles: one reports sizes, the next draws by them.
constexpr int kFrames = 4;

raster::Texture TextureOf(const views::Strip& strip) {
  return {strip.width, strip.height, strip.pixels.data(), false};
}

// A window that nobody sees.
class Still {
 public:
  Still(session::Theme theme, double scale, ImVec2 size, bool vectors) {
    context_.Dress(theme, scale);
    context_.DrawStill(vectors);
    ImGuiIO& io = ImGui::GetIO();
    views::MapKeys(io);
    io.DisplaySize = size;
    io.DeltaTime = 1.0f / 60;
    unsigned char* pixels = nullptr;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &atlas_.width, &atlas_.height);
    atlas_.pixels = reinterpret_cast<const uint32_t*>(pixels);
    io.Fonts->SetTexID(&atlas_);
    context_.look().lanes.texture = &lanes_;
    context_.look().base_lanes.texture = &base_lanes_;
    context_.look().now_lanes.texture = &now_lanes_;
  }

  void Draw(const viewmodel::Snapshot& snapshot, Intents& intents) {
    ImGui::NewFrame();
    views::DrawPicture(snapshot, intents);
    ImGui::Render();
    lanes_ = TextureOf(context_.look().lanes);
    base_lanes_ = TextureOf(context_.look().base_lanes);
    now_lanes_ = TextureOf(context_.look().now_lanes);
  }

  Result<std::string> Png() {
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    raster::Image image(static_cast<int>(size.x), static_cast<int>(size.y),
                        context_.look().colors.window);
    raster::Rasterize(*ImGui::GetDrawData(), image);
    return raster::EncodePng(image);
  }

  std::string Svg() {
    std::vector<raster::SvgFont> fonts;
    for (const views::FontFace& face : views::FacesOf(context_.look().fonts)) {
      fonts.push_back({face.font, face.family, face.weight, face.em_per_height});
    }
    return raster::Svg(*ImGui::GetDrawData(), fonts, context_.look().colors.window);
  }

 private:
  views::Context context_;
  raster::Texture atlas_;
  raster::Texture lanes_;
  raster::Texture base_lanes_;
  raster::Texture now_lanes_;
};

}  // namespace

Status WritePicture(const session::State& state, const PictureOrder& order,
                    const PictureLook& look) {
  const ImVec2 size(static_cast<float>(look.width * look.scale),
                    static_cast<float>(look.height * look.scale));
  Still still(look.theme, look.scale, size, order.form == PictureForm::kSvg);
  viewmodel::Composer composer;
  auto shown = std::make_shared<session::State>(state);
  shown->view.panel = order.panel;
  shown->overlay = session::Overlay::kNone;
  for (int frame = 0; frame < kFrames; ++frame) {
    Intents intents;
    still.Draw(composer.Compose(shown), intents);
    // A picture answers only one kind of intent: how large the panel is.
    auto next = std::make_shared<session::State>(*shown);
    for (const session::Intent& intent : intents.list()) {
      if (const auto* told = std::get_if<session::intent::SetPanelSize>(&intent)) {
        next->sizes[session::At(told->panel)] = told->size;
        ++next->version;
      }
    }
    shown = std::move(next);
  }
  if (order.form == PictureForm::kSvg) return WriteFileAtomically(order.file, still.Svg());
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string png, still.Png());
  return WriteFileAtomically(order.file, png);
}

Status ExportPicture(const Options& options) {
  const PictureOrder& order = *options.picture;
  session::SessionOptions session_options;
  session_options.side_files = false;
  session_options.program = CommandLineProgram();
  session_options.tool = "stallscope-gui " STALLSCOPE_VERSION;
  session_options.settings.tour_done = true;
  Session session(std::move(session_options));
  Intents intents;
  intents.Add(session::intent::OpenFile{options.traces.front(), false});
  session.Apply(intents);
  session.Settle();
  intents.Clear();
  intents.Add(session::intent::ShowPanel{order.panel});
  session.Apply(intents);
  session.Settle();
  const std::shared_ptr<const session::State> state = session.state();
  if (const session::OpenRun* run = state->Active(); run == nullptr || run->error) {
    if (run != nullptr) return *run->error;
    return Error{ErrorKind::kInput, "cannot be opened", options.traces.front(),
                 "use a trace that stallscope info can read"};
  }
  PictureLook look;
  look.theme = options.theme.value_or(look.theme);
  look.scale = options.scale.value_or(look.scale);
  look.width = options.width;
  look.height = options.height;
  return WritePicture(*state, order, look);
}

}  // namespace stallscope::app
