/* colony.c - the twelve systems of the colony, each a scope that can be watched. */
#include "colony.h"

#include <string.h>

#include "tare.h"

#define NEST (COLONY_SIDE / 2)

static uint32_t draw(struct colony *colony, uint32_t below)
{
	uint64_t z = colony->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(((z >> 32) * below) >> 32);
}

static void weather(struct colony *colony)
{
	TARE_WATCH("weather");
	colony->warmth += (int32_t)draw(colony, 5) - 2;
	if (colony->warmth > 100 || colony->warmth < -100)
		colony->warmth = 0;
}

static void growth(struct colony *colony)
{
	TARE_WATCH("growth");
	for (int i = 0; i < 16; i++) {
		uint16_t *food =
			&colony->food[draw(colony, COLONY_SIDE)][draw(colony, COLONY_SIDE)];

		if (*food < 1000)
			*food = (uint16_t)(*food + 4);
	}
}

static void evaporation(struct colony *colony)
{
	TARE_WATCH("evaporation");
	for (uint32_t y = 0; y < COLONY_SIDE; y++)
		for (uint32_t x = 0; x < COLONY_SIDE; x++)
			colony->scent[y][x] =
				(uint16_t)(colony->scent[y][x] - colony->scent[y][x] / 16);
}

static void hunger(struct colony *colony)
{
	TARE_WATCH("hunger");
	for (uint32_t i = 0; i < COLONY_ANTS; i++)
		colony->ants[i].hunger++;
}

static void ageing(struct colony *colony)
{
	TARE_WATCH("ageing");
	for (uint32_t i = 0; i < COLONY_ANTS; i++)
		if (colony->ants[i].age < INT16_MAX)
			colony->ants[i].age++;
}

static void tasks(struct colony *colony)
{
	TARE_WATCH("tasks");
	for (uint32_t i = 0; i < COLONY_ANTS; i++)
		colony->ants[i].task = colony->ants[i].load > 0 || colony->ants[i].hunger > 200;
}

/* Toward the nest by the path, or anywhere. */
static void step(struct colony *colony, struct ant *ant)
{
	uint32_t turn = draw(colony, 4);
	uint16_t x = (uint16_t)((ant->x + (turn == 0) + COLONY_SIDE - (turn == 1)) % COLONY_SIDE);
	uint16_t y = (uint16_t)((ant->y + (turn == 2) + COLONY_SIDE - (turn == 3)) % COLONY_SIDE);

	if (ant->task == 0 || colony->path[y][x] <= colony->path[ant->y][ant->x]) {
		ant->x = x;
		ant->y = y;
	}
}

static void movement(struct colony *colony)
{
	TARE_WATCH("movement");
	for (uint32_t i = 0; i < COLONY_ANTS; i++)
		step(colony, &colony->ants[i]);
}

static void gathering(struct colony *colony)
{
	TARE_WATCH("gathering");
	for (uint32_t i = 0; i < COLONY_ANTS; i++) {
		struct ant *ant = &colony->ants[i];
		uint16_t *food = &colony->food[ant->y][ant->x];

		if (ant->load == 0 && *food > 0) {
			(*food)--;
			ant->load = 1;
		}
	}
}

static void delivery(struct colony *colony)
{
	TARE_WATCH("delivery");
	for (uint32_t i = 0; i < COLONY_ANTS; i++) {
		struct ant *ant = &colony->ants[i];

		if (colony->path[ant->y][ant->x] > 1)
			continue;
		colony->stock += ant->load;
		ant->load = 0;
		if (colony->stock > 0 && ant->hunger > 100) {
			colony->stock--;
			ant->hunger = 0;
		}
	}
}

static void scents(struct colony *colony)
{
	TARE_WATCH("scents");
	for (uint32_t i = 0; i < COLONY_ANTS; i++) {
		struct ant *ant = &colony->ants[i];
		uint16_t *scent = &colony->scent[ant->y][ant->x];

		if (ant->load > 0 && *scent < 60000)
			*scent = (uint16_t)(*scent + 32);
	}
}

static void births(struct colony *colony)
{
	TARE_WATCH("births");
	for (uint32_t i = 0; i < COLONY_ANTS; i++) {
		struct ant *ant = &colony->ants[i];

		if (ant->hunger < 2000 && ant->age < 20000)
			continue;
		*ant = (struct ant){ .x = NEST, .y = NEST };
		colony->died++;
		colony->born++;
	}
}

/* The hot one: nothing to do on most ticks, and the whole world on every 97th. */
static void paths(struct colony *colony)
{
	TARE_WATCH("paths");
	if (colony->tick % COLONY_RARE != 0)
		return;
	memset(colony->path, 0xff, sizeof(colony->path));
	colony->path[NEST][NEST] = 0;
	for (uint32_t round = 0; round < 2 * COLONY_SIDE; round++)
		for (uint32_t y = 0; y < COLONY_SIDE; y++)
			for (uint32_t x = 0; x < COLONY_SIDE; x++) {
				uint32_t left =
					colony->path[y][(x + COLONY_SIDE - 1) % COLONY_SIDE];
				uint32_t above =
					colony->path[(y + COLONY_SIDE - 1) % COLONY_SIDE][x];
				uint32_t right = colony->path[y][(x + 1) % COLONY_SIDE];
				uint32_t below = colony->path[(y + 1) % COLONY_SIDE][x];
				uint32_t least = left < right ? left : right;

				least = above < least ? above : least;
				least = below < least ? below : least;
				if (least + 1 < colony->path[y][x])
					colony->path[y][x] = (uint16_t)(least + 1);
			}
}

void colony_init(struct colony *colony, uint64_t seed)
{
	memset(colony, 0, sizeof(*colony));
	colony->random = seed;
	for (uint32_t i = 0; i < COLONY_ANTS; i++)
		colony->ants[i] =
			(struct ant){ .x = NEST, .y = NEST, .age = (int16_t)draw(colony, 1000) };
	for (int i = 0; i < 4000; i++)
		colony->food[draw(colony, COLONY_SIDE)][draw(colony, COLONY_SIDE)]++;
}

void colony_tick(struct colony *colony)
{
	static void (*const systems[COLONY_SYSTEMS])(struct colony *) = {
		weather, growth,   evaporation, hunger,	  ageing, tasks,
		paths,	 movement, gathering,	delivery, scents, births,
	};

	for (uint32_t i = 0; i < COLONY_SYSTEMS; i++)
		systems[i](colony);
	colony->tick++;
}

/* FNV-1a over what is neither padding nor the same in all colonies. */
uint64_t colony_digest(const struct colony *colony)
{
	uint64_t digest = UINT64_C(0xcbf29ce484222325);
	uint64_t words[4] = { colony->tick, colony->random, colony->stock,
			      (uint64_t)colony->died << 32 | colony->born };

	for (uint32_t i = 0; i < 4; i++)
		digest = (digest ^ words[i]) * UINT64_C(0x100000001b3);
	for (uint32_t i = 0; i < COLONY_ANTS; i++) {
		const struct ant *ant = &colony->ants[i];

		digest = (digest ^ ((uint64_t)ant->x << 32 | (uint64_t)ant->y << 16 |
				    (uint16_t)ant->hunger)) *
			 UINT64_C(0x100000001b3);
	}
	return digest;
}
