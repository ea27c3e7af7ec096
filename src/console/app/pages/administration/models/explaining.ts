import type { ExplainPayload } from "../../../../../admin/AdminBodies.ts"

/** The values of the form; an empty number is null. */
export interface ExplainValues extends Record<string, unknown> {
  readonly text: string
  readonly plan: string
  readonly documents: number | null
  readonly tools: string
  readonly max_output_tokens: number | null
}

/** Empty fields are left to the service. */
export const explainPayload = ({
  documents,
  max_output_tokens: maxOutputTokens,
  plan,
  text,
  tools
}: ExplainValues): typeof ExplainPayload.Type => ({
  text,
  ...(plan === "" ? {} : { plan }),
  ...(documents === null ? {} : { documents }),
  ...(tools === "" ? {} : { tools: tools === "offered" }),
  ...(maxOutputTokens === null ? {} : { max_output_tokens: maxOutputTokens })
})
