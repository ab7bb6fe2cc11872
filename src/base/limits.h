/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * limits - every bound that input from outside can run into, in one place.
 */

#define LIMIT_KIB 1024u
#define LIMIT_MIB (1024u * 1024u)

/* The node report; the protocol fixes these. */
#define LIMIT_REPORT_BYTES LIMIT_MIB
#define LIMIT_REPORT_DEVICES 64u
#define LIMIT_REPORT_PARTITIONS 56u  /* of a device */
#define LIMIT_REPORT_PROCESSES 1024u /* of a device */
#define LIMIT_REPORT_ALL_PROCESSES 8192u /* of all: 512 on each of 16 devices; a join looks at each */
#define LIMIT_REPORT_HOLDINGS 4096u  /* entries of podResources and of checkpoint.entries, each */
#define LIMIT_REPORT_DEVICE_IDS 8192u /* in one entry */
#define LIMIT_REPORT_ALL_IDS 10240u /* in all four lists of them: 8 devices of 256 slots in each, and a */
				    /* quarter more, which a checkpoint may have of pods that ended. A join */
				    /* looks at each, while the other nodes wait */
#define LIMIT_REPORT_EVENTS 256u
#define LIMIT_HAMI_IDS 512u /* of one pod, as often as they are told; with more its annotation is not read */
#define LIMIT_REPORT_MESSAGE 256u
#define LIMIT_REPORT_DEPTH 16u

/* What the agent's child tells of the driver (agent/nvml_process.h). */
#define LIMIT_READING_BYTES (8u * LIMIT_MIB) /* LIMIT_REPORT_PROCESSES on all LIMIT_REPORT_DEVICES */
#define LIMIT_READING_ARENA (16u * LIMIT_MIB) /* the same, decoded */
#define LIMIT_NVML_EVENTS 64u /* that wait to be taken; the driver keeps further ones */
#define LIMIT_GPM_INSTANCES (8u * LIMIT_REPORT_DEVICES) /* no GPU has more than seven */
#define LIMIT_NVML_ORPHANS 4u /* children that cannot be ended, above which none is started */

/* Objects of one node, above which a report creates no more; two whole sets of devices. */
#define LIMIT_NODE_OBJECTS (2 * LIMIT_REPORT_DEVICES)

/* Objects and nodes that were written lately, whose budgets are remembered (write_budget.h). */
#define LIMIT_WRITE_OBJECTS 65536u
#define LIMIT_WRITE_NODES 16384u
/* Nodes whose joins were expensive and that wait for the next one (join_pause.h). */
#define LIMIT_PAUSED_NODES 1024u

/* PodResources and the checkpoint, read by the node's agent. */
#define LIMIT_PODRESOURCES_BYTES (16u * LIMIT_MIB)
#define LIMIT_CHECKPOINT_BYTES (16u * LIMIT_MIB)

/* What the node's agent scrapes from dcgm-exporter. */
#define LIMIT_DCGM_BYTES (4u * LIMIT_MIB)
#define LIMIT_DCGM_TIME_MS 2000u              /* of one scrape */
#define LIMIT_DCGM_FIGURES (LIMIT_REPORT_DEVICES * (1 + LIMIT_REPORT_PARTITIONS))
#define LIMIT_PROMTEXT_LINE (16u * LIMIT_KIB)
#define LIMIT_PROMTEXT_LABELS 128u            /* of one sample */

/* The API server's answers. */
#define LIMIT_OBJECT_BYTES (4u * LIMIT_MIB)   /* one object of a list or watch */
#define LIMIT_ANSWER_BYTES (4u * LIMIT_MIB)   /* one buffered answer */
#define LIMIT_KUBECONFIG_BYTES LIMIT_MIB
#define LIMIT_FILE_BYTES LIMIT_MIB            /* tokens, certificates */
#define LIMIT_URL 2048u

/* Connections out that are kept for further requests; the one that was idle for longest goes. */
#define LIMIT_IDLE_CONNECTIONS 128u
#define LIMIT_FETCH_WATCHES 64u /* of them, whose end somebody waits for */

