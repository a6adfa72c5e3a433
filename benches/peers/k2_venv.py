"""Python with k2: its last release in PyPI is 1.23.4, for Python 3.9 and PyTorch 1.13.1."""

import subprocess
from pathlib import Path

VENV = Path(__file__).resolve().parent / ".work/venv-k2"


def python_with_k2(python: str = "python3.9") -> Path:
    """The interpreter of an environment that has k2, made from `python` and installed into .work where that is not done yet (several GB)."""
    interpreter = VENV / "bin/python"
    if not interpreter.exists():
        subprocess.run([python, "-m", "venv", VENV], check=True)
    if subprocess.run([interpreter, "-c", "import k2"], capture_output=True).returncode:
        subprocess.run([interpreter, "-m", "pip", "install", "--quiet", "numpy<2", "torch==1.13.1", "k2==1.23.4"], check=True)
    return interpreter
