#include "gui/raster/rasterise.h"

#include <algorithm>

#include "gui/raster/triangle.h"

namespace stallscope::raster {
namespace {

// As the OpenGL backend sets its scissor: cut to whole pixels towards zero.
Clip ClipOf(const ImDrawCmd& command, const ImDrawData& data, const Image& image) {
  const auto pixel = [](float position, float origin, float scale) {
    return static_cast<int>((position - origin) * scale);
  };
  const ImVec2 scale = data.FramebufferScale;
  Clip clip;
  clip.min_x = std::max(0, pixel(command.ClipRect.x, data.DisplayPos.x, scale.x));
  clip.min_y = std::max(0, pixel(command.ClipRect.y, data.DisplayPos.y, scale.y));
  clip.max_x = std::min(image.width, pixel(command.ClipRect.z, data.DisplayPos.x, scale.x));
  clip.max_y = std::min(image.height, pixel(command.ClipRect.w, data.DisplayPos.y, scale.y));
  return clip;
}

}  // namespace

void Rasterise(const ImDrawData& data, Image& image) {
  const auto placed = [&](ImDrawVert vertex) {
    vertex.pos.x = (vertex.pos.x - data.DisplayPos.x) * data.FramebufferScale.x;
    vertex.pos.y = (vertex.pos.y - data.DisplayPos.y) * data.FramebufferScale.y;
    return vertex;
  };
  for (int i = 0; i < data.CmdListsCount; ++i) {
    const ImDrawList& list = *data.CmdLists[i];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      if (command.UserCallback != nullptr || command.GetTexID() == nullptr) continue;
      const Clip clip = ClipOf(command, data, image);
      if (clip.min_x >= clip.max_x || clip.min_y >= clip.max_y) continue;
      const auto& texture = *static_cast<const Texture*>(command.GetTexID());
      const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset;
      const ImDrawVert* vertices = list.VtxBuffer.Data + command.VtxOffset;
      for (unsigned int at = 0; at + 2 < command.ElemCount; at += 3) {
        FillTriangle(placed(vertices[index[at]]), placed(vertices[index[at + 1]]),
                     placed(vertices[index[at + 2]]), texture, clip, image);
      }
    }
  }
}

}  // namespace stallscope::raster
