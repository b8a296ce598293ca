/*
 * A stand-in for Pyxis (github.com/NVIDIA/pyxis): registers the options that one of its releases has,
 * refuses what that release refuses, and records what each step was given. It starts no container; where it is
 * told of a made-up image, tasks with --container-image get that image's variables and working folder.
 *
 * Arguments in plugstack.conf:
 *   record=FILE                      append one JSON object for each step and node to FILE
 *   sbatch                           the options exist on sbatch and salloc too (Pyxis 0.12.0 and later)
 *   environment                      PYXIS_CONTAINER_* count for what no option says (0.21.0 and later)
 *   option=NAME[,argument][,repeats][,negates=NAME]
 *   image=FOLDER                     of every image: FOLDER/env has its variables, NAME=value and a NUL each, and
 *                                    tasks work in FOLDER/workdir, unless --container-workdir says where
 *   containers=FOLDER                of every container: tasks work in FOLDER/NODE/pyxis_NAME, with the name of
 *                                    --container-name or JOB.STEP; it is made where it is not there, and stays
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

/* Slurm names the variables that carry options to the node after this name, so it must be Pyxis's own. */
SPANK_PLUGIN(pyxis, 1)

#define MOST 64

struct given {
	char name[64];
	int argument, repeats, negates; /* negates: the index of the other option, or -1 */
	int set, from_environment;
	char *value;
};

static struct given given[MOST];
static int known, with_sbatch, with_environment;
static const char *record_file, *image, *containers;

static int refuse(const char *name, const char *why)
{
	slurm_error("pyxis: --%s: %s", name, why);
	return -1;
}

static int check_mounts(const char *name, const char *text)
{
	char *copy = strdup(text), *rest = copy, *entry;
	int bad = copy == NULL;
	while (!bad && (entry = strsep(&rest, ","))) {
		char *source = strsep(&entry, ":"), *target = entry ? strsep(&entry, ":") : source;
		bad = !strchr("/.", *source) && strcmp(source, "tmpfs") && strcmp(source, "umount");
		bad = bad || !*source || !*target || !strchr("/.", *target);
	}
	free(copy);
	return bad ? refuse(name, "not SRC[:DST[:FLAGS]], with paths that begin with / or .") : 0;
}

static int check(const char *name, const char *value)
{
	if (!value || !*value)
		return refuse(name, "argument required");
	if (!strcmp(name, "container-mounts"))
		return check_mounts(name, value);
	if (!strcmp(name, "container-save") && value[strlen(value) - 1] == '/')
		return refuse(name, "target is a directory");
	if (!strcmp(name, "container-name") && *value == ':')
		return refuse(name, "empty name");
	return 0;
}

static int take(int index, const char *value, int from_environment)
{
	struct given *option = &given[index];
	if (option->argument && check(option->name, value))
		return -1;
	for (int other = 0; other < known; other++)
		if (given[other].set && (option->negates == other || given[other].negates == index)) {
			slurm_error("pyxis: both --%s and --%s were specified", given[other].name, option->name);
			return -1;
		}
	if (option->set && option->argument) {
		/* Slurm itself may call twice with the same value. */
		if (!strcmp(option->value, value))
			return 0;
		if (!option->repeats)
			return refuse(option->name, "specified multiple times");
		char *joined;
		if (asprintf(&joined, "%s,%s", option->value, value) < 0)
			return refuse(option->name, "out of memory");
		free(option->value);
		option->value = joined;
		return 0;
	}
	option->set = 1;
	option->from_environment = from_environment;
	option->value = option->argument ? strdup(value) : NULL;
	return 0;
}

static int called(int index, const char *value, int remote)
{
	(void)remote;
	return take(index, value, 0);
}

static int find(const char *name)
{
	for (int index = 0; index < known; index++)
		if (!strcmp(given[index].name, name))
			return index;
	return -1;
}

