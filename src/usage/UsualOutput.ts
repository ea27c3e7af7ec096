import type { UserId } from "../domain/Ids.ts"

/** Users whose answers are remembered, and answers of each. */
const usersMax = 10_000
const answersMax = 16

/** The share of the remembered answers that had no more tokens than what is usual. */
const usualShare = 0.75

/** What is usual for a user of whom nothing is known, and the bounds for all others. */
const tokensUnknown = 1_024
const tokensMin = 256
const tokensMax = 4_096

/** How many tokens the answers to a user have had lately, in this process. */
export const makeUsualOutput = () => {
  const known = new Map<UserId, ReadonlyArray<number>>()
  return {
    of: (userId: UserId): number => {
      const tokens = known.get(userId)?.toSorted((a, b) => a - b) ?? []
      const usual = tokens[Math.ceil(tokens.length * usualShare) - 1] ?? tokensUnknown
      return Math.min(Math.max(usual, tokensMin), tokensMax)
    },
    note: (userId: UserId, tokens: number): void => {
      const before = known.get(userId) ?? []
      known.delete(userId)
      known.set(userId, [...before, tokens].slice(-answersMax))
      const [oldest] = known.keys()
      if (oldest !== undefined && known.size > usersMax) known.delete(oldest)
    }
  }
}
