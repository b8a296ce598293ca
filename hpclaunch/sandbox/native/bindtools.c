/*
 * Stand-ins for taskset and numactl, which this kernel could not obey: it has neither the cores nor the NUMA
 * nodes. For a task that has a made-up machine they write what they bind where the kernel would show it, and
 * one line into the record; then they start the command. What comes of a task is checked and started, and
 * not recorded: it is no rank. For everything else they become the real program.
 *
 * Defined by the compiler's command line:
 *   TASKS   the folder with a folder for each task, by its process id (spank_machine.c makes it)
 *   RECORD  the file to append to            REAL  the folder with the real programs
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <unistd.h>

#include "task.h"

static const char *tool;

static void fail(const char *format, ...)
{
	va_list values;
	va_start(values, format);
	fprintf(stderr, "%s: ", tool);
	vfprintf(stderr, format, values);
	fputs("\n", stderr);
	exit(1);
}

static const char *in_task(long pid, const char *name)
{
	static char path[512];
	snprintf(path, sizeof(path), "%s/%ld/%s", TASKS, pid, name);
	return path;
}

static int read_file(const char *path, char *text, size_t size)
{
	FILE *in = fopen(path, "r");
	if (!in)
		return 0;
	size_t got = fread(text, 1, size - 1, in);
	text[got] = 0;
	fclose(in);
	return 1;
}

/* The task that this process is, or that it came of; 0 for none. */
static long task_of(long pid)
{
	char path[64], text[512];
	while (pid > 1 && access(in_task(pid, "granted"), R_OK)) {
		snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
		char *end = read_file(path, text, sizeof(text)) ? strrchr(text, ')') : NULL;
		if (!end || sscanf(end, ") %*c %ld", &pid) != 1)
			return 0;
	}
	return pid > 1 ? pid : 0;
}

/* One write, so that lines of tasks side by side stay whole. */
static void record(long pid, const char *name, const char *policy, const cpu_set_t *set)
{
	char head[1024], *line = NULL;
	size_t size = 0;
	if (!read_file(in_task(pid, "record"), head, sizeof(head)))
		return;
	FILE *out = open_memstream(&line, &size);
	fprintf(out, "%s, \"by\": \"rank\"", head);
	if (policy)
		fprintf(out, ", \"mem_policy\": \"%s\"", policy);
	fprintf(out, ", \"%s\": \"", name);
	write_list(out, set);
	fputs("\"}\n", out);
	fclose(out);
	int file = open(RECORD, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (file < 0 || write(file, line, size) < 0)
		fail("cannot write %s: %s", RECORD, strerror(errno));
	close(file);
}

static void run(char **argv)
{
	execvp(argv[0], argv);
	fail("failed to execute %s: %s", argv[0], strerror(errno));
}

static void run_real(char **argv)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", REAL, tool);
	execv(path, argv);
	fail("%s: %s", path, strerror(errno));
}

/* The kernel binds to what is left of the wish within the cpuset (sched_setaffinity(2)). */
static void bind_cpus(long task, long pid, const cpu_set_t *wanted)
{
	char text[4096];
	cpu_set_t granted, both;
	if (!read_file(in_task(task, "granted"), text, sizeof(text)) || !read_list(text, &granted))
		fail("cannot read %s", in_task(task, "granted"));
	CPU_AND(&both, wanted, &granted);
	if (!CPU_COUNT(&both))
		fail("failed to set pid %ld's affinity: Invalid argument", pid);
	if (pid != task)
		return;
	if (write_status(in_task(pid, "proc/self/status"), &both))
		fail("cannot write %s: %s", in_task(pid, "proc/self/status"), strerror(errno));
	record(pid, "cpu_list", NULL, &both);
}

/* The forms that name CPUs by a list: -pc LIST PID, and -c LIST COMMAND. */
static void taskset(int argc, char **argv)
{
	int of_process = 0, by_list = 0, letter;
	cpu_set_t wanted;
	opterr = 0;
	while ((letter = getopt(argc, argv, "+acp")) >= 0) {
		of_process |= letter == 'p';
		by_list |= letter == 'c';
		if (letter == '?')
			run_real(argv);
	}
	if (!by_list || argc - optind < 2 || !read_list(argv[optind], &wanted))
		run_real(argv);
	long pid = of_process ? strtol(argv[optind + 1], NULL, 10) : getpid();
	long task = task_of(pid);
	if (!task)
		run_real(argv);
	bind_cpus(task, pid, &wanted);
	if (!of_process)
		run(argv + optind + 1);
}

static void read_nodes(long task, const char *text, cpu_set_t *nodes)
{
	char name[64];
	if (!read_list(text, nodes))
		fail("<%s> is invalid", text);
	for (int node = 0; node < CPUS; node++) {
		snprintf(name, sizeof(name), "sys/devices/system/node/node%d", node);
		if (CPU_ISSET(node, nodes) && access(in_task(task, name), F_OK))
			fail("libnuma: Warning: node argument %d is out of range\n<%s> is invalid", node, text);
	}
}

static void numactl(int argc, char **argv)
{
	static const struct option options[] = {{"membind", required_argument, NULL, 'm'},
						{"preferred", required_argument, NULL, 'p'},
						{"interleave", required_argument, NULL, 'i'},
						{"physcpubind", required_argument, NULL, 'C'},
						{NULL, 0, NULL, 0}};
	const char *policy = NULL, *kernels = NULL;
	cpu_set_t nodes, cpus;
	int letter, bound = 0;
	opterr = 0;
	long task = task_of(getpid());
	if (!task)
		run_real(argv);
	while ((letter = getopt_long(argc, argv, "+m:p:i:C:", options, NULL)) >= 0) {
		if (letter == '?')
			run_real(argv);
		if (letter == 'C') {
			if (!read_list(optarg, &cpus))
				fail("<%s> is invalid", optarg);
			bound = 1;
			continue;
		}
		read_nodes(task, optarg, &nodes);
		policy = letter == 'm' ? "bind" : letter == 'p' ? "preferred" : "interleave";
		kernels = letter == 'p' ? "prefer" : policy;
	}
	if (optind == argc || (!policy && !bound))
		run_real(argv);
	if (policy && !strcmp(policy, "preferred") && CPU_COUNT(&nodes) > 1)
		fail("preferred takes one node");
	if (bound)
		bind_cpus(task, getpid(), &cpus);
	if (policy) {
		if (write_numa_maps(in_task(task, "proc/self/numa_maps"), kernels, &nodes))
			fail("cannot write %s: %s", in_task(task, "proc/self/numa_maps"), strerror(errno));
		if (task == getpid())
			record(task, "mem_list", policy, &nodes);
	}
	run(argv + optind);
}

int main(int argc, char **argv)
{
	char *slash = strrchr(argv[0], '/');
	tool = slash ? slash + 1 : argv[0];
	if (!strcmp(tool, "taskset"))
		taskset(argc, argv);
	else
		numactl(argc, argv);
	return 0;
}
