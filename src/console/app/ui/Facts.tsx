import type { ReactNode } from "react"

export interface Fact {
  readonly label: string
  readonly value: ReactNode
}

/** Names and values, side by side where there is room. */
export const Facts = ({ facts }: { readonly facts: ReadonlyArray<Fact> }) => (
  <dl className="grid gap-x-6 gap-y-3 text-sm sm:grid-cols-[max-content_minmax(0,1fr)]">
    {facts.map(({ label, value }) => (
      <div className="sm:contents" key={label}>
        <dt className="text-muted">{label}</dt>
        <dd className="min-w-0">{value}</dd>
      </div>
    ))}
  </dl>
)
