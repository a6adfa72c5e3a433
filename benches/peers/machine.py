"""The heading that every table gets, and where a run is kept: `benches/runs/DATE-MACHINE/NAME.{txt,json}`."""

import datetime
import json
import os
import platform
import re
import sys
import textwrap
from pathlib import Path

RUNS = Path(__file__).resolve().parent.parent / "runs"


def name() -> str:
    """The processor, with family and model, since virtual machines often hide the rest."""
    found = _cpuinfo()
    if not found:
        return platform.machine()
    brand, family, model = found
    core = _core(brand, family, model)
    return f"{brand} ({core + ', ' if core else ''}family {family} model {model})"


def slug() -> str:
    """A short name for folders: epyc-zen4, xeon-model207."""
    found = _cpuinfo()
    if not found:
        return platform.machine()
    brand, family, model = found
    series = next((word for word in ("epyc", "ryzen", "xeon") if word in brand.lower()), "cpu")
    core = _core(brand, family, model)
    return f"{series}-{core.lower().replace(' ', '') if core else f'model{model}'}"


def heading(rounds: int, extra: str = "") -> str:
    """Date, processor, command, rounds and load: the line that stands under a table in benches/README.md."""
    arguments = [Path(word).name if word.startswith("/") else word for word in sys.argv[1:]]
    command = " ".join(["python3", f"benches/peers/{Path(sys.argv[0]).name}", *arguments])
    parts = [datetime.date.today().isoformat(), name(), f"{os.cpu_count()} CPUs", f"`{command}`", f"rounds: {rounds}"]
    parts += [f"load before: {os.getloadavg()[0]:.1f}", *([extra] if extra else [])]
    return textwrap.fill(", ".join(parts), 156, break_on_hyphens=False, break_long_words=False)


def keep(subject: str, printed: str, result: dict) -> Path:
    """Writes what was printed and the seconds of every run, and returns the path of the former."""
    folder = RUNS / f"{datetime.date.today().isoformat()}-{slug()}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{subject}.json").write_text(json.dumps(result, indent=1) + "\n")
    text = folder / f"{subject}.txt"
    text.write_text(printed + "\n")
    return text


def _cpuinfo():
    """(model name, family, model) of the first processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return None
    values = [re.search(rf"^{key}\s*: (.*)$", text, re.MULTILINE) for key in ("model name", "cpu family", "model")]
    if None in values:
        return None
    return values[0].group(1).strip(), int(values[1].group(1)), int(values[2].group(1))


def _core(brand: str, family: int, model: int) -> str:
    if "AMD" not in brand:
        return ""
    if family == 25:
        return "Zen 4" if 0x10 <= model <= 0x1F or 0x60 <= model <= 0x7F or model >= 0xA0 else "Zen 3"
    return {23: "Zen", 26: "Zen 5"}.get(family, "")
