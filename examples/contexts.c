/* SPDX-License-Identifier: MIT */
/*
 * A program that draws a map, and informs holdtrace of its phases and of the tiles of its own pool
 * that it holds. Try:
 *
 *	cc -g -I include -o contexts examples/contexts.c && ./holdtrace -o map.rtrace ./contexts
 *	./holdtrace-postproc --leaks map.rtrace
 *
 * The report lists the tile that was never released, with the phase in which it was loaded.
 */
#include <holdtrace.h>

#include <stdlib.h>
#include <string.h>

#define TILES 8

struct tile {
	char *name;
	char pixels[256];
};

static struct tile pool[TILES];
static unsigned tiles, loading, drawing;

static struct tile *load_tile(const char *name)
{
	for (int i = 0; i < TILES; i++) {
		if (pool[i].name)
			continue;
		pool[i].name = strdup(name);
		holdtrace_acquired(tiles, &pool[i], sizeof(pool[i]));
		return &pool[i];
	}
	return NULL;
}

static void give_back(struct tile *tile)
{
	holdtrace_released(tiles, tile);
	free(tile->name);
	tile->name = NULL;
}

int main(void)
{
	struct tile *north, *south;

	tiles = holdtrace_class_create("tile", "tile of the map", 0);
	loading = holdtrace_context_create("loading");
	drawing = holdtrace_context_create("drawing");

	holdtrace_context_enter(loading);
	north = load_tile("north");
	south = load_tile("south");
	holdtrace_context_exit(loading);

	holdtrace_mark("all tiles are there");
	holdtrace_context_enter(drawing);
	memset(north->pixels, 1, sizeof(north->pixels));
	memset(south->pixels, 2, sizeof(south->pixels));
	give_back(north);
	holdtrace_context_exit(drawing);
	return 0;
}
