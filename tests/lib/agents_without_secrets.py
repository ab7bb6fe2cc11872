#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a pod of an agent refers to a Secret, or if there is no agent.

usage: agents_without_secrets.py     the objects come from standard input, as YAML

A kubelet may read the whole of each Secret that a pod on its node refers to, be it for a volume, a
variable or a registry, and those that the pod's service account names.
"""

import sys

import yaml

NAME = "gpu-attribution-agent"


def references(value, path):
    """Where a Kubernetes field names a Secret: secret, secretName, secretKeyRef, imagePullSecrets, ..."""
    if isinstance(value, dict):
        for key, item in value.items():
            if "secret" in key.lower():
                yield f"{path}.{key}"
            yield from references(item, f"{path}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from references(item, f"{path}[{number}]")


def is_agent(spec):
    return spec.get("serviceAccountName") == NAME or \
        any(container["image"].split("/")[-1].split(":")[0] == NAME for container in spec["containers"])


def main():
    n_agents, faults = 0, []
    for item in filter(None, yaml.safe_load_all(sys.stdin)):
        where = f"{item['kind']} {item['metadata']['name']}"
        if item["kind"] == "ServiceAccount" and item["metadata"]["name"] == NAME:
            faults += references(item, where)
        spec = item.get("spec", {}).get("template", {}).get("spec")
        if spec and is_agent(spec):
            n_agents += 1
            faults += references(spec, where)
    for fault in faults or ([] if n_agents else ["no pod of an agent"]):
        print(fault)
    return bool(faults) or not n_agents


if __name__ == "__main__":
    sys.exit(main())
