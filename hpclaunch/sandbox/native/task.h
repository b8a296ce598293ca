/* The folder of a task, TASKS/PID: what spank_machine.c makes and bindtools.c changes. */
#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS 1024 /* as in cpu_set_t */

/* A kernel list, "48-55,176"; 0 for anything else. */
static inline int read_list(const char *text, cpu_set_t *set)
{
	CPU_ZERO(set);
	while (isdigit((unsigned char)*text)) {
		char *end;
		long first = strtol(text, &end, 10), last = first;
		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtol(end + 1, &end, 10);
		if (last < first || last >= CPUS)
			return 0;
		for (; first <= last; first++)
			CPU_SET(first, set);
		if (*end != ',')
			return *end == 0 || *end == '\n';
		text = end + 1;
	}
	return 0;
}

static inline void write_list(FILE *out, const cpu_set_t *set)
{
	const char *comma = "";
	for (int cpu = 0; cpu < CPUS; cpu++) {
		int first = cpu;
		if (!CPU_ISSET(cpu, set))
			continue;
		while (cpu + 1 < CPUS && CPU_ISSET(cpu + 1, set))
			cpu++;
		fprintf(out, first == cpu ? "%s%d" : "%s%d-%d", comma, first, cpu);
		comma = ",";
	}
}

/* The two lines of /proc/PID/status that a rank reads of itself (proc(5)). */
static inline int write_status(const char *path, const cpu_set_t *set)
{
	FILE *out = fopen(path, "w");
	if (!out)
		return -1;
	fputs("Name:\tsandbox\nCpus_allowed_list:\t", out);
	write_list(out, set);
	fputs("\n", out);
	return fclose(out);
}

/* A line of /proc/PID/numa_maps (man numa, "/proc/[number]/numa_maps"): the policy is its second word. */
static inline int write_numa_maps(const char *path, const char *policy, const cpu_set_t *nodes)
{
	FILE *out = fopen(path, "w");
	if (!out)
		return -1;
	fprintf(out, "00400000 %s", policy);
	if (nodes && CPU_COUNT(nodes)) {
		fputs(":", out);
		write_list(out, nodes);
	}
	fputs(" file=/bin/sh mapped=1 N0=1 kernelpagesize_kB=4\n", out);
	return fclose(out);
}
