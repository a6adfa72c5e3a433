#!/usr/bin/env python3
"""Drives the page of a running `kaldera serve` in headless Chromium, as a user would.

    apt-get install chromium chromium-driver && pip install selenium
    check-page.py http://127.0.0.1:8000 three-two-five-nine.wav --expect "three two five nine" --screenshot page.png

The recording (mono, 16 bits) is the fake microphone and the file that is chosen. `--key` is for a server that asks
for one. `--screenshot page.png` also writes page-dark.png and page-narrow.png. Faults that a server cannot be asked
for (busy, gone) come from a small server in this script, which sends the page of the real one.
"""

import argparse
import base64
import contextlib
import hashlib
import http.server
import json
import pathlib
import re
import tempfile
import threading
import time
import urllib.request
import wave

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=900,760"
).split()
# A name that leads to this machine and is no secure context.
FLAGS.append("--host-resolver-rules=MAP kaldera.test 127.0.0.1")
SILENCE_SECONDS = 0.5  # before the recording, as a person waits before the first word
WORDS_SECONDS = 20  # for words to come
IDLE = "Start microphone"


class Faults(http.server.BaseHTTPRequestHandler):
    """The page of the real server, with a server behind it that does `fault`."""

    protocol_version = "HTTP/1.1"
    fault = page = None

    def log_message(self, *_):
        pass

    def parse_request(self):
        parsed = super().parse_request()
        if self.fault == "silent":
            self.close_connection = True
        return parsed and self.fault != "silent"

    def answer(self, status, body, content_type="application/json", **fields):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": content_type, "Content-Length": len(body), **fields}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def has_key(self):
        return "sesame" in self.headers.get("Authorization", "") + self.headers.get("Sec-WebSocket-Protocol", "")

    def do_GET(self):
        if self.path == "/":
            self.answer(200, self.page, "text/html; charset=utf-8")
        elif self.fault == "key" and not self.has_key():
            self.answer(401, {"error": {"message": "no key"}})
        elif self.path == "/ready":
            ready = self.fault != "busy"
            self.answer(200 if ready else 503, {"ready": ready, "reason": "2 of 2 streams are in use"})
        elif self.path == "/v1/models":
            self.answer(200, {"object": "list", "data": [{"id": "one"}, {"id": "two"}]})
        elif self.path == "/vosk" and self.fault == "busy":
            self.answer(429, {"error": {"message": "busy"}})
        elif self.path == "/vosk":
            self.stream()
        else:
            self.answer(404, {})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.fault == "busy":
            self.answer(429, {"error": {"message": "3 files wait"}}, Retry_After=7)
        elif self.fault == "key" and not self.has_key():
            self.answer(401, {"error": {"message": "no key"}})
        else:
            self.answer(400, {"error": {"message": "<b>byte 40: no samples</b>"}})

    def stream(self):
        """A WebSocket that sends some words. It reads nothing, so it needs no more of the protocol."""
        accept = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(accept.encode()).digest()).decode())
        if "Sec-WebSocket-Protocol" in self.headers:
            self.send_header("Sec-WebSocket-Protocol", "kaldera")
        self.end_headers()
        result = [{"word": "kept", "start": 61.25, "end": 61.5, "conf": 0.9}]
        messages = [{"text": "kept", "result": result}, {"partial": "half a sent"}]
        if self.fault == "error":
            messages.append({"error": {"message": "the server ends"}})
        for message in messages:
            text = json.dumps(message).encode()
            self.wfile.write(bytes([0x81, len(text)]) + text)
            time.sleep(0.3)
        if self.fault == "error":
            self.wfile.write(b"\x88\x02\x03\xe9")
        self.close_connection = True


@contextlib.contextmanager
def browser(recording=None, permission="granted"):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory() as folder:
        flags = [*FLAGS, f"--user-data-dir={folder}/profile"]
        if recording:
            flags += ["--use-fake-device-for-media-stream", f"--use-file-for-fake-audio-capture={recording}%noloop"]
        for flag in flags:
            options.add_argument(flag)
        driver = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
        try:
            driver.downloads = pathlib.Path(folder, "downloads")
            downloads = {"behavior": "allow", "downloadPath": str(driver.downloads)}
            driver.execute_cdp_cmd("Browser.setDownloadBehavior", downloads)
            microphone = {"permission": {"name": "microphone"}, "setting": permission}
            driver.execute_cdp_cmd("Browser.setPermission", microphone)
            yield driver
            wrong = [entry["message"] for entry in driver.get_log("browser")
                     if re.search("Uncaught|Content Security Policy", entry["message"])]
            assert not wrong, wrong
        finally:
            driver.quit()


def find(driver, css):
    return driver.find_element(By.CSS_SELECTOR, css)


def words(driver):
    """All ended lines of the newest recording."""
    lines = driver.find_elements(By.CSS_SELECTOR, ".take:first-child .words")
    return " ".join(" ".join(line.text.split()) for line in lines)


