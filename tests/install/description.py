#!/usr/bin/python3
"""The README as the wheel's description: a package index has no file that a relative link could lead to."""
import os
import re
import sys
from pathlib import Path

SOURCE = Path(os.environ["STALLSCOPE_SOURCE"])
sys.path.insert(0, str(SOURCE / "tools/packages"))
sys.dont_write_bytecode = True
import pack

failed = []


def check(holds, what):
    if not holds:
        failed.append(what)


readme = (SOURCE / "README.md").read_text()
text = pack.description()
relative = re.findall(r"\]\((?!https?:|#)[^)]*\)", text)
check(re.search(r"\]\((?!https?:|#)", readme), "the README has no relative link: this test shows nothing")
check(not relative, f"relative links are left: {relative}")
check("<!--" not in text, "marks for the tests are left")
check("![" not in text, "a picture is left")
# Only the links are gone: their texts, the commands and the headings stay.
check("More: my DataLoader is slow, 64 ranks on Slurm." in text, "the text of a link is gone")
check(re.findall(r"^(?:#.*|\$ .*|stallscope .*)$", text, re.M)
      == re.findall(r"^(?:#.*|\$ .*|stallscope .*)$", readme, re.M), "headings or commands differ")

# What must stay as it is: an address, an anchor, brackets that are no link.
kept = "[a](https://a.example/b), [b](#in-ci), stages[decode].utilization, [c] (d)\n"
check(pack.without_local_links(kept) == kept, "more than relative links was changed")
check(pack.without_local_links("![p](gui/o.png)\n\n[a](b/c.md#d) and [`e`](f)\n") == "a and `e`\n",
      "pictures and relative links")

print("\n".join(failed), file=sys.stderr, end="\n" if failed else "")
sys.exit(bool(failed))
