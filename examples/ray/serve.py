"""A recognition service of two replicas by Ray Serve, and one of them killed under load.

    python serve.py MODEL [--port 8000]
    curl -F file=@speech.wav -F model=MODEL http://127.0.0.1:8000/v1/audio/transcriptions

    python serve.py MODEL --kill recognizer --recording speech.wav [--requests 100]
    python serve.py MODEL --kill api --recording speech.wav

The first serves until Ctrl-C. The others send a minute of the recording, again and again, from eight
clients, kill the process of a replica in the middle, and count the answers. Needs `pip install ./crates/kaldera-python
'ray[serve]' python-multipart`.

Api speaks HTTP, as OpenAI does, and Recognizer computes; each has two replicas, on as many machines
as the cluster has. Ray sends a request that no replica has accepted yet to another one. Ray does not
repeat a request that was at work in a replica that died: Api does that for a Recognizer, as to
transcribe twice does no harm, and the client for an Api, whose requests Ray ends with status 500.
OpenAI's clients repeat those by themselves, twice.
"""

import argparse
import asyncio
import collections
import concurrent.futures
import io
import json
import os
import pathlib
import signal
import threading
import time
import urllib.error
import urllib.request
import wave

import fastapi
import numpy as np
from fastapi.responses import JSONResponse, PlainTextResponse

import kaldera
import ray
from ray import serve

ATTEMPTS = 3
CLIENTS = 8

app = fastapi.FastAPI()


# Above the classes: their decorators copy what their methods use.
def refusal(status, message, code=None, headers=None):
    """An error in the form of OpenAI's."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": error}, status_code=status, headers=headers)


@serve.deployment(num_replicas=2, max_ongoing_requests=2, max_queued_requests=64, health_check_period_s=5)
class Recognizer:
    """Transcribes whole files."""

    def __init__(self, model):
        self.recognizer = kaldera.Recognizer(model)

    def check_health(self):
        """Ray calls this every five seconds, and replaces a replica that raises."""
        self.recognizer.transcribe(np.zeros(8000, np.int16), 8000)

    async def transcribe(self, audio):
        """The transcript of a file's bytes, its duration, and the process that did it."""

        def work():
            samples, rate = kaldera.read_audio(audio, channel=0)
            return self.recognizer.transcribe(samples, rate, threads=1), len(samples) / rate, os.getpid()

        # On another thread: a long file must not keep Ray waiting for check_health.
        return await asyncio.to_thread(work)


@serve.deployment(num_replicas=2, max_ongoing_requests=64)
@serve.ingress(app)
class Api:
    """Speaks HTTP, and has a Recognizer work."""

    def __init__(self, recognizer, model):
        self.recognizer = recognizer
        self.model = model

    @app.get("/health")
    def health(self):
        return PlainTextResponse("ok\n")

    @app.post("/v1/audio/transcriptions")
    async def transcriptions(
        self,
        file: fastapi.UploadFile,
        model: str = fastapi.Form(),
        response_format: str = fastapi.Form("json"),
    ):
        if model != self.model:
            return refusal(404, f"there is no model {model!r}: there is {self.model!r}", "model_not_found")
        if response_format not in ("json", "text", "verbose_json"):
            return refusal(400, f"response_format {response_format!r} is not json, text or verbose_json")
        audio = await file.read()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                transcript, duration, process = await self.recognizer.transcribe.remote(audio)
                break
            except ValueError as damaged:
                return refusal(400, str(damaged.cause))
            except serve.exceptions.BackPressureError:
                return refusal(429, "the queue is full", headers={"Retry-After": "1"})
            except ray.exceptions.RayActorError as died:
                if attempt == ATTEMPTS:
                    return refusal(503, f"{attempt} replicas have died: {type(died).__name__}")
        # For the count below: who answered, and how often it took.
        headers = {"x-recognizer": str(process), "x-api": str(os.getpid()), "x-attempts": str(attempt)}
        if response_format == "text":
            return PlainTextResponse(transcript.text + "\n", headers=headers)
        answer = {"text": transcript.text}
        if response_format == "verbose_json":
            words = [{"word": word.text, "start": word.start, "end": word.end} for word in transcript.words]
            answer |= {"language": "", "duration": duration, "words": words}
        return JSONResponse(answer, headers=headers)


