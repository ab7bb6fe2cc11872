/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/test_main.h"

#include <stdlib.h>

#include "agent/cgroup.h"

#define POD "2c48913c-b29f-11e7-9350-020968147796"
#define POD_ "2c48913c_b29f_11e7_9350_020968147796"
#define OTHER "9f1c3c6e-8a55-4d0a-9f52-7f0e6a1b2c3d"
#define OTHER_ "9f1c3c6e_8a55_4d0a_9f52_7f0e6a1b2c3d"
#define STATIC "b5a1b0d6ac2dd3b0b4e9a8c6f7d1e2f3"
#define ID "67d1ffe98d13a5a8f0c9b1e2d3c4b5a697887766554433221100ffeeddccbbaa"
#define ID2 "0011223344556677889900aabbccddeeff0011223344556677889900aabbccdd"
#define NO_ID "g7d1ffe98d13a5a8f0c9b1e2d3c4b5a697887766554433221100ffeeddccbbaa"
#define SLICES "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"

struct row {
	const char *file, *pod, *container; /* both empty: no pod */
};

static void assert_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct cgroup_owner owner;
		bool found = cgroup_find_owner(view_from(rows[i].file), &owner);
		if (strcmp(owner.pod_uid, rows[i].pod) != 0 ||
		    strcmp(owner.container_id, rows[i].container) != 0)
			print_message("row %zu: %s\n", i, rows[i].file);
		assert_string_equal(owner.pod_uid, rows[i].pod);
		assert_string_equal(owner.container_id, rows[i].container);
		assert_int_equal(found, rows[i].pod[0] != '\0');
	}
}

#define ASSERT_ROWS(rows) assert_rows(rows, ARRAY_SIZE(rows))

static void the_systemd_driver_names_pod_and_container(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0::" SLICES POD_ ".slice/cri-containerd-" ID ".scope\n", POD, ID},
		{"0::" SLICES POD_ ".slice/crio-" ID ".scope\n", POD, ID},
		{"0::" SLICES POD_ ".slice/docker-" ID ".scope\n", POD, ID},
		{"0::/kubepods.slice/kubepods-pod" POD_ ".slice/cri-containerd-" ID ".scope\n", POD, ID},
		{"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" POD_
		 ".slice/cri-containerd-" ID ".scope\n", POD, ID},
		{"11:devices:" SLICES POD_ ".slice/cri-containerd-" ID ".scope\n", POD, ID},
	};
	ASSERT_ROWS(rows);
}

static void the_cgroupfs_driver_names_pod_and_container(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0::/kubepods/burstable/pod" POD "/" ID "\n", POD, ID},
		{"0::/kubepods/besteffort/pod" POD "/" ID "\n", POD, ID},
		{"0::/kubepods/pod" POD "/" ID "\n", POD, ID},
		{"0::/kubepods/burstable/pod" POD "/crio-" ID "\n", POD, ID},
		{"4:memory:/kubepods/burstable/pod" POD "/" ID "\n", POD, ID},
		/* a kubelet with a cgroupRoot of its own */
		{"4:memory:/node-1/kubepods/burstable/pod" POD "/" ID "\n", POD, ID},
	};
	ASSERT_ROWS(rows);
}

static void a_static_pod_has_a_hash_for_a_uid(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0::" SLICES STATIC ".slice/cri-containerd-" ID ".scope\n", STATIC, ID},
		{"0::/kubepods/burstable/pod" STATIC "/" ID "\n", STATIC, ID},
	};
	ASSERT_ROWS(rows);
}

static void a_runtime_that_does_not_name_for_systemd_is_understood(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0::/system.slice/containerd.service/kubepods-burstable-pod" POD_
		 ".slice:cri-containerd:" ID "\n", POD, ID},
		{"5:memory:/kubepods-besteffort-pod" POD_ ".slice:cri-containerd:" ID "\n", POD, ID},
		{"0::/system.slice/containerd.service/kubepods-pod" STATIC
		 ".slice:cri-containerd:" ID "\n", STATIC, ID},
		{"0::/kubepods-burstable-pod" POD_ ".slice:runtime:" ID "\n", POD, ""},
		{"0::/kubepods-burstable-pod" POD_ ".slice:cri-containerd:" ID "/" ID2 "\n", POD, ID},
		{"0::/kubepods-burstable-pod" POD_ ".slice:cri-containerd:short\n", POD, ""},
		{"0::/kubepods-burstable-pod" POD_ ".slice:cri-containerd\n", POD, ""},
	};
	ASSERT_ROWS(rows);
}

