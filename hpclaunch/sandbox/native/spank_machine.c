/*
 * Gives each task of a step a made-up machine: a folder with the node's /sys and /dev and a /proc of its own,
 * named by HPCLAUNCH_ROOT. What the task may use there is what Slurm asked the kernel for on its behalf
 * (preload.c knows), or where Slurm bound nothing, the cores that the step was granted on this node: what
 * task/cgroup would confine it to.
 *
 * slurm_spank_task_init runs as the job's user in what is about to become the task, after the task plugins
 * have bound it (exec_task in Slurm's task.c, 22.05 to 23.11). So nothing is forked and no controller asked,
 * which a TaskProlog would need.
 *
 * Arguments in plugstack.conf:
 *   machines=DIR  a made-up machine for each node's name      tasks=DIR  where a folder for each task is made
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#include "task.h"

SPANK_PLUGIN(hpclaunch_machine, 1)

#define LENGTH 512

static const char *machines, *tasks;
static char at[LENGTH];

/* The last one's text is overwritten by the next. */
static const char *path(const char *format, ...)
{
	static char texts[2][LENGTH];
	static int next;
	va_list values;
	va_start(values, format);
	next = !next;
	vsnprintf(texts[next], LENGTH, format, values);
	va_end(values);
	return texts[next];
}

static int refuse(const char *what)
{
	slurm_error("sandbox: %s: %s", what, strerror(errno));
	return -1;
}

static int read_arguments(int count, char **arguments)
{
	for (int i = 0; i < count; i++) {
		if (!strncmp(arguments[i], "machines=", 9))
			machines = arguments[i] + 9;
		if (!strncmp(arguments[i], "tasks=", 6))
			tasks = arguments[i] + 6;
	}
	return machines && tasks;
}

