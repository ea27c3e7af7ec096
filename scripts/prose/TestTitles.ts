import { isNode, lineOf, nameOf, type Source, type SyntaxNode, visit } from "../architecture/Source.ts"

/** The title of a test; a value that the title takes from a variable is written as `%s`. */
export interface TestTitle {
  readonly line: number
  readonly title: string
}

/** The name at the left of a callee: `it` for `it.effect.each(cases)`. */
const rootName = (callee: unknown): string | null => {
  if (!isNode(callee)) return null
  return rootName(callee["object"] ?? callee["callee"]) ?? nameOf(callee)
}

const textOf = (node: SyntaxNode): string | null => {
  if (node.type === "Literal") return nameOf(node)
  if (node.type !== "TemplateLiteral" || !Array.isArray(node["quasis"])) return null
  return node["quasis"].map(({ value }) => String(value.raw)).join("%s")
}

/** The titles of all calls of `it`, `it.effect`, `it.each(…)`, `test` and the like. */
export const testTitlesOf = (source: Source): ReadonlyArray<TestTitle> => {
  const titles: Array<TestTitle> = []
  visit(source.program, (node) => {
    if (node.type !== "CallExpression" || !Array.isArray(node["arguments"])) return
    const first: unknown = node["arguments"][0]
    if (!/^(it|test)$/.test(rootName(node["callee"]) ?? "") || !isNode(first)) return
    const title = textOf(first)
    if (title !== null) titles.push({ title, line: lineOf(source, first.start) })
  })
  return titles
}

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/**
 * First words of titles whose subject stands elsewhere: auxiliaries, prepositions, conjunctions, pronouns,
 * adverbs.
 */
const continuations = words(`
  am are aren't can can't cannot could did didn't do does doesn't don't had has hasn't have haven't is isn't may might
  must mustn't need needn't shall should was wasn't were weren't will won't would
  about after against although among and as at because before beside besides between beyond but by during except for
  from if in inside into like nor of on once or outside over since so than through to toward under unless until upon
  when whenever where whether which while who whom whose with within without
  it its they their them that those these such he his she her
  also always ever just later meanwhile never not often otherwise still then there
`)

/** Verbs in the third person singular. A noun of the same spelling, such as "limits", takes an article. */
const verbs = words(`
  aborts accepts accumulates adds admits adopts agrees aligns allows answers appends applies arrives asks
  avoids becomes begins believes belongs binds blames bounds breaks brings builds calls cancels carries
  catches changes charges checks chooses cites clamps cleans clears closes combines comes commits compares
  completes configures consists contains continues converts cools copies counts covers creates crosses cuts
  decides declares decodes decompresses defaults deletes delivers denies depends derives describes detects
  differs disables distinguishes divides drops embeds emits encodes ends enforces exits expires explains
  exports extends extracts fails falls fetches fills finds fits flushes folds follows forbids forgets
  forgives forwards generates gets gives goes grants guesses handles hands hangs happens hashes hides holds
  honors ignores imports includes increases inserts installs interrupts invalidates invites invokes joins
  keeps kills knows lacks lasts leads learns leaves lends lets limits links lists loads logs looks loses
  lowers maintains makes maps marks matches measures merges migrates misses mounts moves names needs
  normalizes notices offers omits opens orders outlives parses passes pauses permits picks pings polls
  prefers preserves prevents prints produces promises proposes protects proves provides publishes pushes
  puts quotes raises ranks reaches reads rebuilds receives recognizes records recovers reduces refers
  refreshes refuses registers rejects relays releases remembers removes renames renders renews repeats
  replaces replays reports requires resets resolves respects responds restarts restores resumes retains
  retries returns revokes rolls rotates runs saves says scales schedules seals searches sees selects sends
  separates serves sets shortens shows signs skips sorts spends splits stamps stands starts stays stops
  stores streams submits subtracts summarizes supports surfaces survives swallows switches syncs takes tells
  terminates throws tolerates tracks transfers treats tries trims truncates trusts turns understands unlocks
  updates uploads uses validates verifies visits waits wakes warns wins works wraps writes yields
`)

/**
 * True for a title that can't be read alone: it begins with a verb, adverb or preposition, or is one word.
 */
export const isHanging = (title: string): boolean => {
  const [first = "", ...rest] = title.trim().split(/\s+/)
  if (/^[$%]/.test(first)) return false
  const word = first.replace(/[,:;]$/, "").toLowerCase()
  return rest.length === 0 || continuations.has(word) || verbs.has(word)
}