/* What /metrics says of agents. */
#define LIMIT_AGENT_SERIES_NODES 8192u /* eleven series each */
/* What /metrics says of devices and namespaces. */
#define LIMIT_EXPOSITION_BYTES (96u * LIMIT_MIB) /* of all texts, also those that clients still read; */
						 /* less if memory is scarce (memory_limit.h) */
#define LIMIT_HELD_NODE_SERIES 64u     /* nodes whose writes are held; all are counted */
#define LIMIT_GPU_TIME_SERIES 8192u   /* namespace, model and mode; the oldest unused one goes */
#define LIMIT_XID_DEVICES 16384u      /* of which XID errors are counted; the oldest one goes */
#define LIMIT_XID_NUMBERS 16u         /* of one device; further ones are counted together */

/* The HTTPS front. */
#define LIMIT_HTTP_HEAD (16u * LIMIT_KIB)
#define LIMIT_HTTP_HEADERS 64u
#define LIMIT_TOKEN_BYTES (8u * LIMIT_KIB)

/* GPUAttribution, as its schema bounds them. */
#define LIMIT_TENANTS 256u      /* of a device */
#define LIMIT_PARTITIONS 56u
#define LIMIT_EVIDENCE 16u
#define LIMIT_RECENT_TENANTS 16u
#define LIMIT_HEALTH_EVENTS 16u
#define LIMIT_DRIFTS 32u
#define LIMIT_OFFERS 32u /* resources by which one device is on offer, that are compared */
#define LIMIT_UNALLOCATED_USERS 64u
#define LIMIT_SOURCE_DISAGREEMENT 16u /* containers of whom witnesses say different things */
#define LIMIT_STATED_IDS 16u          /* of what one witness says of one of them */
#define LIMIT_UNPLACED_TENANTS 16u
#define LIMIT_UNPLACED_IDS 16u        /* of one of them */
#define LIMIT_HEALTH_REASONS 48u /* each event, and each finding of assess/health.def */
#define LIMIT_EVENT_TENANTS 64u /* of one health event */
#define LIMIT_WITNESSES 8u
#define LIMIT_CONDITIONS 16u

/* Kubernetes Events, which tell of changes. */
#define LIMIT_EVENT_NOTE 1024u /* bytes, as the API server has it; so is the next */
#define LIMIT_EVENT_WORD 128u  /* reason, action, reporting instance */
#define LIMIT_EVENT_PODS 64u   /* told of the errors of one device, at a time */
#define LIMIT_EVENT_QUEUE 1024u     /* that wait to be sent */
#define LIMIT_EVENT_NODE_QUEUE 96u  /* of one node */
#define LIMIT_EVENT_SERIES 4096u    /* that are remembered, so that repeats are counted */
#define LIMIT_EVENT_RATE 100u       /* a minute, of one node */
#define LIMIT_EVENT_RECOVERIES 4096u /* devices that were ill, and of whom that is not known now */
#define LIMIT_EVENT_TENANCIES 65536u /* of whose idleness was told; and objects with such */

/* What is kept of a Node; what it has beyond is left out. */
#define LIMIT_NODE_DEPLOYS 64u    /* labels nvidia.com/gpu.deploy. */
#define LIMIT_NODE_MIG_COUNTS 32u /* labels nvidia.com/mig-<profile>.count */
#define LIMIT_NODE_RESOURCES 256u /* that may be GPUs */

/* A document in YAML. */
#define LIMIT_YAML_BYTES LIMIT_MIB
#define LIMIT_YAML_DEPTH 32u
#define LIMIT_YAML_NODES 65536u
#define LIMIT_YAML_ANCHORS 256u
#define LIMIT_YAML_ARENA (16u * LIMIT_MIB) /* LIMIT_YAML_NODES, and their texts */

