# SPDX-License-Identifier: Apache-2.0
"""What the statuses of a node's GPUs have to say, worked out from its device file, the sharing that
its device plugin was told, and the kubelet's own book: by other means than the product's.

A unit is what NVIDIA's device plugin hands out (a GPU or a MIG device); each is offered once, or as
so many shares, whose IDs then end in "::" and a number. A slot is one such ID.
"""

import collections
import json

WHOLE = ["device IDs name the whole device"]
MIG = ["device IDs name MIG devices"]
REPLICAS = ["device IDs end in a replica number"]
MIG_SHARED = MIG + REPLICAS
MIG_EMPTY = ["MIG mode is on"]
MIG_CONTRADICTS = ["MIG mode is on, which contradicts"]
TIME_SLICED_HELD = ["an allocation response has no MPS pipe"]
TIME_SLICED_FREE = ["compute mode is Default"]
MPS_HELD = ["an allocation response has the MPS pipe"]
MPS_FREE = ["compute mode is ExclusiveProcess"]
LABELLED = ["node label gpu.sharing-strategy is time-slicing"]
LEFT_OVER = ["a pod holds a device ID that is no longer offered"]
GOOD_CONDITIONS = {kind: "True" for kind in ("Attributed", "Healthy", "Ready", "ReportFresh")}

Held = collections.namedtuple("Held", "pod_uid container resource ids")


def unit_of(slot_id):
    return slot_id.partition("::")[0]


def is_mig_on(gpu):
    return gpu.get("mig", {}).get("current", False)


class Sharing:
    """How the GPUs of a node are shared: a configuration of the device plugin, the GPUs as
    hack/cluster/make-devices takes them, and what of the configuration matters here."""

    def __init__(self, config, gpus, strategy="none", shares=None, renamed=False, mps=False):
        self.config = config  # a name in hack/cluster/plugin-config, or what it would hold
        self.gpus = gpus
        self.strategy = strategy
        self.shares = shares or {}  # by resource, without "nvidia.com/"
        self.renamed = renamed
        self.mps = mps

    def is_divided(self, gpu):
        return self.strategy != "none" and is_mig_on(gpu)

    def units(self, gpu):
        """ID to resource. Version 0.19 of the plugin takes a 1g.5gb+me for a 1g.5gb."""
        if not self.is_divided(gpu):
            return {gpu["uuid"]: "gpu"}
        single = self.strategy == "single"
        return {d["uuid"]: "gpu" if single else "mig-" + d["profile"].partition("+")[0]
                for d in gpu["migDevices"]}

    def slots(self, gpu):
        """ID to the resource under which it is offered."""
        offered = {}
        for unit, resource in self.units(gpu).items():
            n = self.shares.get(resource, 1)
            name = f"nvidia.com/{resource}{'.shared' if n > 1 and self.renamed else ''}"
            offered.update({f"{unit}::{i}": name for i in range(n)} if n > 1 else {unit: name})
        return offered

    def offer(self, gpus):
        """Resource to number, as a node's allocatable has it."""
        return dict(collections.Counter(r for gpu in gpus for r in self.slots(gpu).values()))

    def labels(self, gpus):
        """Those of feature discovery that tell of sharing; None: it is not there."""
        def strategy(n):
            return "time-slicing" if n > 1 else "none"

        def product(resource, profile):
            n = self.shares.get(resource, 1)
            return gpus[0]["name"].replace(" ", "-") + (f"-MIG-{profile}" if profile else "") + \
                ("-SHARED" if n > 1 and not self.renamed else "")
        divided = [d for gpu in gpus if self.is_divided(gpu) for d in gpu["migDevices"]]
        whole = self.shares.get("gpu", 1) if any(not is_mig_on(gpu) for gpu in gpus) else 0
        labels = {"mig.strategy": None if self.strategy == "none" else self.strategy,
                  "mps.capable": "false"}
        if self.strategy == "single":
            whole = self.shares.get("gpu", 1)
            labels["gpu.product"] = product("gpu", divided[0]["profile"])
        elif whole:
            labels["gpu.product"] = product("gpu", "")
        labels["gpu.replicas"] = str(whole)
        labels["gpu.sharing-strategy"] = strategy(whole)
        for unit in divided if self.strategy == "mixed" else []:
            resource = "mig-" + unit["profile"].replace("+", ".")
            n = self.shares.get(resource, 1)
            labels[f"{resource}.replicas"] = str(n)
            labels[f"{resource}.sharing-strategy"] = strategy(n)
            labels[f"{resource}.product"] = product(resource, unit["profile"].replace("+", "."))
        return labels


def form_of(slot):
    """What can be told from a slot's ID: GPU or MIG device, shared or not."""
    return slot.partition("-")[0], "::" in slot


def offered_mode(sharing, gpu, is_held):
    """Mode and evidence by what is on offer."""
    slots = sharing.slots(gpu)
    shared = any("::" in slot for slot in slots)
    if sharing.is_divided(gpu):
        if not slots:
            return "MIG", MIG_EMPTY
        return ("MIGTimeSliced", MIG_SHARED) if shared else ("MIG", MIG)
    contradicts = MIG_CONTRADICTS if is_mig_on(gpu) else []
    if not shared:
        return "Exclusive", WHOLE + contradicts
    if sharing.mps:
        return "MPS", (MPS_HELD if is_held else MPS_FREE) + contradicts
    held = TIME_SLICED_HELD if is_held else TIME_SLICED_FREE
    return "TimeSliced", held + contradicts + LABELLED


