"""The program `vosk-transcriber --server` of PyPI's `vosk`, which sends 16 kHz from ffmpeg.

It knows only ws://localhost:2700 and loads a model of Vosk even for a server: these two are replaced.
"""

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile

import vosk.transcriber.cli
import vosk.transcriber.transcriber

from common import STARTS, URL, WAV, check, finish, heard, near, require

vosk.transcriber.transcriber.Model = lambda **_: None
for action in vosk.transcriber.cli.parser._actions:
    if action.dest == "server":
        action.const = URL.replace("http", "ws", 1)


def transcribe(form):
    require(shutil.which("ffmpeg"), "vosk-transcriber needs ffmpeg")
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "output")
        sys.argv = ["vosk-transcriber", "--server", "-i", WAV, "-t", form, "-o", output, "--log-level", "WARNING"]
        with contextlib.redirect_stdout(io.StringIO()):
            vosk.transcriber.cli.main()
        with open(output, encoding="utf-8") as file:
            return file.read()


def srt():
    cues = re.findall(r"00:00:(\d\d),(\d\d\d) --> [^\n]*\n([^\n]+)", transcribe("srt"))
    require(cues, "there are no cues")
    start = int(cues[0][0]) + int(cues[0][1]) / 1000
    near(start, STARTS[0], "the first cue")
    return f"{heard(' '.join(cue[2] for cue in cues))} from {start:.2f}"


check("vosk-transcriber txt", lambda: heard(transcribe("txt")))
check("vosk-transcriber srt", srt)
finish()
