import type { ExplainedBody } from "../../../../../admin/AdminBodies.ts"
import { formatNumber } from "../../../text/format.ts"
import { Badge } from "../../../ui/Badge.tsx"
import { Card } from "../../../ui/Card.tsx"
import { EmptyState } from "../../../ui/EmptyState.tsx"
import { type Column, Table } from "../../../ui/Table.tsx"

type Candidate = ExplainedBody["candidates"][number]
type Feature = ExplainedBody["difficulty"]["features"][number]

/** Never "-0.00". */
const hundredths = (value: number): string => ((Math.round(value * 100) || 0) / 100).toFixed(2)

const featureColumns: ReadonlyArray<Column<Feature>> = [
  { header: "What counts", cell: ({ sentence }) => sentence },
  { header: "Points", isNumber: true, cell: ({ points }) => hundredths(points) }
]

const Difficulty = ({ features, score }: ExplainedBody["difficulty"]) => (
  <section className="space-y-3">
    <h2 className="text-lg font-semibold">Difficulty {hundredths(score)}</h2>
    <p className="text-muted">From 0 to 1. A model is eligible if its quality is at least as high.</p>
    {features.length === 0 ? null : (
      <Table
        caption="What the difficulty is made of"
        columns={featureColumns}
        keyOf={({ name }) => name}
        rows={features}
      />
    )}
  </section>
)

interface CandidateCardProps {
  readonly candidate: Candidate
  /** From 0. */
  readonly place: number
}

const CandidateCard = ({ candidate, place }: CandidateCardProps) => (
  <Card
    actions={
      <span className="flex flex-wrap gap-2">
        {candidate.health.coolingDown ? <Badge tone="danger">Cooling down</Badge> : null}
        {candidate.eligible ? (
          <Badge tone="success">Eligible</Badge>
        ) : (
          <Badge tone="warning">Below the required quality</Badge>
        )}
      </span>
    }
    description={`${place === 0 ? "Asked first" : `Fallback ${place}`} · ${candidate.provider} · up to ${formatNumber(candidate.max_output_tokens)} tokens`}
    title={candidate.model}
  >
    <ul className="list-disc space-y-1 pl-5">
      {candidate.reasons.map((reason) => (
        <li key={reason}>{reason}</li>
      ))}
    </ul>
  </Card>
)

const excludedColumns: ReadonlyArray<Column<ExplainedBody["excluded"][number]>> = [
  { header: "Model", isName: true, cell: ({ model }) => <span className="font-medium">{model}</span> },
  { header: "Provider", cell: ({ provider }) => provider },
  { header: "Why", isProse: true, cell: ({ reason }) => reason }
]

const Excluded = ({ excluded }: Pick<ExplainedBody, "excluded">) => (
  <section className="space-y-3">
    <h2 className="text-lg font-semibold">Excluded</h2>
    <Table
      caption="Models that can't be asked"
      columns={excludedColumns}
      keyOf={({ model, provider }) => `${provider} ${model}`}
      rows={excluded}
    />
  </section>
)

/** The decision of the router, and its reasons. */
export const Explanation = ({ explained }: { readonly explained: ExplainedBody }) => {
  const { candidates, difficulty, excluded } = explained
  return (
    <div className="space-y-8">
      <section className="space-y-4">
        {candidates.length === 0 ? (
          <EmptyState title="No model can answer">Below is why each was excluded.</EmptyState>
        ) : (
          candidates.map((candidate, place) => (
            <CandidateCard
              candidate={candidate}
              key={`${candidate.provider} ${candidate.model}`}
              place={place}
            />
          ))
        )}
      </section>
      <Difficulty {...difficulty} />
      {excluded.length === 0 ? null : <Excluded excluded={excluded} />}
    </div>
  )
}
