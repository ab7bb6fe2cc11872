/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Gives every file of the folders named as arguments to a fuzz target once: what a fuzzer found
 * stays a test in builds without libFuzzer. A corpus that is missing or empty is a failure, so
 * that a renamed folder does not go unnoticed.
 */

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *folder, const char *name)
{
	char path[4096];
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return -1;
	FILE *file = fopen(path, "rb");
	if (!file)
		return -1;
	char *data = NULL;
	size_t size = 0;
	FILE *copy = open_memstream(&data, &size);
	for (int c = getc(file); copy && c != EOF; c = getc(file))
		putc(c, copy);
	fclose(file);
	if (!copy || fclose(copy) != 0)
		return -1;
	/* An exact heap copy: a read behind the end is seen by the sanitizer. */
	uint8_t *exact = malloc(size ? size : 1);
	if (!exact)
		return -1;
	for (size_t i = 0; i < size; i++)
		exact[i] = (uint8_t)data[i];
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	free(data);
	return 0;
}

static int replay_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	if (!dir) {
		perror(folder);
		return -1;
	}
	int n_files = 0;
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		if (entry->d_name[0] == '.')
			continue;
		if (replay_file(folder, entry->d_name) != 0) {
			fprintf(stderr, "cannot read %s/%s\n", folder, entry->d_name);
			closedir(dir);
			return -1;
		}
		n_files++;
	}
	closedir(dir);
	printf("%s: %d inputs\n", folder, n_files);
	return n_files > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;
	for (int i = 1; i < argc; i++)
		failed |= replay_folder(argv[i]) != 0;
	return failed;
}
