import type { ModelExtrasEntry } from "../providers/ModelExtras.ts"
import type { ProtocolName } from "../providers/ModelServer.ts"
import type { FileProblem } from "../settings/JsonFile.ts"

/** Fields of requests that the service sets in one protocol alone, besides those that it sets in several. */
const ownFields: Readonly<Record<ProtocolName, ReadonlyArray<string>>> = {
  "openai-chat": [],
  "openai-responses": ["reasoning"],
  anthropic: ["thinking"]
}

export const noDialect = "Expected nothing, because a package has its own rules for its servers"

/** What a model of the catalog has, and has no use for by the protocol of its provider. `path` is that of the model. */
export const misplacedInModel = (
  { body = {}, dialect, opensThinking }: ModelExtrasEntry,
  protocol: ProtocolName | "ai-sdk",
  path: string
): ReadonlyArray<FileProblem> => [
  ...(opensThinking === undefined || protocol === "openai-chat"
    ? []
    : [
        {
          path: `${path}.opensThinking`,
          message: "Expected nothing, because only the protocol openai-chat has it"
        }
      ]),
  ...(dialect === undefined || protocol !== "ai-sdk"
    ? []
    : [{ path: `${path}.dialect`, message: noDialect }]),
  ...(protocol === "ai-sdk" ? noBody(body, path) : repeatedFields(body, protocol, path))
]

type Body = NonNullable<ModelExtrasEntry["body"]>

const noBody = (body: Body, path: string): ReadonlyArray<FileProblem> =>
  Object.keys(body).length === 0
    ? []
    : [
        {
          path: `${path}.body`,
          message:
            "Expected nothing, because a package makes the body itself: providerOptions of the provider has fields for it"
        }
      ]

const repeatedFields = (body: Body, protocol: ProtocolName, path: string): ReadonlyArray<FileProblem> =>
  ownFields[protocol]
    .filter((name) => Object.hasOwn(body, name))
    .map((name) => ({
      path: `${path}.body.${name}`,
      message: `Expected another field: the protocol "${protocol}" sets this one itself`
    }))
