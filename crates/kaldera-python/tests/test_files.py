"""Kaldi's files beside kaldiio, which reads what we write and writes what we read."""

import os
import pathlib
import pickle
import struct

import numpy as np
import pytest

import kaldera
from recordings import aiff

kaldiio = pytest.importorskip("kaldiio")
RNG = np.random.default_rng(1)


def objects():
    return {
        "float": RNG.normal(size=(30, 5)).astype(np.float32),
        "double": RNG.normal(size=(3, 4)),
        "vector": RNG.normal(size=7).astype(np.float32),
        "doubles": RNG.normal(size=2),
        "integers": np.array([3, -1, 2], dtype=np.int32),
        "row": np.ones((1, 1), np.float32),
    }


def assert_same(found, expected):
    assert dict(found).keys() == dict(expected).keys()
    for key, array in dict(expected).items():
        assert found[key].dtype == array.dtype and found[key].shape == array.shape, key
        np.testing.assert_array_equal(found[key], array, err_msg=key)


def test_archives_of_each_are_read_by_the_other(tmp_path):
    theirs, ours, expected = tmp_path / "theirs.ark", tmp_path / "ours.ark", objects()
    kaldiio.save_ark(str(theirs), expected, scp=str(tmp_path / "theirs.scp"))
    kaldera.save_ark(ours, expected, scp=tmp_path / "ours.scp")
    assert theirs.read_bytes() == ours.read_bytes()
    assert_same(dict(kaldera.load_ark(theirs)), expected)
    assert_same(dict(kaldiio.load_ark(str(ours))), expected)
    for scp in ["theirs.scp", "ours.scp"]:
        assert_same(dict(kaldera.load_scp(tmp_path / scp).items()), expected)
        assert_same(dict(kaldera.load_scp_sequential(tmp_path / scp)), expected)
        assert_same(dict(kaldiio.load_scp(str(tmp_path / scp)).items()), expected)


def test_text_archives_of_each_are_read_by_the_other(tmp_path):
    expected = {key: array for key, array in objects().items() if array.dtype == np.float32}
    expected["integers"] = np.array([3, -1, 2], dtype=np.int32)
    kaldera.save_ark(tmp_path / "ours", expected, text=True)
    found = dict(kaldera.load_ark(tmp_path / "ours"))
    assert list(found) == list(expected)
    for key, array in expected.items():
        np.testing.assert_allclose(found[key], array, rtol=1e-5)
    kaldiio.save_ark(str(tmp_path / "theirs"), {k: v for k, v in expected.items() if k != "integers"}, text=True)
    found = dict(kaldera.load_ark(tmp_path / "theirs"))
    for key, array in found.items():
        np.testing.assert_allclose(array, expected[key], rtol=1e-5)


@pytest.mark.parametrize("method", range(1, 8))
def test_compressed_matrices_equal_kaldiios(tmp_path, method):
    full = {"long": np.abs(objects()["float"]) % 1, "short": np.full((2, 3), 0.5, np.float32)}
    kaldera.save_ark(tmp_path / "ours", full, compression_method=method)
    ours = dict(kaldera.load_ark(tmp_path / "ours"))
    theirs = dict(kaldiio.load_ark(str(tmp_path / "ours")))
    for key in full:
        np.testing.assert_allclose(ours[key], theirs[key], atol=1e-6)
    # Methods 4 and 6 are for whole numbers.
    if method not in (4, 6):
        np.testing.assert_allclose(ours["long"], full["long"], atol=0.02)
    if method in (2, 3, 5):
        kaldiio.save_ark(str(tmp_path / "theirs"), full, compression_method=method)
        for key, array in kaldera.load_ark(tmp_path / "theirs"):
            np.testing.assert_allclose(array, dict(kaldiio.load_ark(str(tmp_path / "theirs")))[key], atol=1e-6)


def test_ranges_count_as_kaldis(tmp_path):
    matrix = np.arange(60, dtype=np.float32).reshape(12, 5)
    kaldera.save_ark(tmp_path / "a.ark", {"a": matrix, "v": matrix[:, 0]})
    place = f"{tmp_path / 'a.ark'}:2"
    np.testing.assert_array_equal(kaldera.load_mat(place), matrix)
    np.testing.assert_array_equal(kaldera.load_mat(place + "[2:4]"), matrix[2:5])
    np.testing.assert_array_equal(kaldera.load_mat(place + "[:,1:2]"), matrix[:, 1:3])
    (tmp_path / "a.scp").write_text(f"part {place}[0:1,3:4]\n")
    np.testing.assert_array_equal(kaldera.load_scp(tmp_path / "a.scp")["part"], matrix[:2, 3:5])
    with pytest.raises(ValueError, match=r"invalid range \[20:30\]"):
        kaldera.load_mat(place + "[20:30]")