def slot_of(device_id, resource):
    """A replica is one of its resource: renamed ones are others, though they have the same IDs."""
    return (resource if "::" in device_id else None, device_id)


def slots_of(sharing, gpu):
    return {slot_of(i, resource) for i, resource in sharing.slots(gpu).items()}


def mode_of(sharing, gpu, taken):
    """Mode and evidence; what is held from before is told when it looks otherwise. Whoever was
    given a whole GPU tells nothing of pipes, nor does who has what is no longer on offer; which GPU the
    next pod gets is the kubelet's choice. A shared GPU is labelled so."""
    offered = slots_of(sharing, gpu)
    mode, evidence = offered_mode(sharing, gpu, any(resource and (resource, device_id) in offered
                                                    for resource, device_id in taken))
    forms = {form_of(device_id) for _, device_id in offered}
    is_left_over = any(form_of(device_id) not in forms for _, device_id in taken)
    return mode, evidence + (LEFT_OVER if is_left_over else [])


def tenants_of(held, pods):
    """What a GPU's status has to list, of what is held of it."""
    found = []
    for entry in held:
        found.append({
            "podUID": entry.pod_uid, "podNamespace": "default", "podName": pods[entry.pod_uid],
            "container": entry.container, "resource": entry.resource, "slots": len(entry.ids),
            "partitions": sorted({unit_of(i) for i in entry.ids if i.startswith("MIG-")}),
            "phase": "Running", "confidence": "Confirmed"})
    return sorted(found, key=lambda t: (t["podUID"], t["container"]))


def summary_of(tenants):
    names = {t["podUID"]: t["podName"] for t in tenants}
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return f"default/{tenants[0]['podName']}{more}" if tenants else ""


def partitions_of(sharing, gpu):
    shares = collections.Counter(unit_of(slot) for slot in sharing.slots(gpu))
    return sorted(({"uuid": d["uuid"], "profile": d["profile"], "memoryMiB": d["memoryMiB"],
                    "gpuInstanceID": d["gpuInstanceID"],
                    "computeInstanceID": d["computeInstanceID"], "slots": shares[d["uuid"]]}
                   for d in gpu.get("migDevices", [])), key=lambda p: p["uuid"])


def held_of(gpu, held, gone):
    """What of it is a GPU's own. gone: GPUs by MIG devices that the device file no longer has."""
    own = {gpu["uuid"]} | {d["uuid"] for d in gpu.get("migDevices", [])} | \
        {mig for mig, parent in gone.items() if parent == gpu["uuid"]}
    entries = [e._replace(ids=[i for i in e.ids if unit_of(i) in own]) for e in held]
    return [entry for entry in entries if entry.ids]


def expected(sharing, gpu, held, pods, gone):
    """The parts of a GPU's status that tell who is on it and how. held: what the kubelet's book
    says of the pods, whose names are by UID in pods. What is held counts as a slot also when it is
    no longer offered."""
    held = held_of(gpu, held, gone)
    taken = {slot_of(i, entry.resource) for entry in held for i in entry.ids}
    slots = slots_of(sharing, gpu) | taken
    tenants = tenants_of(held, pods)
    mode, evidence = mode_of(sharing, gpu, taken)
    shares = collections.Counter(unit_of(slot) for slot in sharing.slots(gpu))
    return {
        "sharing": {"mode": mode, "replicas": max(shares.values(), default=0),
                    "evidence": evidence},
        "slots": {"total": len(slots), "allocated": len(taken),
                  "summary": f"{len(taken)}/{len(slots)}"},
        "partitions": partitions_of(sharing, gpu) if sharing.strategy != "none" else None,
        "tenants": tenants,
        "tenantCount": len(tenants),
        "tenantSummary": summary_of(tenants),
        "conditions": GOOD_CONDITIONS,
    }


def shown(status):
    """The same parts of a published status."""
    tenants = []
    for tenant in status.get("tenants", []):
        wanted = ("podUID", "podNamespace", "podName", "container", "resource", "slots", "phase",
                  "confidence")
        tenants.append({**{key: tenant.get(key) for key in wanted},
                        "partitions": tenant.get("partitions", [])})
    return {
        "sharing": {"replicas": 0, **status.get("sharing", {})}, "slots": status.get("slots"),
        "partitions": [{key: p[key] for key in p if key != "activity"}
                       for p in status.get("partitions", [])], "tenants": tenants,
        "tenantCount": status.get("tenantCount"), "tenantSummary": status.get("tenantSummary", ""),
        "conditions": {c["type"]: c["status"] for c in status.get("conditions", [])
                       if c["type"] in GOOD_CONDITIONS},
    }


def differences(want, got):
    """Lines that say what is not as it has to be. A part that is wanted to be None is not looked
    at."""
    return [f"{part}: wanted {json.dumps(want[part])}, got {json.dumps(got[part])}"
            for part in want if want[part] is not None and want[part] != got[part]]
