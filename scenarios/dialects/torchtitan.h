#pragma once
// torchtitan's job configuration, TOML. Keys: torchtitan/config/job_config.py of
// github.com/pytorch/torchtitan at commit 000204a4a8bf3d0f31adc44fc29855fbb6ea13d8.

#include "scenarios/dialects/export_draft.h"

namespace plait::torchtitan {

void write(ExportDraft& draft);

}  // namespace plait::torchtitan