def test_commands_are_refused_unless_they_are_wanted(tmp_path):
    kaldera.save_ark(tmp_path / "a.ark", {"a": np.eye(2, dtype=np.float32)})
    command = f"cat {tmp_path / 'a.ark'} |"
    (tmp_path / "a.scp").write_text(f"a tail -c +3 {tmp_path / 'a.ark'} |\n")
    refused = [
        lambda: list(kaldera.load_ark(command)),
        lambda: kaldera.load_scp(tmp_path / "a.scp")["a"],
        lambda: list(kaldera.load_scp_sequential(tmp_path / "a.scp")),
        lambda: list(kaldera.ReadHelper(f"ark:{command}")),
        lambda: kaldera.WriteHelper("ark:| cat"),
        lambda: kaldera.load_mat(f"tail -c +3 {tmp_path / 'a.ark'} |"),
    ]
    for read in refused:
        with pytest.raises(ValueError, match="is not run"):
            read()
    assert [key for key, _ in kaldera.load_ark(command, pipes=True)] == ["a"]
    np.testing.assert_array_equal(kaldera.load_scp(tmp_path / "a.scp", pipes=True)["a"], np.eye(2))
    with pytest.raises(OSError, match="exit status: 7"):
        kaldera.load_mat("exit 7 |", pipes=True)


def test_helpers_read_and_write_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = objects()
    with kaldera.WriteHelper("ark,scp:a.ark,a.scp") as writer:
        for key, array in expected.items():
            writer(key, array)
    for rspecifier in ["ark:a.ark", "scp:a.scp", "scp,p:a.scp"]:
        with kaldera.ReadHelper(rspecifier) as reader:
            assert_same(dict(reader), expected)
    with kaldiio.ReadHelper("scp:a.scp") as reader:
        assert_same(dict(reader), expected)
    with kaldera.WriteHelper("ark:c.ark", compression_method=2) as writer:
        writer("a", expected["float"])
    assert os.path.getsize("c.ark") < expected["float"].nbytes
    with pytest.raises(ValueError, match="closed"):
        writer("b", expected["float"])


def test_recordings_in_tables(tmp_path):
    samples = (np.arange(1000) % 77).astype(np.int16)
    kaldera.save_ark(tmp_path / "wav.ark", {"a": (8000, samples)})
    rate, found = dict(kaldera.load_ark(tmp_path / "wav.ark"))["a"]
    assert rate == 8000
    np.testing.assert_array_equal(found, samples)
    rate, found = dict(kaldiio.load_ark(str(tmp_path / "wav.ark")))["a"]
    assert rate == 8000
    np.testing.assert_array_equal(found, samples)


def test_lists_name_recordings_of_any_format_and_all_are_read_alike(tmp_path):
    samples = (np.arange(1000) % 77 - 30).astype(np.int16)
    head = [24, 2000, 3, 8000, 1]
    files = {
        "aiff": aiff(samples, 8000),
        "au": b".snd" + struct.pack(">5L", *head) + samples.astype(">i2").tobytes(),
        "little": b"dns." + struct.pack("<5L", *head) + samples.tobytes(),
        "wav": b"RIFF" + struct.pack("<L", 2036) + b"WAVEfmt " + struct.pack("<LHHLLHH", 16, 1, 1, 8000, 16000, 2, 16)
        + b"data" + struct.pack("<L", 2000) + samples.tobytes(),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        (tmp_path / f"cut-{name}").write_bytes(data[:-100])
    scp = tmp_path / "wav.scp"
    scp.write_text("".join(f"{name} {tmp_path / name}\n" for name in files))
    for found in [dict(kaldera.load_scp(scp).items()), dict(kaldera.load_scp_sequential(scp))]:
        for name in files:
            rate, read = found[name]
            assert (rate, type(rate), read.dtype) == (8000, int, np.int16), name
            np.testing.assert_array_equal(read, samples)
    for name in files:
        scp.write_text(f"a {tmp_path / f'cut-{name}'}\n")
        for read in [lambda: kaldera.load_scp(scp)["a"], lambda: list(kaldera.load_scp_sequential(scp))]:
            with pytest.raises(ValueError, match=f"cut-{name}.*truncated"):
                read()
    (tmp_path / "odd.aiff").write_bytes(aiff(samples, 22254.5))
    assert kaldera.load_mat(tmp_path / "odd.aiff")[0] == 22254.5


def test_lazy_tables_are_mappings_that_can_be_pickled(tmp_path):
    expected = objects()
    kaldera.save_ark(tmp_path / "a.ark", expected, scp=tmp_path / "a.scp")
    table = kaldera.load_scp(tmp_path / "a.scp")
    assert len(table) == len(expected) and list(table) == list(expected) and "float" in table
    for key in reversed(list(expected)):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(table))[key], expected[key])
        np.testing.assert_array_equal(table[key], expected[key])
    with pytest.raises(KeyError, match="nobody"):
        table["nobody"]
    assert table.get("nobody") is None and table.file("float").endswith("a.ark:6")


