import { useQuery } from "@tanstack/react-query"
import { learnedText, type ProviderHealth } from "../../../../../domain/Model.ts"
import { formatNumber, formatShare } from "../../../text/format.ts"
import { Badge } from "../../../ui/Badge.tsx"
import { EmptyState } from "../../../ui/EmptyState.tsx"
import { Loaded } from "../../../ui/Loaded.tsx"
import { type Column, Table } from "../../../ui/Table.tsx"
import { modelsQuery } from "../lists.ts"
import { type ModelRow, modelRows, modelState, providerStates } from "./modelRows.ts"

const State = ({ label, tone }: ReturnType<typeof modelState>) => <Badge tone={tone}>{label}</Badge>

const seconds = (value: number): string => `${value.toFixed(1)} s`

const modelColumns: ReadonlyArray<Column<ModelRow>> = [
  {
    header: "Model",
    isName: true,
    cell: ({ model }) => (
      <div>
        <span className="font-medium">{model.id}</span>
        <p className="text-muted">{model.provider}</p>
      </div>
    )
  },
  {
    header: "Health",
    isProse: true,
    cell: ({ health }) => (
      <div className="space-y-1">
        <State {...modelState(health)} />
        {health.learned.map((part) => (
          <p key={part.part}>{learnedText(part)}</p>
        ))}
      </div>
    )
  },
  {
    header: "Failures",
    isNumber: true,
    cell: ({ health }) => (health.requests < 1 ? "–" : formatShare(health.failures / health.requests))
  },
  {
    header: "First output",
    isNumber: true,
    cell: ({ health }) => (health.firstOutputSeconds === null ? "–" : seconds(health.firstOutputSeconds))
  },
  {
    header: "Context",
    isNumber: true,
    cell: ({ model }) => formatNumber(model.contextWindow)
  },
  {
    header: "Answer",
    isNumber: true,
    cell: ({ model }) => formatNumber(model.maxOutputTokens)
  },
  { header: "Tools", cell: ({ model }) => (model.tools ? "Yes" : "No") },
  { header: "Quality", isNumber: true, cell: ({ model }) => model.quality },
  { header: "Cost", isNumber: true, cell: ({ model }) => model.cost }
]

const providerColumns: ReadonlyArray<Column<ProviderHealth>> = [
  {
    header: "Provider",
    isName: true,
    cell: ({ provider }) => <span className="font-medium">{provider}</span>
  },
  {
    header: "State",
    isProse: true,
    cell: ({ failure, openSeconds, state }) => (
      <div className="space-y-1">
        <State {...providerStates[state]} />
        {openSeconds === null ? null : (
          <p className="text-muted">Asked again in {Math.ceil(openSeconds)} s</p>
        )}
        {failure === null ? null : <p>{failure}</p>}
      </div>
    )
  },
  {
    header: "Running",
    isNumber: true,
    cell: ({ concurrentMax, running }) => `${formatNumber(running)} of ${formatNumber(concurrentMax)}`
  },
  { header: "Waiting", isNumber: true, cell: ({ waiting }) => waiting }
]

const NoModel = () => (
  <EmptyState title="There is no model">
    Name a catalog in PARLEY_MODELS_FILE, or a model server in OPENAI_BASE_URL, then start the service again.
  </EmptyState>
)

/** The models and their providers, by their recent requests. */
export const ModelTables = () => (
  <Loaded query={useQuery(modelsQuery)}>
    {({ description, providers, ...models }) => (
      <div className="space-y-8">
        <p className="max-w-prose text-muted">{description}</p>
        <section className="space-y-3">
          <h2 className="text-lg font-semibold">Models</h2>
          <p className="text-muted">
            Context and answer are at most that many tokens. Quality and cost are relative, from 0 to 1.
          </p>
          {models.data.length === 0 ? (
            <NoModel />
          ) : (
            <Table
              caption="Models"
              columns={modelColumns}
              keyOf={({ model }) => `${model.provider} ${model.id}`}
              rows={modelRows(models)}
            />
          )}
        </section>
        {providers.length === 0 ? null : (
          <section className="space-y-3">
            <h2 className="text-lg font-semibold">Providers</h2>
            <Table
              caption="Providers"
              columns={providerColumns}
              keyOf={({ provider }) => provider}
              rows={providers}
            />
          </section>
        )}
      </div>
    )}
  </Loaded>
)
