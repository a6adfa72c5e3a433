"""The library's warnings arrive, whatever thread they come from; what cannot be believed is an error."""

import concurrent.futures
import os
import struct
import subprocess
import sys
import warnings

import numpy as np
import pytest

import kaldera
from kaldera import k2


def wav(path, rate=16000, byte_rate=None, samples=100):
    """A recording, whose header may contradict itself."""
    data = np.arange(samples, dtype="<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, 1, rate, byte_rate or 2 * rate, 2, 16)
    chunks = b"fmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data
    path.write_bytes(b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks)
    return path


def told(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert all(issubclass(warning.category, kaldera.KalderaWarning) for warning in found)
    assert all(warning.filename == __file__ for warning in found)
    return [str(warning.message) for warning in found]


def test_what_is_passed_over_warns(tmp_path):
    odd = wav(tmp_path / "odd.wav", byte_rate=8000)
    (text,) = told(lambda: kaldera.read_audio(odd))
    assert "contradicts itself" in text and "odd.wav" in text
    (text,) = told(lambda: kaldera.load_mat(odd))
    assert "contradicts itself" in text and "odd.wav" in text
    assert told(lambda: kaldera.read_audio(wav(tmp_path / "good.wav"))) == []


@pytest.mark.parametrize("options", ["p", "p,bg"])
def test_permissive_tables_warn_of_what_they_leave_out(tmp_path, options):
    archive, script = tmp_path / "a.ark", tmp_path / "a.scp"
    kaldera.save_ark(archive, {"u1": np.ones((2, 3), np.float32), "u2": np.ones((2, 3), np.float32)}, scp=script)
    script.write_text(f"x {tmp_path}/nothere.ark:5\n" + script.read_text())
    keys = []
    (text,) = told(lambda: keys.extend(key for key, _ in kaldera.ReadHelper(f"scp,{options}:{script}")))
    assert keys == ["u1", "u2"] and "leaving out key 'x'" in text
    archive.write_bytes(archive.read_bytes()[:-5])
    keys = []
    (text,) = told(lambda: keys.extend(key for key, _ in kaldera.ReadHelper(f"ark,{options}:{archive}")))
    assert keys == ["u1"] and "u2" in text


def test_no_warning_of_any_thread_is_lost(tmp_path):
    files = [wav(tmp_path / f"f{i}.wav", byte_rate=8000) for i in range(64)]

    def read():
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(kaldera.read_audio, files))

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        read()
    assert sorted(str(warning.message).split("file=")[1] for warning in found) == sorted(f"{file})" for file in files)


def test_a_filter_makes_exceptions_of_warnings(tmp_path):
    odd = wav(tmp_path / "odd.wav", byte_rate=8000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kaldera.KalderaWarning)
        with pytest.raises(kaldera.KalderaWarning, match="contradicts itself"):
            kaldera.read_audio(odd)
    assert len(kaldera.read_audio(wav(odd))[0]) == 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_threads_warn_does_not_hang(tmp_path):
    wav(tmp_path / "odd.wav", byte_rate=8000)
    script = """
import os, threading, warnings
import kaldera
warnings.simplefilter("ignore")
kaldera.read_audio("odd.wav")  # imports NumPy, which forks must not come into
done = False
def read():
    while not done:
        kaldera.read_audio("odd.wav")
threads = [threading.Thread(target=read) for _ in range(4)]
[thread.start() for thread in threads]
for _ in range(20):
    child = os.fork()
    if child == 0:
        kaldera.read_audio("odd.wav")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
done = True
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, timeout=60, check=True)


@pytest.mark.skipif(sys.platform == "win32", reason="commands of sh")
def test_a_command_that_failed_is_an_error_everywhere(tmp_path):
    wav(tmp_path / "whole.wav", samples=5000)
    script = tmp_path / "dies.scp"
    script.write_text(f"a cat {tmp_path}/whole.wav; exit 3 |\nb cat {tmp_path}/whole.wav |\n")
    for read in [
        lambda: kaldera.load_scp(script, pipes=True)["a"],
        lambda: dict(kaldera.load_scp(script, pipes=True)),
        lambda: dict(kaldera.load_scp_sequential(script, pipes=True)),
        lambda: dict(kaldera.ReadHelper(f"scp:{script}", pipes=True)),
        lambda: dict(kaldera.ReadHelper(f"scp,bg:{script}", pipes=True)),
        lambda: kaldera.load_mat(f"cat {tmp_path}/whole.wav; exit 3 |", pipes=True),
    ]:
        with pytest.raises(OSError, match="exit status: 3"):
            read()
    keys = []
    (text,) = told(lambda: keys.extend(dict(kaldera.ReadHelper(f"scp,p:{script}", pipes=True))))
    assert keys == ["b"] and "exit status: 3" in text


@pytest.mark.skipif(sys.platform == "win32", reason="commands of sh")
@pytest.mark.parametrize("options", ["scp", "scp,bg", "scp,p,bg"])
def test_no_command_is_run_without_pipes(tmp_path, options):
    script = tmp_path / "runs.scp"
    script.write_text(f"a touch {tmp_path}/ran; cat {wav(tmp_path / 'a.wav')} |\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            dict(kaldera.ReadHelper(f"{options}:{script}"))
        except ValueError as error:
            assert "is not run" in str(error)
    assert not (tmp_path / "ran").exists()


class Lies:
    """A sequence of which nothing is true."""

    def __init__(self, length, item):
        self.length, self.item = length, item

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        if isinstance(self.item, BaseException):
            raise self.item
        return self.item


TAKE_SEQUENCES = [
    k2.linear_fsa,
    k2.RaggedShape.from_row_splits,
    k2.RaggedShape.from_row_ids,
    lambda lies: k2.RaggedTensor.cat(lies, 0),
    lambda lies: k2.RaggedShape("[ [ x ] ]").index(0, lies),
    lambda lies: kaldera.ctc_loss(np.zeros((1, 3, 4), np.float32), [[1]], lies),
]


@pytest.mark.parametrize("take", TAKE_SEQUENCES)
def test_lengths_that_lie_are_not_believed(take):
    for length in [0, 3, 2**40, 2**62]:
        with pytest.raises(RuntimeError, match="cannot read"):
            take(Lies(length, RuntimeError("cannot read")))
        with pytest.raises(KeyboardInterrupt):
            take(Lies(length, KeyboardInterrupt()))
    # It never ends.
    with pytest.raises((TypeError, ValueError)):
        take(Lies(3, object()))
    with pytest.raises((TypeError, ValueError)):
        k2.linear_fsa(Lies(3, 1))


def test_numbers_beyond_all_memory_are_errors():
    with pytest.raises(ValueError, match="num_aux_labels"):
        k2.Fsa.from_str("0 1 -1 0\n1", num_aux_labels=10**30)
    if sys.platform != "linux":
        return
    script = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from kaldera import k2
calls = [lambda: k2.RaggedShape.regular_ragged_shape(2**31 - 1, 1), lambda: k2.trivial_graph(5 * 10**8)]
for call in calls:
    try:
        call()
    except ValueError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", script], timeout=60, check=True, capture_output=True, text=True)
    assert len(run.stdout.splitlines()) == 2, run.stdout