def test_single_objects(tmp_path):
    for key, array in objects().items():
        kaldera.save_mat(tmp_path / key, array)
        found = kaldera.load_mat(tmp_path / key)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


def test_what_is_wrong_says_what_and_where(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.ark"):
        list(kaldera.load_ark("nowhere.ark"))
    with pytest.raises(FileNotFoundError, match="nowhere.scp"):
        kaldera.load_scp("nowhere.scp")
    with pytest.raises(ValueError, match="does not say how to read a table|rspecifier|ark"):
        kaldera.ReadHelper("feats.ark")
    (tmp_path / "a.scp").write_text("a b.ark:1\na b.ark:2\n")
    with pytest.raises(ValueError, match="'a' occurs twice"):
        kaldera.load_scp(tmp_path / "a.scp")
    (tmp_path / "b.scp").write_text("alone\n")
    with pytest.raises(ValueError, match="line 1"):
        kaldera.load_scp(tmp_path / "b.scp")
    with pytest.raises(ValueError, match=r"array of complex128 with the shape \(2, 2\)"):
        kaldera.save_ark(tmp_path / "c.ark", {"a": np.zeros((2, 2), complex)})
    with pytest.raises(ValueError, match="cannot be a key"):
        kaldera.save_ark(tmp_path / "c.ark", {"a b": np.zeros((2, 2))})
    assert not (tmp_path / "c.ark").exists()


def test_damaged_archives_are_errors(tmp_path):
    kaldera.save_ark(tmp_path / "whole", {"a": np.ones((4, 4), np.float32), "b": np.arange(3, dtype=np.int32)})
    whole = (tmp_path / "whole").read_bytes()
    for cut in range(1, len(whole)):
        (tmp_path / "cut").write_bytes(whole[:cut])
        try:
            found = list(kaldera.load_ark(tmp_path / "cut"))
        except (ValueError, OSError):
            continue
        assert len(found) < 2, cut
    for place in range(len(whole)):
        (tmp_path / "bad").write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            list(kaldera.load_ark(tmp_path / "bad"))
        except (ValueError, OSError):
            pass


def test_offsets_beyond_files_are_refused(tmp_path):
    kaldera.save_mat(tmp_path / "c.mat", np.ones((2, 2), np.float32))
    for offset in [2**64 - 1, 2**63, 10**6]:
        with pytest.raises((ValueError, OSError)):
            kaldera.load_mat(f"{tmp_path}/c.mat:{offset}")


def test_archives_that_are_written_again_are_read_again(tmp_path):
    ark, scp = tmp_path / "a.ark", tmp_path / "a.scp"
    for key_of_first in [1.0, 2.0]:
        kaldera.save_ark(ark, {"a": np.full(4, key_of_first), "b": np.full(4, -key_of_first)}, scp=scp)
        if key_of_first == 1.0:
            table = kaldera.load_scp(scp)
        assert table["a"][0] == key_of_first and table["b"][0] == -key_of_first
    old, new = (np.full(4, value).tobytes() for value in [2.0, 3.0])
    ark.write_bytes(ark.read_bytes().replace(old, new))
    assert table["a"][0] == 3.0


def test_folders_may_have_commas(tmp_path):
    folder = tmp_path / "a,b"
    folder.mkdir()
    expected = objects()
    kaldera.save_ark(folder / "a.ark", expected, scp=folder / "a.scp")
    assert_same(dict(kaldera.load_scp(folder / "a.scp")), expected)


def test_arrays_need_no_alignment_and_names_may_be_bytes(tmp_path):
    for dtype in [np.float32, np.float64]:
        values = np.arange(6, dtype=dtype)
        loose = np.frombuffer(b"\0" + values.tobytes(), dtype, offset=1)
        kaldera.save_ark(os.fsencode(tmp_path / "a"), {"m": loose.reshape(2, 3), "v": loose})
        found = dict(kaldera.load_ark(os.fsencode(tmp_path / "a")))
        np.testing.assert_array_equal(found["v"], values)
        np.testing.assert_array_equal(found["m"], values.reshape(2, 3))


def test_rates_are_integers(tmp_path):
    for rate in [16000.7, -1, 0]:
        with pytest.raises(ValueError, match="rate"):
            kaldera.save_mat(tmp_path / "a", (rate, np.zeros(4, np.int16)))


def test_a_table_closes_while_another_thread_reads(tmp_path):
    import threading

    kaldera.save_ark(tmp_path / "a", ((str(i), np.zeros((100, 100), np.float32)) for i in range(100)))
    for _ in range(20):
        reader = kaldera.ReadHelper(f"ark:{tmp_path}/a")
        thread = threading.Thread(target=lambda: list(reader), daemon=True)
        thread.start()
        reader.close()
        thread.join(60)
        assert not thread.is_alive()


def test_kinds_that_bytes_do_not_tell_are_named(tmp_path):
    from kaldera import k2

    kinds = {
        "token": {"a": "hello", "b": "x"},
        "token-vector": {"a": ["one", "two"], "b": []},
        "int32": {"a": 7, "b": -1},
        "float": {"a": 0.5},
        "double": {"a": 1 / 3},
        "bool": {"a": True, "b": False},
        "int32-vector-vector": {"a": [[1, 2], [], [3]], "b": []},
        "int32-pair-vector": {"a": [(1, 2), (3, 4)], "b": []},
        "posterior": {"a": [[(3, 0.5), (7, 0.5)], []], "b": []},
    }
    for text in [False, True]:
        for kind, expected in kinds.items():
            ark, scp = tmp_path / kind, tmp_path / f"{kind}.scp"
            kaldera.save_ark(ark, expected, scp=scp, text=text, kind=kind)
            found = dict(kaldera.load_ark(ark, kind=kind))
            assert found == expected or (text and kind == "double" and abs(found["a"] - 1 / 3) < 1e-6)
            table = pickle.loads(pickle.dumps(kaldera.load_scp(scp, kind=kind)))
            assert [type(table[key]) for key in expected] == [type(value) for value in expected.values()]
    with kaldera.WriteHelper(f"ark,t:{tmp_path}/post", kind="posterior") as writer:
        writer("a", kinds["posterior"]["a"])
    assert (tmp_path / "post").read_text().split() == "a [ 3 0.5 7 0.5 ] [ ]".split()
    with kaldera.ReadHelper(f"ark:{tmp_path}/post", kind="posterior") as reader:
        assert dict(reader) == {"a": kinds["posterior"]["a"]}
    kaldera.save_mat(tmp_path / "one", [[1], []], kind="int32-vector-vector")
    assert kaldera.load_mat(tmp_path / "one", kind="int32-vector-vector") == [[1], []]

    lattice = k2.Fsa.from_str("0 1 5 0\n0 1 6 0\n1 2 -1 0\n2")
    lattice.graph_scores = np.array([-1, -2, 0], np.float32)
    lattice.acoustic_scores = np.array([-3, -5, -0.5], np.float32)
    lattice.alignment = k2.RaggedTensor([[7, 8], [9], []])
    for kind in ["lattice", "compact-lattice"]:
        for text in [False, True]:
            kaldera.save_ark(tmp_path / kind, {"a": lattice}, text=text, kind=kind)
            found = dict(kaldera.load_ark(tmp_path / kind, kind="compact-lattice"))["a"]
            assert found.get_tot_scores(True, False).tolist() == [-4.5] and sorted(found.labels) == [-1, 5, 6]
            assert found.alignment.tolist() == [[7, 8], [9], []] and found.graph_scores.tolist() == [-1, -2, 0]

    for wrong in [
        lambda: kaldera.load_ark(tmp_path / "post", kind="posteriors"),
        lambda: list(kaldera.load_ark(tmp_path / "post", kind="int32")),
        lambda: kaldera.save_ark(tmp_path / "c", {"a": k2.create_fsa_vec([lattice])}, kind="lattice"),
        lambda: kaldera.load_mat(f"{tmp_path}/one[0:1]", kind="int32-vector-vector"),
    ]:
        with pytest.raises(ValueError):
            wrong()


def test_text_of_empty_matrices_is_read_by_its_kind(tmp_path):
    empty = {"a": np.zeros((0, 0), np.float32), "b": np.ones((1, 2), np.float32)}
    kaldera.save_ark(tmp_path / "a", empty, text=True)
    assert dict(kaldera.load_ark(tmp_path / "a"))["a"].shape == (0,)
    assert_same(dict(kaldera.load_ark(tmp_path / "a", kind="matrix")), empty)
    vectors = {"a": np.zeros(0, np.float32), "b": np.ones(2, np.float32)}
    kaldera.save_ark(tmp_path / "v", vectors, text=True)
    assert_same(dict(kaldera.load_ark(tmp_path / "v", kind="vector")), vectors)


def test_archives_are_appended_to(tmp_path):
    expected, ark, scp = objects(), tmp_path / "a.ark", tmp_path / "a.scp"
    for key, array in expected.items():
        kaldera.save_ark(ark, {key: array}, scp=scp, append=True)
    assert_same(dict(kaldera.load_ark(ark)), expected)
    assert_same(dict(kaldera.load_scp(scp).items()), expected)
    before = ark.read_bytes(), scp.read_bytes()
    with pytest.raises(ValueError):
        kaldera.save_ark(ark, {"x": expected["float"], "y": np.zeros(2, complex)}, scp=scp, append=True)
    with pytest.raises(OSError):
        kaldera.save_ark(ark, {"x": expected["float"]}, scp=tmp_path, append=True)
    assert (ark.read_bytes(), scp.read_bytes()) == before
    with pytest.raises(OSError):
        kaldera.save_ark(tmp_path / "new", {"x": expected["float"]}, scp=tmp_path, append=True)
    assert not (tmp_path / "new").exists()


def test_segments_are_parts_of_recordings(tmp_path):
    rate, samples = 8000, np.arange(8000, dtype=np.int16)
    kaldera.save_ark(tmp_path / "wav.ark", {"r": (rate, samples), "s": (rate, -samples)}, scp=tmp_path / "wav.scp")
    (tmp_path / "segments").write_text("u1 r 0.25 0.5\nu2 s 0.5 -1\nu3 r 0.75 1.25\n")
    table = kaldera.load_scp(tmp_path / "wav.scp", tmp_path / "segments")
    expected = {"u1": samples[2000:4000], "u2": -samples[4000:], "u3": samples[6000:]}
    assert list(table) == list(expected) and len(table) == 3
    for key, part in expected.items():
        assert table[key][0] == rate
        np.testing.assert_array_equal(table[key][1], part)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(table))[key][1], part)
    specifier, where = f"scp:{tmp_path}/wav.scp", str(tmp_path / "segments")
    with kaldera.ReadHelper(specifier, segments=where) as ours, kaldiio.ReadHelper(specifier, segments=where) as theirs:
        for (key, (hertz, part)), (other, (theirs_hertz, theirs_part)) in zip(ours, theirs):
            assert (key, hertz) == (other, theirs_hertz)
            np.testing.assert_array_equal(part, theirs_part)
    # A pass reads again what was written again.
    assert table["u3"][1][0] == 6000
    kaldera.save_ark(tmp_path / "wav.ark", {"r": (rate, samples + 1), "s": (rate, -samples)})
    assert [(key, part[0]) for key, (_, part) in table.items()] == [("u1", 2001), ("u2", -4000), ("u3", 6001)]
    for line, match in [
        ("u r 0.5 1.6", "u"),
        ("u r 1 -1", "u"),
        ("u nobody 0 1", "nobody"),
        ("u r 0 1 1", "no channel 1"),
        ("u r x 1", "line 1"),
        ("u r 0 1\nu r 0 1", "twice"),
    ]:
        (tmp_path / "segments").write_text(f"{line}\n")
        with pytest.raises(ValueError, match=match):
            dict(kaldera.load_scp(tmp_path / "wav.scp", where).items())
    with pytest.raises(ValueError, match="scp:FILE"):
        kaldera.ReadHelper(f"ark:{tmp_path}/wav.ark", where)