def post(url, model, audio):
    """The answer's text, its headers, and how often the client had to send the request."""
    boundary = "a-boundary-that-no-audio-has"
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n{model}\r\n'.encode()]
    parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="audio"\r\n\r\n'.encode())
    body = b"".join([*parts, audio, f"\r\n--{boundary}--\r\n".encode()])
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    for attempt in range(1, ATTEMPTS + 1):
        try:
            request = urllib.request.Request(f"{url}/v1/audio/transcriptions", body, headers)
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["text"], answer.headers, attempt
        except urllib.error.HTTPError as error:
            # As OpenAI's clients: an error of the server is worth another request, one of the client is not.
            if error.code < 500 or attempt == ATTEMPTS:
                raise
        time.sleep(0.5)


def a_minute(path):
    """A WAV file of the recording, again and again."""
    samples, rate = kaldera.read_audio(path, channel=0)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, round(rate), 0, "NONE", ""))
        file.writeframes(np.resize(samples, 60 * round(rate)).astype("<i2").tobytes())
    return buffer.getvalue()


def kill_under_load(url, model, audio, kind, number):
    """Sends requests, kills a replica of this kind after a third of them, and counts the answers."""
    texts, repeats, processes = collections.Counter(), collections.Counter(), collections.Counter()
    lock, killed = threading.Lock(), []

    def one(_):
        try:
            text, headers, attempts = post(url, model, audio)
        except Exception as error:  # it is counted as lost
            with lock:
                texts[f"lost: {error}"] += 1
            return
        process = int(headers[f"x-{kind}"])
        with lock:
            texts[text] += 1
            repeats["by Api"] += int(headers["x-attempts"]) > 1
            repeats["by the client"] += attempts > 1
            processes[process] += 1
            kill = not killed and sum(texts.values()) >= number // 3
            if kill:
                killed.append(process)
        if kill:
            os.kill(process, signal.SIGKILL)

    began = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(one, range(number)))
    seconds = time.perf_counter() - began
    print(f"{number} requests of {CLIENTS} clients in {seconds:.1f} s; process {killed[0]} of {kind} was killed")
    print(f"answers by process: {', '.join(f'{process}: {count}' for process, count in processes.items())}")
    for by, count in repeats.items():
        print(f"repeated {by}: {count}")
    for text, count in texts.items():
        print(f"{count} x {len(text.split())} words: {text[:40]} ...")
    assert len(texts) == 1 and sum(processes.values()) == number, "requests are lost"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder, the same on every machine")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--kill", choices=["recognizer", "api"], help="send requests, and kill a replica of these")
    parser.add_argument("--recording", help="a file to send")
    parser.add_argument("--requests", type=int, default=100)
    arguments = parser.parse_args()
    if arguments.kill and not arguments.recording:
        parser.error("--kill needs --recording")
    folder = pathlib.Path(arguments.model).resolve()
    # Two Recognizers and two Apis with a processor each, however few there are: on a cluster leave this out.
    ray.init(num_cpus=4, include_dashboard=False, object_store_memory=512 << 20, log_to_driver=False)
    serve.start(http_options={"host": "127.0.0.1", "port": arguments.port})
    serve.run(Api.bind(Recognizer.bind(str(folder)), folder.name))
    url = f"http://127.0.0.1:{arguments.port}"
    if arguments.kill:
        kill_under_load(url, folder.name, a_minute(arguments.recording), arguments.kill, arguments.requests)
    else:
        print(f"{url}/v1/audio/transcriptions, model {folder.name}; end with Ctrl-C", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
