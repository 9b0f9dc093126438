import type { Violation } from './checker.ts';
import { groupBy } from './group-by.ts';
import type { Evidence, MoveRecord, SendRecord, Struck } from './records.ts';

/**
 * A send is under way for less than this after its ownership was looked at, in ms: the PSP time-out.
 * An entry is taken over seconds after the last moment in which a send may begin.
 */
const SEND_MS = 1_000;
/** Evidence of a superseded attempt may take as long as its statement's budget and then some, in ms. */
const EVIDENCE_MS = 8_000;

type Report = (what: string, reference: string) => void;
type Moves = ReadonlyMap<string, readonly MoveRecord[]>;

/** Who no longer owns an entry does not move it, sends nothing for it, and keeps what it knows. Pure. */
export function checkPauses(evidence: Evidence): readonly Violation[] {
  const found: Violation[] = [];
  const keys = new Map(evidence.entries.map(({ id, key }) => [id, key]));
  const report: Report = (what, reference) =>
    found.push({ promise: 'P13', what, key: keys.get(reference) ?? reference });
  const moves = groupBy(evidence.moves, ({ entryId }) => entryId);
  const struck = evidence.events.filter((event) => event.kind === 'struck');
  for (const [reference, own] of moves) checkOwners(reference, own, report);
  for (const send of evidence.sends)
    checkSend(send, moves.get(send.reference) ?? [], struck, report);
  checkEvidence(evidence, moves, struck, report);
  return found;
}

/** Ownership goes on and never comes back, and what has ended is moved by nobody. */
function checkOwners(reference: string, moves: readonly MoveRecord[], report: Report): void {
  const superseded = new Set<string>();
  let before: MoveRecord | undefined;
  for (const move of moves) {
    if (before !== undefined) {
      if (move.owner !== before.owner) superseded.add(before.owner);
      if (superseded.has(move.owner))
        report(`${move.server} moved what it no longer owned`, reference);
      if (move.attempt < before.attempt) report('an attempt came back', reference);
      const hasEnded = before.state === 'SUCCEEDED' || before.state === 'DECLINED';
      if (hasEnded && move.state !== before.state)
        report(`moved on from ${before.state}`, reference);
    }
    before = move;
  }
}

/** Only in the midst of sending can a process stand still and still be heard later. */
const IN_SENDING: ReadonlySet<string> = new Set(['psp-headers', 'psp-body']);

function checkSend(
  { at, server, reference }: SendRecord,
  moves: readonly MoveRecord[],
  struck: readonly Struck[],
  report: Report,
): void {
  const owner = moves.findLast((move) => move.at <= at - SEND_MS) ?? moves[0];
  // A webhook moves an entry under its owner's name: who took it over is who brought the token.
  const brought = moves.find((move) => move.owner === owner?.owner);
  if (brought === undefined || brought.server === server) return;
  const isOwnNow = moves.some(
    (move) => move.server === server && move.at <= at && move.at > at - SEND_MS,
  );
  const stoodStill = struck.some(
    (one) =>
      one.server === server &&
      IN_SENDING.has(one.point) &&
      one.at <= at &&
      at <= one.until + SEND_MS,
  );
  if (!isOwnNow && !stoodStill)
    report(`${server} sent it while ${brought.server} owned it`, reference);
}

/** Outcomes that are evidence; that something is not known is none. */
const KNOWN: ReadonlySet<string> = new Set(['SUCCEEDED', 'DECLINED']);

/** Who stood still with an answer in its hand and was overtaken has written it down all the same. */
function checkEvidence(
  { observations }: Evidence,
  moves: Moves,
  struck: readonly Struck[],
  report: Report,
): void {
  const kept = new Set(observations.map(({ entryId, attempt }) => `${entryId} ${attempt}`));
  for (const pause of struck) {
    const { point, action, server, at, until, detail } = pause;
    const [reference = '', attempt = '', outcome = ''] = detail.split(' ');
    if (point !== 'T2' || action !== 'stop' || !KNOWN.has(outcome)) continue;
    const overtaken = (moves.get(reference) ?? []).some(
      (move) => move.attempt > Number(attempt) && move.at < until - SEND_MS / 10,
    );
    // Where something else befell the same server or the database, it may have had no chance.
    const alone = !struck.some((other) => {
      const meets = other !== pause && other.until > at && other.at < until + EVIDENCE_MS;
      return meets && (other.server === server || /^F(9|10|11|23)-/.test(other.cell));
    });
    if (overtaken && alone && !kept.has(`${reference} ${attempt}`))
      report(`the answer to attempt ${attempt} was not kept`, reference);
  }
}
