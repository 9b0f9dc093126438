import type { Outcome } from './outcome.ts';
import type { FirstOperation, JournalEntry } from './payment.ts';
import type { Charge, FollowUpOrder, Psp, Recorded, Sought } from './ports.ts';

export function soughtBy({ entry, payment }: Recorded): Sought {
  if (entry.operation === 'REVERSE') {
    const { chargeReference, operation } = lateOf(entry);
    return { operation: undoing(operation), chargeReference };
  }
  return { operation: entry.operation, chargeReference: payment.pspReference };
}

/** What a REVERSE gives back: kept in its entry, since the payment knows nothing of it. */
export interface Late {
  /** The operation that was refused and yet executed. */
  readonly operation: FirstOperation;
  /** The PSP's own id of what it executed. */
  readonly chargeReference: string;
}

/** What an entry of operation REVERSE was written for. */
export const lateOf = ({ request }: JournalEntry) => request as unknown as Late;

const undoing = (operation: FirstOperation) => (operation === 'CHARGE' ? 'REFUND' : 'VOID');

/** The charge that an entry stands for, the same on every attempt. */
export function chargeOf({ entry, payment }: Recorded): Charge {
  return {
    reference: entry.id,
    pspKey: entry.pspIdempotencyKey,
    amountMinor: entry.amountMinor,
    currency: entry.currency,
    paymentMethod: payment.paymentMethod,
    ...(entry.operation === 'AUTHORIZE' ? { capture: false } : {}),
  };
}

function orderOf({ entry, payment }: Recorded): FollowUpOrder {
  return {
    reference: entry.id,
    pspKey: entry.pspIdempotencyKey,
    chargeReference: payment.pspReference ?? '',
    amountMinor: entry.amountMinor,
    currency: entry.currency,
  };
}

/** Sends what an entry stands for. */
export function sendTo(psp: Psp, recorded: Recorded): Promise<Outcome> {
  switch (recorded.entry.operation) {
    case 'CHARGE':
    case 'AUTHORIZE':
      return psp.charge(chargeOf(recorded));
    case 'CAPTURE':
      return psp.capture(orderOf(recorded));
    case 'VOID':
      return psp.void(orderOf(recorded));
    case 'REFUND':
      return psp.refund(orderOf(recorded));
    case 'CONFIRM':
      return psp.confirm(orderOf(recorded));
    case 'REVERSE': {
      const { chargeReference, operation } = lateOf(recorded.entry);
      const order = { ...orderOf(recorded), chargeReference };
      return undoing(operation) === 'REFUND' ? psp.refund(order) : psp.void(order);
    }
    case 'CANCEL':
      return Promise.resolve({ kind: 'rejected', code: 'nothing to send' });
  }
}
