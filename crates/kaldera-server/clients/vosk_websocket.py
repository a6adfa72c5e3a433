"""Vosk's WebSocket protocol by the package `websockets`: in turn, as Vosk's clients, and ahead of the answers."""

import json

import websockets

from common import TEXT, URL, check, finish, heard, pcm, require

ADDRESS = URL.replace("http", "ws", 1)
EOF = '{"eof" : 1}'
CHUNK = 1999  # bytes, an odd number: a chunk may end in the middle of a sample


def chunks(audio):
    return [audio[begin : begin + CHUNK] for begin in range(0, len(audio), CHUNK)]


def config(**options):
    return json.dumps({"config": {"sample_rate": 8000.0, **options}})


def result_of(answers):
    """The text and the starts of all results; each other answer must be partial."""
    results = [answer for answer in answers if "partial" not in answer]
    require(results and answers[-1] is results[-1], "the last answer is partial")
    words = [word for result in results for word in result.get("result", [])]
    for word in words:
        require(0 <= word["conf"] <= 1 and word["start"] < word["end"], f"a word is {word}")
    return " ".join(result["text"] for result in results if result["text"]), words


async def exchange(socket, message):
    await socket.send(message)
    return json.loads(await socket.recv())


async def in_turn(path):
    """One answer for each chunk, before the next is sent, also for an empty one; no answer for the configuration."""
    async with websockets.connect(ADDRESS + path) as socket:
        await socket.send(config())
        answers = [await exchange(socket, chunk) for chunk in chunks(pcm())]
        answers += [await exchange(socket, b""), await exchange(socket, EOF)]
        text, words = result_of(answers)
        heard(text)
        line = heard(" ".join(word["word"] for word in words), [word["start"] for word in words])
        try:
            extra = await socket.recv()
        except websockets.ConnectionClosed as closed:
            code = closed.rcvd and closed.rcvd.code
            require(code == 1000, f"the end has the code {code}")
            return line
        require(False, f"there is one answer more: {extra}")


async def ahead():
    """All chunks are sent before an answer is read; no words are asked for."""
    async with websockets.connect(ADDRESS) as socket:
        await socket.send(config(words=False))
        sent = chunks(pcm())
        for message in [*sent, EOF]:
            await socket.send(message)
        answers = [json.loads(answer) async for answer in socket]
        require(len(answers) == len(sent) + 1, f"{len(answers)} answers for {len(sent) + 1} messages")
        text, words = result_of(answers)
        require(not words, "there are words that nobody asked for")
        return heard(text)


async def alternatives():
    async with websockets.connect(ADDRESS) as socket:
        await socket.send(config(max_alternatives=3, words=True))
        for chunk in chunks(pcm()):
            answer = await exchange(socket, chunk)
            require("partial" in answer, f"an answer is {answer}")
        last = await exchange(socket, EOF)
        texts = [alternative["text"] for alternative in last["alternatives"]]
        require(1 <= len(texts) <= 3 and len(set(texts)) == len(texts), f"the alternatives are {texts}")
        likely = [alternative["confidence"] for alternative in last["alternatives"]]
        require(likely == sorted(likely, reverse=True), f"the confidences are {likely}")
        best = last["alternatives"][0]
        return heard(best["text"], [word["start"] for word in best["result"]])


async def phrases():
    async with websockets.connect(ADDRESS) as socket:
        await socket.send(config(phrase_list=[TEXT]))
        answers = [await exchange(socket, chunk) for chunk in chunks(pcm())]
        text, words = result_of([*answers, await exchange(socket, EOF)])
        return heard(text, [word["start"] for word in words])


async def nothing():
    """An end without audio has an empty text."""
    async with websockets.connect(ADDRESS) as socket:
        await socket.send(config())
        answer = await exchange(socket, EOF)
        require(answer.get("text") == "", f"the answer is {answer}")
        return json.dumps(answer)


check("vosk websocket", in_turn, "")
check("vosk websocket at /vosk", in_turn, "/vosk")
check("vosk websocket, sent ahead", ahead)
check("vosk websocket, alternatives", alternatives)
check("vosk websocket, phrase_list", phrases)
check("vosk websocket, no audio", nothing)
finish()
