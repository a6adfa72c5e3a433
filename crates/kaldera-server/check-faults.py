#!/usr/bin/env python3
"""Checks `kaldera serve` where the system fails it, and for a long time.

    crates/kaldera-server/check-faults.py KALDERA MODEL [--soak MINUTES]

KALDERA is the command with the feature `serve`, MODEL the folder of the digits model. Prints a line `ok NAME` or `FAILED NAME: reason`
for each check: no descriptors left, a full disk (needs root, for a file system of 1 MB), a model folder that is replaced, SIGTERM
under load. --soak sends live speech at twice real time and uploads for so many minutes, and checks that the memory stays as it is.
Needs PyPI `websockets`.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from websockets.sync.client import connect

EXPECTED = "three two five nine"
GROWTH = 1.1
"""Memory at the end of a soak, relative to the memory after its first tenth."""
LIVE = 8
"""Live streams of a soak."""


class Server:
    """A running server."""

    def __init__(self, kaldera, model, *options, **process):
        command = [kaldera, "serve", "--listen=127.0.0.1:0", *options, f"digits={model}"]
        self.child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **process)
        self.address = re.search(r"http://(\S+)", self.child.stderr.readline())[1]
        threading.Thread(target=self.child.stderr.read, daemon=True).start()

    def upload(self, wave, **fields):
        parts = [f'--limit\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
        head = '--limit\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
        body = "".join(parts).encode() + head.encode() + wave + b"\r\n--limit--\r\n"
        headers = {"content-type": "multipart/form-data; boundary=limit"}
        request = urllib.request.Request(f"http://{self.address}/v1/audio/transcriptions", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)["text"]
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)["error"]["message"]

    def live(self, wave, speed=None):
        """The text of a recording sent as live speech, at a multiple of real time if `speed` is given."""
        with connect(f"ws://{self.address}/vosk", open_timeout=60) as client:
            client.send('{"config": {"sample_rate": 8000}}')
            texts, samples = [], wave[44:]
            for at in range(0, len(samples), 1600):
                client.send(samples[at : at + 1600])
                texts.append(json.loads(client.recv(timeout=60)).get("text", ""))
                if speed:
                    time.sleep(0.1 / speed)
            client.send('{"eof": 1}')
            texts.append(json.loads(client.recv(timeout=60))["text"])
            return " ".join(text for text in texts if text)

    def memory(self):
        """The resident memory in MB."""
        return int(re.search(r"VmRSS:\s*(\d+)", Path(f"/proc/{self.child.pid}/status").read_text())[1]) / 1000

    def end(self):
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r}, not {wanted!r}")


def descriptors(kaldera, model, wave):
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))}
    with Server(kaldera, model, **few) as server:
        host, port = server.address.split(":")
        held = [socket.create_connection((host, int(port))) for _ in range(100)]
        time.sleep(0.5)
        for one in held:
            one.close()
        expect(server.upload(wave), (200, EXPECTED))


def full_disk(kaldera, model, wave):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
        try:
            with Server(kaldera, model, "--memory-mb=0", env={**os.environ, "TMPDIR": folder}) as server:
                status, message = server.upload(wave + bytes(4_000_000))
                expect((status, "cannot be kept" in message), (507, True))
                expect(server.upload(wave), (200, EXPECTED))
                expect(os.listdir(folder), [])
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def replaced_model(kaldera, model, wave):
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "model"
        shutil.copytree(model, own)
        with Server(kaldera, own) as server:
            for file in own.iterdir():
                file.write_bytes(b"nothing")
            expect(server.upload(wave), (200, EXPECTED))
            shutil.rmtree(own)
            expect(server.live(wave), EXPECTED)


def terminated(kaldera, model, wave):
    """No stream and no upload that has begun is lost."""
    with Server(kaldera, model) as server:
        found = []
        work = [lambda: found.append(server.live(wave, speed=1)) for _ in range(20)]
        work += [lambda: found.append(server.upload(wave)[1]) for _ in range(20)]
        threads = [threading.Thread(target=one) for one in work]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        expect(server.end(), 0)
        for thread in threads:
            thread.join()
        expect(found, [EXPECTED] * len(work))


def soak(kaldera, model, wave, minutes):
    with Server(kaldera, model) as server:
        until, wrong = time.monotonic() + 60 * minutes, []

        def check(run):
            while time.monotonic() < until:
                found = run()
                if found != EXPECTED:
                    wrong.append(found)

        speech = [lambda: server.live(wave, speed=2)] * LIVE + [lambda: server.upload(wave)[1]]
        threads = [threading.Thread(target=check, args=[run]) for run in speech]
        for thread in threads:
            thread.start()
        time.sleep(6 * minutes)
        begin = server.memory()
        for thread in threads:
            thread.join()
        end = server.memory()
        print(f"soak of {minutes} minutes: {begin:.1f} MB after a tenth of it, {end:.1f} MB at the end", flush=True)
        expect((wrong, end < GROWTH * begin), ([], True))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kaldera", type=Path)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("--soak", type=float, metavar="MINUTES")
    given = arguments.parse_args()
    wave = (given.model / "digits.wav").read_bytes()
    checks = {check.__name__: check for check in (descriptors, full_disk, replaced_model, terminated)}
    if given.soak:
        checks = {"soak": lambda *where: soak(*where, given.soak)}
    failed = False
    for name, check in checks.items():
        try:
            check(given.kaldera.resolve(), given.model.resolve(), wave)
            print("ok", name)
        except Exception as error:  # the next check still runs
            failed = True
            print(f"FAILED {name}: {error}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
