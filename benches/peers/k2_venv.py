"""Python with k2 and torchaudio: k2's last release in PyPI is 1.23.4, for Python 3.9 and PyTorch 1.13.1, with which goes torchaudio 0.13.1."""

import subprocess
from pathlib import Path

VENV = Path(__file__).resolve().parent / ".work/venv-k2"


def python_with_k2(python: str = "python3.9") -> Path:
    """The interpreter of an environment that has k2, made from `python` and installed into .work where that is not done yet (several GB)."""
    interpreter = VENV / "bin/python"
    if not interpreter.exists():
        subprocess.run([python, "-m", "venv", VENV], check=True)
    if subprocess.run([interpreter, "-c", "import k2, torchaudio"], capture_output=True).returncode:
        packages = ["numpy<2", "torch==1.13.1", "torchaudio==0.13.1", "k2==1.23.4"]
        subprocess.run([interpreter, "-m", "pip", "install", "--quiet", *packages], check=True)
    return interpreter
