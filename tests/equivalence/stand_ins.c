/*
 * Stands in for taskset and numactl in the pods, on a machine that lacks the CPUs and NUMA nodes: writes down
 * what was asked for, in OUT/cpus.PID of `taskset -pc LIST PID`, and in OUT/policy.PID of
 * `numactl POLICY -- COMMAND`, which it then becomes. In C, since a shell would not pass on all variables.
 *
 * Defined by the compiler's command line: OUT, a folder.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int note(const char *what, const char *pid, const char *text)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), OUT "/%s.%s", what, pid);
	FILE *out = fopen(path, "w");
	return !out || fputs(text, out) < 0 || fclose(out);
}

int main(int argc, char **argv)
{
	char pid[16];
	char *slash = strrchr(argv[0], '/');
	if (!strcmp(slash ? slash + 1 : argv[0], "taskset"))
		return argc != 4 || strcmp(argv[1], "-pc") || note("cpus", argv[3], argv[2]);
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (argc < 4 || strcmp(argv[2], "--") || note("policy", pid, argv[1]))
		return 1;
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 1;
}
