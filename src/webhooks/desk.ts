import { v7 as uuidV7 } from 'uuid';
import type { Delivery, DeliveryKey } from './delivery.ts';
import { type PrivateMode, urlProblem } from './destination.ts';
import type { EndpointChange, EndpointKey, NewEndpoint } from './endpoint.ts';
import type { Changed, Created, Endpoints, Rotated } from './ports.ts';
import { Sealer } from './sealer.ts';

export interface DeskOptions {
  readonly endpoints: Endpoints;
  readonly sealer: Sealer;
  readonly privateMode: PrivateMode;
  /** How long a secret signs beside the one that replaced it, in ms. */
  readonly overlapMs: number;
  /** Told that there is an endpoint to deliver to, most likely; it must not throw. */
  readonly onEndpoint: () => void;
}

/** The secret in the clear, for its owner's eyes; nobody can be shown it again. */
export type WithSecret<T> = T & { readonly secret: string };

/** What merchants may do about their endpoints. */
export class Desk {
  readonly #options: DeskOptions;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  urlProblem(url: string): string | undefined {
    return urlProblem(url, this.#options.privateMode);
  }

  async create(endpoint: NewEndpoint): Promise<WithSecret<Created>> {
    const id = uuidV7();
    const { secret, sealed } = this.#newSecret({ merchantId: endpoint.merchantId, id });
    const created = await this.#options.endpoints.create(id, endpoint, sealed);
    this.#options.onEndpoint();
    return { ...created, secret };
  }

  async change(key: EndpointKey, change: EndpointChange): Promise<Changed> {
    const changed = await this.#options.endpoints.change(key, change);
    this.#options.onEndpoint();
    return changed;
  }

  remove(key: EndpointKey): Promise<boolean> {
    return this.#options.endpoints.remove(key);
  }

  /** @param revoke the earlier secrets end at once, instead of signing for a while yet */
  async rotate(key: EndpointKey, revoke: boolean): Promise<WithSecret<Rotated>> {
    const { secret, sealed } = this.#newSecret(key);
    const { endpoints, overlapMs } = this.#options;
    return { ...(await endpoints.rotate(key, sealed, revoke ? 0 : overlapMs)), secret };
  }

  ping(key: EndpointKey): Promise<Delivery | undefined> {
    return this.#options.endpoints.ping(key, uuidV7());
  }

  redeliver(key: DeliveryKey): Promise<Delivery | undefined> {
    return this.#options.endpoints.redeliver(key);
  }

  #newSecret(endpoint: EndpointKey) {
    const secret = Sealer.newSecret();
    return { secret, sealed: this.#options.sealer.seal(endpoint, uuidV7(), secret) };
  }
}
