/** How many attempts to sign in may fail before one must wait, and for how long. Nothing here reads a clock or the database. */
export interface AttemptLimit {
  /** Failures without a wait. */
  readonly freeMax: number
  /** The time after which one failure counts no more. */
  readonly leakSeconds: number
  readonly waitSecondsMax: number
}

export const attemptLimits = {
  /** Of one account from one network: guesses of a password. */
  accountFromNetwork: { freeMax: 5, leakSeconds: 900, waitSecondsMax: 900 },
  /** Of one network, which many users may share, over all accounts: one password for many accounts. */
  network: { freeMax: 50, leakSeconds: 60, waitSecondsMax: 300 },
  /** Of one account over all networks from which its user never signed in: guesses from many places. */
  account: { freeMax: 200, leakSeconds: 20, waitSecondsMax: 60 }
} as const satisfies Readonly<Record<string, AttemptLimit>>

/** The failures that still count after a time without any. */
export const leaked = (limit: AttemptLimit, level: number, seconds: number): number =>
  Math.max(0, level - Math.max(0, seconds) / limit.leakSeconds)

/** The wait that the latest failure causes: it doubles with each one beyond the free ones. */
export const waitSecondsOf = ({ freeMax, waitSecondsMax }: AttemptLimit, level: number): number =>
  level <= freeMax ? 0 : Math.min(waitSecondsMax, 2 ** (level - freeMax))
