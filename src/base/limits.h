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
#define LIMIT_REPORT_HOLDINGS 8192u  /* entries of podResources and of checkpoint.entries, each */
#define LIMIT_REPORT_DEVICE_IDS 8192u /* in one entry */
#define LIMIT_REPORT_EVENTS 256u
#define LIMIT_REPORT_MESSAGE 256u
#define LIMIT_REPORT_DEPTH 16u

/* What the agent's child tells of the driver (agent/nvml_process.h). */
#define LIMIT_READING_BYTES (8u * LIMIT_MIB) /* LIMIT_REPORT_PROCESSES on all LIMIT_REPORT_DEVICES */
#define LIMIT_READING_ARENA (16u * LIMIT_MIB) /* the same, decoded */
#define LIMIT_NVML_ORPHANS 4u /* children that cannot be ended, above which none is started */

/* Objects of one node, above which a report creates no more; two whole sets of devices. */
#define LIMIT_NODE_OBJECTS (2 * LIMIT_REPORT_DEVICES)

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
#define LIMIT_UNALLOCATED_USERS 64u
#define LIMIT_SOURCE_DISAGREEMENT 16u /* containers of whom witnesses say different things */
#define LIMIT_STATED_IDS 16u          /* of what one witness says of one of them */
#define LIMIT_UNPLACED_TENANTS 16u
#define LIMIT_UNPLACED_IDS 16u        /* of one of them */
#define LIMIT_HEALTH_REASONS 48u /* each event, and each finding of assess/health.def */
#define LIMIT_EVENT_TENANTS 64u /* of one health event */
#define LIMIT_WITNESSES 8u
#define LIMIT_CONDITIONS 16u

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
#define LIMIT_NUMBER_PERCENT 100u
#define LIMIT_NUMBER_LINKS 256u               /* NVLinks, or lanes of PCIe, of a device */
#define LIMIT_NUMBER_XID 65535u
#define LIMIT_NUMBER_PID 4194304u
