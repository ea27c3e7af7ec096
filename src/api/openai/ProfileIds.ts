import { Schema, SchemaTransformation } from "effect"

/**
 * Ids as clients of the OpenAI interface expect them: a prefix that says what is named, and the same UUID as
 * everywhere else. Clients may send either form.
 */
const prefixes = {
  response: "resp_",
  chatCompletion: "chatcmpl-",
  completion: "cmpl-",
  message: "msg_",
  compaction: "cmp_",
  functionCall: "fc_",
  customCall: "ctc_",
  localShellCall: "lsh_",
  shellCall: "sh_",
  applyPatchCall: "apc_",
  functionOutput: "fco_",
  webSearch: "ws_",
  fileSearch: "fs_",
  reasoning: "rs_",
  file: "file-",
  conversation: "conv_",
  vectorStore: "vs_",
  fileBatch: "vsfb_"
} as const
export type IdKind = keyof typeof prefixes

export const shownId = (kind: IdKind, id: string): string => prefixes[kind] + id

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
/** The same for a JSON Schema, which has no flags. */
const uuidPattern = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

const prefixPattern = `(?:${Object.values(prefixes).join("|")})`
const knownPrefix = new RegExp(`^${prefixPattern}`)

/** The UUID in an id of either form. */
const bareId = (id: string): string => id.replace(knownPrefix, "").toLowerCase()

/**
 * An id with its prefix or without. Items may have any prefix, because a client may have another view of what
 * an item is.
 */
export const givenId = <Id extends Schema.Codec<string, string>>(id: Id, kind: IdKind) => {
  const expected = `an id such as \`${prefixes[kind]}…\` with a UUID, or the UUID alone`
  return Schema.String.annotate({ expected })
    .check(
      Schema.makeFilter((text) => uuid.test(bareId(text)), {
        expected,
        toJsonSchema: () => ({ pattern: `^${prefixPattern}?${uuidPattern}$` })
      })
    )
    .pipe(
      Schema.decodeTo(
        id,
        SchemaTransformation.transform({ decode: bareId, encode: (bare) => shownId(kind, bare) })
      )
    )
}
