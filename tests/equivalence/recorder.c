/*
 * What a rank runs: writes down, as bytes, what reached it. One file in OUT for each process, with a NUL after
 * each part: process id, parent's id, working folder, the CPUs that a sandbox's task was granted, this one or
 * its parent (OUT/tasks leads to what spank_machine.c wrote of them; "" elsewhere), how many arguments, these, and the environment.
 *
 * In C since an interpreter would read some of the variables, and add to them.
 *
 * Defined by the compiler's command line: OUT, a folder.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_granted(char *text, size_t size)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), OUT "/tasks/%d/granted", getpid());
	FILE *in = fopen(path, "r");
	if (!in) {
		snprintf(path, sizeof(path), OUT "/tasks/%d/granted", getppid());
		in = fopen(path, "r");
	}
	size_t got = in ? fread(text, 1, size - 1, in) : 0;
	text[got] = 0;
	if (in)
		fclose(in);
}

int main(int argc, char **argv)
{
	char path[] = OUT "/.new-XXXXXX", final[PATH_MAX], granted[4096], *cwd = getcwd(NULL, 0);
	int file = mkstemp(path);
	FILE *out = file < 0 ? NULL : fdopen(file, "w");
	if (!out) {
		perror(path);
		return 120;
	}
	read_granted(granted, sizeof(granted));
	fprintf(out, "%d%c%d%c%s%c%s%c%d%c", getpid(), 0, getppid(), 0, cwd ? cwd : "", 0, granted, 0, argc, 0);
	for (int i = 0; i < argc; i++)
		fwrite(argv[i], 1, strlen(argv[i]) + 1, out);
	for (char **entry = environ; *entry; entry++)
		fwrite(*entry, 1, strlen(*entry) + 1, out);
	/* Whoever reads is not always who ran. */
	if (fchmod(file, 0644) || fclose(out)) {
		perror(path);
		return 120;
	}
	snprintf(final, sizeof(final), OUT "/rank-%s", path + sizeof(OUT "/.new-") - 1);
	return rename(path, final) ? 120 : 0;
}
