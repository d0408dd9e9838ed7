"""`pip install .` and `pip wheel .` in a checkout (PEP 517): builds the preset `package` and packs it
as tools/release does. It needs Debian's packages, which tools/setup installs, and none from pip."""
import os
import subprocess
from pathlib import Path

import pack


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    subprocess.run(["cmake", "--preset", "package"], cwd=pack.SOURCE, check=True)
    subprocess.run(["cmake", "--build", "--preset", "package", "-j", str(os.cpu_count())],
                   cwd=pack.SOURCE, check=True)
    made, = pack.pack(pack.SOURCE / "build/package", Path(wheel_directory), ["wheel"])
    return made.name
