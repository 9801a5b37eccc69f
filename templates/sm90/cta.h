/* State of a CTA. What all its threads share lies in shared memory and is read where it is needed: kept in registers across a
 * tile, it would leave too few for the accumulators. */
#ifndef MOK_CTA_H
#define MOK_CTA_H

/* Shared memory of the CTA, by the offsets of mok_layout.h. */
extern __shared__ unsigned char mok_shared_memory[];
MOK_FN unsigned mok_shared_address(int offset) { return mok_ptx_shared_address(mok_shared_memory) + (unsigned)offset; }
/* Scratch of the route phase: the pipeline is idle then. */
MOK_FN int *mok_scratch() { return (int *)(mok_shared_memory + LAYOUT_PIPELINE_OFFSET); }
enum { MOK_SCRATCH_WORDS = (int)(LAYOUT_PIPELINE_BYTES / 4) };

/* Words of region `cta`. */
enum {
  MOK_CTA_ARGS = 0, /* two words: a pointer */
  MOK_CTA_EPOCH = 2,
  MOK_CTA_CTA,
  MOK_CTA_CTAS,
  MOK_CTA_ROLE,
  MOK_CTA_ROLE_CTA,
  MOK_CTA_ROLE_CTAS,
  MOK_CTA_TOKENS,
  MOK_CTA_TOKEN_BLOCKS,
  MOK_CTA_ROW_BLOCKS,
  MOK_CTA_TICKET, /* of a cluster's first CTA */
  MOK_CTA_BAD_IDS,
  MOK_CTA_BAD_ROUTE,
  MOK_CTA_ABORTED, /* some CTA of the cluster has given up */
  MOK_CTA_STORED = 32 /* MOK_STORED_TURNS words of each multiplying warpgroup: its warps that have stored a tile */
};
enum { MOK_STORED_TURNS = 16, MOK_NOTHING_OWED = -1 };
static_assert(MOK_CTA_STORED + MOK_CONSUMERS * MOK_STORED_TURNS <= LAYOUT_CTA_BYTES / 4, "they fit region cta");
MOK_FN unsigned *mok_cta_word(int word) { return (unsigned *)(mok_shared_memory + LAYOUT_CTA_OFFSET) + word; }

/* Looks like a value of type T and is one of those words. All threads of the CTA set it, to the same value, and the first one's
 * counts; the others see it after their next meeting. */
template <class T, int word>
struct mok_shared_value {
  MOK_FN operator T() const { return *(const T *)mok_cta_word(word); }
  MOK_FN void operator=(T value) {
    if (threadIdx.x == 0) *(T *)mok_cta_word(word) = value;
  }
};
template <int word>
struct mok_shared_args {
  MOK_FN operator const mok_rank_args *() const { return *(const mok_rank_args *const *)mok_cta_word(word); }
  MOK_FN const mok_rank_args *operator->() const { return *this; }
  MOK_FN void operator=(const mok_rank_args *value) {
    if (threadIdx.x == 0) *(const mok_rank_args **)mok_cta_word(word) = value;
  }
};
#define MOK_SETTLE() __syncthreads()

typedef struct mok_cta {
  /* MOK_CTA_MEMBERS, under the same names. */
  const mok_args *launch; /* a kernel parameter: in no register either */
  mok_shared_args<MOK_CTA_ARGS> args;
  mok_shared_value<unsigned, MOK_CTA_EPOCH> epoch;
  mok_shared_value<int, MOK_CTA_CTA> cta;
  mok_shared_value<int, MOK_CTA_CTAS> ctas;
  mok_shared_value<int, MOK_CTA_ROLE> role;
  mok_shared_value<int, MOK_CTA_ROLE_CTA> role_cta;
  mok_shared_value<int, MOK_CTA_ROLE_CTAS> role_ctas;
  mok_shared_value<int, MOK_CTA_TOKENS> tokens;
  mok_shared_value<int, MOK_CTA_TOKEN_BLOCKS> token_blocks;
  mok_shared_value<int, MOK_CTA_ROW_BLOCKS> row_blocks;
  int instance, instances;

  /* Read once by each worker: in a loop over stages each access to shared memory counts. */
  unsigned shared;              /* address of the CTA's shared memory */
  const mok_tensor_map *maps;   /* of this rank */

  int first_warp, warps; /* of this worker instance */
  int warp;              /* this warp's number in the instance */
  unsigned barriers;     /* grid barriers passed in this launch */
  int stage;             /* next pipeline stage, or slot, of this worker */
  unsigned parity;       /* of the lap that `stage` is in */
  int owed;              /* counter word whose signal this warp has put off, or MOK_NOTHING_OWED */
  unsigned turn;         /* tiles this warp has stored */
  bool shares_b;         /* the other CTA of the cluster multiplies by the same weights in this tile */
  bool has_slots;        /* this warp's slot barriers are initialised */
  bool aborted;          /* waits return at once, nothing is written; tasks still run out, so that workers stay in step */
} mok_cta;


#endif
