const score = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 })

/** Scores of words are above 1 as a rule, and those with embeddings below. */
export const formatScore = (value: number): string => score.format(value)
