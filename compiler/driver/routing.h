/* Which experts the tokens of a test run visit. */
#ifndef MOK_DRIVER_ROUTING_H
#define MOK_DRIVER_ROUTING_H

#include "problem.h"

/* Fills ids and weights of every rank (sizes already set) and expert_rows. */
MOK_MUST_USE mok_status mok_routing_fill(mok_arena *arena, mok_problem *problem, const mok_routing *routing);

#endif
