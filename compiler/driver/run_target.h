/* Where `run` runs: on the CPU, on GPUs, or with all ranks on one GPU. */
#ifndef MOK_DRIVER_RUN_TARGET_H
#define MOK_DRIVER_RUN_TARGET_H

#include "stages.h"

typedef enum mok_run_place { MOK_RUN_HOST, MOK_RUN_GPUS, MOK_RUN_COLOCATED } mok_run_place;

/* Decides from the flags, the plan and the driver, and sets work->target_name. An explicit demand for GPUs (--target of a GPU,
 * --require-gpu, --colocate) never falls back: MOK_ERR_GPU says what is missing. Otherwise GPUs are taken if there are enough of
 * the plan's kind, and the CPU with a note if not. */
MOK_MUST_USE mok_status mok_run_target(mok_session *session, mok_work *work, mok_run_place *out);

/* The same for a command that runs on GPUs and nowhere else, or for a package. */
MOK_MUST_USE mok_status mok_run_on_gpus(mok_session *session, mok_work *work, mok_run_place *out);

#endif
