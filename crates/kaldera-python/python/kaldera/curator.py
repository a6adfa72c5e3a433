"""An adapter for the stage of speech recognition in NeMo Curator (26.09), ``ASRStage``.

    from nemo_curator.stages.audio.inference.asr.stage import ASRStage
    from nemo_curator.stages.resources import Resources

    stage = ASRStage(
        adapter_target="kaldera.curator.ASRAdapter", model_id="/models/digits",
        audio_filepath_key="audio_filepath", resources=Resources(cpus=1.0),
        adapter_kwargs={"hotwords": ["five nine"]})

It implements ``nemo_curator.models.asr.base.ASRAdapter`` on the processor. Each worker uses one
thread, so Curator starts as many workers as there are processors.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nemo_curator.models.asr.base import ASRResult

from .recognition import Recognizer

#: Curator's samples are in [-1, 1].
_FULL_SCALE = 32768.0


class ASRAdapter:
    """Recognises speech with the model of the folder ``model_id``, which every node must have.

    ``options`` are the options of :class:`kaldera.Recognizer`. The stage writes the words with their
    times and confidences if it has an ``extras_key``. A recording that cannot be used is skipped;
    its extras have the ``error``.
    """

    def __init__(self, model_id: str | os.PathLike, **options: Any):
        self.model_id = os.fspath(model_id)
        self._options = options
        self._recognizer: Recognizer | None = None

    def download_weights_on_node(self) -> None:
        """Checks that this node has the model, as nothing is downloaded."""
        description = Path(self.model_id, "model.toml")
        networks = [Path(self.model_id, name) for name in ("am/final.mdl", "final.mdl")]  # of Vosk or Kaldi
        if not any(file.is_file() for file in [description, *networks]):
            raise FileNotFoundError(f"{description}: there is no model: put its folder there on each node")

    def load_model(self, *, num_gpus: int) -> None:
        """Opens the model, for no GPU."""
        if num_gpus:
            raise ValueError(f"num_gpus={num_gpus}: the model runs on processors: use resources=Resources(cpus=1.0)")
        self._recognizer = Recognizer(self.model_id, **self._options)

    def unload_model(self) -> None:
        """Frees the model."""
        self._recognizer = None

    def transcribe_batch(self, items: list[dict[str, Any]]) -> list[ASRResult]:
        """The words of each ``waveform``, in order."""
        if self._recognizer is None:
            raise RuntimeError("the model is not loaded: call load_model first")
        return [self._result(self._recognizer, item) for item in items]

    def _result(self, recognizer: Recognizer, item: dict[str, Any]) -> ASRResult:
        if not len(item["waveform"]):
            return ASRResult(text="", skipped=True, skip_reason="empty_audio")
        key = str(item.get("task_id") or "")
        try:
            found = recognizer.transcribe(
                item["waveform"], item["sample_rate"], key=key, scale=_FULL_SCALE, threads=1
            )
        # An unusable recording is no error of the program.
        except ValueError as error:
            return ASRResult(text="", skipped=True, skip_reason="unusable_audio", extras={"error": str(error)})
        words = [
            {"text": word.text, "start": word.start, "end": word.end, "confidence": word.confidence}
            for word in found.words
        ]
        return ASRResult(text=found.text, extras={"words": words})