AUDIO = pathlib.Path(__file__).resolve().parents[2] / "kaldera-audio" / "tests" / "it" / "audio"


def test_audio_of_all_formats_is_read_from_paths_bytes_and_files(tmp_path):
    for name in ["tone.flac", "tone.ogg"]:
        path = AUDIO / name
        samples, rate = kaldera.read_audio(path)
        assert samples.dtype == np.float32 and samples.size > 0 and rate > 0
        with open(path, "rb") as file:
            sources = [str(path), path.read_bytes(), memoryview(path.read_bytes()), file]
            for source in sources:
                again, hertz = kaldera.read_audio(source)
                assert hertz == rate
                np.testing.assert_array_equal(again, samples)
        (tmp_path / "wav.scp").write_text(f"a {path}\n")
        np.testing.assert_array_equal(kaldera.load_scp(tmp_path / "wav.scp")["a"][1], samples)
        with pytest.raises(ValueError):
            kaldera.read_audio(path.read_bytes()[:-200])
    hello = AUDIO.parents[4] / "examples" / "audio" / "hello.wav"
    samples, _ = kaldera.read_audio(hello)
    np.testing.assert_array_equal(kaldera.read_audio(hello.read_bytes())[0], samples)
    assert samples.dtype == np.int16
    for wrong in [b"", b"no audio", b"fLaC"]:
        with pytest.raises(ValueError):
            kaldera.read_audio(wrong)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        kaldera.read_audio("nowhere.flac")


