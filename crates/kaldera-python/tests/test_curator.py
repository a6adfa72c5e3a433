"""NeMo Curator's stage of speech recognition with the adapter, where Curator is installed."""

import numpy as np
import pytest

pytest.importorskip("nemo_curator.models.asr.base")

import kaldera
import kaldera.curator
from models import model  # noqa: F401, a fixture
from nemo_curator.models.asr.base import ASRAdapter

RATE = 16000


def samples(number, seed):
    """In [-1, 1], as Curator has them."""
    return np.random.default_rng(seed).normal(0, 0.05, number).astype(np.float32)


def opened(model, **options):  # noqa: F811
    adapter = kaldera.curator.ASRAdapter(model, **options)
    adapter.download_weights_on_node()
    adapter.load_model(num_gpus=0)
    return adapter


def test_it_has_the_interface(model):  # noqa: F811
    assert isinstance(opened(model), ASRAdapter)


def test_texts_are_those_of_the_recogniser_and_damage_is_skipped(model):  # noqa: F811
    waveforms = [samples(8000, 1), np.empty(0, np.float32), np.full(8000, np.nan, np.float32), samples(4000, 2)]
    adapter = opened(model, beam=3)
    results = adapter.transcribe_batch(
        [{"waveform": waveform, "sample_rate": RATE, "task_id": str(i)} for i, waveform in enumerate(waveforms)]
    )
    recognizer = kaldera.Recognizer(model, beam=3)
    for place in (0, 3):
        expected = recognizer.transcribe(waveforms[place], RATE, scale=32768)
        assert results[place].text == expected.text and expected.text and not results[place].skipped
        assert [word["start"] for word in results[place].extras["words"]] == [word.start for word in expected.words]
    assert results[1].skipped and results[1].skip_reason == "empty_audio"
    assert results[2].skipped and results[2].skip_reason == "unusable_audio" and results[2].extras["error"]
    adapter.unload_model()
    with pytest.raises(RuntimeError, match="load_model"):
        adapter.transcribe_batch([])


def test_wrong_uses_are_errors_with_a_remedy(model, tmp_path):  # noqa: F811
    with pytest.raises(ValueError, match=r"Resources\(cpus=1.0\)"):
        kaldera.curator.ASRAdapter(model).load_model(num_gpus=1)
    with pytest.raises(FileNotFoundError, match="each node"):
        kaldera.curator.ASRAdapter(tmp_path / "nowhere").download_weights_on_node()
    with pytest.raises(ValueError, match="bean.*beam"):
        opened(model, bean=3)


def test_the_stage_writes_the_texts_of_its_tasks(model):  # noqa: F811
    stage_module = pytest.importorskip("nemo_curator.stages.audio.inference.asr.stage")
    from nemo_curator.stages.resources import Resources
    from nemo_curator.tasks import AudioTask

    stage = stage_module.ASRStage(
        adapter_target="kaldera.curator.ASRAdapter",
        model_id=str(model),
        waveform_key="waveform",
        extras_key="asr",
        resources=Resources(cpus=1.0),
    )
    stage.setup_on_node()
    stage.setup()
    waveforms = [samples(8000, 1), samples(0, 0), samples(4000, 2)]
    tasks = [
        AudioTask(
            task_id=str(i),
            dataset_name="test",
            data={"audio_filepath": f"{i}.wav", "waveform": waveform, "sampling_rate": RATE},
        )
        for i, waveform in enumerate(waveforms)
    ]
    done = stage.process_batch(tasks)
    recognizer = kaldera.Recognizer(model)
    for place in (0, 2):
        data = done[place].data
        assert data["pred_text"] == recognizer.transcribe(waveforms[place], RATE, scale=32768).text
        assert data["asr"]["words"] and "_skipme" not in data
    assert done[1].data["_skipme"] == "empty_audio"