/* What a task that was killed has left here, or this one's own. */
static void clear(void)
{
	static const char *const files[] = {"sys", "proc/self/status", "proc/self/numa_maps", "proc/self/limits",
					    "proc/driver", "proc/meminfo", "proc/sys", "granted",
					    "record"};
	static const char *const folders[] = {"proc/self", "proc", "dev", ""};
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlink(path("%s/%s", at, files[i]));
	DIR *devices = opendir(path("%s/dev", at));
	for (struct dirent *entry; devices && (entry = readdir(devices));)
		unlink(path("%s/dev/%s", at, entry->d_name));
	if (devices)
		closedir(devices);
	for (unsigned i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		rmdir(path("%s/%s", at, folders[i]));
}

/* The kernel's CPUs of the step's cores, which Slurm counts in an order of its own. */
static int granted_cpus(spank_t spank, const char *node, cpu_set_t *set)
{
	char *text = NULL, line[256];
	cpu_set_t cores, core;
	CPU_ZERO(set);
	if (spank_get_item(spank, S_STEP_ALLOC_CORES, &text) != ESPANK_SUCCESS || !text || !read_list(text, &cores))
		return -1;
	FILE *in = fopen(path("%s/%s/slurm-cores", machines, node), "r");
	if (!in)
		return -1;
	for (int number = 0; number < CPUS && fgets(line, sizeof(line), in); number++)
		if (CPU_ISSET(number, &cores) && read_list(line, &core))
			CPU_OR(set, set, &core);
	fclose(in);
	return 0;
}

/* As where devices are confined (cgroup.conf, ConstrainDevices): the step's own GPUs alone. */
static int make_devices(spank_t spank, const char *node)
{
	char gpus[1024];
	cpu_set_t minors;
	if (mkdir(path("%s/dev", at), 0755) ||
	    symlink(path("%s/%s/dev/infiniband", machines, node), path("%s/dev/infiniband", at)))
		return -1;
	if (spank_getenv(spank, "SLURM_STEP_GPUS", gpus, sizeof(gpus)) != ESPANK_SUCCESS || !read_list(gpus, &minors))
		return 0;
	for (int minor = 0; minor < CPUS; minor++)
		if (CPU_ISSET(minor, &minors) &&
		    symlink(path("%s/%s/dev/nvidia%d", machines, node, minor), path("%s/dev/nvidia%d", at, minor)))
			return -1;
	return 0;
}

static int make_proc(const char *node, const cpu_set_t *granted)
{
	static const char *const links[] = {"driver", "meminfo", "sys", "self/limits"};
	static const char *const words[][2] = {{"preferred", "prefer"}, {"other", "default"}};
	int (*task_bound)(cpu_set_t *) = (int (*)(cpu_set_t *))dlsym(RTLD_DEFAULT, "sandbox_bound");
	const char *(*task_policy)(unsigned long *) =
		(const char *(*)(unsigned long *))dlsym(RTLD_DEFAULT, "sandbox_policy");
	cpu_set_t cpus = *granted, nodes;
	unsigned long numa = 0;
	const char *policy = task_policy ? task_policy(&numa) : NULL;
	if (task_bound)
		task_bound(&cpus);
	CPU_ZERO(&nodes);
	for (unsigned bit = 0; bit < 8 * sizeof(numa); bit++)
		if (numa >> bit & 1)
			CPU_SET(bit, &nodes);
	for (unsigned i = 0; policy && i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(policy, words[i][0]))
			policy = words[i][1];
	if (mkdir(path("%s/proc", at), 0755) || mkdir(path("%s/proc/self", at), 0755))
		return -1;
	for (unsigned i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (symlink(path("%s/%s/proc/%s", machines, node, links[i]), path("%s/proc/%s", at, links[i])))
			return -1;
	return write_status(path("%s/proc/self/status", at), &cpus) ||
	       write_numa_maps(path("%s/proc/self/numa_maps", at), policy ? policy : "default", &nodes);
}

static long number_of(spank_t spank, const char *name)
{
	char text[32];
	return spank_getenv(spank, name, text, sizeof(text)) == ESPANK_SUCCESS ? strtol(text, NULL, 10) : 0;
}

/* For the stand-ins of taskset and numactl: what the task may use, and how its lines in the record begin. */
static int make_notes(spank_t spank, const char *node, const cpu_set_t *granted)
{
	FILE *out = fopen(path("%s/granted", at), "w");
	if (!out)
		return -1;
	write_list(out, granted);
	if (fclose(out) || !(out = fopen(path("%s/record", at), "w")))
		return -1;
	fprintf(out, "{\"job\": %ld, \"restart\": %ld, \"step\": \"%ld\", \"node\": \"%s\"", number_of(spank, "SLURM_JOB_ID"),
		number_of(spank, "SLURM_RESTART_COUNT"), number_of(spank, "SLURM_STEP_ID"), node);
	fprintf(out, ", \"rank\": %ld, \"local_rank\": %ld, \"pid\": %d", number_of(spank, "SLURM_PROCID"),
		number_of(spank, "SLURM_LOCALID"), getpid());
	return fclose(out);
}

int slurm_spank_task_init(spank_t spank, int count, char **arguments)
{
	uint32_t step = 0;
	char node[128];
	cpu_set_t granted;
	if (!read_arguments(count, arguments) || spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
	    step >= SLURM_MAX_NORMAL_STEP_ID) /* a batch script is no rank */
		return 0;
	if (spank_getenv(spank, "SLURMD_NODENAME", node, sizeof(node)) != ESPANK_SUCCESS)
		return 0;
	snprintf(at, sizeof(at), "%s/%d", tasks, getpid());
	if (mkdir(at, 0755)) {
		clear();
		if (mkdir(at, 0755))
			return refuse(at);
	}
	if (symlink(path("%s/%s/sys", machines, node), path("%s/sys", at)) || granted_cpus(spank, node, &granted) ||
	    make_proc(node, &granted) || make_devices(spank, node) || make_notes(spank, node, &granted))
		return refuse(at);
	return spank_setenv(spank, "HPCLAUNCH_ROOT", at, 1) == ESPANK_SUCCESS ? 0 : refuse("HPCLAUNCH_ROOT");
}

int slurm_spank_task_exit(spank_t spank, int count, char **arguments)
{
	pid_t pid = 0;
	if (!read_arguments(count, arguments) || spank_get_item(spank, S_TASK_PID, &pid) != ESPANK_SUCCESS || pid <= 0)
		return 0;
	snprintf(at, sizeof(at), "%s/%d", tasks, pid);
	clear();
	return 0;
}
