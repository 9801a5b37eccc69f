/* Shared memory of a CTA. */
#ifndef MOK_SHARED_H
#define MOK_SHARED_H

MOK_HOST_UNCHECKED MOK_FN char *mok_shared(mok_cta *c) {
  if (c->host->shared == NULL) {
    c->host->shared = (char *)mok_grow(NULL, LAYOUT_SHARED_BYTES);
    mok_poison(c->host->shared, LAYOUT_SHARED_BYTES);
  }
  return c->host->shared;
}

#endif