static void a_kubelet_in_a_container_or_below_another_slice_is_understood(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
		 "kubelet-kubepods-burstable-pod" POD_ ".slice/cri-containerd-" ID ".scope\n", POD, ID},
		{"0::/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" POD_
		 ".slice/cri-containerd-" ID ".scope\n", POD, ID},
		{"0::/system.slice/docker-" ID2 ".scope/kubelet/kubepods/besteffort/pod" POD "/" ID
		 "\n", POD, ID},
	};
	ASSERT_ROWS(rows);
}

/* The reader is in a burstable pod's container, whose group is its root. */
static void paths_from_inside_a_cgroup_namespace_are_understood(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0::/../../kubepods-burstable-pod" POD_ ".slice/cri-containerd-" ID ".scope\n", POD, ID},
		{"0::/../../../kubepods-pod" POD_ ".slice/cri-containerd-" ID ".scope\n", POD, ID},
		{"0::/../../pod" POD "/" ID "\n", POD, ID},
		{"0::/../../../pod" POD "/" ID "\n", POD, ID},
		{"0::/../../../besteffort/pod" POD "/" ID "\n", POD, ID},
		{"0::/../../../../system.slice/containerd.service/kubepods-burstable-pod" POD_
		 ".slice:cri-containerd:" ID "\n", POD, ID},
		/* the reader's own container, its neighbours in the pod, and the host */
		{"0::/\n", "", ""},
		{"0::/../" ID "\n", "", ""},
		{"0::/../cri-containerd-" ID ".scope\n", "", ""},
		{"0::/../../../../init.scope\n", "", ""},
		{"0::/../../../../system.slice/nvidia-persistenced.service\n", "", ""},
		/* ".." elsewhere is no way up */
		{"0::/a/../pod" POD "/" ID "\n", "", ""},
		{"0::/../a/../pod" POD "/" ID "\n", "", ""},
	};
	ASSERT_ROWS(rows);
}

static void groups_that_a_container_made_do_not_count(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0::" SLICES POD_ ".slice/crio-" ID ".scope/container\n", POD, ID},
		{"0::/kubepods/burstable/pod" POD "/" ID "/init.scope\n", POD, ID},
		{"0::/kubepods/burstable/pod" POD "/" ID "/kubepods/burstable/pod" OTHER "/" ID2 "\n",
		 POD, ID},
		{"0::/kubepods/burstable/pod" POD "/" ID "/kubepods.slice/kubepods-pod" OTHER_
		 ".slice/cri-containerd-" ID2 ".scope\n", POD, ID},
		{"0::/../../pod" POD "/" ID "/../../pod" OTHER "/" ID2 "\n", POD, ID},
		{"0::" SLICES POD_ ".slice/cri-containerd-" ID ".scope/kubepods-pod" OTHER_ ".slice:docker:"
		 ID2 "\n", POD, ID},
	};
	ASSERT_ROWS(rows);
}

static void a_process_in_a_pod_but_in_no_container_has_the_pod_only(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0::" SLICES POD_ ".slice\n", POD, ""},
		{"0::" SLICES POD_ ".slice/crio-conmon-" ID ".scope\n", POD, ""},
		{"0::/kubepods/burstable/pod" POD "/crio-conmon-" ID "\n", POD, ""},
		{"0::/kubepods/burstable/pod" POD "/kata_" ID "\n", POD, ""},
		{"0::/kubepods/burstable/pod" POD "/a/" ID "\n", POD, ""},
		{"0::" SLICES POD_ ".slice/unheard-of-" ID ".scope\n", POD, ""},
		{"0::/kubepods/burstable/pod" POD "/" ID "0\n", POD, ""},
		{"0::/kubepods/burstable/pod" POD "/" NO_ID "\n", POD, ""},
		{"0::" SLICES POD_ ".slice/docker_" ID ".scope\n", POD, ""},
		{"0::/kubepods/burstable/pod" POD "/cri-containerd-\n", POD, ""},
		{"0::/kubepods/burstable/pod" POD "/cri-containerd\n", POD, ""},
		{"0::/kubepods/burstable/pod" POD "//\n", POD, ""},
	};
	ASSERT_ROWS(rows);
}

