"""Kaldi's files beside kaldiio, which reads what we write and writes what we read."""

import os
import pickle

import numpy as np
import pytest

import kaldera

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
