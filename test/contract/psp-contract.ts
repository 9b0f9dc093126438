import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Charge, FollowUpOrder, Psp } from '../../src/payments/index.ts';

/** Payment methods with which a PSP's test mode does what their names say. */
export interface PspMethods {
  readonly ok: string;
  readonly declined: string;
  readonly softDeclined: string;
  readonly pending: string;
  readonly requiresAction: string;
  /** Does not exist at the PSP. */
  readonly nonsense: string;
  /** The first try of a key is refused with a proof that nothing was executed. */
  readonly notExecutedAtFirst: string;
  /** Executed, and then the answer is lost or spoilt; each in its own way. */
  readonly executedUnknown: readonly string[];
  /** Not executed, and the caller cannot know. */
  readonly notExecutedUnknown: readonly string[];
}

export interface PspUnderTest {
  /** Set up with a deadline of `timeoutMs`. */
  readonly psp: Psp & { close(): Promise<void> };
  readonly timeoutMs: number;
  /** The most that the PSP takes in JPY. */
  readonly mostYen: number;
  readonly methods: PspMethods;
  /** The buyer does what the bank asked of him, where the PSP needs to see that. */
  authenticate?(pspReference: string): Promise<void>;
  /** How often the PSP's own books say that money moved for this reference. */
  executions(reference: string): Promise<number>;
  close(): Promise<void>;
}

/** What may pass between the deadline and the outcome, in ms. */
const MARGIN_MS = 500;