static void the_host_and_its_users_have_no_pod(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"", "", ""},
		{"\n\n", "", ""},
		{"0::/\n", "", ""},
		{"0::/init.scope\n", "", ""},
		{"0::/system.slice/containerd.service\n", "", ""},
		{"0::/system.slice/crio-conmon-" ID ".scope\n", "", ""},
		{"0::/system.slice/docker-" ID ".scope\n", "", ""},
		{"0::/docker/" ID "\n", "", ""},
		{"0::/machine.slice/libpod-" ID ".scope\n", "", ""},
		{"0::/kubepods.slice\n", "", ""},
		{"0::/user.slice/user-1000.slice/user@1000.service/kubepods-pod" POD_ ".slice\n", "", ""},
		{"0::/user.slice/user-1000.slice/user@1000.service/kubepods/pod" POD "/" ID "\n", "", ""},
		{"0::/../../../../user.slice/user-1000.slice/kubepods/pod" POD "/" ID "\n", "", ""},
	};
	ASSERT_ROWS(rows);
}

static void what_is_not_exactly_such_a_path_names_no_pod(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0::/pod" POD "/" ID "\n", "", ""},
		{"0::/a/pod" POD "/" ID "\n", "", ""},
		{"0::/burstable/pod" POD "/" ID "\n", "", ""},
		{"0::/kubepods/a/pod" POD "/" ID "\n", "", ""},
		{"0::/kubepods/burstable/burstable/pod" POD "/" ID "\n", "", ""},
		{"0::/kubepods/burstable/" POD "/" ID "\n", "", ""},
		{"0::/kubepods/burstable/pod" POD_ "/" ID "\n", "", ""},
		{"0::/kubepods/burstable/pod" POD "0/" ID "\n", "", ""},
		{"0::/kubepods/burstable/pod2c48913c-b29f-11e7-9350-02096814779/" ID "\n", "", ""},
		{"0::/kubepods/burstable/pod2c48913c-b29f-11e7-9350-02096814779g/" ID "\n", "", ""},
		{"0::/kubepods/burstable/pod2c48913cb-29f-11e7-9350-020968147796/" ID "\n", "", ""},
		{"0::/kubepods/burstable/podb5a1b0d6ac2dd3b0b4e9a8c6f7d1e2f/" ID "\n", "", ""},
		{"0::/kubepods/burstable/podb5a1b0d6ac2dd3b0b4e9a8c6f7d1e2g3/" ID "\n", "", ""},
		{"0::/kubepods/burstable/pod/" ID "\n", "", ""},
		{"0::" SLICES POD ".slice/cri-containerd-" ID ".scope\n", "", ""},
		{"0::" SLICES POD_ "/cri-containerd-" ID ".scope\n", "", ""},
		{"0::/kubepods.slice/pods-burstable-pod" POD_ ".slice/cri-containerd-" ID ".scope\n", "", ""},
		{"0::/mykubepods-burstable-pod" POD_ ".slice/cri-containerd-" ID ".scope\n", "", ""},
		{"0::/kubepods-guaranteed-pod" POD_ ".slice/cri-containerd-" ID ".scope\n", "", ""},
		{"0::/kubepods.burstable-pod" POD_ ".slice/cri-containerd-" ID ".scope\n", "", ""},
		{"0::/burstable-pod" POD_ ".slice/cri-containerd-" ID ".scope\n", "", ""},
		{"0::/-pod" POD_ ".slice\n", "", ""},
		{"0::/pod" POD_ ".slice\n", "", ""},
		{"0::/.slice\n", "", ""},
		{"0::kubepods/burstable/pod" POD "/" ID "\n", "", ""},
		{"/kubepods/burstable/pod" POD "/" ID "\n", "", ""},
		{"0:/kubepods/burstable/pod" POD "/" ID "\n", "", ""},
		{"0::/kubepods\n0::/burstable/pod" POD "/" ID "\n", "", ""},
	};
	ASSERT_ROWS(rows);
}

#define V1_PATH "/kubepods/burstable/pod" POD "/" ID "\n"

