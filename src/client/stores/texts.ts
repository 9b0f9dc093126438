/** Named texts with one atomic step to change them: what a browser's storages have in common. */
export interface Texts {
  get(name: string): Promise<string | undefined>;
  /** Writes `next` if `expected` is what is there; undefined stands for nothing. */
  swap(name: string, expected: string | undefined, next: string | undefined): Promise<boolean>;
  entries(): Promise<readonly (readonly [name: string, text: string])[]>;
}
