/**
 * Findings of the prose check that are older than its rules, by area. Lower a number when you have mended
 * some, remove it when none is left, and never raise one. Areas and rules without a number have none.
 */
export type Remaining = Readonly<
  Record<string, Readonly<Partial<Record<"fragment" | "title" | "line length", number>>>>
>

export const remaining: Remaining = {
  "CHANGELOG.md": { "line length": 51 },
  scripts: { "line length": 5 },
  "src/api": { fragment: 67, "line length": 38 },
  "src/conversations": { "line length": 1 },
  "src/openai": { fragment: 73, "line length": 38 },
  "src/providers": { "line length": 1 },
  test: { fragment: 355, "line length": 3, title: 101 }
}
