const depth = 10

const gain = (grades: ReadonlyArray<number>): number =>
  grades.slice(0, depth).reduce((sum, grade, at) => sum + grade / Math.log2(at + 2), 0)

/**
 * Normalized discounted cumulative gain at 10: 1 when the files come in the order of how well they answer.
 */
export const ndcg = (found: ReadonlyArray<string>, relevant: Readonly<Record<string, number>>): number => {
  const grades = Object.values(relevant).toSorted((one, other) => other - one)
  return gain([...new Set(found)].map((name) => relevant[name] ?? 0)) / gain(grades)
}

export const mean = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length
