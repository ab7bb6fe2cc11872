#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends what was prepared over and over, each token on a connection of its own.

usage: hostile_tokens.py PLAN

A process of its own, which yields the CPU to others: those whom it shall disturb do not share its
interpreter. PLAN is a JSON file: "port" of 127.0.0.1, "certificate" of the controller, and "agents". Each
has an "address" to come from, a "token", and "bodies", which it sends in turn. SEQUENCE in a body becomes
the next number. Prints a line when each agent has had an answer. When standard input ends it ends, and
prints how often each status came, as JSON; 0 stands for no answer.
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
    def __init__(self, port, context, agent, ended):
        super().__init__()
        self.reporter, self.token, self.ended = Reporter(port, context, agent["address"]), agent["token"], ended
        self.bodies = [body.encode().split(SEQUENCE.encode()) for body in agent["bodies"]]
        self.statuses, self.answered = {}, threading.Event()

    def run(self):
        number = int(time.time() * 1000)  # above those of an earlier process
        while not self.ended.is_set():
            number += 1
            before, after = self.bodies[number % len(self.bodies)]
            status = self.reporter.post(b"%b%d%b" % (before, number, after), self.token)
            self.statuses[status] = self.statuses.get(status, 0) + 1
            self.answered.set()
        self.reporter.close()


def main():
    os.nice(NICE)
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    context, ended = ssl.create_default_context(cafile=plan["certificate"]), threading.Event()
    agents = [Agent(plan["port"], context, agent, ended) for agent in plan["agents"]]
    for agent in agents:
        agent.start()
    for agent in agents:
        agent.answered.wait(30)
    print("all were answered", flush=True)
    sys.stdin.read()
    ended.set()
    statuses = {}
    for agent in agents:
        agent.join()
        for status, n in agent.statuses.items():
            statuses[status] = statuses.get(status, 0) + n
    print(json.dumps(statuses), flush=True)


if __name__ == "__main__":
    main()
