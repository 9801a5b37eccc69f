#include "target.h"

/* A measured family: the points of one piece size and issuer count, in rising order of SMs. */
typedef struct family {
  const mok_wire_point *points;
  size_t count;
} family;

static family family_at(const mok_wire_curve *curve, size_t first) {
  size_t end = first + 1;
  while (end < curve->count && curve->points[end].piece_bytes == curve->points[first].piece_bytes &&
         curve->points[end].issuers == curve->points[first].issuers)
    ++end;
  return (family){curve->points + first, end - first};
}

static double on_line(double x, double x0, double y0, double x1, double y1) { return y0 + (y1 - y0) * (x - x0) / (x1 - x0); }

/* Proportional below the first point (nothing issued, nothing moved); the last two points' line goes on, since the rate is linear
 * in SMs until the link is full, and the limit is applied at the end. */
static double rate_of_family(family f, double sms) {
  if (f.count == 1 || sms <= f.points[0].sms) return f.points[0].gbs * sms / f.points[0].sms;
  size_t i = 1;
  while (i + 1 < f.count && f.points[i].sms < sms) ++i;
  return on_line(sms, f.points[i - 1].sms, f.points[i - 1].gbs, f.points[i].sms, f.points[i].gbs);
}

/* Rate at one measured piece size, whose families start at `first`; *end is the first point of the next size. Fewer issuers than
 * measured count as fewer SMs, more are no faster. */
static double rate_of_piece(const mok_wire_curve *curve, size_t first, int issuers, double sms, size_t *end) {
  const int64_t piece = curve->points[first].piece_bytes;
  double lo_issuers = 0, lo = 0, rate = -1;
  size_t at = first;
  while (at < curve->count && curve->points[at].piece_bytes == piece) {
    const family f = family_at(curve, at);
    const double here_issuers = f.points[0].issuers, here = rate_of_family(f, sms);
    if (rate < 0 && issuers <= here_issuers)
      rate =
          lo_issuers > 0 ? on_line(issuers, lo_issuers, lo, here_issuers, here) : rate_of_family(f, sms * issuers / here_issuers);
    lo_issuers = here_issuers;
    lo = here;
    at += f.count;
  }
  *end = at;
  return rate < 0 ? lo : rate;
}

double mok_wire_gbs(const mok_wire_curve *curve, int64_t piece_bytes, int issuers, double sms) {
  if (curve->count == 0 || piece_bytes <= 0 || issuers <= 0 || sms <= 0) return 0;
  const double piece = (double)piece_bytes;
  double lo_piece = 0, lo = 0, rate = -1;
  for (size_t at = 0; at < curve->count && rate < 0;) {
    const double here_piece = (double)curve->points[at].piece_bytes;
    const double here = rate_of_piece(curve, at, issuers, sms, &at);
    if (piece <= here_piece) rate = lo_piece > 0 ? on_line(piece, lo_piece, lo, here_piece, here) : here * piece / here_piece;
    lo_piece = here_piece;
    lo = here;
  }
  if (rate < 0) rate = lo;
  return rate < curve->limit_gbs ? rate : curve->limit_gbs;
}