def wait(driver, value, expected, seconds=WORDS_SECONDS, agrees=lambda found, expected: found == expected):
    """Waits until `value(driver)` is `expected`, or agrees with it in another way."""
    end = time.monotonic() + seconds
    while not agrees(found := value(driver), expected):
        if time.monotonic() > end:
            driver.save_screenshot("check-page-failed.png")
            trouble = find(driver, "#trouble").text
            raise AssertionError(f"{found!r} and not {expected!r}; trouble: {trouble!r}; see check-page-failed.png")
        time.sleep(0.05)


def wait_trouble(driver, *parts):
    everything = lambda text, parts: all(part in text for part in parts)  # noqa: E731
    wait(driver, lambda d: find(d, "#trouble").text, parts, agrees=everything)
    wait(driver, lambda d: find(d, "#go").text, IDLE)


def tab_to(driver, css):
    """Goes to a control with the Tab key."""
    for _ in range(20):
        webdriver.ActionChains(driver).send_keys(Keys.TAB).perform()
        if driver.switch_to.active_element == find(driver, css):
            return
    raise AssertionError(f"Tab does not reach {css}")


def press(driver, key):
    webdriver.ActionChains(driver).send_keys(key).perform()


def give_key(driver, key):
    find(driver, "#key").send_keys(key, Keys.ENTER)


def speak(driver, expect, picture=None):
    """Starts the microphone, takes a picture when an utterance of all words has ended, and stops."""
    find(driver, "#go").click()
    wait(driver, words, expect)
    if picture:
        driver.save_screenshot(str(picture))
    find(driver, "#go").click()
    wait(driver, lambda d: find(d, "#go").text, IDLE)
    wait(driver, words, expect)


def takes(driver):
    return len(driver.find_elements(By.CSS_SELECTOR, ".take"))


def seconds(time_of_srt):
    hours, minutes, rest = time_of_srt.replace(",", ".").split(":")
    return 3600 * int(hours) + 60 * int(minutes) + float(rest)


def check_srt(text, expect):
    captions = text.strip().split("\n\n")
    said, last = [], 0.0
    for number, caption in enumerate(captions, 1):
        index, times, *lines = caption.split("\n")
        assert int(index) == number, text
        assert re.fullmatch(r"\d\d:\d\d:\d\d,\d{3} --> \d\d:\d\d:\d\d,\d{3}", times), text
        start, end = map(seconds, times.split(" --> "))
        assert last <= start < end, text
        last = end
        said += lines
    assert " ".join(said) == expect, text


def downloaded(driver, suffix):
    wait(driver, lambda d: len([*d.downloads.glob(f"*.{suffix}")]), 1)
    return next(driver.downloads.glob(f"*.{suffix}")).read_text()


DROP = """
const bytes = Uint8Array.from(atob(arguments[0]), (c) => c.charCodeAt(0)), data = new DataTransfer();
data.items.add(new File([bytes], "dropped.wav"));
document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
"""


def check_words(options, microphone):
    with browser(microphone) as driver:
        driver.get(options.url)
        if options.key:
            wait_trouble(driver, "needs a key")
            give_key(driver, options.key)
            wait(driver, lambda d: find(d, "#key-form").is_displayed() or find(d, "#trouble").is_displayed(), False)
            driver.refresh()  # the key is still there in this tab

        tab_to(driver, "#go")
        press(driver, Keys.SPACE)
        wait(driver, lambda d: find(d, "#status").text, "Listening")
        wait(driver, lambda d: words(d) or find(d, ".take .partial").text, options.expect)
        press(driver, Keys.SPACE)
        wait(driver, lambda d: find(d, "#go").text, IDLE)
        wait(driver, words, options.expect)
        assert not find(driver, "#trouble").is_displayed()
        assert find(driver, "#spoken").get_property("textContent") in options.expect
        drawn = "const c = document.querySelector('canvas'); return new Set(c.getContext('2d')" \
                ".getImageData(0, 0, c.width, c.height).data.filter((_, i) => i % 4 == 3)).size"
        assert driver.execute_script(drawn) > 50, "the spectrogram is empty"
        print("ok  microphone, by keyboard; spectrogram")

        tab_to(driver, "button[data-format=srt]")
        press(driver, Keys.ENTER)
        check_srt(downloaded(driver, "srt"), options.expect)
        tab_to(driver, "button[data-format=txt]")
        press(driver, Keys.SPACE)
        assert downloaded(driver, "txt").split() == options.expect.split()
        print("ok  .srt and .txt, by keyboard")

        # 60 words of 0.3 s, with a pause after 10, give captions that are neither long nor wide.
        starts = [0.4 * n + (2 if n >= 10 else 0) for n in range(60)]
        many = [{"word": f"word{n}", "start": start, "end": start + 0.3} for n, start in enumerate(starts)]
        cut = driver.execute_script("return captions([{ words: arguments[0] }])", many)
        assert " ".join(caption["text"] for caption in cut) == " ".join(word["word"] for word in many)
        assert all(len(caption["text"]) <= 42 and caption["end"] - caption["start"] <= 6 for caption in cut), cut
        assert any(caption["text"].endswith("word9") for caption in cut), cut
        print("ok  captions")

        find(driver, "#times").click()
        above = "return getComputedStyle(document.querySelector('.word'), '::after').content"
        assert re.search(r"\d:\d\d\.\d\d", driver.execute_script(above))
        assert find(driver, ".word").get_dom_attribute("title")
        find(driver, "#times").click()

        find(driver, "#file").send_keys(str(options.recording.resolve()))
        wait(driver, takes, 2)
        wait(driver, words, options.expect)
        driver.execute_script(DROP, base64.b64encode(options.recording.read_bytes()).decode())
        wait(driver, takes, 3)
        wait(driver, words, options.expect)
        print("ok  file, chosen and dropped")

        with tempfile.NamedTemporaryFile(suffix=".wav") as damaged:
            damaged.write(b"RIFF of nothing")
            damaged.flush()
            find(driver, "#file").send_keys(damaged.name)
            wait_trouble(driver, " ")
            assert "status" not in find(driver, "#trouble").text
            print("ok  damaged file:", find(driver, "#trouble").text)

        for control in driver.find_elements(By.CSS_SELECTOR, "button, input, select"):
            assert not control.is_displayed() or control.accessible_name, control.get_attribute("outerHTML")

        def picture(suffix):
            path = options.screenshot
            return path and path.with_name(f"{path.stem}{suffix}{path.suffix}")

        driver.refresh()
        find(driver, "#times").click()
        speak(driver, options.expect, picture(""))
        driver.refresh()
        feature = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
        speak(driver, options.expect, picture("-dark"))
        background = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert max(map(int, re.findall(r"\d+", background)[:3])) < 64, background
        driver.refresh()
        metrics = {"width": 320, "height": 720, "deviceScaleFactor": 2, "mobile": True}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        speak(driver, options.expect, picture("-narrow"))
        width = driver.execute_script("return document.documentElement.scrollWidth")
        assert width <= 320, f"{width} pixels wide"
        print("ok  light, dark, 320 pixels; every control has a name")


