/* SPDX-License-Identifier: Apache-2.0 */

#include "kubectl/usage.h"

#define FLAGS_OF_KUBECTL                                                                           \
	"  --context, --kubeconfig, --cluster, --user, --as, --as-group, --token,\n"               \
	"  -s/--server, --request-timeout and kubectl's other flags for reaching a cluster\n"      \
	"      are handed on to kubectl, which is found on PATH, or named by $KUBECTL.\n"

#define EXIT_STATUS                                                                                \
	"Exit status:\n"                                                                           \
	"  0  what was asked for is there\n"                                                       \
	"  1  it is not: no such pod, node or device, or a pod that is on no GPU, as far as is\n"  \
	"     known\n"                                                                             \
	"  2  the command line is wrong\n"                                                         \
	"  3  it could not be found out: kubectl failed, or something could not be read\n"

#define MARKS                                                                                      \
	"\"?\" is what is not known. A '*' in STATUS marks a line that is not current: its node's\n" \
	"agent is silent, or a slot could not be resolved to a pod; a note says which.\n"

static const char fleet[] =
	"Which pod is on which physical GPU: one line per device.\n"
	"\n" MARKS "\n"
	"Examples:\n"
	"  # All GPUs\n"
	"  kubectl gpus\n"
	"  # With every tenant, the PCI address, the driver\n"
	"  kubectl gpus -o wide\n"
	"  # Those that are not well\n"
	"  kubectl gpus --field-selector status.health.state!=Healthy\n"
	"  # Which GPUs is this pod on?\n"
	"  kubectl gpus pod train-0 -n ml\n"
	"  # Who is on the GPUs of this node?\n"
	"  kubectl gpus node gpu-a\n"
	"  # Everything about one GPU; the beginning of the UUID will do\n"
	"  kubectl gpus device GPU-11ba558d\n"
	"\n"
	"Usage:\n"
	"  kubectl gpus [flags]\n"
	"  kubectl gpus pod [NAME... | -l SELECTOR] [flags]\n"
	"  kubectl gpus node [NAME...] [flags]\n"
	"  kubectl gpus device UUID [flags]\n"
	"\n"
	"Flags:\n"
	"  --field-selector=TEXT\n"
	"      As in kubectl get gpuattributions, for example status.sharing.mode=MIG.\n"
	"  -l, --selector=TEXT\n"
	"      GPUAttributions with these labels only.\n"
	"  --no-headers\n"
	"      No line of headers.\n"
	"  -o, --output=FORM\n"
	"      wide, json or name.\n"
	"  --version\n"
	"      The version of this plugin.\n" FLAGS_OF_KUBECTL "\n" EXIT_STATUS;

static const char pod[] =
	"Which GPUs pods are on: one line per container and device.\n"
	"\n"
	"A pod is its UID: a pod that bears the name of an earlier one is never shown with the\n"
	"GPUs of that one. Of a pod that is on no GPU it says why, as far as is known. SLOTS are\n"
	"those that the container holds, of those that the device has; SHARED WITH counts the\n"
	"other containers on the device, or, under MIG, on the same partition.\n"
	"\n" MARKS "\n"
	"Examples:\n"
	"  # A pod of the current namespace\n"
	"  kubectl gpus pod train-0\n"
	"  # Several pods of another one, with pod UIDs, witnesses and who else is there\n"
	"  kubectl gpus pod train-0 train-1 -n ml -o wide\n"
	"  # The pods of an application\n"
	"  kubectl gpus pod -l app=train -n ml\n"
	"  # Every pod that holds a GPU\n"
	"  kubectl gpus pod -A\n"
	"  # The objects behind it\n"
	"  kubectl get -o yaml $(kubectl gpus pod train-0 -o name)\n"
	"\n"
	"Usage:\n"
	"  kubectl gpus pod [NAME... | pod/NAME... | -l SELECTOR] [flags]\n"
	"\n"
	"Flags:\n"
	"  -A, --all-namespaces\n"
	"      Pods of all namespaces.\n"
	"  -n, --namespace=NAME\n"
	"      The pods' namespace; without it that of the current context.\n"
	"  -l, --selector=TEXT\n"
	"      Pods with these labels.\n"
	"  --no-headers\n"
	"      No line of headers.\n"
	"  -o, --output=FORM\n"
	"      wide, json or name (of the GPUAttributions).\n" FLAGS_OF_KUBECTL "\n" EXIT_STATUS;

static const char node[] =
	"The GPUs of nodes and who is on them: one line per tenant, and one for a device without.\n"
	"\n" MARKS "\n"
	"Examples:\n"
	"  # Who has to go before this node can be serviced?\n"
	"  kubectl gpus node gpu-a\n"
	"  # The same as JSON\n"
	"  kubectl gpus node gpu-a -o json\n"
	"  # All nodes\n"
	"  kubectl gpus node\n"
	"\n"
	"Usage:\n"
	"  kubectl gpus node [NAME... | node/NAME...] [flags]\n"
	"\n"
	"Flags:\n"
	"  --no-headers\n"
	"      No line of headers.\n"
	"  -o, --output=FORM\n"
	"      wide, json or name (of the GPUAttributions).\n" FLAGS_OF_KUBECTL "\n" EXIT_STATUS;

static const char device[] =
	"Everything that is known of one GPU: tenants and those that left, health events with who\n"
	"was on the device at that time, how the sharing mode was told, what differs from what is\n"
	"intended, and whether all that is up to date.\n"
	"\n"
	"The UUID may be shortened as long as it fits one device only, and may be that of a MIG\n"
	"partition. Being on a device when an error came is not being its cause.\n"
	"\n"
	"Examples:\n"
	"  # XID 79 in the kernel log of a node: who was on the device?\n"
	"  kubectl gpus device GPU-11ba558d-3437-2335-2fd8-a78c8502f87f\n"
	"  # The beginning will do\n"
	"  kubectl gpus device 11ba\n"
	"\n"
	"Usage:\n"
	"  kubectl gpus device UUID [flags]\n"
	"\n"
	"Flags:\n"
	"  -o, --output=FORM\n"
	"      json or name.\n" FLAGS_OF_KUBECTL "\n" EXIT_STATUS;

const char *usage_of(enum invocation_verb verb)
{
	static const char *const texts[] = {fleet, pod, node, device};
	return texts[verb];
}
