/**
 * The families of OpenAI's models, by the beginnings of their names; the first that fits counts. Sources: the
 * capabilities of models in `@ai-sdk/openai` 3.0.141, and what servers refused.
 *
 * Options of a client that a family refuses are left to the server, which names them: the o series and
 * gpt-5 refuse temperature, top_p and penalties; gpt-5.1 to 5.6 take the first two with the effort `none`;
 * gpt-6 refuses them with every effort, and knows `none` only as gpt-6-sol, gpt-6-luna and gpt-6.1-terra.
 */
const families: ReadonlyArray<{ readonly names: RegExp; readonly isReasoning: boolean }> = [
  { names: /^gpt-5-chat/, isReasoning: false },
  { names: /^(o\d+|gpt-[5-9])($|[.-])/, isReasoning: true },
  { names: /^(chatgpt-|gpt-3|gpt-4)/, isReasoning: false }
]

/** The name without the provider that gateways put before it, and without the mark of a fine-tuned model. */
const familyName = (model: string): string => model.slice(model.lastIndexOf("/") + 1).replace(/^ft:/, "")

/** True if a model thinks before it answers; null for an unknown name, such as that of a deployment. */
export const isReasoningModel = (model: string): boolean | null => {
  const name = familyName(model)
  return families.find(({ names }) => names.test(name))?.isReasoning ?? null
}