def check_faults(options, microphone):
    with urllib.request.urlopen(options.url) as response:
        Faults.page = response.read()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Faults)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"

    with browser(microphone) as driver:
        Faults.fault = "busy"
        driver.get(url)
        wait(driver, lambda d: find(d, "#model").is_displayed(), True)
        find(driver, "#go").click()
        wait_trouble(driver, "busy", "2 of 2 streams are in use")
        find(driver, "#file").send_keys(str(options.recording.resolve()))
        wait_trouble(driver, "busy", "3 files wait", "in 7 s")
        print("ok  busy:", find(driver, "#trouble").text)

        for Faults.fault, message in (("gone", "connection to the server was lost"), ("error", "the server ends")):
            driver.get(url)
            find(driver, "#go").click()
            wait_trouble(driver, message)
            wait(driver, words, "kept half a sent")
            print(f"ok  {Faults.fault}:", find(driver, "#trouble").text)
        find(driver, "#file").send_keys(str(options.recording.resolve()))
        wait_trouble(driver, "<b>byte 40: no samples</b>.")
        print("ok  text of a server stays text")

        Faults.fault = None
        driver.get(url)
        Faults.fault = "key"
        find(driver, "#go").click()
        wait_trouble(driver, "needs a key")
        give_key(driver, "wrong")
        wait_trouble(driver, "does not know this key")
        give_key(driver, "sesame")
        wait(driver, words, "kept half a sent")  # the microphone started by itself
        kept = "return [sessionStorage.length, localStorage.length, document.cookie]"
        assert driver.execute_script(kept) == [1, 0, ""]
        print("ok  key")

        Faults.fault = "silent"
        find(driver, "#go").click()
        wait_trouble(driver, "does not answer")
        find(driver, "#file").send_keys(str(options.recording.resolve()))
        wait_trouble(driver, "lost")
        print("ok  no server")
    server.shutdown()


def check_microphone_troubles(options, microphone):
    port = re.search(r":(\d+)", options.url[6:])
    insecure = f"http://kaldera.test:{port.group(1) if port else 80}/"
    for recording, permission, url, message in (
        (None, "granted", options.url, "no microphone"),
        (microphone, "denied", options.url, "does not let this page"),
        (microphone, "granted", insecure, "only for https"),
    ):
        with browser(recording, permission) as driver:
            driver.get(url)
            find(driver, "#go").click()
            wait_trouble(driver, message)
            print("ok ", find(driver, "#trouble").text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("recording", type=pathlib.Path)
    parser.add_argument("--expect", required=True, help="the words of the recording")
    parser.add_argument("--key", help="a key that the server takes")
    parser.add_argument("--screenshot", type=pathlib.Path, help="a PNG file to write")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        microphone = pathlib.Path(folder, "microphone.wav")
        with wave.open(str(options.recording)) as source, wave.open(str(microphone), "wb") as padded:
            padded.setparams(source.getparams())
            padded.writeframes(bytes(source.getsampwidth() * int(SILENCE_SECONDS * source.getframerate())))
            padded.writeframes(source.readframes(source.getnframes()))
        check_words(options, microphone)
        check_faults(options, microphone)
        check_microphone_troubles(options, microphone)


if __name__ == "__main__":
    main()