/** What every adapter promises to the payments room, seen from the PSP's own books. */
export function pspContract(name: string, open: () => Promise<PspUnderTest>): void {
  describe(`${name} keeps the PSP contract`, () => {
    let subject: PspUnderTest;
    beforeAll(async () => {
      subject = await open();
    });
    afterAll(() => subject.close());

    const ask = (changes: Partial<Charge>): Charge => ({
      reference: randomUUID(),
      pspKey: randomUUID(),
      paymentMethod: subject.methods.ok,
      amountMinor: 1_050,
      currency: 'EUR',
      ...changes,
    });

    it('names itself and states its windows', () => {
      expect(subject.psp.name).toMatch(/^[a-z]+$/);
      expect(subject.psp.keyWindowMs).toBeGreaterThan(subject.psp.settlingMs);
    });

    it('a charge succeeds with our amount and currency, and is found again', async () => {
      const charge = ask({ amountMinor: subject.mostYen, currency: 'JPY' });
      const outcome = await subject.psp.charge(charge);
      expect(outcome).toEqual({
        kind: 'succeeded',
        pspReference: expect.any(String),
        amountMinor: charge.amountMinor,
        currency: 'JPY',
      });
      expect(await subject.psp.find(charge.reference)).toEqual({ kind: 'found', outcome });
      expect(await subject.executions(charge.reference)).toBe(1);
    });

    it('the same key again gives the first result and executes nothing', async () => {
      const charge = ask({});
      const first = await subject.psp.charge(charge);
      expect(await subject.psp.charge(charge)).toEqual(first);
      expect(await subject.executions(charge.reference)).toBe(1);
    });

    it('many at once with one key: one execution, and no outcome denies it', async () => {
      const charge = ask({});
      const outcomes = await Promise.all(
        Array.from({ length: 12 }, () => subject.psp.charge(charge)),
      );
      const kinds = new Set(outcomes.map(({ kind }) => kind));
      kinds.delete('unknown');
      expect([...kinds]).toEqual(['succeeded']);
      expect(await subject.executions(charge.reference)).toBe(1);
    });

    it('a key that comes with another amount is not believed', async () => {
      const charge = ask({});
      await subject.psp.charge(charge);
      const other = await subject.psp.charge({ ...charge, amountMinor: 1 });
      expect(other.kind).toBe('unknown');
      expect(await subject.executions(charge.reference)).toBe(1);
    });

    it('a decline is told with its code, and a soft one as soft', async () => {
      const hard = ask({ paymentMethod: subject.methods.declined });
      const soft = ask({ paymentMethod: subject.methods.softDeclined });
      expect(await subject.psp.charge(hard)).toMatchObject({ kind: 'declined', soft: false });
      expect(await subject.psp.charge(soft)).toMatchObject({
        kind: 'declined',
        soft: true,
        declineCode: expect.stringMatching(/^[a-z_]+$/),
      });
      expect(await subject.executions(hard.reference)).toBe(0);
      expect(await subject.psp.find(hard.reference)).toMatchObject({
        kind: 'found',
        outcome: { kind: 'declined' },
      });
    });

    it('what waits for the bank or the payer is pending', async () => {
      for (const paymentMethod of [subject.methods.pending, subject.methods.requiresAction]) {
        const charge = ask({ paymentMethod });
        expect(await subject.psp.charge(charge)).toMatchObject({ kind: 'pending' });
        expect(await subject.executions(charge.reference)).toBe(0);
      }
    });

    it('what the PSP will never execute is rejected', async () => {
      const charge = ask({ paymentMethod: subject.methods.nonsense });
      expect((await subject.psp.charge(charge)).kind).toBe('rejected');
      expect(await subject.executions(charge.reference)).toBe(0);
    });

    it('a proof of no execution is "not sent", and the same call then succeeds', async () => {
      const charge = ask({ paymentMethod: subject.methods.notExecutedAtFirst });
      const first = await subject.psp.charge(charge);
      expect(first).toMatchObject({ kind: 'notSent', retryAfterMs: expect.any(Number) });
      expect(await subject.executions(charge.reference)).toBe(0);
      expect(await subject.psp.charge(charge)).toMatchObject({ kind: 'succeeded' });
      expect(await subject.executions(charge.reference)).toBe(1);
    });

    it('a lost answer is unknown, in time, and the books tell the truth', async () => {
      const charges = subject.methods.executedUnknown.map((paymentMethod) =>
        ask({ paymentMethod }),
      );
      await Promise.all(charges.map((charge) => expectUnknownInTime(subject, charge)));
      for (const charge of charges) {
        const found = await subject.psp.find(charge.reference);
        expect(found, charge.paymentMethod).toMatchObject({
          kind: 'found',
          outcome: { kind: 'succeeded', amountMinor: 1_050, currency: 'EUR' },
        });
        expect(await subject.psp.charge(charge), charge.paymentMethod).toEqual(
          found.kind === 'found' ? found.outcome : undefined,
        );
        expect(await subject.executions(charge.reference), charge.paymentMethod).toBe(1);
      }
    });

    it('an answer that never came is unknown even if nothing was executed', async () => {
      const charges = subject.methods.notExecutedUnknown.map((paymentMethod) =>
        ask({ paymentMethod }),
      );
      await Promise.all(charges.map((charge) => expectUnknownInTime(subject, charge)));
      for (const { reference } of charges) {
        expect(await subject.psp.find(reference)).toEqual({ kind: 'none' });
      }
    });

    const order = (chargeReference: string, amountMinor: number): FollowUpOrder => ({
      reference: randomUUID(),
      pspKey: randomUUID(),
      chargeReference,
      amountMinor,
      currency: 'EUR',
    });
    /** An operation that moves `amountMinor`, once under its key, and is found again. */
    const expectMoves = async (
      operation: 'CAPTURE' | 'VOID' | 'REFUND' | 'CONFIRM',
      asked: FollowUpOrder,
      amountMinor = asked.amountMinor,
    ) => {
      const { psp } = subject;
      const call = {
        CAPTURE: psp.capture,
        VOID: psp.void,
        REFUND: psp.refund,
        CONFIRM: psp.confirm,
      };
      const send = call[operation];
      const outcome = await send(asked);
      expect(outcome).toMatchObject({ kind: 'succeeded', amountMinor, currency: 'EUR' });
      expect(await send(asked)).toEqual(outcome);
      const { chargeReference } = asked;
      expect(await psp.find(asked.reference, { operation, chargeReference })).toMatchObject({
        kind: 'found',
        outcome: { kind: 'succeeded', amountMinor, currency: 'EUR' },
      });
    };
    const referenceOf = async (changes: Partial<Charge>): Promise<string> => {
      const outcome = await subject.psp.charge(ask(changes));
      const known = 'pspReference' in outcome ? outcome.pspReference : null;
      if (known === null) throw new Error(`no reference in ${JSON.stringify(outcome)}`);
      return known;
    };

    it('an authorisation is captured in part, and refunded in parts', async () => {
      const charge = ask({ capture: false });
      const authorized = await subject.psp.charge(charge);
      expect(authorized).toMatchObject({
        kind: 'succeeded',
        amountMinor: 1_050,
        authorizedUntil: expect.any(Date),
      });
      expect(await subject.executions(charge.reference)).toBe(1);
      const chargeReference = await subject.psp
        .charge(charge)
        .then((again) => (again.kind === 'succeeded' ? again.pspReference : ''));
      await expectMoves('CAPTURE', order(chargeReference, 600));
      await expectMoves('REFUND', order(chargeReference, 200));
      await expectMoves('REFUND', order(chargeReference, 400));
      const tooMuch = order(chargeReference, 1);
      expect((await subject.psp.refund(tooMuch)).kind).toMatch(/^(rejected|declined)$/);
      expect(await subject.executions(tooMuch.reference)).toBe(0);
    });

    it('an authorisation is voided, and cannot be captured any more', async () => {
      const chargeReference = await referenceOf({ capture: false });
      await expectMoves('VOID', order(chargeReference, 1_050));
      const capture = order(chargeReference, 1_050);
      expect((await subject.psp.capture(capture)).kind).toMatch(/^(rejected|declined)$/);
      expect(await subject.executions(capture.reference)).toBe(0);
    });

    it('what waits for the buyer names his way, and goes on once he has gone it', async () => {
      const charge = ask({ paymentMethod: subject.methods.requiresAction });
      const waiting = await subject.psp.charge(charge);
      expect(waiting).toMatchObject({
        kind: 'pending',
        nextActionUrl: expect.stringMatching(/^https?:/),
      });
      const chargeReference = waiting.kind === 'pending' ? (waiting.pspReference ?? '') : '';
      await subject.authenticate?.(chargeReference);
      await expectMoves('CONFIRM', order(chargeReference, 1_050));
    });

    it('what was never sent is not in the books', async () => {
      expect(await subject.psp.find(randomUUID())).toEqual({ kind: 'none' });
    });

    it('once closed it sends nothing', async () => {
      const { psp } = subject;
      await psp.close();
      await psp.close();
      const charge = ask({});
      expect((await psp.charge(charge)).kind).toBe('notSent');
      expect((await psp.find(charge.reference)).kind).toBe('unreachable');
      expect(await subject.executions(charge.reference)).toBe(0);
    });
  });
}

async function expectUnknownInTime(subject: PspUnderTest, charge: Charge): Promise<void> {
  const start = performance.now();
  const outcome = await subject.psp.charge(charge);
  const tookMs = performance.now() - start;
  expect(outcome, charge.paymentMethod).toMatchObject({ kind: 'unknown' });
  expect(tookMs, charge.paymentMethod).toBeLessThan(subject.timeoutMs + MARGIN_MS);
}
