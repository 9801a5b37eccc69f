/* The pipeline, and why it has this order. */
#include "pass_impl.h"

const mok_pass *const mok_pipeline[] = {
    &mok_pass_fuse_epilogues, /* first: it rewrites values, and one task must come of gate, up and activation */
    &mok_pass_assign_roles,   /* values become tasks; before tile, because a task's tiles depend on its worker */
    &mok_pass_tile,           /* before allocate-rings: a ring slot is one tile of rows, its lap a count of minibatches */
    &mok_pass_allocate_rings, /* before insert-sync: only a region known to be a ring has slots to wait for */
    &mok_pass_insert_sync,    /* after all that says who touches what, and in which order */
    &mok_pass_check_protocol, /* after insert-sync, and before names are fixed: it reads the protocol, not its spelling */
    &mok_pass_lower_to_cuda,  /* last: it only spells out */
};
const size_t mok_pipeline_length = sizeof mok_pipeline / sizeof *mok_pipeline;
