import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const RANDOM_BYTES = 16;
/** Drawing random bytes costs more than all the rest of an id, so they are drawn for many at once. */
const pool = new Uint8Array(256 * RANDOM_BYTES);
let used = pool.length;
let lastMs = 0;
let counter = 0;

/** RFC 9562 §5.7, each greater than the last one of this process (§6.2, method 1). */
export function uuidV7(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const random = pool.subarray(used, used + RANDOM_BYTES);
  used += RANDOM_BYTES;
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    // With its highest bit free there is room for more ids than a millisecond can hold.
    counter = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1;
  } else {
    counter += 1;
  }
  return v7({ random, msecs: lastMs, seq: counter });
}
