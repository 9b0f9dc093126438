/** There was no room or no time left for it: nothing was done, and nothing will be. */
export class NotRun extends Error {
  override readonly name = 'NotRun';
}
