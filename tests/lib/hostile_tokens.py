#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends what was prepared over and over, each token on a connection of its own, while it is told to.

usage: hostile_tokens.py PLAN

A process of its own, which yields the CPU to others: those whom it shall disturb do not share its
interpreter. PLAN is a JSON file: "port" of 127.0.0.1, "certificate" of the controller, and "agents". Each
has an "address" to come from, a "token", and "bodies", which it sends in turn. SEQUENCE in a token or in a
body becomes the next number.

After the line "go" on standard input it sends. It prints a line when each agent has had an answer since.
After "stop" it sends no more, and prints a line when all that was under way is answered. When standard
input ends it ends, and prints how often each status came, as JSON; 0 stands for no answer.
"""

import http.client
import json
import os
import ssl
import sys
import threading
import time

SEQUENCE = "%SEQUENCE%"
NICE = 19
WAIT_S = 30


class Reporter:
    """Sends reports to the controller on a connection from that address, which is kept while it can be."""

    def __init__(self, port, context, address):
        self.port, self.context, self.address, self.connection = port, context, address, None

    def post(self, body, token):
        """The status of the answer; 0: there was none."""
        if not self.connection:
            self.connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=20, context=self.context, source_address=(self.address, 0))
        try:
            self.connection.request("POST", "/v1/report", body, {
                "Content-Type": "application/json", "Authorization": f"Bearer {token}"})
            answer = self.connection.getresponse()
            answer.read()
            if answer.will_close:
                self.close()
            return answer.status
        except (OSError, http.client.HTTPException):
            self.close()
            return 0

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Agent(threading.Thread):
    def __init__(self, port, context, agent, going):
        super().__init__(daemon=True)
        self.reporter, self.token, self.going = Reporter(port, context, agent["address"]), agent["token"], going
        self.bodies = [body.encode().split(SEQUENCE.encode()) for body in agent["bodies"]]
        self.statuses, self.answered, self.at_rest = {}, threading.Event(), threading.Event()

    def run(self):
        number = int(time.time() * 1000)  # above those of an earlier process
        while True:
            if not self.going.is_set():
                self.at_rest.set()
                self.going.wait()
            number += 1
            body = str(number).encode().join(self.bodies[number % len(self.bodies)])
            status = self.reporter.post(body, self.token.replace(SEQUENCE, str(number)))
            self.statuses[status] = self.statuses.get(status, 0) + 1
            self.answered.set()


class Agents:
    """All of a plan."""

    def __init__(self, plan):
        context, self.going = ssl.create_default_context(cafile=plan["certificate"]), threading.Event()
        self.all = [Agent(plan["port"], context, agent, self.going) for agent in plan["agents"]]
        for agent in self.all:
            agent.start()

    def go(self):
        for agent in self.all:
            agent.answered.clear()
            agent.at_rest.clear()
        self.going.set()
        for agent in self.all:
            agent.answered.wait(WAIT_S)

    def stop(self):
        self.going.clear()
        for agent in self.all:
            agent.at_rest.wait(WAIT_S)

    def statuses(self):
        statuses = {}
        for agent in self.all:
            for status, n in agent.statuses.items():
                statuses[status] = statuses.get(status, 0) + n
        return statuses


def main():
    os.nice(NICE)
    with open(sys.argv[1], encoding="utf-8") as file:
        agents = Agents(json.load(file))
    for line in sys.stdin:
        {"go": agents.go, "stop": agents.stop}[line.strip()]()
        print("done", flush=True)
    agents.stop()
    print(json.dumps(agents.statuses()), flush=True)


if __name__ == "__main__":
    main()
