/** Statuses in which a payment no longer holds its transaction id. */
export const FREE_STATUSES = ['DECLINED', 'FAILED', 'VOIDED', 'EXPIRED', 'NOT_SENT'] as const;