static int add_option(const char *text)
{
	char *copy = strdup(text), *rest = copy, *word;
	struct given *option = &given[known];
	if (!copy || known == MOST)
		return refuse(text, "too many options in plugstack.conf");
	snprintf(option->name, sizeof(option->name), "%s", strsep(&rest, ","));
	option->negates = -1;
	while ((word = strsep(&rest, ","))) {
		option->argument |= !strcmp(word, "argument");
		option->repeats |= !strcmp(word, "repeats");
		if (!strncmp(word, "negates=", 8))
			option->negates = find(word + 8);
	}
	free(copy);
	known++;
	return 0;
}

int slurm_spank_init(spank_t spank, int count, char **arguments)
{
	spank_context_t context = spank_context();
	for (int i = 0; i < count; i++) {
		if (!strncmp(arguments[i], "record=", 7))
			record_file = arguments[i] + 7;
		else if (!strncmp(arguments[i], "image=", 6))
			image = arguments[i] + 6;
		else if (!strncmp(arguments[i], "containers=", 11))
			containers = arguments[i] + 11;
		else if (!strcmp(arguments[i], "sbatch"))
			with_sbatch = 1;
		else if (!strcmp(arguments[i], "environment"))
			with_environment = 1;
		else if (!strncmp(arguments[i], "option=", 7) && add_option(arguments[i] + 7))
			return -1;
	}
	if (context != S_CTX_LOCAL && context != S_CTX_REMOTE && !(context == S_CTX_ALLOCATOR && with_sbatch))
		return 0;
	for (int index = 0; index < known; index++) {
		struct spank_option option = {
			.name = given[index].name,
			.arginfo = given[index].argument ? "VALUE" : NULL,
			.usage = "[pyxis stand-in] recorded; no container is started",
			.has_arg = given[index].argument,
			.val = index,
			.cb = called,
		};
		if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
			return refuse(given[index].name, "cannot be registered");
	}
	return 0;
}

static const char *variable(spank_t spank, const char *name, char *space, int size)
{
	if (spank_context() != S_CTX_REMOTE)
		return getenv(name);
	return spank_getenv(spank, name, space, size) == ESPANK_SUCCESS ? space : NULL;
}

static int truth(const char *text)
{
	static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "n", "y"};
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(text, words[i]))
			return i % 2;
	return -1;
}

static void read_environment(spank_t spank)
{
	for (int index = 0; index < known; index++) {
		static char space[65536];
		char name[80] = "PYXIS_";
		if (given[index].set || !strncmp(given[index].name, "no-", 3))
			continue;
		for (int i = 0; given[index].name[i]; i++) {
			char letter = given[index].name[i];
			name[6 + i] = letter == '-' ? '_' : letter - 'a' + 'A';
		}
		const char *value = variable(spank, name, space, sizeof(space));
		if (!value)
			continue;
		int which = index;
		if (!given[index].argument && truth(value) != 1) {
			/* "no" is the same as the option that negates this one. */
			which = given[index].negates;
			for (int other = 0; other < known && which < 0; other++)
				if (given[other].negates == index)
					which = other;
			if (truth(value) < 0 || which < 0)
				continue;
		}
		if (!given[which].set)
			take(which, value, 1);
	}
}

int slurm_spank_init_post_opt(spank_t spank, int count, char **arguments)
{
	(void)count;
	(void)arguments;
	if (with_environment)
		read_environment(spank);
	int image = find("container-image"), name = find("container-name");
	for (int index = 0; index < known && spank_context() != S_CTX_REMOTE; index++)
		if (given[index].set && !given[image].set && !given[name].set)
			slurm_error("pyxis: ignoring --%s because neither --container-image nor --container-name is set",
				    given[index].name);
	return 0;
}

static void write_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", *text);
		else
			fputc(*text, out);
	fputc('"', out);
}

static int names(const char *list, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = list; at && *at; at = strchr(at, ','), at += at != NULL)
		if (!strncmp(at, name, length) && (at[length] == ',' || !at[length]))
			return 1;
	return 0;
}

