/** Where text is shown. */
export interface Display<in A> {
  readonly isReady: () => boolean
  readonly show: (shown: ReadonlyArray<A>) => void
}

const nowhere: Display<unknown> = { isReady: () => false, show: () => {} }

/**
 * Where the text of an answer goes by plain calls, past the effects that wait for the next of it (docs/decisions/delivery.md). It takes
 * nothing until it leads somewhere, and must have been ready just before it is shown something.
 */
export class Outlet<in A> implements Display<A> {
  private display: Display<A> = nowhere

  /** The functions are passed on, since those that are assigned where they are written are old from the start (docs/decisions/young-objects.md). */
  leadTo(display: Display<A>): void {
    this.display = display
  }

  isReady(): boolean {
    return this.display.isReady()
  }

  show(shown: ReadonlyArray<A>): void {
    this.display.show(shown)
  }
}
