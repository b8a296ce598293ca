/*
 * Loaded into slurmd and slurmstepd of the sandbox, never into a task: it makes the kernel look as if it
 * had the CPUs and NUMA nodes of the node type, and records what Slurm decided for each task.
 *
 * Defined by the compiler's command line:
 *   NUMA_OF_CPU  the NUMA node of CPU 0, 1, 2, ...      NUMA_NODES  how many NUMA nodes
 *   RECORD       the file to append to: one JSON object a line for each task
 *
 * Slurm's parent process binds a task (sched_setaffinity with the child's pid), the child asks for its
 * memory policy and then replaces itself by the task. A page that both share carries the mask over, so
 * that the child can write one line at execve, where the task's own environment says which rank it is.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPUS 1024 /* as in cpu_set_t, which Slurm uses */
#define SLOTS 4096
#define WORD_BITS (8 * sizeof(unsigned long))

static const short numa_of_cpu[] = {NUMA_OF_CPU};
#define FAKE_CPUS (sizeof(numa_of_cpu) / sizeof(*numa_of_cpu))

/* The layout of libnuma's struct bitmask (numa.h), which is part of its interface. */
struct bitmask {
	unsigned long size;
	unsigned long *maskp;
};

struct slot {
	pid_t pid;
	cpu_set_t mask;
};

static struct {
	unsigned used;
	struct slot slots[SLOTS];
} *shared;

static const char *policy;
static unsigned long policy_nodes;

static void __attribute__((constructor)) start(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		shared = NULL;
}

static const struct slot *bound(pid_t pid)
{
	if (!shared)
		return NULL;
	unsigned used = __atomic_load_n(&shared->used, __ATOMIC_ACQUIRE);
	for (unsigned back = 0; back < used && back < SLOTS; back++) {
		const struct slot *slot = &shared->slots[(used - 1 - back) % SLOTS];
		if (slot->pid == pid)
			return slot;
	}
	return NULL;
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *mask)
{
	if (shared) {
		struct slot *slot = &shared->slots[shared->used % SLOTS];
		memset(&slot->mask, 0, sizeof(slot->mask));
		memcpy(&slot->mask, mask, size < sizeof(slot->mask) ? size : sizeof(slot->mask));
		slot->pid = pid ? pid : getpid();
		__atomic_add_fetch(&shared->used, 1, __ATOMIC_RELEASE);
	}
	if (syscall(SYS_sched_setaffinity, pid, size, mask) == 0)
		return 0;
	return errno == EINVAL ? 0 : -1; /* EINVAL: this machine has none of these CPUs */
}

/* The memory policy is what the task asked for; this kernel has not got the NUMA nodes. */
long set_mempolicy(int mode, const unsigned long *nodes, unsigned long bits)
{
	static const char *const names[] = {"default", "preferred", "bind", "interleave", "local"};
	unsigned kind = mode & ~MPOL_MODE_FLAGS;
	policy = kind < sizeof(names) / sizeof(*names) ? names[kind] : "other";
	policy_nodes = nodes && bits ? nodes[0] : 0;
	return 0;
}

long get_mempolicy(int *mode, unsigned long *nodes, unsigned long bits, void *address, unsigned flags)
{
	(void)address;
	(void)flags;
	if (mode)
		*mode = MPOL_DEFAULT;
	if (nodes)
		memset(nodes, 0, (bits + 7) / 8);
	return 0;
}

/* For spank_machine.c, which is in the same process: what was asked for on behalf of this task. */
int sandbox_bound(cpu_set_t *mask)
{
	const struct slot *slot = bound(getpid());
	if (slot)
		*mask = slot->mask;
	return slot != NULL;
}

const char *sandbox_policy(unsigned long *nodes)
{
	*nodes = policy_nodes;
	return policy;
}

/* Where libnuma is linked with -Bsymbolic-functions, as in Ubuntu, its own calls do not come by the above. */
void numa_set_membind(struct bitmask *nodes)
{
	set_mempolicy(MPOL_BIND, nodes->maskp, nodes->size + 1);
}

void numa_set_preferred(int node)
{
	unsigned long mask = node < 0 ? 0 : 1UL << node;
	set_mempolicy(node < 0 ? MPOL_LOCAL : MPOL_PREFERRED, &mask, WORD_BITS + 1);
}

int numa_available(void)
{
	return 0;
}

int numa_max_node(void)
{
	return NUMA_NODES - 1;
}