static void of_several_hierarchies_those_that_name_a_pod_count(void **state)
{
	(void)state;
	static const struct row rows[] = {
		/* as a node with version 1 has it, the hybrid one at the end */
		{"12:perf_event:" V1_PATH "11:cpuset:" V1_PATH "10:rdma:/\n9:memory:" V1_PATH
		 "8:devices:" V1_PATH "7:hugetlb:" V1_PATH "6:pids:" V1_PATH "5:net_cls,net_prio:" V1_PATH
		 "4:freezer:" V1_PATH "3:cpu,cpuacct:" V1_PATH "2:blkio:" V1_PATH
		 "1:name=systemd:" V1_PATH "0::/system.slice/containerd.service\n", POD, ID},
		{"9:name=systemd:/\n8:memory:" V1_PATH "0::/\n", POD, ID},
		{"2:devices:/\n1:name=systemd:" SLICES POD_ ".slice/crio-" ID ".scope\n0::" SLICES POD_
		 ".slice/crio-" ID ".scope\n", POD, ID},
		/* two drivers, one pod */
		{"2:memory:" V1_PATH "1:name=systemd:" SLICES POD_ ".slice/cri-containerd-" ID ".scope\n",
		 POD, ID},
	};
	ASSERT_ROWS(rows);
}

static void hierarchies_that_contradict_tell_nothing(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"2:memory:" V1_PATH "1:devices:/kubepods/burstable/pod" OTHER "/" ID "\n", "", ""},
		{"3:memory:" V1_PATH "2:devices:/kubepods/burstable/pod" OTHER "/" ID "\n1:cpu:" V1_PATH,
		 "", ""},
		/* of the containers in one pod: then it is the pod only */
		{"2:memory:" V1_PATH "1:devices:/kubepods/burstable/pod" POD "/" ID2 "\n", POD, ""},
		{"2:memory:" V1_PATH "1:devices:/kubepods/burstable/pod" POD "\n", POD, ""},
		{"3:memory:/kubepods/burstable/pod" POD "\n2:devices:" V1_PATH "1:cpu:" V1_PATH, POD, ""},
	};
	ASSERT_ROWS(rows);
}

static void a_group_that_was_removed_is_still_named(void **state)
{
	(void)state;
	static const struct row rows[] = {
		{"0::/kubepods/burstable/pod" POD "/" ID " (deleted)\n", POD, ID},
		{"0::" SLICES POD_ ".slice/cri-containerd-" ID ".scope (deleted)\n", POD, ID},
		{"0::/kubepods/burstable/pod" POD " (deleted)\n", POD, ""},
	};
	ASSERT_ROWS(rows);
}

/* In memory of exactly its size, so that a sanitizer sees a byte too far. */
static void a_text_that_is_cut_anywhere_never_names_another_pod(void **state)
{
	(void)state;
	static const char whole[] = "12:memory:" SLICES POD_ ".slice/cri-containerd-" ID ".scope\n"
				    "0::/system.slice/containerd.service/kubepods-pod" POD_
				    ".slice:cri-containerd:" ID "\n";
	for (size_t len = 0; len < sizeof(whole); len++) {
		struct cgroup_owner owner;
		char *copy = malloc(len + !len);
		assert_non_null(copy);
		memcpy(copy, whole, len);
		if (cgroup_find_owner((struct view){copy, len}, &owner))
			assert_string_equal(owner.pod_uid, POD);
		assert_true(!owner.container_id[0] || strcmp(owner.container_id, ID) == 0);
		free(copy);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_systemd_driver_names_pod_and_container),
	cmocka_unit_test(the_cgroupfs_driver_names_pod_and_container),
	cmocka_unit_test(a_static_pod_has_a_hash_for_a_uid),
	cmocka_unit_test(a_runtime_that_does_not_name_for_systemd_is_understood),
	cmocka_unit_test(a_kubelet_in_a_container_or_below_another_slice_is_understood),
	cmocka_unit_test(paths_from_inside_a_cgroup_namespace_are_understood),
	cmocka_unit_test(groups_that_a_container_made_do_not_count),
	cmocka_unit_test(a_process_in_a_pod_but_in_no_container_has_the_pod_only),
	cmocka_unit_test(the_host_and_its_users_have_no_pod),
	cmocka_unit_test(what_is_not_exactly_such_a_path_names_no_pod),
	cmocka_unit_test(of_several_hierarchies_those_that_name_a_pod_count),
	cmocka_unit_test(hierarchies_that_contradict_tell_nothing),
	cmocka_unit_test(a_group_that_was_removed_is_still_named),
	cmocka_unit_test(a_text_that_is_cut_anywhere_never_names_another_pod),
};
TEST_MAIN(tests)
