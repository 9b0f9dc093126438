import type { RedisClient } from './connect.ts';

interface Room {
  readonly channel: string;
  /** Whether the intent is still held; may throw. */
  readonly isHeld: () => Promise<boolean>;
  readonly seats: Set<() => void>;
  subscribed: boolean;
  looking: boolean;
  lookAgain: boolean;
}

export interface WaitingRoomOptions {
  readonly subscriber: RedisClient;
  readonly maxWaiters: number;
}

/**
 * Where callers wait for an intent to change. All of them share one connection and one listener; all
 * who wait for the same intent share one subscription. Any trouble makes them wait their time out.
 */
export class WaitingRoom {
  readonly #rooms = new Map<string, Room>();
  readonly #options: WaitingRoomOptions;
  #waiters = 0;

  constructor(options: WaitingRoomOptions) {
    this.#options = options;
    options.subscriber.on('message', (channel: string) => this.#wake(channel));
    // Subscriptions end with the connection; who sits in a room of it has a timer.
    options.subscriber.on('close', () => this.#rooms.clear());
  }

  /** Returns when the channel is heard, or when its intent is not held, or after `ms`. */
  async wait(channel: string, ms: number, isHeld: Room['isHeld']): Promise<void> {
    const { subscriber, maxWaiters } = this.#options;
    if (subscriber.status !== 'ready' || this.#waiters >= maxWaiters) return pause(ms);
    const room = this.#rooms.get(channel) ?? this.#open(channel, isHeld);
    this.#waiters += 1;
    await new Promise<void>((resolve) => {
      const leave = (): void => {
        clearTimeout(timer);
        room.seats.delete(leave);
        resolve();
      };
      const timer = setTimeout(leave, ms);
      room.seats.add(leave);
      // What was said between the caller's claim and this moment was not heard: look once.
      if (room.subscribed) this.#look(room);
    });
    this.#waiters -= 1;
    if (room.seats.size === 0 && this.#rooms.get(channel) === room) this.#shut(room);
  }

  /** Lets everybody go. */
  close(): void {
    for (const channel of [...this.#rooms.keys()]) this.#wake(channel);
  }

  #open(channel: string, isHeld: Room['isHeld']): Room {
    const states = { subscribed: false, looking: false, lookAgain: false };
    const room: Room = { channel, isHeld, seats: new Set(), ...states };
    this.#rooms.set(channel, room);
    this.#options.subscriber.subscribe(channel).then(
      () => {
        room.subscribed = true;
        this.#look(room);
      },
      () => {
        if (this.#rooms.get(channel) === room) this.#rooms.delete(channel);
      },
    );
    return room;
  }

  #shut({ channel }: Room): void {
    this.#rooms.delete(channel);
    this.#options.subscriber.unsubscribe(channel).catch(() => {});
  }

  #wake(channel: string): void {
    for (const leave of [...(this.#rooms.get(channel)?.seats ?? [])]) leave();
  }

  /** One look at a time; whoever sat down during one gets another. */
  #look(room: Room): void {
    if (room.looking) {
      room.lookAgain = true;
      return;
    }
    room.looking = true;
    const looked = (held: boolean): void => {
      room.looking = false;
      if (!held) for (const leave of [...room.seats]) leave();
      if (room.lookAgain && room.seats.size > 0) this.#look(room);
      room.lookAgain = false;
    };
    room.isHeld().then(looked, () => looked(true));
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