static struct bitmask *new_bitmask(unsigned long bits)
{
	struct bitmask *made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	made->size = bits;
	made->maskp = calloc((bits + WORD_BITS - 1) / WORD_BITS, sizeof(unsigned long));
	return made;
}

static void set_bit(struct bitmask *mask, unsigned long bit)
{
	if (bit < mask->size)
		mask->maskp[bit / WORD_BITS] |= 1UL << bit % WORD_BITS;
}

struct bitmask *numa_allocate_cpumask(void)
{
	return new_bitmask(CPUS);
}

int numa_node_to_cpus(int node, struct bitmask *mask)
{
	memset(mask->maskp, 0, (mask->size + 7) / 8);
	for (unsigned cpu = 0; cpu < FAKE_CPUS; cpu++)
		if (numa_of_cpu[cpu] == node)
			set_bit(mask, cpu);
	return 0;
}

/* For --mem-bind=local: the NUMA nodes of the CPUs that the task was bound to; unbound: all. */
struct bitmask *numa_get_run_node_mask(void)
{
	struct bitmask *mask = new_bitmask(8 * sizeof(unsigned long));
	const struct slot *slot = bound(getpid());
	for (unsigned cpu = 0; mask && cpu < FAKE_CPUS; cpu++)
		if (!slot || CPU_ISSET(cpu, &slot->mask))
			set_bit(mask, numa_of_cpu[cpu]);
	return mask;
}

static const char *value_of(char *const env[], const char *name)
{
	size_t length = strlen(name);
	for (; env && *env; env++)
		if (!strncmp(*env, name, length) && (*env)[length] == '=')
			return *env + length + 1;
	return NULL;
}

static long number_of(char *const env[], const char *name)
{
	const char *text = value_of(env, name);
	return text ? strtol(text, NULL, 10) : 0;
}

/* slurmstepd's title is "slurmstepd: [7.0]" or "[7.batch]"; the environment of a batch script has no step
 * id, or that of the shell which submitted it. */
static int read_step(char *step, size_t size)
{
	char title[256];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t got = read(fd, title, sizeof(title) - 1);
	close(fd);
	if (got <= 0)
		return 0;
	title[got] = 0;
	char *open_bracket = strchr(title, '['), *dot = open_bracket ? strchr(open_bracket, '.') : NULL;
	char *end = dot ? strchr(dot, ']') : NULL;
	if (!end || (size_t)(end - dot) > size)
		return 0;
	*end = 0;
	strcpy(step, dot + 1);
	return 1;
}

static char *add(char *to, char *end, const char *format, ...)
{
	va_list values;
	va_start(values, format);
	int length = vsnprintf(to, end - to, format, values);
	va_end(values);
	return length < end - to ? to + length : end;
}

static void record(char *const env[])
{
	char line[2048], *end = line + sizeof(line), *at = line;
	char step[64];
	const char *node = value_of(env, "SLURMD_NODENAME");
	if (!node || !value_of(env, "SLURM_JOB_ID") || !read_step(step, sizeof(step)))
		return;
	at = add(at, end, "{\"job\": %ld, \"restart\": %ld, \"step\": \"%s\", \"node\": \"%s\"",
		 number_of(env, "SLURM_JOB_ID"), number_of(env, "SLURM_RESTART_COUNT"), step, node);
	at = add(at, end, ", \"rank\": %ld, \"local_rank\": %ld, \"pid\": %d", number_of(env, "SLURM_PROCID"),
		 number_of(env, "SLURM_LOCALID"), getpid());
	const struct slot *slot = bound(getpid());
	at = add(at, end, slot ? ", \"cpu_mask\": \"" : ", \"cpu_mask\": null");
	if (slot) {
		for (int nibble = CPUS / 4 - 1; nibble >= 0; nibble--) {
			int digit = 0;
			for (int bit = 0; bit < 4; bit++)
				digit |= !!CPU_ISSET(4 * nibble + bit, &slot->mask) << bit;
			at = add(at, end, "%x", digit);
		}
		at = add(at, end, "\"");
	}
	if (policy)
		at = add(at, end, ", \"mem_policy\": \"%s\", \"mem_mask\": \"%lx\"", policy, policy_nodes);
	at = add(at, end, "}\n");
	int fd = open(RECORD, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, line, at - line) < 0)
		fprintf(stderr, "sandbox: cannot write %s: %s\n", RECORD, strerror(errno));
	close(fd);
}

int execve(const char *path, char *const argv[], char *const env[])
{
	record(env);
	return syscall(SYS_execve, path, argv, env);
}
