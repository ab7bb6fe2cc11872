# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus with the rules of manifests/monitoring, and an Alertmanager that it tells.

hack/debs has fetched the programs. All of it listens on loopback, and ends with end().
"""

import http.server
import json
import os
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

from ports import free_port

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
FOLDER = os.path.join(TOP, "manifests", "monitoring")
PROGRAMS = os.path.join(subprocess.run([os.path.join(TOP, "hack", "debs"), "--where"], capture_output=True,
                                       text=True, check=True).stdout.strip(), "usr", "bin")
SOURCES = ("controller", "dcgm-exporter", "kube-state-metrics")
LIMIT_S = 800  # a hang; a machine that builds a cluster beside it takes 500


def is_there():
    return os.path.exists(os.path.join(PROGRAMS, "promtool"))


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def groups():
    return yaml.safe_load(read(FOLDER, "rules.yaml"))["spec"]["groups"]


def run(program, *arguments, **options):
    done = subprocess.run([os.path.join(PROGRAMS, program), *arguments], capture_output=True,
                          text=True, timeout=LIMIT_S, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def hurry(group, rule):
    """An edit of the rules for Folder: no alert waits, nor goes on after its cause."""
    group.pop("interval", None)
    rule.pop("for", None)
    rule.pop("keep_firing_for", None)


class Folder(tempfile.TemporaryDirectory):
    """With rules.yml: the rules as Prometheus reads them."""

    def __init__(self, edit=lambda group, rule: None):
        super().__init__()
        chosen = groups()
        for group in chosen:
            for rule in group["rules"]:
                edit(group, rule)
        self.write("rules.yml", json.dumps({"groups": chosen}))

    def path(self, name):
        return os.path.join(self.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)


class Site(http.server.ThreadingHTTPServer):
    """What is scraped, and whom Alertmanager tells. expose(source) gives the text of a source; "" is
    answered with an error."""

    def __init__(self, expose):
        super().__init__(("127.0.0.1", 0), Page)
        self.expose = expose
        self.told = []  # (status, name of the alert, the alert)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = self.server.expose(self.path.strip("/"))
        self.send_response(200 if text else 503)
        form = "application/openmetrics-text; version=1.0.0" if "# EOF" in text else "text/plain"
        self.send_header("Content-Type", form)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for alert in message["alerts"]:
            self.server.told.append((alert["status"], alert["labels"]["alertname"], alert))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class Stack:
    """Prometheus and Alertmanager, which scrape and judge every second. scrapes: Prometheus' settings of
    what else is scraped, which may name files. Without expose nothing of Site is."""

    def __init__(self, expose=None, edit=hurry, scrapes=(), files=()):
        self.site = Site(expose)
        self.folder = Folder(edit)
        self.port, manager = free_port(), free_port()
        address = f"127.0.0.1:{self.site.server_port}"
        for name, text in dict(files).items():
            self.folder.write(name, text)
        self.folder.write("alertmanager.yml", json.dumps({
            "route": {"receiver": "site", "group_wait": "0s", "group_interval": "1s",
                      "group_by": ["..."]},
            "receivers": [{"name": "site", "webhook_configs": [{"url": f"http://{address}/"}]}]}))
        self.folder.write("prometheus.yml", json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{manager}"]}]}]},
            "scrape_configs": [*scrapes, *(
                {"job_name": source, "metrics_path": f"/{source}", "honor_labels": True,
                 "static_configs": [{"targets": [address]}]} for source in SOURCES if expose)]}))
        os.symlink(os.path.join(PROGRAMS, "..", "share", "prometheus", "alertmanager"),
                   self.folder.path("alertmanager-assets"))
        self.processes = {
            "prometheus-alertmanager": self.start(
                "prometheus-alertmanager", "--config.file=alertmanager.yml", "--cluster.listen-address=",
                "--storage.path=told", f"--web.listen-address=127.0.0.1:{manager}"),
            "prometheus": self.start(
                "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                f"--web.listen-address=127.0.0.1:{self.port}")}

    def start(self, program, *arguments):
        with open(self.folder.path(f"{program}.log"), "w", encoding="utf-8") as log:
            return subprocess.Popen([os.path.join(PROGRAMS, program), *arguments],
                                    cwd=self.folder.name, stdout=log, stderr=log)

    def end(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(LIMIT_S)
        self.site.shutdown()
        self.folder.cleanup()

    def ask(self, query):
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        try:
            with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return []  # it reads its files
            raise AssertionError(f"{query}: {error.read().decode()}") from error
        except urllib.error.URLError:
            return []  # it has not started yet

    def wait(self, what, look, limit_s=LIMIT_S):
        """Until look() gives something; returns that."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            found = look()
            if found:
                return found
            for program, process in self.processes.items():
                assert process.poll() is None, read(self.folder.path(f"{program}.log"))
            time.sleep(0.2)
        raise AssertionError(f"{what}: not within {limit_s} s")

    def firing(self):
        return {row["metric"]["alertname"] for row in self.ask('ALERTS{alertstate="firing"}')}

    def told(self, status):
        """The names of the alerts of which Alertmanager has told that."""
        return {name for state, name, _ in self.site.told if state == status}
