#include "collectors/pipeline/graph.h"

namespace stallscope::pipeline {

// The order matters: casts move before maps are fused, because a cast may move into the next map;
// parts are decoded after fusing, because a crop may come from the next map; and joining a map with
// its batch comes last, when it is settled what is left of the map.
void Rewrite(const RewritesSpec& rewrites, Graph& graph) {
  const auto apply = [&](bool asked, const char* name, bool (*rewrite)(Graph&)) {
    if (asked && rewrite(graph)) graph.rewrites.emplace_back(name);
  };
  apply(rewrites.shuffle_before_decode, "shuffle_before_decode", &ShuffleBeforeDecode);
  apply(rewrites.constant_folding, "constant_folding", &FoldConstants);
  apply(rewrites.narrow_dtype_late_cast, "narrow_dtype_late_cast", &CastLate);
  apply(rewrites.map_fusion, "map_fusion", &FuseMaps);
  apply(rewrites.crop_aware_decode, "crop_aware_decode", &DecodeOnlyCrop);
  apply(rewrites.vectorise, "vectorise", &Vectorise);
  apply(rewrites.map_and_batch, "map_and_batch", &JoinMapAndBatch);
}

}  // namespace stallscope::pipeline