def test_passes_read_files_once_and_go_on_in_forks(tmp_path):
    expected = {str(i): np.full((3, 500), i, np.float32) for i in range(40)}
    kaldera.save_ark(tmp_path / "a.ark", expected, scp=tmp_path / "a.scp")
    table = kaldera.load_scp(tmp_path / "a.scp")
    items = iter(table.items())
    assert next(items)[0] == "0" and ("1" in table.keys()) and len(table.items()) == 40
    child = os.fork() if hasattr(os, "fork") else None
    # Both read the rest, each from its own place.
    right = all((value == float(key)).all() and value.shape == (3, 500) for key, value in items)
    if child == 0:
        os._exit(0 if right else 1)
    assert right and (child is None or os.waitpid(child, 0)[1] == 0)
    assert [value[0, 0] for value in table.values()] == list(range(40))
    backwards = kaldera.files.LazyTable({key: table.file(key) for key in reversed([*table])})
    assert_same(dict(backwards.items()), expected)


def test_open_files_stand_where_paths_do(tmp_path):
    import io
    import tarfile

    table = {"a": np.arange(12, dtype=np.float32).reshape(3, 4), "b": np.ones((50, 400), np.float32)}
    file = io.BytesIO()
    kaldera.save_ark(file, table)
    path = tmp_path / "t.ark"
    kaldera.save_ark(path, table, scp=tmp_path / "t.scp")
    assert file.getvalue() == path.read_bytes()
    with tarfile.open(tmp_path / "t.tar", "w") as tar:
        tar.add(path, "t.ark")
    with tarfile.open(tmp_path / "t.tar") as tar, open(path, "rb") as opened, open(path, "rb", buffering=0) as raw:
        for source in (io.BytesIO(file.getvalue()), opened, raw, tar.extractfile("t.ark")):
            found = dict(kaldera.load_ark(source))
            assert list(found) == ["a", "b"] and all(np.array_equal(found[key], table[key]) for key in table)
            assert not source.closed
    for mode in ("r", "rb"):
        with open(tmp_path / "t.scp", mode) as listed:
            assert np.array_equal(kaldera.load_scp(listed)["a"], table["a"])
        with open(tmp_path / "t.scp", mode) as listed:
            assert [key for key, _ in kaldera.load_scp_sequential(listed)] == ["a", "b"]
    kaldera.save_mat(tmp_path / "m", table["a"])
    with open(tmp_path / "m", "rb") as opened:
        assert np.array_equal(kaldera.load_mat(opened), table["a"])
    with open(tmp_path / "t.scp", "rb") as opened, pytest.raises(ValueError, match="t.scp"):
        kaldera.load_mat(opened)
    with pytest.raises(ValueError, match="half|end|short|EOF|eof"):
        dict(kaldera.load_ark(io.BytesIO(file.getvalue()[:-7])))
    with pytest.raises(ValueError, match="needs the path"):
        kaldera.save_ark(io.BytesIO(), table, scp="t.scp")

    class Broken:
        def read(self, size):
            raise OSError("the tape is torn")

    with pytest.raises(OSError, match="the tape is torn"):
        dict(kaldera.load_ark(Broken()))
