/* Shared memory of a CTA. */
#ifndef MOK_SHARED_H
#define MOK_SHARED_H

MOK_HOST_UNCHECKED MOK_FN char *mok_shared(mok_cta *c) {
  if (c->host->shared == NULL) {
    MOK_HOST_UNSEEN_BEGIN();
    c->host->shared = (char *)malloc(LAYOUT_SHARED_BYTES);
    if (c->host->shared == NULL) abort(); /* at most a quarter of a MB: the process is beyond help */
    mok_poison(c->host->shared, LAYOUT_SHARED_BYTES);
    MOK_HOST_UNSEEN_END();
  }
  return c->host->shared;
}

#endif