/* The ConfigMaps that a ClusterPolicy names. */
#define LIMIT_CONFIG_KEYS 1024u
#define LIMIT_CONFIG_RESOURCES 64u /* shared ones, of one configuration of the device plugin */
#define LIMIT_CONFIG_FORMER 4u     /* earlier meanings of a key that are remembered */
#define LIMIT_MIG_PARTS 64u        /* of one layout; also devices, filters and profiles of a part */
#define LIMIT_CONFIG_ARENA (16u * LIMIT_MIB)

/* ClusterPolicies; one with more cannot be read. */
#define LIMIT_POLICY_VARIABLES 256u  /* for the device plugin */
#define LIMIT_POLICY_ARGUMENTS 256u  /* for the device plugin */
#define LIMIT_POLICY_CONDITIONS 64u
#define LIMIT_TEXT_VARIABLE 32768u   /* the value of one, or an argument, in bytes */

/* Texts of reports and of GPUAttribution, in bytes. */
#define LIMIT_TEXT_LABEL 63u      /* namespaces, containers, kinds */
#define LIMIT_TEXT_NAME 253u      /* pods, nodes, workloads, policies */
#define LIMIT_TEXT_RESOURCE 317u  /* domain/name */
#define LIMIT_TEXT_UID 128u       /* of pods: the API server's, or any that a manifest chose */
#define LIMIT_TEXT_GPU_UUID 128u   /* of any vendor; NVIDIA's have 40 */
#define LIMIT_TEXT_UUID 64u       /* of devices and partitions */
#define LIMIT_TEXT_DEVICE_ID 253u /* of device plugins, raw */
#define LIMIT_TEXT_VERSION 80u
#define LIMIT_TEXT_SHORT_VERSION 16u
#define LIMIT_TEXT_VENDOR 64u
#define LIMIT_TEXT_PCI 32u
#define LIMIT_TEXT_MODEL 128u
#define LIMIT_TEXT_SERIAL 64u
#define LIMIT_TEXT_PROFILE 64u
#define LIMIT_TEXT_COMMAND 128u
#define LIMIT_TEXT_EVIDENCE 128u
#define LIMIT_TEXT_WITNESS 32u
#define LIMIT_TEXT_WORD 64u       /* a CamelCase word: reasons, types of drift */
#define LIMIT_TEXT_MEANING 128u
#define LIMIT_TEXT_ACTION 256u    /* what to do, one sentence */
#define LIMIT_TEXT_SLOTS 24u
#define LIMIT_TEXT_TENANTS 384u
#define LIMIT_TEXT_SETTING 512u   /* what is intended, what is observed */
#define LIMIT_TEXT_MESSAGE 1024u
#define LIMIT_TEXT_CONDITION_TYPE 316u      /* the three of metav1.Condition */
#define LIMIT_TEXT_CONDITION_REASON 1024u
#define LIMIT_TEXT_CONDITION_MESSAGE 32768u

/* Numbers of reports and of GPUAttribution; the smallest is always 0. */
#define LIMIT_NUMBER_INDEX 65535u
#define LIMIT_NUMBER_MINOR 1048575u
#define LIMIT_NUMBER_INSTANCE 65535u         /* MIG instance IDs */
#define LIMIT_NUMBER_MEMORY_MIB 1073741824u
#define LIMIT_NUMBER_COUNT 1000000u          /* slots, tenants, processes */
#define LIMIT_NUMBER_ERRORS 1000000000000000u /* of a device's memory */
#define LIMIT_NUMBER_COUNTER 1000000000000000u /* what an agent counts of itself */
#define LIMIT_NUMBER_UPTIME_MS 10000000000000u /* time since boot: 317 years */
#define LIMIT_NUMBER_PERCENT 100u
#define LIMIT_NUMBER_CELSIUS 1000u
#define LIMIT_NUMBER_MILLIWATTS 1000000000u
#define LIMIT_NUMBER_PCIE 15u                 /* generations of PCIe; the specification has seven */
#define LIMIT_NUMBER_LINKS 256u               /* NVLinks, or lanes of PCIe, of a device */
#define LIMIT_NUMBER_XID 65535u
#define LIMIT_NUMBER_PID 4194304u