/* The image's variables win, but for those that --container-env names (spank_import_container_env). */
static int set_variables(spank_t spank)
{
	char path[4096], *entry = NULL;
	size_t size = 0;
	int kept = find("container-env");
	snprintf(path, sizeof(path), "%s/env", image);
	FILE *in = fopen(path, "r");
	if (!in) {
		slurm_error("pyxis: cannot read %s", path);
		return -1;
	}
	while (getdelim(&entry, &size, 0, in) > 0) {
		char *value = strchr(entry, '=');
		if (!value)
			continue;
		*value++ = 0;
		spank_setenv(spank, entry, value, kept < 0 || !names(given[kept].value, entry));
	}
	free(entry);
	fclose(in);
	return 0;
}

/* The root filesystem of a container of that name, which a step finds as the one before it left it. */
static int enter_container(spank_t spank)
{
	char node[256] = "", folder[4096];
	uint32_t job = 0, step = 0;
	const struct given *name = &given[find("container-name")];
	spank_getenv(spank, "SLURMD_NODENAME", node, sizeof(node));
	spank_get_item(spank, S_JOB_ID, &job);
	spank_get_item(spank, S_JOB_STEPID, &step);
	if (name->set)
		snprintf(folder, sizeof(folder), "%s/%s/pyxis_%s", containers, node, name->value);
	else
		snprintf(folder, sizeof(folder), "%s/%s/pyxis_%u.%u", containers, node, job, step);
	mkdir(folder, 0755);
	if (chdir(folder)) {
		slurm_error("pyxis: couldn't chdir to %s", folder);
		return -1;
	}
	return 0;
}

/* In what is about to become the task. */
int slurm_spank_task_init(spank_t spank, int count, char **arguments)
{
	(void)count;
	(void)arguments;
	if (containers && given[find("container-image")].set && enter_container(spank))
		return -1;
	if (!image || !given[find("container-image")].set)
		return 0;
	char folder[4096];
	const struct given *workdir = &given[find("container-workdir")];
	snprintf(folder, sizeof(folder), "%s/workdir", image);
	const char *wanted = workdir->set ? workdir->value : folder;
	if (chdir(wanted)) {
		slurm_error("pyxis: couldn't chdir to %s", wanted);
		return -1;
	}
	return set_variables(spank);
}

/* Once for each step and node, in slurmstepd, where the job and the step have their numbers. */
int slurm_spank_user_init(spank_t spank, int count, char **arguments)
{
	(void)count;
	(void)arguments;
	uint32_t job = 0, step = 0, node = 0;
	char *line = NULL, number[16];
	size_t size = 0;
	int some = 0;
	for (int index = 0; index < known; index++)
		some |= given[index].set;
	if (!some || !record_file || spank_context() != S_CTX_REMOTE)
		return 0;
	spank_get_item(spank, S_JOB_ID, &job);
	spank_get_item(spank, S_JOB_STEPID, &step);
	spank_get_item(spank, S_JOB_NODEID, &node);
	snprintf(number, sizeof(number), "%u", step);
	FILE *out = open_memstream(&line, &size);
	if (!out)
		return 0;
	fprintf(out, "{\"job\": %u, \"step\": \"%s\", \"node_id\": %u, \"options\": [", job,
		step == SLURM_BATCH_SCRIPT ? "batch" : step == SLURM_EXTERN_CONT ? "extern" : number, node);
	const char *comma = "";
	for (int index = 0; index < known; index++) {
		if (!given[index].set)
			continue;
		fprintf(out, "%s{\"name\": \"%s\", \"value\": ", comma, given[index].name);
		if (given[index].value)
			write_text(out, given[index].value);
		else
			fputs("null", out);
		fprintf(out, ", \"from_environment\": %s}", given[index].from_environment ? "true" : "false");
		comma = ", ";
	}
	fputs("]}\n", out);
	fclose(out);
	int fd = open(record_file, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || write(fd, line, size) < 0)
		slurm_error("pyxis: cannot write %s", record_file);
	if (fd >= 0)
		close(fd);
	free(line);
	return 0;
}
