import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AppendFile } from './append-file.ts';
import type { Command } from './command.ts';
import type { Booked, Operation } from './operation.ts';

/** A request that will be worked on later, whoever is still waiting by then. */
export interface Promised {
  readonly command: Command;
  /** In ms since the epoch. */
  readonly dueAt: number;
}

type Line =
  | { readonly t: 'operation'; readonly operation: Operation }
  | { readonly t: 'settled'; readonly id: string; readonly at: number }
  | { readonly t: 'promised'; readonly promised: Promised };

/**
 * What this PSP has done, in its own append-only file. Memory holds an index of the file and
 * nothing else; whoever answers from it waits for `flushed` first.
 */
export class Books {
  readonly #file: AppendFile;
  readonly #byId = new Map<string, Booked>();
  readonly #byKey = new Map<string, Booked>();
  readonly #byReference = new Map<string, Booked[]>();
  readonly #executions: Booked[] = [];
  readonly #promised = new Map<string, Promised>();

  constructor(dataDir: string) {
    mkdirSync(dataDir, { recursive: true });
    this.#file = new AppendFile(join(dataDir, 'books.jsonl'), {
      durable: true,
      onLine: (text) => this.#read(JSON.parse(text) as Line),
    });
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Returns once the operation is on disk. */
  async record(operation: Operation): Promise<Booked> {
    const booked = this.#index(operation);
    await this.#file.append(JSON.stringify({ t: 'operation', operation } satisfies Line));
    return booked;
  }

  /** A pending operation succeeds: this is its execution. */
  async settle(booked: Booked, at: number): Promise<void> {
    const id = booked.operation.id;
    this.#settled(booked, at);
    await this.#file.append(JSON.stringify({ t: 'settled', id, at } satisfies Line));
  }

  /** Writes down what will be executed later, so that a restart keeps the promise. */
  async promise(promised: Promised): Promise<void> {
    this.#promised.set(promised.command.idempotencyKey, promised);
    await this.#file.append(JSON.stringify({ t: 'promised', promised } satisfies Line));
  }

  byId(id: string): Booked | undefined {
    return this.#byId.get(id);
  }

  byKey(idempotencyKey: string): Booked | undefined {
    return this.#byKey.get(idempotencyKey);
  }

  byReference(reference: string): readonly Booked[] {
    return this.#byReference.get(reference) ?? [];
  }

  executions(): readonly Booked[] {
    return this.#executions;
  }

  promised(): readonly Promised[] {
    return [...this.#promised.values()];
  }

  unsettled(): readonly Booked[] {
    return [...this.#byId.values()].filter(
      ({ operation, executedAt }) => operation.settlesAt !== null && executedAt === null,
    );
  }

  flushed(): Promise<void> {
    return this.#file.flushed();
  }

  clear(): Promise<void> {
    return this.#file.clear(() => {
      this.#byId.clear();
      this.#byKey.clear();
      this.#byReference.clear();
      this.#promised.clear();
      this.#executions.length = 0;
    });
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #read(line: Line): void {
    switch (line.t) {
      case 'operation':
        this.#index(line.operation);
        return;
      case 'promised':
        this.#promised.set(line.promised.command.idempotencyKey, line.promised);
        return;
      case 'settled': {
        const booked = this.#byId.get(line.id);
        if (booked === undefined) throw new Error('a settled operation is not in the books');
        this.#settled(booked, line.at);
      }
    }
  }

  #index(operation: Operation): Booked {
    const booked: Booked = {
      operation,
      executedAt: null,
      capturedMinor: 0,
      refundedMinor: 0,
      voided: false,
      refusal: null,
    };
    this.#byId.set(operation.id, booked);
    this.#byKey.set(operation.idempotencyKey, booked);
    this.#promised.delete(operation.idempotencyKey);
    const siblings = this.#byReference.get(operation.reference);
    if (siblings === undefined) this.#byReference.set(operation.reference, [booked]);
    else siblings.push(booked);
    if (operation.status === 'succeeded') this.#settled(booked, operation.at);
    this.#claimOnCharge(operation);
    return booked;
  }

  #settled(booked: Booked, at: number): void {
    if (booked.executedAt !== null) return;
    const { kind, amountMinor } = booked.operation;
    booked.executedAt = at;
    if (kind === 'charge' || kind === 'capture') booked.capturedMinor = amountMinor;
    if (kind !== 'confirm') this.#executions.push(booked);
  }

  /** The buyer has done it, or failed to: the charge goes on. */
  #confirm(target: Booked, { status, declineCode, at }: Operation): void {
    if (status === 'succeeded') this.#settled(target, at);
    else if (status === 'declined' && declineCode !== 'charge_not_waiting') {
      target.refusal = declineCode;
    }
  }

  /** A follow-up that is not refused takes its part of the charge at once, pending or not. */
  #claimOnCharge(operation: Operation): void {
    const { kind, status, charge, amountMinor } = operation;
    const target = charge === null ? undefined : this.#byId.get(charge);
    if (kind === 'confirm' && target !== undefined) this.#confirm(target, operation);
    if (target === undefined || (status !== 'succeeded' && status !== 'pending')) return;
    if (kind === 'capture') target.capturedMinor += amountMinor;
    if (kind === 'refund') target.refundedMinor += amountMinor;
    if (kind === 'void') target.voided = true;
  }
}
