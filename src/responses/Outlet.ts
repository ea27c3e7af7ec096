/**
 * Where the text of an answer goes by plain calls, past the effects that wait for the next of it (docs/decisions/delivery.md). What
 * takes it sets `isReady` and `show`, and must have been ready just before it is shown something. Nothing is taken without.
 */
export interface Outlet<A> {
  isReady: () => boolean
  show: (shown: ReadonlyArray<A>) => void
}

const never = () => false
const nothing = () => {}

export const closedOutlet = <A>(): Outlet<A> => ({ isReady: never, show: nothing })
